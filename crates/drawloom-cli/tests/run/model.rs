//! `drawloom run FILE.onnx`: a model over a batch, in pieces.

use crate::support::{Folder, drawloom};

/// The sample and a batch of so many rows.
pub(crate) fn sample(rows: &str) -> (Folder, String, String) {
    let folder = Folder::new();
    let path = folder.as_path().display().to_string();
    drawloom(&["model", "sample", "--folder", &path, "--rows", rows]).exits(0);
    let (model, batch) = (folder.path("sample.onnx"), folder.path("sample.npy"));
    (folder, model, batch)
}

#[test]
fn a_batch_in_pieces_is_written_and_memory_is_as_planned() {
    let (folder, model, batch) = sample("19");
    let whole = folder.path("whole.npy");
    drawloom(&["run", &model, "--input", &batch, "--output", &whole, "--piece", "19", "--workers", "1"]).exits(0);
    let expected = std::fs::read(&whole).unwrap();
    assert!(expected.len() > 19 * 10 * 4);
    for (piece, workers) in [("1", "2"), ("3", "1"), ("4", "2"), ("16", "2")] {
        let out = folder.path("out.npy");
        let arguments = ["run", &model, "--input", &batch, "--output", &out, "--piece", piece, "--workers", workers];
        let line = drawloom(&[&arguments[..], &["--check", "--json"]].concat()).exits(0).json();
        assert_eq!(std::fs::read(&out).unwrap(), expected, "pieces of {piece}");
        assert_eq!(line["rows"], 19);
        assert!(line["measured_peak_bytes"].as_u64() <= line["predicted_peak_bytes"].as_u64(), "{line}");
        assert!(line["seconds"].as_f64() > Some(0.0));
    }
    let arguments = ["run", &model, "--input", &batch, "--memory", "200KiB", "--workers", "2"];
    let line = drawloom(&[&arguments[..], &["--json"]].concat()).exits(0).json();
    assert!(line["predicted_peak_bytes"].as_u64() <= Some(200 << 10), "{line}");
    let said = drawloom(&arguments).exits(0).out;
    for part in ["19 rows in", "of 204800 allowed", "Conv", "rows/s", "were planned"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// The checksum of a chunk of a PNG file.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

#[test]
fn raw_files_images_and_random_rows_are_batches_too() {
    let (folder, model, _) = sample("2");
    let raw = folder.path("rows.bin");
    std::fs::write(&raw, vec![0_u8; 3 * 3 * 32 * 32 * 4]).unwrap();
    assert_eq!(drawloom(&["run", &model, "--input", &raw, "--json"]).exits(0).json()["rows"], 3);
    assert_eq!(drawloom(&["run", &model, "--random", "5", "--json"]).exits(0).json()["rows"], 5);
    let images = folder.as_path().join("images");
    std::fs::create_dir(&images).unwrap();
    // Two pictures that we can draw ourselves.
    for name in ["a.png", "b.png"] {
        let path = images.join(name).display().to_string();
        drawloom(&["run", "airfoil", "--mesh", "naca0012:4x6", "--iterations", "1", "--picture", &path]).exits(0);
    }
    let images = images.display().to_string();
    let said = drawloom(&["run", &model, "--input", &images, "--mean", "0.5", "--deviation", "0.25"]).exits(0).out;
    assert!(said.contains("before the graph, image: decode, resize to 32 x 32, Rgb"), "{said}");
    assert!(said.contains("2 rows in"), "{said}");
    // Decoding them takes memory, too, so a budget that has none for it does not do.
    let small = drawloom(&["run", &model, "--input", &images, "--memory", "200KiB"]).exits(2).err;
    assert!(small.contains("does not fit into 204800 bytes"), "{small}");
    std::fs::write(folder.as_path().join("images/c.jpg"), b"not an image").unwrap();
    let wrong = drawloom(&["run", &model, "--input", &images]).exits(2).err;
    assert!(wrong.contains("c.jpg: it is neither PNG nor JPEG"), "{wrong}");
    // A header of a PNG file that claims more points than the file can hold: 16000 x 16000 of three bytes.
    let mut claims = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x3e\x80\0\0\x3e\x80\x08\x02\0\0\0".to_vec();
    claims.extend(crc(&claims[12..]).to_be_bytes());
    claims.extend(b"\0\0\0\0IDAT\x35\xaf\x06\x1e");
    std::fs::remove_file(folder.as_path().join("images/c.jpg")).unwrap();
    std::fs::write(folder.as_path().join("images/c.png"), claims).unwrap();
    let wrong = drawloom(&["run", &model, "--input", &images]).exits(2).err;
    assert!(wrong.contains("c.png: its header says 16000 x 16000 points, and its"), "{wrong}");
}

#[test]
fn what_cannot_be_run_says_why() {
    let (folder, model, batch) = sample("4");
    let fails = |arguments: &[&str], exit: i32, text: &str| {
        let said = drawloom(&[&["run", &model], arguments].concat()).exits(exit).err;
        assert!(said.contains(text), "{text}: {said}");
    };
    fails(&["--input", &batch, "--memory", "10KiB"], 2, "one row does not fit into 10240 bytes");
    fails(&["--input", &batch, "--memory", "lots"], 2, "is not a number of bytes");
    fails(&["--input", &batch, "--piece", "0"], 2, "a piece must have one row at least");
    fails(&["--input", &batch, "--piece", "4", "--multiple", "3"], 2, "--multiple 3 does not divide --piece 4");
    fails(&[], 2, "there is no batch");
    fails(&["--input", &folder.path("none.npy")], 2, "it cannot be read");
    fails(&["--input", "/dev/zero"], 2, "it is no regular file, but a pipe or a device");
    fails(&["--input", &batch, "--output", "no/such/folder/out.npy"], 2, "there is no folder no/such/folder");
    fails(
        &["--input", &batch, "--axis", "image=1"],
        1,
        "axis 1 of input image: f32[rows, 3, 32, 32] has the fixed length 3",
    );
    fails(&["--input", &format!("picture={batch}")], 2, "the model has no input `picture`: it has image");
    fails(&["--input", &batch, "--output", "score=x.npy"], 2, "the model has no output `score`: it has class");
    fails(&["--input", &batch, "--carry", "image"], 2, "is not INPUT=OUTPUT");
    let broken = folder.path("broken.onnx");
    std::fs::write(&broken, b"nothing").unwrap();
    let said = drawloom(&["run", &broken, "--input", &batch]).exits(2).err;
    assert!(said.contains("this is not an ONNX file"), "{said}");
}

#[test]
fn a_model_says_what_a_budget_would_make_of_it() {
    let (_folder, model, _) = sample("1");
    let arguments = ["model", "info", &model, "--memory", "2MiB", "--rows", "1000", "--workers", "2"];
    let said = drawloom(&arguments).exits(0).out;
    assert!(said.contains("a piece of one row takes") && said.contains("1000 rows:"), "{said}");
    let line = drawloom(&[&arguments[..], &["--json"]].concat()).exits(0).json();
    assert!(line["memory"]["predicted_peak_bytes"].as_u64() <= Some(2 << 20), "{line}");
    assert_eq!(line["memory"]["in_flight"], 2);
}
