//! The files: what is read is what was written, and anything else is refused.

use std::fs;

use crate::naca::{naca0012, naca0012_fe};
use drawloom_mesh::checkpoint::Checkpoint;
use drawloom_mesh::raw::{RawMesh, Values};
use drawloom_mesh::{Error, ErrorKind};

fn state() -> Checkpoint {
    let mesh = naca0012(2, 3).expect("a mesh");
    let mut state = Checkpoint::of(&mesh);
    state.add_dat("p_q", "cells", 4, Values::F64((0..72).map(|n| f64::from(n) / 7.0).collect()));
    state.add_dat("p_adt", "cells", 1, Values::F32(vec![f32::NAN; 18]));
    state.add_dat("flag", "bedges", 1, Values::Bool((0..14).map(|n| n % 3 == 0).collect()));
    state.add_global("rms", Values::F64(vec![1e-300])).add_global("n", Values::I64(vec![i64::MIN]));
    state.add_global("m", Values::U32(vec![u32::MAX])).add_global("k", Values::I32(vec![]));
    state.set_position(vec![0, 1, 255]);
    state
}

fn kind(result: Result<Checkpoint, Error>) -> ErrorKind {
    result.expect_err("refused").kind()
}

#[test]
fn what_is_read_is_what_was_written_bit_for_bit() {
    let state = state();
    let bytes = state.to_bytes();
    let read = Checkpoint::from_bytes(&bytes).expect("read");
    assert_eq!(read.to_bytes(), bytes);
    assert_eq!(
        (read.dat("p_q").expect("a dat"), read.position()),
        (state.dat("p_q").expect("a dat"), &[0, 1, 255][..])
    );
    assert_eq!(read.global("n").expect("a global").values, Values::I64(vec![i64::MIN]));
    assert_eq!((read.sets().len(), read.dats().len(), read.globals().len()), (4, 3, 4));
}

#[test]
fn every_truncation_and_every_changed_bit_is_noticed() {
    let bytes = state().to_bytes();
    for length in 0..bytes.len() {
        assert_eq!(kind(Checkpoint::from_bytes(&bytes[..length])), ErrorKind::Truncated, "{length} bytes");
    }
    for bit in 0..8 * bytes.len() {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let found = kind(Checkpoint::from_bytes(&changed));
        let expected = match bit / 8 {
            0..8 => [ErrorKind::Malformed; 2],
            8..12 => [ErrorKind::Version; 2],
            // A changed length says that something is missing, or puts the checksum elsewhere.
            12..20 => [ErrorKind::Truncated, ErrorKind::Damaged],
            _ => [ErrorKind::Damaged; 2],
        };
        assert!(expected.contains(&found), "bit {bit}: {found:?}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert_eq!(kind(Checkpoint::from_bytes(&longer)), ErrorKind::Damaged);
}

#[test]
fn a_checkpoint_of_another_mesh_is_refused_and_says_why() {
    let mesh = naca0012(2, 3).expect("a mesh");
    state().check_mesh(&mesh).expect("it is this mesh");
    let message = |mesh| state().check_mesh(&mesh).expect_err("another mesh").to_string();
    let larger = message(naca0012(2, 4).expect("a mesh"));
    assert_eq!(larger, "the checkpoint is of another mesh: `nodes` has 28 elements there and 35 here");
    assert!(message(naca0012_fe(2, 3).expect("a mesh")).contains("`nodes` has 28 elements there and 25 here"));
    let mut other = mesh.clone();
    other.maps[0].table.swap(0, 1);
    assert!(message(other).contains("the maps are others"));
    let mut moved = mesh;
    moved.dats.clear();
    state().check_mesh(&moved).expect("dats are state, and may differ");
}

#[test]
fn files_are_saved_and_loaded_and_an_inconsistent_state_is_not_saved() {
    let folder = std::env::temp_dir().join(format!("drawloom-checkpoint-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    let path = folder.join("state.checkpoint");
    state().save(&path).expect("saved");
    assert_eq!(Checkpoint::load(&path).expect("loaded").to_bytes(), state().to_bytes());
    let mut wrong = state();
    wrong.add_dat("short", "cells", 1, Values::F64(vec![0.0]));
    assert_eq!(wrong.save(&path).expect_err("refused").kind(), ErrorKind::Inconsistent);
    assert_eq!(Checkpoint::load(&path).expect("the old one").dats().len(), 3);
    let error = Checkpoint::load(folder.join("none")).expect_err("there is none");
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("none"), "{error}");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_bool_of_2_is_refused_with_the_name_of_what_holds_it() {
    let mut checkpoint = Checkpoint::of(&RawMesh::new());
    checkpoint.add_global("on", Values::Bool(vec![false, true]));
    let mut bytes = checkpoint.to_bytes();
    assert_eq!(Checkpoint::from_bytes(&bytes).unwrap().global("on").unwrap().values, Values::Bool(vec![false, true]));
    // The values are followed by the length of the position, which is zero, and a checksum of four bytes.
    let checked = bytes.len() - 4;
    let at = checked - 8 - 1;
    assert_eq!(bytes[at - 1..=at], [0, 1]);
    bytes[at] = 2;
    let sum = crc32fast::hash(&bytes[..checked]).to_le_bytes();
    bytes[checked..].copy_from_slice(&sum);
    let error = Checkpoint::from_bytes(&bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert_eq!(error.to_string(), "`on` in the checkpoint holds a bool of 2, and a bool is 0 or 1");
}
