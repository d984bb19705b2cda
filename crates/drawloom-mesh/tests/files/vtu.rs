//! VTK's files, written and read again.

use crate::naca::naca0012_fe;
use crate::support::msh::TEXT_41;
use drawloom_mesh::ErrorKind;
use drawloom_mesh::files::vtu::{self, Encoding};
use drawloom_mesh::files::{gmsh, open_bytes, read_bytes};
use drawloom_mesh::raw::{RawMesh, Values};

const ENCODINGS: [Encoding; 3] = [Encoding::Ascii, Encoding::Base64, Encoding::Raw];

#[test]
fn cells_of_one_type_and_their_data_come_back() {
    let mut mesh = naca0012_fe(3, 5).expect("a mesh");
    mesh.add_dat("p", "cells", 2, Values::F64((0..90).map(|n| f64::from(n) / 7.0 - 3.0).collect()));
    mesh.add_dat("n", "nodes", 1, Values::I32((0..56).map(|n| -n).collect()));
    mesh.add_dat("single", "cells", 1, Values::F32((0..45).map(|n| n as f32 / 3.0).collect()));
    mesh.add_dat("long", "cells", 1, Values::I64((0..45).map(|n| i64::MIN + n).collect()));
    mesh.add_constant("gam", Values::F64(vec![1.4, f64::INFINITY]));
    for encoding in ENCODINGS {
        let read = read_bytes(&vtu::write(&mesh, encoding).expect("written")).expect("read");
        assert_eq!((read.size("nodes").expect("a set"), read.size("cells").expect("a set")), (56, 45));
        for name in ["p_x", "p", "n", "single", "long"] {
            assert_eq!(read.dat(name).expect("a dat"), mesh.dat(name).expect("a dat"), "{name} by {encoding:?}");
        }
        assert_eq!(read.constants, mesh.constants);
        let around = |row: &[u32]| [row[0], row[1], row[3], row[2]];
        let expected: Vec<u32> = mesh.map("pcell").expect("a map").rows().flat_map(around).collect();
        assert_eq!(read.map("pcell").expect("a map").table, expected);
    }
}

#[test]
fn cells_of_several_types_become_sets() {
    let mesh = gmsh::read(TEXT_41.as_bytes()).expect("a mesh");
    for encoding in ENCODINGS {
        let read = read_bytes(&vtu::write(&mesh, encoding).expect("written")).expect("read");
        for name in ["triangles_nodes", "quadrangles_nodes"] {
            assert_eq!(read.map(name).expect("a map"), mesh.map(name).expect("a map"));
        }
        let physical = read.dat("triangles_physical_triangles").expect("a dat");
        assert_eq!(physical.values, mesh.dat("triangles_physical").expect("a dat").values);
    }
}

#[test]
fn solids_keep_their_shapes() {
    let mut mesh = RawMesh::new();
    mesh.add_set("nodes", 4).add_set("tetrahedra", 1).add_map("t", "tetrahedra", "nodes", 4, vec![0, 1, 2, 3]);
    mesh.add_dat("p_x", "nodes", 3, Values::F64(vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]));
    let bytes = vtu::write(&mesh, Encoding::Ascii).expect("written");
    let again = vtu::write(&read_bytes(&bytes).expect("read"), Encoding::Ascii).expect("written");
    assert_eq!(again, bytes);
}

#[test]
fn what_is_not_supported_or_wrong_is_named() {
    let text = String::from_utf8(vtu::write(&naca0012_fe(1, 1).expect("a mesh"), Encoding::Ascii).expect("written"));
    let text = text.expect("text");
    for (from, to, kind, message) in [
        ("\"UnstructuredGrid\"", "\"PolyData\"", ErrorKind::Unsupported, "type `PolyData`"),
        ("header_type=", "compressor=\"vtkOtherDataCompressor\" header_type=", ErrorKind::Unsupported, "compressed by"),
        ("<VTKFile", "<Other", ErrorKind::Malformed, "expected the element VTKFile, found `Other`"),
        ("NumberOfPoints=\"6\"", "NumberOfPoints=\"7\"", ErrorKind::Inconsistent, "18 coordinates for 7 points"),
        ("NumberOfCells=\"3\"", "NumberOfCells=\"4\"", ErrorKind::Inconsistent, "3 offsets and 3 types for 4 cells"),
        ("9 9 9", "9 9 42", ErrorKind::Unsupported, "cell 2 is a polyhedron (VTK's type 42), which is not read"),
        ("9 9 9", "9 9 5", ErrorKind::Inconsistent, "cell 2 is one of `triangles` and has 4 points"),
        ("4 8 12", "4 8 13", ErrorKind::Inconsistent, "the points of cell 2 end at 13"),
        ("4 8 12", "4 8 x", ErrorKind::Malformed, "expected an integer, found `x`: array `offsets`"),
        ("\"connectivity\"", "\"other\"", ErrorKind::Truncated, "the array `connectivity`"),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        let error = read_bytes(text.replacen(from, to, 1).as_bytes()).expect_err(from);
        assert!(error.kind() == kind && error.to_string().contains(message), "{from}: {:?} {error}", error.kind());
    }
}

#[test]
fn an_unsigned_number_without_a_place_is_a_note_and_not_an_error() {
    let text = vtu::write(&naca0012_fe(1, 1).expect("a mesh"), Encoding::Ascii).expect("written");
    for (number, left_out) in [(i64::MAX as u64, 0), (i64::MAX as u64 + 1, 1), (u64::MAX, 1)] {
        let array =
            format!("<DataArray type=\"UInt64\" Name=\"id\" format=\"ascii\">1 2 {number}</DataArray></CellData>");
        let text = String::from_utf8(text.clone()).expect("text").replace("</CellData>", &array);
        let file = open_bytes(text.as_bytes()).expect("a mesh");
        assert_eq!((file.notes.len(), file.mesh.dat("id").is_err()), (left_out, left_out == 1), "{:?}", file.notes);
    }
}
