//! Two triangles and a quadrangle on a line, in every form of Gmsh's format.

// Every test file uses its own part of this module.
#![allow(dead_code, unreachable_pub)]

/// Version 4.1 as text. Node numbers are not in order, and 99 is missing in between.
pub const TEXT_41: &str = "\
$MeshFormat
4.1 0 8
$EndMeshFormat
$Comments
anything at all
$EndComments
$PhysicalNames
2
1 7 \"the wall\"
2 3 \"inside\"
$EndPhysicalNames
$Entities
1 1 2 0
1 0 0 0 0
1 0 0 0 1 0 0 1 7 2 1 -1
1 0 0 0 1 1 0 1 3 1 1
2 0 0 0 2 1 0 0 0
$EndEntities
$Nodes
2 6 1 100
1 1 1 2
1
2
0 0 0 0.5
1 0 0 1.5
2 1 0 4
3
4
5
100
1 1 0
0 1 0
2 0 0
2 1 0
$EndNodes
$Elements
3 4 1 4
1 1 1 1
1 1 2
2 1 2 2
2 1 2 3
3 1 3 4
2 2 3 1
4 2 5 100 3
$EndElements
";

/// The same in version 4.0.
pub const TEXT_40: &str = "\
$MeshFormat
4 0 8
$EndMeshFormat
$PhysicalNames
2
1 7 \"the wall\"
2 3 \"inside\"
$EndPhysicalNames
$Entities
1 1 2 0
1 0 0 0 0 0 0 0
1 0 0 0 1 0 0 1 7 2 1 -1
1 0 0 0 1 1 0 1 3 1 1
2 0 0 0 2 1 0 0 0
$EndEntities
$Nodes
2 6
1 1 1 2
1 0 0 0 0.5
2 1 0 0 1.5
1 2 0 4
3 1 1 0
4 0 1 0
5 2 0 0
100 2 1 0
$EndNodes
$Elements
3 4
1 1 1 1
1 1 2
1 2 2 2
2 1 2 3
3 1 3 4
2 2 3 1
4 2 5 100 3
$EndElements
";

/// The same in version 4.1, binary, with the lowest byte first or last.
pub fn binary(big: bool) -> Vec<u8> {
    let mut bytes = Bytes { bytes: b"$MeshFormat\n4.1 1 8\n".to_vec(), big };
    bytes.ints(&[1]);
    bytes.text("\n$EndMeshFormat\n$PhysicalNames\n2\n1 7 \"the wall\"\n2 3 \"inside\"\n$EndPhysicalNames\n$Entities\n");
    bytes.sizes(&[1, 1, 2, 0]);
    bytes.ints(&[1]);
    bytes.floats(&[0.0, 0.0, 0.0]);
    bytes.sizes(&[0]);
    for (number, group, bounds) in [(1, Some(7), &[1, -1][..]), (1, Some(3), &[1]), (2, None, &[])] {
        bytes.ints(&[number]);
        bytes.floats(&[0.0, 0.0, 0.0, 2.0, 1.0, 0.0]);
        bytes.sizes(&[u64::from(group.is_some())]);
        group.iter().for_each(|group| bytes.ints(&[*group]));
        bytes.sizes(&[bounds.len() as u64]);
        bytes.ints(bounds);
    }
    bytes.text("\n$EndEntities\n$Nodes\n");
    bytes.sizes(&[2, 6, 1, 100]);
    bytes.ints(&[1, 1, 1]);
    bytes.sizes(&[2, 1, 2]);
    bytes.floats(&[0.0, 0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 1.5]);
    bytes.ints(&[2, 1, 0]);
    bytes.sizes(&[4, 3, 4, 5, 100]);
    bytes.floats(&[1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 2.0, 1.0, 0.0]);
    bytes.text("\n$EndNodes\n$Elements\n");
    bytes.sizes(&[3, 4, 1, 4]);
    for (entity, elements) in
        [([1, 1, 1], &[1, 1, 1, 2][..]), ([2, 1, 2], &[2, 2, 1, 2, 3, 3, 1, 3, 4]), ([2, 2, 3], &[1, 4, 2, 5, 100, 3])]
    {
        bytes.ints(&entity);
        bytes.sizes(elements);
    }
    bytes.text("\n$EndElements\n");
    bytes.bytes
}

struct Bytes {
    bytes: Vec<u8>,
    big: bool,
}

impl Bytes {
    fn text(&mut self, text: &str) {
        self.bytes.extend(text.bytes());
    }

    fn ints(&mut self, values: &[i32]) {
        let big = self.big;
        self.bytes.extend(values.iter().flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() }));
    }

    fn sizes(&mut self, values: &[u64]) {
        let big = self.big;
        self.bytes.extend(values.iter().flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() }));
    }

    fn floats(&mut self, values: &[f64]) {
        let big = self.big;
        self.bytes.extend(values.iter().flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() }));
    }
}
