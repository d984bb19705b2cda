//! `drawloom run FILE.onnx`: lengths, axes, states, and what is said about images.

use crate::model::sample;
use crate::support::onnx::{integers, model, node, numbers, with_graph, with_ints};
use crate::support::{Folder, drawloom};

/// A model that mixes rows unless axis 1 of its input has the length 4.
pub(crate) fn mixes_unless_four() -> Vec<u8> {
    let branch = with_graph(node("If", "four", "y"), "then_branch", vec![node("Relu", "x", "a")], "a");
    let mean = with_ints(node("ReduceMean", "x", "m"), "axes", &[0]);
    let branch = with_graph(branch, "else_branch", vec![mean, node("Sub", "x m", "b")], "b");
    model(
        vec![
            node("Shape", "x", "shape"),
            node("Gather", "shape one", "length"),
            node("Equal", "length number", "four"),
            branch,
        ],
        &[("x", "f32 N length")],
        &[("y", "f32 N length")],
        vec![integers("one", &[], &[1]), integers("number", &[], &[4])],
    )
}

#[test]
fn a_length_that_is_given_has_the_effect_of_an_input_of_that_length() {
    let folder = Folder::new();
    let path = folder.file("branch.onnx", mixes_unless_four());
    let said = drawloom(&["model", "info", &path]).exits(1).out;
    assert!(said.contains("a batch cannot be cut into pieces") && said.contains("--dim"), "{said}");
    for dim in ["length=4", "x:1=4"] {
        let said = drawloom(&["model", "info", &path, "--dim", dim]).exits(0).out;
        assert!(said.contains("rows of `y` are along axis 0") && said.contains("a piece of one row"), "{said}");
        let line = drawloom(&["run", &path, "--dim", dim, "--random", "7", "--piece", "2", "--json"]).exits(0).json();
        assert_eq!(line["rows"], 7);
    }
    drawloom(&["model", "info", &path, "--dim", "x:1=3"]).exits(1);
    let said = drawloom(&["run", &path, "--dim", "x:1=3", "--random", "7"]).exits(1).err;
    assert!(said.contains("rows cannot be computed apart from each other"), "{said}");
}

#[test]
fn lengths_that_nothing_has_are_refused_with_those_that_are_open() {
    let folder = Folder::new();
    let path = folder.file("branch.onnx", mixes_unless_four());
    let rows = folder.path("rows.bin");
    std::fs::write(&rows, [0; 2 * 4 * 4]).unwrap();
    let open = "those that the model leaves open are: length or x:1";
    for (dims, text) in [
        (&["foo=3"][..], open),
        (&["x:2=3"], open),
        (&["N=3"], "axis 0 of input x: f32[N, length] counts rows"),
        (&["x:1=4", "x:1=4"], "--dim is given twice for `x:1`"),
        (&["length"], "`length` is not NAME=LENGTH or INPUT:AXIS=LENGTH"),
        (&["length=four"], "`four` is not the length of an axis"),
    ] {
        let dims: Vec<&str> = dims.iter().flat_map(|dim| ["--dim", *dim]).collect();
        for command in
            [&["run", &path, "--input", &rows][..], &["run", &path, "--random", "2"], &["model", "info", &path]]
        {
            let said = drawloom(&[command, &dims].concat()).exits(2).err;
            assert!(said.contains(text), "{text}: {said}");
        }
    }
    let (_folder, model, batch) = sample("2");
    let said = drawloom(&["run", &model, "--input", &batch, "--dim", "image:1=4"]).exits(2).err;
    assert!(said.contains("has the fixed length 3, not 4"), "{said}");
    let said = drawloom(&["run", &path, "--input", &batch, "--dim", "length=5"]).exits(2).err;
    assert!(said.contains("axis 1 of input `x` has the length 3, and --dim says 5"), "{said}");
}

#[test]
fn what_is_said_twice_or_about_nothing_is_refused() {
    let (_folder, model, batch) = sample("2");
    let fails = |arguments: &[&str], text: &str| {
        let said = drawloom(&[&["run", &model], arguments].concat()).exits(2).err;
        assert!(said.contains(text), "{text}: {said}");
    };
    fails(&["--input", &batch, "--axis", "image=0", "--axis", "image=none"], "--axis is given twice for `image`");
    fails(&["--input", &batch, "--carry", "image=class", "--carry", "image=class"], "--carry is given twice");
    fails(&["--input", &batch, "--carry", "state=class"], "the model has no input `state`: it has image");
    fails(&["--input", &batch, "--carry", "image=state"], "the model has no output `state`: it has class");
    fails(&["--input", &batch, "--axis", "picture=0"], "the model has no input `picture`: it has image");
    fails(&["--input", &batch, "--input", &batch], "input `image` is given twice");
    for option in [&["--bgr"][..], &["--size", "2x2"], &["--mean", "0.5"], &["--deviation", "2"]] {
        let text = format!("{} is for folders of images, and no input is one", option[0]);
        fails(&[&["--input", &batch], option].concat(), &text);
        fails(&[&["--random", "2"], option].concat(), &text);
    }
}

