//! The types of elements.

use crate::raw::Shape;

/// For each shape the types that have it, with their numbers of nodes, of which the corners come first.
const TYPES: [(Shape, &[(i64, usize)]); 8] = [
    (Shape::Point, &[(15, 1)]),
    (Shape::Line, &[(1, 2), (8, 3), (26, 4), (27, 5), (28, 6), (62, 7), (63, 8), (64, 9), (65, 10), (66, 11)]),
    (
        Shape::Triangle,
        &[
            (2, 3),
            (9, 6),
            (20, 9),
            (21, 10),
            (22, 12),
            (23, 15),
            (24, 15),
            (25, 21),
            (42, 28),
            (43, 36),
            (44, 45),
            (45, 55),
            (46, 66),
        ],
    ),
    (
        Shape::Quadrangle,
        &[(3, 4), (10, 9), (16, 8), (36, 16), (37, 25), (38, 36), (47, 49), (48, 64), (49, 81), (50, 100), (51, 121)],
    ),
    (
        Shape::Tetrahedron,
        &[(4, 4), (11, 10), (29, 20), (30, 35), (31, 56), (71, 84), (72, 120), (73, 165), (74, 220), (75, 286)],
    ),
    (
        Shape::Hexahedron,
        &[(5, 8), (12, 27), (17, 20), (92, 64), (93, 125), (94, 216), (95, 343), (96, 512), (97, 729), (98, 1000)],
    ),
    (
        Shape::Prism,
        &[(6, 6), (13, 18), (18, 15), (90, 40), (91, 75), (106, 126), (107, 196), (108, 288), (109, 405), (110, 550)],
    ),
    (Shape::Pyramid, &[(7, 5), (14, 14), (19, 13), (118, 30), (119, 55)]),
];

/// The shape and the number of nodes of the elements of a type. `None` if the type is not known.
pub(super) fn element_type(number: i64) -> Option<(Shape, usize)> {
    let nodes = |types: &[(i64, usize)]| types.iter().find(|(listed, _)| *listed == number).map(|(_, nodes)| *nodes);
    TYPES.iter().find_map(|(shape, types)| Some((*shape, nodes(types)?)))
}
