//! Pictures: their size, their colours, and what cannot be drawn.

use drawloom_apps::naca::{naca0012, naca0012_fe};
use drawloom_mesh::raw::{RawMesh, Values};

use super::Plot;

/// Two squares side by side, with a value each.
fn squares(values: [f64; 2]) -> RawMesh {
    let mut mesh = RawMesh::new();
    mesh.add_set("nodes", 6).add_set("cells", 2).add_set("edges", 1);
    mesh.add_map("pcell", "cells", "nodes", 4, vec![0, 1, 4, 3, 1, 2, 5, 4]);
    let corners = [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]];
    mesh.add_dat("p_x", "nodes", 2, Values::F64(corners.as_flattened().iter().map(|x| f64::from(*x)).collect()));
    mesh.add_dat("p", "cells", 1, Values::F64(values.to_vec())).add_dat("along", "edges", 1, Values::I32(vec![1]));
    mesh
}

/// Width, height and dots of a PNG file.
fn decoded(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG file");
    let mut dots = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut dots).expect("an image");
    (info.width, info.height, dots)
}

fn dot(picture: &(u32, u32, Vec<u8>), x: f64, y: f64) -> [u8; 3] {
    let (width, height, dots) = picture;
    let at = (f64::from(*height) * y) as usize * *width as usize + (f64::from(*width) * x) as usize;
    [dots[3 * at], dots[3 * at + 1], dots[3 * at + 2]]
}

#[test]
fn cells_have_the_colours_of_their_values() {
    let picture = decoded(&Plot::new(&squares([0.0, 1.0])).field("p").width(600).png().expect("a picture"));
    assert_eq!(picture.0, 600);
    assert_eq!(dot(&picture, 0.2, 0.5), [0x44, 0x01, 0x54]);
    assert_eq!(dot(&picture, 0.6, 0.5), [0xfd, 0xe7, 0x25]);
    let picture = decoded(&Plot::new(&squares([f64::NAN, 1.0])).field("p").width(600).png().expect("a picture"));
    assert_eq!(dot(&picture, 0.2, 0.5), [255, 0, 255], "what is no number is none of the colours");
    let picture = decoded(&Plot::new(&squares([0.0, 1.0])).field("p").range(1.0, 9.0).png().expect("a picture"));
    assert_eq!(dot(&picture, 0.6, 0.5), [0x44, 0x01, 0x54]);
}

#[test]
fn small_meshes_are_polygons_and_large_ones_an_image() {
    let small = Plot::new(&squares([0.25, 0.5])).field("p").svg().expect("a picture");
    assert_eq!(small.matches("fill=\"#440154\"").count(), 1);
    assert_eq!(small.matches("fill=\"#fde725\"").count(), 1);
    assert!(small.contains(">0.30</text>"), "the bar has numbers: {small}");
    assert!(!small.contains("<image"));
    let mut mesh = naca0012(100, 75).expect("a mesh");
    mesh.add_dat("p", "cells", 1, Values::F32(vec![1.0; 22_500]));
    let large = Plot::new(&mesh).field("p").svg().expect("a picture");
    assert!(large.contains("<image") && large.contains("href=\"data:image/png;base64,iVBORw0KGgo"));
    assert!(large.len() < 1_000_000, "{} bytes", large.len());
    let part = Plot::new(&mesh).field("p").window([-0.1, -0.1, 0.1, 0.1]).svg().expect("a picture");
    assert!(!part.contains("<image"), "few cells are inside the window");
}

#[test]
fn the_same_mesh_gives_the_same_bytes() {
    let mesh = naca0012_fe(10, 15).expect("a mesh");
    let plot = Plot::new(&mesh).field("p_x").component(1);
    assert_eq!(plot.png().expect("a picture"), plot.png().expect("a picture"));
    assert_eq!(plot.svg().expect("a picture"), plot.svg().expect("a picture"));
}

#[test]
fn names_in_a_picture_are_valid_xml() {
    let mut mesh = squares([1.0, 2.0]);
    mesh.dats[1].name = "p<&>\"".into();
    let svg = Plot::new(&mesh).field("p<&>\"").svg().expect("a picture");
    assert!(svg.contains("<title>p&lt;&amp;&gt;&quot;</title>"), "{svg}");
}

#[test]
fn what_cannot_be_drawn_is_refused_with_its_name() {
    let mesh = squares([0.0, 1.0]);
    let refused = |plot: Plot<'_>, why: &str| {
        let message = plot.svg().expect_err("refused");
        assert!(message.contains(why), "{message}");
    };
    let edges = "dat `along` is on `edges`; a picture shows dats on the points (`nodes`) and on the cells (`cells`)";
    refused(Plot::new(&mesh).field("along"), edges);
    refused(Plot::new(&mesh).field("q"), "there is no dat `q`");
    refused(Plot::new(&mesh).field("p").component(1), "there is no component 1");
    for width in [0, 199, 8193, u32::MAX] {
        refused(Plot::new(&mesh).width(width), &format!("a picture is 200 to 8192 dots wide, not {width}"));
    }
    for window in [[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0], [f64::NAN; 4], [-f64::MAX, 0.0, f64::MAX, 1.0]] {
        refused(Plot::new(&mesh).window(window), "is empty");
    }
    refused(Plot::new(&mesh).range(1.0, 1.0), "the range from 1 to 1 is empty");
    let mut broken = squares([0.0, 1.0]);
    broken.dats[0].values = Values::F64(vec![f64::INFINITY; 12]);
    refused(Plot::new(&broken), "a coordinate of element 0 is inf");
}

#[test]
fn odd_meshes_are_drawn_without_complaint() {
    let mut empty = RawMesh::new();
    empty.add_set("nodes", 0).add_dat("p_x", "nodes", 2, Values::F64(vec![]));
    Plot::new(&empty).png().expect("white paper");
    let mut point = squares([5.0, 5.0]);
    point.dats[0].values = Values::F64(vec![3.0; 12]);
    Plot::new(&point).field("p").svg().expect("everything is at one place");
    let mut huge = squares([-f64::MAX, f64::MAX]);
    huge.dats[0].values = Values::F64((0..12).map(|i| f64::MAX / 12.0 * f64::from(i)).collect());
    Plot::new(&huge).field("p").png().expect("the largest numbers there are");
}

#[test]
fn cells_in_space_show_their_faces() {
    let mut mesh = RawMesh::new();
    mesh.add_set("nodes", 8).add_set("hexahedra", 1);
    mesh.add_map("corners", "hexahedra", "nodes", 8, vec![0, 1, 3, 2, 4, 5, 7, 6]);
    let bits = (0..8).flat_map(|n| [n & 1, n >> 1 & 1, n >> 2]);
    mesh.add_dat("p_x", "nodes", 3, Values::F64(bits.map(f64::from).collect()));
    let svg = Plot::new(&mesh).svg().expect("a picture");
    assert_eq!(svg.matches("<path d=").count(), 6);
}

#[test]
fn a_picture_names_its_field_above_the_bar() {
    let picture = decoded(&Plot::new(&squares([0.0, 1.0])).field("p").width(600).png().expect("a picture"));
    let dark = |from: f64, to: f64| {
        (0..16).any(|y| {
            (0..100).any(|x| {
                let [_, _, blue] =
                    dot(&picture, from + (to - from) * f64::from(x) / 100.0, f64::from(y) / f64::from(picture.1));
                blue < 100
            })
        })
    };
    assert!(dark(0.75, 0.99), "the name is in the margin above the bar");
    assert!(!dark(0.1, 0.6), "and not above the mesh");
}
