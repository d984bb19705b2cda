//! Readers survive everything: a changed file is a mesh that is right, or an error, and takes no more memory than its size
//! accounts for.

use crate::naca::{naca0012, naca0012_fe};
use crate::support::msh::{TEXT_22, TEXT_40, TEXT_41, binary, binary_22};
use drawloom_mesh::checkpoint::Checkpoint;
use drawloom_mesh::files::vtu::{self, Encoding};
use drawloom_mesh::files::{fe_grid, new_grid, read_bytes};
use drawloom_mesh::raw::Values;
use fastrand::Rng;

const CASES: usize = 3000;

/// Numbers that readers are afraid of.
const DREADED: &[&str] =
    &["-1", "0", "4294967295", "4294967296", "18446744073709551615", "99999999999999999999", "nan", "1e999", "x", ""];

/// A file with some changes.
pub(crate) fn changed(file: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..bytes.len().max(1)).min(bytes.len());
        match random.u8(..6) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] = random.u8(..),
            2 if at < bytes.len() => bytes[at] ^= 1 << random.u8(..8),
            3 => drop(bytes.drain(at..(at + random.usize(..20)).min(bytes.len()))),
            4 => {
                let again = bytes[at..(at + random.usize(..40)).min(bytes.len())].to_vec();
                bytes.splice(at..at, again);
            }
            // A whole word is replaced by a dreaded one.
            _ => {
                let start = bytes[..at].iter().rposition(u8::is_ascii_whitespace).map_or(0, |space| space + 1);
                let length = bytes[at..].iter().position(u8::is_ascii_whitespace).unwrap_or(bytes.len() - at);
                bytes.splice(start..at + length, DREADED[random.usize(..DREADED.len())].bytes());
            }
        }
    }
    bytes
}

#[test]
fn a_changed_mesh_file_is_a_right_mesh_or_an_error() {
    let files = [
        new_grid::write(&naca0012(2, 3).expect("a mesh")).expect("written"),
        fe_grid::write(&naca0012_fe(2, 3).expect("a mesh")).expect("written"),
        TEXT_41.as_bytes().to_vec(),
        TEXT_40.as_bytes().to_vec(),
        TEXT_22.as_bytes().to_vec(),
        binary_22(false),
        binary(4.0, true, 8),
        binary(4.1, false, 8),
        binary(4.1, true, 8),
        vtu::write(&naca0012(1, 2).expect("a mesh"), Encoding::Ascii).expect("written"),
        vtu::write(&naca0012(1, 2).expect("a mesh"), Encoding::Base64).expect("written"),
        vtu::write(&naca0012(1, 2).expect("a mesh"), Encoding::Raw).expect("written"),
    ];
    let (mut meshes, mut errors) = (0, 0);
    for (number, file) in files.iter().enumerate() {
        read_bytes(file).expect("it is right before it is changed");
        let mut random = Rng::with_seed(number as u64);
        for _ in 0..CASES {
            match read_bytes(&changed(file, &mut random)) {
                Ok(mesh) => {
                    mesh.check().expect("what is read is right");
                    meshes += 1;
                }
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    errors += 1;
                }
            }
        }
    }
    assert!(meshes > 100 && errors > 100, "both happen: {meshes} meshes, {errors} errors");
}

#[test]
fn every_truncation_of_a_text_grid_is_an_error_except_of_its_last_space() {
    for file in [
        new_grid::write(&naca0012(1, 2).expect("a mesh")).expect("written"),
        fe_grid::write(&naca0012_fe(1, 2).expect("a mesh")).expect("written"),
    ] {
        // Behind the last digit are a space and the end of the line. The last digits themselves can be cut off.
        let last_number = file.trim_ascii_end().iter().rposition(|byte| *byte == b' ').expect("a number") + 2;
        for length in 0..last_number - 1 {
            assert!(read_bytes(&file[..length]).is_err(), "{length} of {} bytes", file.len());
        }
        assert!(read_bytes(file.trim_ascii_end()).is_ok());
    }
}

#[test]
fn counts_that_promise_too_much_are_refused_before_anything_is_allocated() {
    for text in [
        "4294967294 4294967294 4294967294 4294967294\n0 0\n",
        "4294967294 4294967294 4294967294\n0 0\n",
        "1000000000 0 0 0\n",
    ] {
        let error = read_bytes(text.as_bytes()).expect_err("refused").to_string();
        assert!(error.contains("there is room for"), "{error}");
    }
    let endless = TEXT_41.replace("2 6 1 100", "18446744073709551614 18446744073709551614 1 1");
    assert!(read_bytes(endless.as_bytes()).is_err());
}

#[test]
fn anything_after_the_last_table_is_refused() {
    let mut file = new_grid::write(&naca0012(1, 2).expect("a mesh")).expect("written");
    file.extend_from_slice(b"\n 7\n");
    let error = read_bytes(&file).expect_err("refused").to_string();
    assert!(error.contains("expected the end of the file, found `7`"), "{error}");
}

#[test]
fn a_changed_checkpoint_is_an_error() {
    let mut state = Checkpoint::of(&naca0012(2, 3).expect("a mesh"));
    state.add_dat("p_q", "cells", 1, Values::F64(vec![0.5; 18])).set_position(b"here".to_vec());
    let bytes = state.to_bytes();
    let mut random = Rng::with_seed(11);
    for _ in 0..CASES {
        let changed = changed(&bytes, &mut random);
        assert!(changed == bytes || Checkpoint::from_bytes(&changed).is_err());
    }
}

#[cfg(unix)]
#[test]
fn a_device_without_an_end_is_refused() {
    for error in [
        drawloom_mesh::files::read("/dev/zero").expect_err("refused"),
        Checkpoint::load("/dev/zero").expect_err("refused"),
    ] {
        assert_eq!(error.to_string(), "cannot read /dev/zero: it is a device, not a file");
    }
}
