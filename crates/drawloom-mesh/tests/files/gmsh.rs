//! Gmsh's files, in every form.

use crate::support::msh::{TEXT_22, TEXT_40, TEXT_41, binary, binary_22};
use drawloom_mesh::ErrorKind;
use drawloom_mesh::files::{gmsh, read_bytes, vtu};
use drawloom_mesh::raw::{Geometry, RawMesh, Values};

fn expected() -> RawMesh {
    let mut mesh = RawMesh::new();
    mesh.add_set("nodes", 6);
    mesh.add_dat("p_x", "nodes", 2, Values::F64(vec![0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 2.0, 0.0, 2.0, 1.0]));
    for (set, arity, table, entity, physical) in [
        ("lines", 2, vec![0, 1], vec![1], vec![7]),
        ("triangles", 3, vec![0, 1, 2, 0, 2, 3], vec![1, 1], vec![3, 3]),
        ("quadrangles", 4, vec![1, 4, 5, 2], vec![2], vec![0]),
    ] {
        mesh.add_set(set, entity.len());
        mesh.add_map(&format!("{set}_nodes"), set, "nodes", arity, table);
        mesh.add_dat(&format!("{set}_entity"), set, 1, Values::I32(entity));
        mesh.add_dat(&format!("{set}_physical"), set, 1, Values::I32(physical));
    }
    mesh.add_constant("group_the wall", Values::I32(vec![1, 7])).add_constant("group_inside", Values::I32(vec![2, 3]));
    mesh
}

#[test]
fn every_form_gives_the_same_mesh() {
    expected().check().expect("it is right");
    for (form, bytes) in [
        ("4.1", TEXT_41.as_bytes()),
        ("4.0", TEXT_40.as_bytes()),
        ("2.2", TEXT_22.as_bytes()),
        ("2.2 binary", &binary_22(false)),
        ("2.2 binary, highest byte first", &binary_22(true)),
        ("4.0 binary", &binary(4.0, false, 8)),
        ("4.0 binary, highest byte first", &binary(4.0, true, 8)),
        ("binary", &binary(4.1, false, 8)),
        ("binary, highest byte first", &binary(4.1, true, 8)),
        ("binary with sizes of 4 bytes", &binary(4.1, false, 4)),
        ("with carriage returns", TEXT_41.replace('\n', "\r\n").as_bytes()),
    ] {
        assert_eq!(gmsh::read(bytes).unwrap_or_else(|error| panic!("{form}: {error}")), expected(), "{form}");
        assert_eq!(read_bytes(bytes).expect("it is recognised"), expected(), "{form}");
    }
}

#[test]
fn nodes_in_space_have_three_coordinates() {
    let mesh = gmsh::read(TEXT_41.replace("2 1 0\n$End", "2 1 0.25\n$End").as_bytes()).expect("a mesh");
    assert_eq!((mesh.dats[0].dim, mesh.dats[0].values.number(17)), (3, Some(0.25)));
}

#[test]
fn elements_of_higher_order_are_shown_by_their_corners() {
    let text = TEXT_41.replace("2 2 3 1\n4 2 5 100 3\n", "2 2 9 1\n4 2 5 100 3 1 4\n");
    let mesh = gmsh::read(text.as_bytes()).expect("a mesh");
    assert_eq!(mesh.map("triangles_nodes").expect("a map").targets(2), [1, 4, 5]);
    let shown = String::from_utf8(vtu::write(&mesh, vtu::Encoding::Ascii).expect("written")).expect("text");
    assert!(shown.contains("0 1 2 0 2 3 1 4 5\n") && shown.contains("5 5 5\n"), "{shown}");
    let cells = Geometry::of(&mesh).expect("it has coordinates").cells;
    assert_eq!(cells.iter().map(|cells| cells.map.rows().count()).sum::<usize>(), 3);
}

#[test]
fn mistakes_are_described_with_their_place() {
    for (from, to, kind, message) in [
        (
            "4.1 0 8",
            "3.0 0 8",
            ErrorKind::Unsupported,
            "line 2: this is version 3 of Gmsh's format; versions 2.2, 4.0 and 4.1 are read",
        ),
        ("4.1 0 8", "4.0 1 4", ErrorKind::Unsupported, "line 2: expected binary numbers of 8 bytes, found 4"),
        ("4 2 5 100 3", "4 2 5 99 3", ErrorKind::Inconsistent, "element 4 has the node 99, which is not there"),
        ("4 2 5 100 3", "2 2 5 100 3", ErrorKind::Inconsistent, "the element 2 is there twice"),
        ("\n100\n", "\n3\n", ErrorKind::Inconsistent, "the node 3 is there twice"),
        ("2 2 3 1\n", "2 2 140 1\n", ErrorKind::Unsupported, "line 43: elements of type 140 are not supported"),
        ("3 4 1 4\n", "3 5 1 4\n", ErrorKind::Malformed, "line 44: there are 4 elements instead of 5"),
        ("2 1 0 4\n", "2 1 0 3\n", ErrorKind::Malformed, ""),
        ("0 1 0\n", "0 x 0\n", ErrorKind::Malformed, "line 32: expected a number, found `x`: a coordinate of a node"),
        ("\"the wall\"", "the wall", ErrorKind::Malformed, ""),
        ("$EndComments\n", "", ErrorKind::Truncated, "line 5: expected $EndComments behind this line"),
        (
            "$EndNodes\n",
            "$Nodes\n",
            ErrorKind::Malformed,
            "line 35: expected $EndNodes, found `$Nodes`: the section has as many items as it says",
        ),
        ("$Comments", "Comments", ErrorKind::Malformed, ""),
    ] {
        assert!(TEXT_41.contains(from), "{from}");
        let error = gmsh::read(TEXT_41.replacen(from, to, 1).as_bytes()).expect_err(from);
        assert_eq!(error.kind(), kind, "{from}: {error}");
        assert!(message.is_empty() || error.to_string() == message, "{from}: {error}");
    }
    let nodes = TEXT_41.find("$Elements").expect("a section");
    assert_eq!(gmsh::read(&TEXT_41.as_bytes()[..nodes]).expect_err("no elements").kind(), ErrorKind::Truncated);
}
