//! OP2's HDF5 files.

use std::path::PathBuf;

use crate::naca::{naca0012, naca0012_fe};
use crate::support::random_mesh;
use drawloom_mesh::ErrorKind;
use drawloom_mesh::files::hdf5::{Layout, read_with};
use drawloom_mesh::files::{read, write};
use drawloom_mesh::raw::{RawMesh, Values};
use fastrand::Rng;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("drawloom-hdf5-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The parts of a file are in the order of their names.
fn sorted(mut mesh: RawMesh) -> RawMesh {
    mesh.sets.sort_by(|a, b| a.name.cmp(&b.name));
    mesh.maps.sort_by(|a, b| a.name.cmp(&b.name));
    mesh.dats.sort_by(|a, b| a.name.cmp(&b.name));
    mesh.constants.sort_by(|a, b| a.name.cmp(&b.name));
    mesh
}

#[test]
fn what_is_read_is_what_was_written() {
    let folder = Folder::new("written");
    for (number, mesh) in [naca0012(6, 9).expect("a mesh"), naca0012_fe(3, 5).expect("a mesh")]
        .into_iter()
        .chain((0..50).map(|seed| random_mesh(&mut Rng::with_seed(seed))))
        .enumerate()
    {
        let mut mesh = mesh;
        mesh.add_constant("gam", Values::F64(vec![1.4])).add_constant("qinf", Values::F32(vec![1.0, 0.5, 0.0, 2.0]));
        let path = folder.0.join(format!("{number}.h5"));
        write(&path, &mesh).expect("written");
        assert_eq!(read(&path).expect("read"), sorted(mesh));
    }
    assert_eq!(std::fs::read_dir(&folder.0).expect("the folder").count(), 52, "nothing is left beside the files");
}

/// A file as OP2 writes it, with nothing that says what belongs to what.
fn bare(path: &std::path::Path, map: &str) {
    let file = hdf5_metno::File::create(path).expect("a file");
    for (name, size) in [("cells", 2), ("nodes", 3)] {
        file.new_dataset::<i32>().shape([1]).create(name).expect("a set").write_raw(&[size]).expect("written");
    }
    let table = file.new_dataset::<i32>().shape([2, 2]).create(map).expect("a map");
    table.write_raw(&[0, 1, 1, 2]).expect("written");
    let dat = file.new_dataset::<f64>().shape([3, 2]).create("p_x").expect("a dat");
    dat.write_raw(&[0.5; 6]).expect("written");
    file.create_group("output").expect("a group");
}

#[test]
fn the_names_of_op2s_applications_say_what_belongs_to_what() {
    let folder = Folder::new("known");
    let path = folder.0.join("known.h5");
    bare(&path, "pcell");
    let mesh = read(&path).expect("read");
    let map = mesh.map("pcell").expect("a map");
    assert_eq!((map.from.as_str(), map.to.as_str(), map.table.as_slice()), ("cells", "nodes", &[0, 1, 1, 2][..]));
    assert_eq!(mesh.dat("p_x").expect("a dat").set, "nodes");
}

#[test]
fn a_layout_says_it_for_other_names() {
    let folder = Folder::new("layout");
    let path = folder.0.join("layout.h5");
    bare(&path, "corners");
    assert_eq!(read(&path).expect("read").dat("corners").expect("an integer table is a dat").set, "cells");
    let mesh = read_with(&path, &Layout::new().map("corners", "cells", "nodes").dat("p_x", "nodes")).expect("read");
    assert_eq!(mesh.map("corners").expect("a map").to, "nodes");
    let wrong = read_with(&path, &Layout::new().map("corners", "nodes", "cells")).expect_err("sizes do not fit");
    assert_eq!(wrong.kind(), ErrorKind::Inconsistent);
}

#[test]
fn what_is_no_hdf5_file_is_an_error() {
    let folder = Folder::new("broken");
    let path = folder.0.join("broken.h5");
    std::fs::write(&path, b"\x89HDF\r\n\x1a\nand nothing more").expect("written");
    let error = read(&path).expect_err("broken");
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.to_string().contains("broken.h5"), "{error}");
}

#[test]
fn coordinates_are_finite() {
    let folder = Folder::new("finite");
    let path = folder.0.join("grid.h5");
    for value in [f64::NAN, f64::INFINITY] {
        let mut mesh = naca0012(6, 9).expect("a mesh");
        let dat = mesh.dats.iter_mut().find(|dat| dat.name == "p_x").expect("coordinates");
        let Values::F64(values) = &mut dat.values else { panic!("coordinates are f64") };
        values[7] = value;
        write(&path, &mesh).expect("written");
        let error = read(&path).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Inconsistent, "{error}");
        assert!(error.to_string().contains("a coordinate of element 3 of `nodes` is not finite"), "{error}");
    }
}

#[test]
fn a_truth_value_that_is_neither_0_nor_1_is_refused() {
    let folder = Folder::new("truth");
    let path = folder.0.join("truth.h5");
    // A pattern that is nowhere else in the file.
    let values: Vec<bool> = (0..64).map(|index| index % 5 == 0 || index % 7 == 3).collect();
    let file = hdf5_metno::File::create(&path).expect("a file");
    file.new_dataset::<i32>().shape([1]).create("cells").expect("a set").write_raw(&[64]).expect("written");
    file.new_dataset::<bool>().shape([64, 1]).create("flag").expect("a dat").write_raw(&values).expect("written");
    file.close().expect("closed");
    assert_eq!(read(&path).expect("a mesh").dat("flag").expect("a dat").values, Values::Bool(values.clone()));
    let mut bytes = std::fs::read(&path).expect("bytes");
    let pattern: Vec<u8> = values.iter().map(|value| u8::from(*value)).collect();
    let place = bytes.windows(64).position(|found| found == pattern).expect("the values");
    bytes[place + 9] = 2;
    std::fs::write(&path, bytes).expect("written");
    let error = read(&path).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
    assert!(error.to_string().contains("value 9 of `flag` is 2, and a bool is 0 or 1"), "{error}");
}