#[test]
fn a_check_of_one_row_says_that_nothing_was_compared() {
    let (_folder, model, _) = sample("1");
    let ran = drawloom(&["run", &model, "--random", "1", "--check"]).exits(0);
    assert!(
        ran.err.contains("nothing was compared: the batch has one row") && !ran.out.contains("the same"),
        "{}",
        ran.err
    );
    let said = drawloom(&["run", &model, "--random", "5", "--check"]).exits(0).out;
    assert!(said.contains("5 rows are the same all at once, and in pieces of 1 and 3"), "{said}");
}

#[test]
fn states_that_pieces_change_are_refused_without_being_asked() {
    let folder = Folder::new();
    let ports = |state: &'static str| ([("x", "f32 N 2"), ("h", "f32 1 2")], [("y", "f32 N 2"), (state, "f32 1 2")]);
    let (inputs, outputs) = ports("hn");
    let mean = with_ints(node("ReduceMean", "x", "m"), "axes", &[0]);
    let mixing = model(vec![mean, node("Sub", "x m", "y"), node("Add", "h m", "hn")], &inputs, &outputs, Vec::new());
    let mixing = folder.file("mixing.onnx", mixing);
    let out = folder.path("out.npy");
    let arguments = ["--random", "6", "--carry", "h=hn", "--output", &format!("y={out}")];
    let said = drawloom(&[&["run", &mixing][..], &arguments, &["--piece", "2"]].concat()).exits(1).err;
    assert!(said.contains("rows cannot be computed apart from each other: output `y` differs in row 0"), "{said}");
    assert!(!std::fs::exists(&out).unwrap());
    // Where all rows are in one piece, nothing is handed on.
    drawloom(&[&["run", &mixing][..], &arguments, &["--piece", "6"]].concat()).exits(0);
    // A state that rows only read is the same for all of them.
    let reading = model(vec![node("Add", "x h", "y"), node("Identity", "h", "hn")], &inputs, &outputs, Vec::new());
    let reading = folder.file("reading.onnx", reading);
    let said = drawloom(&[&["run", &reading][..], &arguments, &["--piece", "2"]].concat()).exits(0).out;
    assert!(said.contains("6 rows are the same all at once"), "{said}");
}

#[test]
fn random_integers_fit_the_smallest_table() {
    let folder = Folder::new();
    let table = numbers("table", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let lookup =
        model(vec![node("Gather", "table ids", "y")], &[("ids", "i64 N 2")], &[("y", "f32 N 2 3")], vec![table]);
    let path = folder.file("lookup.onnx", lookup);
    drawloom(&["run", &path, "--random", "40", "--json"]).exits(0);
    for rows in ["1e18", "18446744073709551615"] {
        let said = drawloom(&["run", &path, "--random", rows]).exits(2).err;
        assert!(said.contains("rows are too many"), "{said}");
    }
    assert!(drawloom(&["model", "info", &path, "--json"]).exits(0).json()["memory"].is_object());
    for help in [&["run", "model", "--help"][..], &["model", "info", "--help"]] {
        // Where lines break depends on the terminal.
        let said = drawloom(help).exits(0).out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("for integers 0 and 1"), "{said}");
    }
}

#[test]
fn models_and_files_that_cannot_be_used_end_with_two() {
    let folder = Folder::new();
    let ports = (&[("x", "f32 N 2")], &[("y", "f32 N 2")]);
    for operator in ["StringNormalizer", "my.domain.Relu", "Bernoulli"] {
        let path = folder.file("model.onnx", model(vec![node(operator, "x", "y")], ports.0, ports.1, Vec::new()));
        drawloom(&["run", &path, "--random", "2"]).exits(2);
    }
    let path = folder.file("model.onnx", model(vec![node("Relu", "x", "y")], ports.0, ports.1, Vec::new()));
    let short = folder.file("short.npy", b"\x93NUMPY\x01\x00");
    drawloom(&["run", &path, "--input", &short]).exits(2);
    let sum = with_ints(node("ReduceMean", "x", "y"), "axes", &[0]);
    let path = folder.file("model.onnx", model(vec![sum], ports.0, ports.1, Vec::new()));
    drawloom(&["run", &path, "--random", "2"]).exits(1);
}
