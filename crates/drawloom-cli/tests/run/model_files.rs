//! `drawloom run FILE.onnx`: what may be written where, and in which format.

use crate::model::sample;
use crate::support::onnx::{elsewhere, model, node};
use crate::support::{Folder, drawloom, drawloom_in};

#[test]
fn an_output_never_replaces_what_is_read() {
    let (folder, model, batch) = sample("3");
    let (link, hard, here) = (folder.path("link.npy"), folder.path("hard.npy"), folder.path("."));
    std::fs::hard_link(&batch, &hard).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("sample.npy", &link).unwrap();
    #[cfg(not(unix))]
    std::fs::hard_link(&batch, &link).unwrap();
    let before = std::fs::read(&batch).unwrap();
    let beside = format!("{here}/../{}/sample.npy", folder.as_path().file_name().unwrap().display());
    for output in [&batch, &link, &hard, &beside, &format!("class={batch}")] {
        let said = drawloom(&["run", &model, "--input", &batch, "--output", output]).exits(2).err;
        let file = output.trim_start_matches("class=");
        let expected = format!("output `class` would be written to {file}, which is input `image`, {batch}");
        assert!(said.contains(&expected), "{said}");
    }
    drawloom_in(folder.as_path(), &["run", "sample.onnx", "--input", &batch, "--output", "sample.npy"], "").exits(2);
    assert_eq!(std::fs::read(&batch).unwrap(), before);
    let raw = folder.path("model.bin");
    std::fs::hard_link(&model, &raw).unwrap();
    let said = drawloom(&["run", &model, "--input", &batch, "--output", &raw]).exits(2).err;
    assert!(said.contains("which is the model,"), "{said}");
    let said = drawloom(&["run", &model, "--input", &batch, "--trace", &batch]).exits(2).err;
    assert!(said.contains("the trace would be written to"), "{said}");
    assert_eq!(std::fs::read(&batch).unwrap(), before);
}

#[test]
fn values_of_a_model_in_other_files_are_not_replaced_either() {
    let folder = Folder::new();
    let add = model(
        vec![node("Add", "x w", "y")],
        &[("x", "f32 N 2")],
        &[("y", "f32 N 2")],
        vec![elsewhere("w", &[2], "weights.bin")],
    );
    let path = folder.file("add.onnx", add);
    let weights = folder.file("weights.bin", [0; 8]);
    let said = drawloom(&["run", &path, "--random", "2", "--output", &weights]).exits(2).err;
    assert!(said.contains("which is a file with values of the model"), "{said}");
    assert_eq!(std::fs::read(&weights).unwrap(), [0; 8]);
    drawloom(&["run", &path, "--random", "2", "--output", &folder.path("other.bin")]).exits(0);
}

#[test]
fn every_output_has_a_file_of_its_own() {
    let folder = Folder::new();
    let two = folder.file(
        "two.onnx",
        model(
            vec![node("Relu", "x", "y"), node("Neg", "x", "z")],
            &[("x", "f32 N 2")],
            &[("y", "f32 N 2"), ("z", "f32 N 2")],
            Vec::new(),
        ),
    );
    let file = folder.path("out.npy");
    let other = folder.path("./out.npy");
    let run =
        |outputs: [&str; 2]| drawloom(&["run", &two, "--random", "4", "--output", outputs[0], "--output", outputs[1]]);
    let said = run([&format!("y={file}"), &format!("z={other}")]).exits(2).err;
    assert!(said.contains("output `y` and output `z` would be written to the same file"), "{said}");
    let said = run([&format!("y={file}"), &format!("y={}", folder.path("more.npy"))]).exits(2).err;
    assert!(said.contains("output `y` is given twice"), "{said}");
    assert!(!std::fs::exists(&file).unwrap());
    // A link to a file that is not there yet leads to it all the same.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("out.npy", folder.path("link.npy")).unwrap();
        run([&format!("y={file}"), &format!("z={}", folder.path("link.npy"))]).exits(2);
    }
    run([&format!("y={file}"), &format!("z={}", folder.path("more.npy"))]).exits(0);
}

#[test]
fn raw_outputs_are_elements_without_a_header() {
    let (folder, model, batch) = sample("5");
    let (npy, raw, bin) = (folder.path("out.npy"), folder.path("out.raw"), folder.path("out.bin"));
    for out in [&npy, &raw, &bin] {
        let said = drawloom(&["run", &model, "--input", &batch, "--output", &format!("class={out}")]).exits(0).out;
        assert!(said.contains(&format!("wrote `class` to {out}: f32[5, 10]")), "{said}");
    }
    let npy = std::fs::read(&npy).unwrap();
    let elements = &npy[npy.len() - 5 * 10 * 4..];
    assert_eq!(std::fs::read(&raw).unwrap(), elements);
    assert_eq!(std::fs::read(&bin).unwrap(), elements);
    for (option, file) in [("--output", "out.csv"), ("--output", "out"), ("--input", "sample.onnx")] {
        let file = folder.path(file);
        let more = if option == "--output" { ["--input", &batch] } else { ["--piece", "1"] };
        let said = drawloom(&[&["run", &model, option, &file][..], &more].concat()).exits(2).err;
        assert!(said.contains("ends with neither .npy, for an array of NumPy, nor .raw or .bin"), "{said}");
    }
}

#[test]
fn what_cannot_be_written_is_noticed_before_the_run() {
    let (folder, model, batch) = sample("2");
    let out = folder.path("out.npy");
    let run = |option: &str, path: &str| {
        drawloom(&["run", &model, "--input", &batch, "--output", &out, option, path]).exits(2).err
    };
    let said = run("--trace", &folder.path("none/trace.json"));
    assert!(said.contains("there is no folder"), "{said}");
    std::fs::create_dir(folder.path("folder.npy")).unwrap();
    assert!(run("--trace", &folder.path("folder.npy")).contains("it is a folder"));
    assert!(!std::fs::exists(&out).unwrap());
}
