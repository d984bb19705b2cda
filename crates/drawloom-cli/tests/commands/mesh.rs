//! `drawloom mesh` and `drawloom plot`.

use crate::support::{Folder, drawloom, drawloom_in};
use serde_json::json;

#[test]
fn a_file_for_viewers_says_which_sets_it_is_without() {
    let folder = Folder::new();
    let path = folder.path("grid.vtu");
    let said = format!("{path} is without `edges`, `bedges`: VTK has points and cells");
    for command in [
        &["mesh", "naca0012", "--i", "6", "--j", "9", "-o", &path][..],
        &["mesh", "renumber", "naca0012:6x9", "-o", &path, "--json"],
        &["mesh", "partition", "naca0012:6x9", "--parts", "2", "-o", &path],
    ] {
        let ran = drawloom(command).exits(0);
        assert!(ran.err.contains(&said), "{}", ran.err);
    }
    let ran = drawloom(&["mesh", "naca0012", "--i", "6", "--j", "9", "-o", &folder.path("grid.dat")]).exits(0);
    assert!(ran.err.is_empty(), "{}", ran.err);
}

#[test]
fn a_generated_file_is_read_as_the_generated_mesh() {
    let folder = Folder::new();
    let path = folder.path("grid.dat");
    let ran = drawloom(&["mesh", "naca0012", "--i", "6", "--j", "9", "-o", &path]).exits(0);
    assert_eq!(ran.out, format!("{path}: 190 nodes, 162 cells, 303 edges, 42 bedges\n"));
    assert!(folder.read("grid.dat").starts_with(" 190 162 303 42 \n 9.000000 -0.000000 \n"));
    let from_file = drawloom(&["mesh", "info", &path, "--json"]).exits(0).json();
    let mut generated = drawloom(&["mesh", "info", "naca0012:6x9", "--json"]).exits(0).json();
    assert_eq!(
        from_file["format"],
        json!({"name": "new_grid", "version": null, "encoding": "text", "compression": null})
    );
    generated["file"] = json!(path);
    generated["format"] = from_file["format"].clone();
    assert_eq!(from_file, generated);
    assert_eq!(from_file["sets"][1], json!({"name": "cells", "size": 162, "shape": "quadrangles"}));
    assert_eq!(
        from_file["dats"][1],
        json!({"name": "p_bound", "set": "bedges", "dim": 1, "type": "i32", "lowest": 1.0, "highest": 2.0})
    );
}

#[test]
fn without_a_name_the_files_have_their_usual_ones() {
    let folder = Folder::new();
    drawloom_in(folder.as_path(), &["mesh", "naca0012", "--i", "2", "--j", "3"], "").exits(0);
    drawloom_in(folder.as_path(), &["mesh", "naca0012", "--i", "2", "--j", "3", "--fe"], "").exits(0);
    assert!(folder.read("new_grid.dat").starts_with(" 28 18 29 14 \n"));
    assert!(folder.read("FE_grid.dat").starts_with(" 25 18 12 \n"));
}

#[test]
fn info_lists_everything_for_people() {
    let ran = drawloom(&["mesh", "info", "naca0012-fe:3x5"]).exits(0);
    for part in ["naca0012-fe:3x5\n", "  nodes                     56\n", "cells to 4 nodes", "2 f64 on nodes", "reuse"]
    {
        assert!(ran.out.contains(part), "{part} is missing: {}", ran.out);
    }
}

