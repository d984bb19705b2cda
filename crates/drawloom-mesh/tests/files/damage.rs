//! Files of other programs that were cut off or changed: an error or a mesh that is right, and no more memory than the
//! file accounts for. `DRAWLOOM_CASES` says how many changes are made to each file, `DRAWLOOM_SEED` where they begin.

use crate::counting::peak;
use crate::mutations::changed;
use crate::others::cases;
use drawloom_mesh::ErrorKind;
use drawloom_mesh::files::{read, read_bytes};
use fastrand::Rng;

/// How many bytes of memory a byte of a file may take at most while the file is read, and how many any file may.
const MOST: (usize, usize) = (60, 100_000);

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Reads a damaged file; the error of it, if there is one.
#[track_caller]
fn damaged(bytes: &[u8], what: impl Fn() -> String) -> Option<drawloom_mesh::Error> {
    let (read, most) = peak(|| read_bytes(bytes));
    let allowed = MOST.0 * bytes.len() + MOST.1;
    assert!(most <= allowed, "{}: {most} bytes of memory for {} of the file", what(), bytes.len());
    match read {
        Ok(mesh) => {
            mesh.check().unwrap_or_else(|error| panic!("{}: {error}", what()));
            None
        }
        Err(error) => Some(error),
    }
}

#[test]
fn a_file_that_was_cut_off_is_an_error_or_a_right_mesh() {
    let mut random = Rng::with_seed(setting("DRAWLOOM_SEED", 0));
    for case in cases() {
        let file = std::fs::read(&case.path).expect("a file");
        let name = case.path.display();
        let mut errors = 0;
        let many = setting("DRAWLOOM_CASES", 60) as usize;
        for index in 0..many {
            let length = file.len() * index / many + random.usize(..(file.len() / many).max(1));
            if let Some(error) = damaged(&file[..length], || format!("{name} cut after {length} bytes")) {
                let text = error.to_string();
                let has_place = text.contains("line ") || text.contains("byte ") || length < 100;
                assert!(has_place, "{name} cut after {length} bytes: {text}");
                errors += 1;
            }
        }
        // What follows the last array or element is not missed.
        assert!(errors + many / 8 + 1 >= many, "{name}: {errors} errors of {many}");
    }
}

#[test]
fn a_file_with_changed_bytes_is_an_error_or_a_right_mesh() {
    let seed = setting("DRAWLOOM_SEED", 0);
    let (mut meshes, mut errors) = (0, 0);
    for (number, case) in cases().iter().enumerate() {
        let file = std::fs::read(&case.path).expect("a file");
        for index in 0..setting("DRAWLOOM_CASES", 60) {
            let mut random = Rng::with_seed(seed + (index << 8) + number as u64);
            let bytes = if index % 2 == 0 {
                changed(&file, &mut random)
            } else {
                let mut bytes = file.clone();
                (0..random.usize(1..5)).for_each(|_| bytes[random.usize(..file.len())] ^= 1 << random.u8(..8));
                bytes
            };
            match damaged(&bytes, || format!("{} changed by seed {seed}, case {index}", case.path.display())) {
                None => meshes += 1,
                Some(error) => {
                    assert!(!error.to_string().is_empty());
                    errors += 1;
                }
            }
        }
    }
    assert!(meshes > 100 && errors > 100, "both happen: {meshes} meshes, {errors} errors");
}

/// Sizes that a header may lie about, each replaced by others.
#[test]
fn sizes_in_headers_allocate_nothing() {
    let huge = ["4294967295", "4294967296", "18446744073709551615", "1152921504606846976"];
    let mut refused = 0;
    for case in cases() {
        let file = std::fs::read(&case.path).expect("a file");
        for (start, end) in integers(&file).into_iter().take(40) {
            for size in huge {
                let mut bytes = file.clone();
                bytes.splice(start..end, size.bytes());
                refused += usize::from(damaged(&bytes, || format!("{} at {start}", case.path.display())).is_some());
            }
        }
        // And wherever a binary header can be.
        for start in 0..file.len().saturating_sub(8).min(6000) / 7 {
            let mut bytes = file.clone();
            bytes[7 * start..7 * start + 8].fill(if start % 2 == 0 { 0xff } else { 0x7f });
            refused +=
                usize::from(damaged(&bytes, || format!("{} at byte {}", case.path.display(), 7 * start)).is_some());
        }
    }
    assert!(refused > 1000, "{refused}");
}

/// The integers in the text of a file.
fn integers(file: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, byte) in file.iter().enumerate() {
        match (byte.is_ascii_digit(), start) {
            (true, None) => start = Some(at),
            (false, Some(begin)) => {
                if !b".-e+".contains(byte) {
                    found.push((begin, at));
                }
                start = None;
            }
            _ => {}
        }
    }
    found
}

#[test]
fn errors_name_the_file() {
    let path = std::env::temp_dir().join(format!("drawloom-cut-{}.vtu", std::process::id()));
    let whole = std::fs::read(&cases().last().expect("a file").path).expect("a file");
    std::fs::write(&path, &whole[..whole.len() / 2]).expect("written");
    let error = read(&path).expect_err("half of a file");
    std::fs::remove_file(&path).expect("removed");
    assert!(matches!(error.kind(), ErrorKind::Truncated | ErrorKind::Malformed), "{error}");
    assert!(error.to_string().starts_with(&format!("{}: line ", path.display())), "{error}");
}
