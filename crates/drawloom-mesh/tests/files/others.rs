//! Files that Gmsh, VTK and meshio wrote, compared number by number with what those programs read from them. The script
//! `tests/data/make.py` wrote them and the expected values.

use std::fs;
use std::path::{Path, PathBuf};

use drawloom_mesh::files::{self, MeshFile};
use drawloom_mesh::kernel::Acc;
use drawloom_mesh::raw::{RawMesh, Values};
use drawloom_mesh::{Backend, Mesh, Program, Threads};
use serde_json::{Map, Value};

/// A file and what is known about it.
pub(crate) struct Case {
    pub(crate) path: PathBuf,
    pub(crate) form: String,
    pub(crate) expected: Value,
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn json(path: PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

/// All files.
pub(crate) fn cases() -> Vec<Case> {
    let text = |case: &Value, key: &str| case[key].as_str().expect("text").to_owned();
    let list = json(data().join("cases.json"));
    let case = |case: &Value| Case {
        path: data().join(text(case, "file")),
        form: text(case, "form"),
        expected: json(data().join(text(case, "expected"))),
    };
    list.as_array().expect("a list").iter().map(case).collect()
}

/// The entries of an object.
fn entries(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}

/// Compares values with the text of the expected ones; `dim` of them belong to an element.
#[track_caller]
fn same(what: &str, found: &Values, dim: usize, expected: &Value) {
    assert_eq!(Some(dim as u64), expected["dim"].as_u64(), "{what}");
    let words: Vec<&str> = expected["values"].as_str().expect("text").split_whitespace().collect();
    assert_eq!(words.len(), found.len(), "{what}");
    let floats = expected["type"] == "float";
    assert_eq!(floats, matches!(found, Values::F32(_) | Values::F64(_)), "{what} is of type {}", found.type_name());
    for (index, word) in words.into_iter().enumerate() {
        let equal = match found {
            Values::I64(values) => Ok(values[index]) == word.parse(),
            Values::I32(values) => Ok(values[index]) == word.parse(),
            Values::U32(values) => Ok(values[index]) == word.parse(),
            _ => {
                let (found, expected) = (found.number(index).expect("a value"), word.parse::<f64>().expect("a number"));
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
            }
        };
        assert!(equal, "{what}: value {index} is {:?}, not {word}", found.number(index));
    }
}

/// The set of the cells of a shape, and the map to their corners.
fn names(mesh: &RawMesh, shape: &str) -> (String, String) {
    match mesh.set(shape) {
        Ok(_) => (shape.to_owned(), format!("{shape}_nodes")),
        Err(_) => ("cells".to_owned(), "pcell".to_owned()),
    }
}

fn compare(name: &str, file: &MeshFile, expected: &Value) {
    let mesh = &file.mesh;
    let places = mesh.dat("p_x").expect("coordinates");
    let flat = places
        .values
        .numbers()
        .chunks(places.dim)
        .flat_map(|at| [at[0], at[1], at.get(2).map_or(0.0, |z| *z)])
        .collect();
    same(&format!("{name}: points"), &Values::F64(flat), 3, &expected["points"]);
    let cells = entries(&expected["cells"]);
    let sets: Vec<&str> = cells.keys().map(String::as_str).collect();
    assert_eq!(mesh.sets.len(), sets.len() + 1, "{name}: {:?} for {sets:?}", mesh.sets);
    let mut dats = 1;
    for (shape, table) in cells {
        let (set, map) = names(mesh, shape);
        let map = mesh.map(&map).expect("a map");
        let targets = Values::U32(map.table.clone());
        same(&format!("{name}: {set}"), &targets, map.arity, table);
        for (tag, of_sets) in entries(&expected["tags"]) {
            let dat = mesh.dat(&format!("{set}_{tag}"));
            // A second group is there only in the sets that have one.
            let dat = match dat {
                Err(_) if tag == "physical_2" => {
                    assert!(
                        of_sets[shape]["values"].as_str().expect("text").split(' ').all(|tag| tag == "0"),
                        "{name}"
                    );
                    continue;
                }
                dat => dat.expect("a tag"),
            };
            dats += 1;
            same(&format!("{name}: {tag} of {set}"), &dat.values, dat.dim, &of_sets[shape]);
        }
        for (array, of_sets) in entries(&expected["cell_data"]) {
            let gmsh = file.form.format == "Gmsh";
            let dat = match (gmsh, sets.len()) {
                (true, _) => format!("{set}_{array}"),
                (false, 1) => array.clone(),
                (false, _) => format!("{array}_{set}"),
            };
            let dat = mesh.dat(&dat).expect("an array of cells");
            dats += 1;
            same(&format!("{name}: {array} of {set}"), &dat.values, dat.dim, &of_sets[shape]);
        }
    }
    for (array, values) in entries(&expected["point_data"]) {
        let dat = mesh.dat(array).expect("an array of points");
        dats += 1;
        same(&format!("{name}: {array}"), &dat.values, dat.dim, values);
    }
    let unexpected: Vec<&str> = mesh.dats.iter().map(|dat| dat.name.as_str()).collect();
    // Gmsh's elements have a group, 0 if the file says nothing of groups.
    let tagged = entries(&expected["tags"]).contains_key("physical") || file.form.format != "Gmsh";
    let tags = if tagged { 0 } else { sets.len() };
    assert_eq!(mesh.dats.len(), dats + tags, "{name}: {unexpected:?}");
    let mut groups: Vec<(String, Values)> =
        mesh.constants.iter().map(|constant| (constant.name.clone(), constant.values.clone())).collect();
    for (key, group) in entries(&expected["names"]) {
        let numbers: Vec<i32> = key.split(' ').map(|number| number.parse().expect("a number")).collect();
        let group = format!("group_{}", group.as_str().expect("text"));
        let found = groups
            .iter()
            .position(|(name, values)| name.starts_with(&group) && *values == Values::I32(numbers.clone()));
        groups.remove(found.unwrap_or_else(|| panic!("{name}: {group} {numbers:?} in {groups:?}")));
    }
    for (constant, values) in entries(&expected["constants"]) {
        let found = groups.iter().position(|(name, _)| name == constant).expect("a constant");
        same(&format!("{name}: {constant}"), &groups.remove(found).1, 1, values);
    }
    assert!(groups.is_empty(), "{name}: {groups:?}");
}

#[test]
fn every_array_is_what_other_programs_read() {
    for Case { path, form, expected } in cases() {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let file = files::open(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(file.form.to_string(), form, "{name}");
        compare(&name, &file, &expected);
        let left_out = expected["left_out"].as_u64().expect("a number");
        let said = file.notes.iter().any(|note| note.contains("higher order"));
        assert_eq!(said, left_out > 0, "{name}: {:?}", file.notes);
        let note = format!("without the {left_out} nodes between these");
        assert!(!said || file.notes.iter().any(|note_| note_.contains(&note)), "{name}: {:?}", file.notes);
    }
}

/// How many cells of a set each node belongs to, by a loop on the mesh.
fn degrees<const A: usize>(raw: &RawMesh, set: &str, map: &str) -> Vec<[i32; 1]> {
    let mut mesh = Mesh::from_raw(raw).expect("a mesh");
    let (nodes, cells) = (mesh.find_set("nodes").expect("nodes"), mesh.find_set(set).expect("cells"));
    let corners = mesh.find_map::<A>(map).expect("a map");
    let degree = mesh.dat_of("degree of a node", nodes, [0i32]).expect("a dat");
    let mut program = Program::new(mesh);
    program.each(cells, "count").inc(degree.through(corners)).run(|degrees: &mut [[Acc<i32>; 1]; A]| {
        degrees.iter_mut().for_each(|degree| degree[0] += 1);
    });
    let mut run = program.start(Backend::Threads(Threads::new())).expect("a run");
    run.run().expect("it runs");
    run.dat(degree).expect("the result").to_vec()
}

#[test]
fn loops_run_on_the_meshes_of_all_programs() {
    for Case { path, expected, .. } in cases() {
        let mesh = files::read(&path).expect("a mesh");
        for (shape, table) in entries(&expected["cells"]) {
            let (set, map) = names(&mesh, shape);
            let found = match table["dim"].as_u64() {
                Some(1) => degrees::<1>(&mesh, &set, &map),
                Some(2) => degrees::<2>(&mesh, &set, &map),
                Some(3) => degrees::<3>(&mesh, &set, &map),
                Some(4) => degrees::<4>(&mesh, &set, &map),
                Some(5) => degrees::<5>(&mesh, &set, &map),
                Some(6) => degrees::<6>(&mesh, &set, &map),
                _ => degrees::<8>(&mesh, &set, &map),
            };
            let mut degrees = vec![[0]; mesh.size("nodes").expect("nodes")];
            let corners = table["values"].as_str().expect("text").split_whitespace();
            corners.for_each(|corner| degrees[corner.parse::<usize>().expect("a number")][0] += 1);
            assert_eq!(found, degrees, "{}: {set}", path.display());
        }
    }
}

/// The area of the triangles, and the length of the lines in group 7, of which some have it as their second group.
fn area_and_length(raw: &RawMesh) -> [f64; 2] {
    let mut mesh = Mesh::from_raw(raw).expect("a mesh");
    let (triangles, lines) = (mesh.find_set("triangles").expect("a set"), mesh.find_set("lines").expect("a set"));
    let x = mesh.find_dat::<f64, 2>("p_x").expect("coordinates");
    let corners = mesh.find_map::<3>("triangles_nodes").expect("a map");
    let ends = mesh.find_map::<2>("lines_nodes").expect("a map");
    let group = |name| mesh.find_dat::<i32, 1>(name).expect("a tag");
    let (first, second) = (group("lines_physical"), group("lines_physical_2"));
    let (area, length) = (mesh.global("area", [0.0]).expect("new"), mesh.global("length", [0.0]).expect("new"));
    let mut program = Program::new(mesh);
    program.each(triangles, "area").read(x.through(corners)).inc(area).run(
        |[a, b, c]: [&[f64; 2]; 3], area: &mut [Acc<f64>; 1]| {
            area[0] += ((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])).abs() / 2.0;
        },
    );
    program.each(lines, "length").read(x.through(ends)).read(first).read(second).inc(length).run(
        |[a, b]: [&[f64; 2]; 2], first: &[i32; 1], second: &[i32; 1], length: &mut [Acc<f64>; 1]| {
            if first[0] == 7 || second[0] == 7 {
                length[0] += (b[0] - a[0]).hypot(b[1] - a[1]);
            }
        },
    );
    let mut run = program.start(Backend::Threads(Threads::new())).expect("a run");
    run.run().expect("it runs");
    [run.global(area).expect("a sum")[0], run.global(length).expect("a sum")[0]]
}

#[test]
fn areas_and_lengths_of_groups_are_those_that_were_drawn() {
    let mut count = 0;
    for Case { path, .. } in cases() {
        let name = path.display().to_string();
        if !["gmsh-plane", "gmsh-parts", "gmsh-parametric"].iter().any(|start| name.contains(start)) {
            continue;
        }
        let mesh = files::read(&path).expect("a mesh");
        let [area, length] = area_and_length(&mesh);
        // A square of side 1, and three of the sides of a rectangle.
        assert!((area - 1.0).abs() < 1e-9 && (length - 3.0).abs() < 1e-9, "{name}: {area}, {length}");
        let groups = mesh.groups();
        let of = |number| groups.iter().find(|group| group.number == number && group.set == "lines").expect("a group");
        assert_eq!(of(7).name.as_deref(), Some("around ä"), "{name}");
        assert_eq!((of(8).name.as_deref(), of(5).elements.len()), (None, 2), "{name}");
        assert!(of(5).elements.iter().all(|line| of(7).elements.contains(line)), "{name}");
        count += 1;
    }
    assert_eq!(count, 10);
}

#[test]
fn what_has_no_place_in_a_mesh_is_noted() {
    let file = files::open(data().join("vtk-parts.vtu")).expect("a mesh");
    let notes = file.notes.join("\n");
    assert!(
        notes.starts_with("the grid is in 3 pieces; points where they meet may be in it several times\n"),
        "{notes}"
    );
    assert!(notes.contains("array `words` has values of type `String`"), "{notes}");
    assert_eq!(file.mesh.dat("bits").expect("an array").values.type_name(), "bool");
}