/// A file that another program wrote.
fn of_others(name: &str) -> String {
    format!("{}/../drawloom-mesh/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn info_prints_the_format_of_every_file_of_other_programs() {
    let list = std::fs::read_to_string(of_others("cases.json")).expect("a list");
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    for case in list.as_array().expect("a list") {
        let (file, form) = (of_others(case["file"].as_str().expect("a name")), case["form"].as_str().expect("text"));
        let ran = drawloom(&["mesh", "info", &file]).exits(0);
        assert!(ran.out.starts_with(&format!("{file}\nformat            {form}\n")), "{}", ran.out);
    }
}

#[test]
fn info_prints_cells_groups_data_and_notes() {
    let file = of_others("gmsh-plane-4.1.msh");
    let info = drawloom(&["mesh", "info", &file, "--json"]).exits(0).json();
    assert_eq!(info["format"], json!({"name": "Gmsh", "version": "4.1", "encoding": "text", "compression": null}));
    assert_eq!(info["sets"][0], json!({"name": "nodes", "size": 18}));
    assert_eq!(
        info["groups"],
        json!([
            {"name": "corner", "number": 3, "set": "points", "elements": 1},
            {"name": "inflow", "number": 5, "set": "lines", "elements": 2},
            {"name": "around ä", "number": 7, "set": "lines", "elements": 6},
            {"name": null, "number": 8, "set": "lines", "elements": 2},
            {"name": "left", "number": 11, "set": "triangles", "elements": 14},
            {"name": "right side", "number": 12, "set": "quadrangles", "elements": 4},
        ])
    );
    let ran = drawloom(&["mesh", "info", &file]).exits(0);
    assert!(ran.out.contains("  around ä                         7             6  lines\n"), "{}", ran.out);
    let ran = drawloom(&["mesh", "info", &of_others("vtk-raw-lzma.vtu")]).exits(0);
    for part in ["  tetrahedra                      1\n", "1 i32 on nodes", "-2147483648"] {
        assert!(ran.out.contains(part), "{part} is missing: {}", ran.out);
    }
    let second = of_others("gmsh-second-4.1.msh");
    let note = "10 cells of higher order are read by their corners, without the 36 nodes between these";
    let ran = drawloom(&["mesh", "info", &second]).exits(0);
    assert!(ran.out.contains(note) && ran.err.is_empty(), "{}{}", ran.out, ran.err);
    let ran = drawloom(&["mesh", "partition", &second, "--parts", "2"]).exits(0);
    assert!(ran.err.contains(note), "{}", ran.err);
}

#[test]
fn numbers_of_many_digits_stay_apart() {
    let nodes =
        "$Nodes\n1 3 1 3\n2 1 0 3\n1\n2\n3\n-0.12345678901234566 0 0\n1.1564500410678693 0 0\n0 1 0\n$EndNodes\n";
    let elements = "$Elements\n1 1 1 1\n2 1 2 1\n1 1 2 3\n$EndElements\n";
    let folder = Folder::new();
    let path = folder.file("grid.msh", format!("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n{nodes}{elements}"));
    let ran = drawloom(&["mesh", "info", &path]).exits(0);
    let line = ran.out.lines().find(|line| line.trim_start().starts_with("p_x")).expect("coordinates");
    assert!(line.ends_with(" -0.12345678901234566   1.1564500410678693"), "{line}");
}

#[test]
fn renumbering_writes_a_mesh_and_says_what_it_gained() {
    let folder = Folder::new();
    let (path, ordered) = (folder.path("grid.dat"), folder.path("ordered.dat"));
    drawloom(&["mesh", "naca0012", "--i", "20", "--j", "30", "-o", &path]).exits(0);
    let line = drawloom(&["mesh", "renumber", &path, "-o", &ordered, "--json"]).exits(0).json();
    assert_eq!(
        (&line["set"], &line["method"], &line["maps"][0]["map"]),
        (&json!("cells"), &json!("hilbert"), &json!("pcell"))
    );
    let reuse = |when: &str| line["maps"][0][when]["reuse"].as_f64().expect("a number");
    assert!(reuse("after") > reuse("before"), "{line}");
    let info = drawloom(&["mesh", "info", &ordered, "--json"]).exits(0).json();
    assert_eq!(info["maps"][0]["reuse"], line["maps"][0]["after"]["reuse"]);
    let ran = drawloom(&["mesh", "renumber", &path, "--method", "rcm", "--set", "nodes"]).exits(0);
    assert!(ran.out.contains("nodes by rcm, before and after") && ran.out.contains("pecell"), "{}", ran.out);
}

#[test]
fn partitions_are_described_by_figures() {
    for method in ["blocks", "coordinates", "graph"] {
        let arguments = ["mesh", "partition", "naca0012:20x30", "--parts", "4", "--method", method, "--json"];
        let line = drawloom(&arguments).exits(0).json();
        assert_eq!((&line["method"], &line["parts"], &line["edges"]), (&json!(method), &json!(4), &json!(3530)));
        let owned = line["sets"][1]["owned"].as_array().expect("a list");
        assert_eq!(owned.iter().filter_map(|count| count.as_u64()).sum::<u64>(), 1800);
        assert!(line["sets"][1]["imbalance"].as_f64().expect("a number") < 1.05);
        assert_eq!(line["sets"][0]["halo"].as_array().expect("a list").len(), 4);
    }
    let folder = Folder::new();
    let path = folder.path("parts.vtu");
    let ran = drawloom(&["mesh", "partition", "naca0012:6x9", "--parts", "3", "-o", &path]).exits(0);
    assert!(ran.out.starts_with("naca0012:6x9: cells in 3 parts by graph\n"), "{}", ran.out);
    let info = drawloom(&["mesh", "info", &path, "--json"]).exits(0).json();
    let owner = info["dats"].as_array().expect("a list").iter().find(|dat| dat["name"] == "owner_cells");
    assert_eq!(owner.expect("the owners are written")["highest"], json!(2.0));
    let picture = drawloom(&["plot", &path, "--field", "owner_cells"]).exits(0).out;
    assert!(picture.contains("<title>owner_cells</title>"), "{picture}");
}

#[test]
fn pictures_are_drawn_to_files_and_to_standard_output() {
    let folder = Folder::new();
    let (svg, png) = (folder.path("mesh.svg"), folder.path("mesh.png"));
    drawloom(&["plot", "naca0012:6x9", "-o", &svg, "--window", "-1,-1,2,1"]).exits(0);
    assert!(folder.read("mesh.svg").starts_with("<svg "));
    let arguments =
        ["plot", "naca0012:6x9", "-o", &png, "--field", "p_x", "--component", "1", "--width", "300", "--range", "-1,1"];
    drawloom(&arguments).exits(0);
    assert!(std::fs::read(&png).expect("the file is there").starts_with(b"\x89PNG"));
    let printed = drawloom(&["plot", "naca0012:6x9", "--window", "-1,-1,2,1"]).exits(0).out;
    assert_eq!(printed, folder.read("mesh.svg"));
}

#[test]
fn what_cannot_be_used_exits_with_2_and_is_named() {
    let folder = Folder::new();
    let cut = folder.file("cut.dat", " 3 1 0 0\n 0 0\n 1 0\n 0 1\n 0 1 2\n");
    let odd = folder.file("odd.dat", "this is not a mesh\n");
    for (arguments, message) in [
        (&["mesh", "info", "no/such.dat"][..], "cannot read no/such.dat"),
        (&["mesh", "info", &cut], "cut.dat: line 6: the file ends where an integer was expected: a node of cell 0"),
        (&["mesh", "info", &odd], "odd.dat: this is no mesh"),
        (&["mesh", "naca0012", "--i", "0"], "has no cells"),
        (&["mesh", "naca0012", "--i", "1e12", "--j", "1e12"], "too large"),
        (&["mesh", "naca0012", "--i", "1", "--j", "1", "-o", "grid.txt"], "ends in .dat or .vtu"),
        (&["mesh", "renumber", "naca0012:2x3", "--set", "faces"], "there is no set `faces`; there are nodes, cells"),
        (&["mesh", "partition", "naca0012:2x3", "--parts", "0"], "1 to 1048576 parts, not 0"),
        (&["plot", "naca0012:2x3", "--field", "q"], "there is no dat `q`"),
        (&["plot", "naca0012:2x3", "--width", "1e9"], "200 to 8192 dots wide"),
        (&["plot", "naca0012:2x3", "-o", "a.gif"], "a.gif: its name must end in .svg or .png"),
        (&["plot", "naca0012:2x3", "--window", "1,2,3"], "`1,2,3` is not 4 numbers with commas between them"),
        (&["plot", "naca0012:2x"], "has no size"),
    ] {
        let ran = drawloom(arguments).exits(2);
        assert!(ran.err.contains(message), "{arguments:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_is_an_error() {
    let folder = Folder::new();
    std::os::unix::fs::symlink("/dev/full", folder.path("grid.dat")).expect("a link can be made");
    let ran = drawloom(&["mesh", "naca0012", "--i", "2", "--j", "3", "-o", &folder.path("grid.dat")]).exits(2);
    assert!(ran.err.contains("cannot write"), "{}", ran.err);
}
