//! Files that were changed at random: the importer refuses them or reads them, and never panics or takes much memory.

use drawloom_onnx::sample::sample_model;
use drawloom_tensor::{Settings, Tensor};

fn cases(usual: u64) -> u64 {
    std::env::var("DRAWLOOM_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

/// Bytes that are changed, left out, doubled or cut off.
fn changed(bytes: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.usize(1..6) {
        // Most of the file is weights, which may have any value: what matters is in the first part of it, and at the end.
        let reach = if random.bool() { bytes.len() } else { bytes.len().min(700) };
        let at = random.usize(..reach.max(1));
        match random.u32(..6) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.u32(..8),
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, random.u8(..)),
            4 => bytes.truncate(at.max(1)),
            _ => {
                let end = (at + random.usize(..32)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = random.usize(..bytes.len());
                bytes.splice(to..to, copy);
            }
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
    bytes
}

#[test]
fn files_that_were_changed_are_read_or_refused() {
    let bytes = sample_model().unwrap();
    let x = Tensor::new(&[1, 3, 32, 32], vec![0.5f32; 3072]).unwrap();
    let (mut read, mut refused) = (0, 0);
    for seed in 0..cases(3000) {
        let bytes = changed(&bytes, &mut fastrand::Rng::with_seed(seed));
        match drawloom_onnx::from_bytes(&bytes, None) {
            Ok(model) => {
                read += 1;
                // What can be read can also be looked at and run, or is refused then.
                let _ = model.batch(&[]);
                let _ = model.run(&[("image", x.view())], &Settings::new().memory(1 << 24));
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}
