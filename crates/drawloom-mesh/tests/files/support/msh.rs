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

/// The same in version 2.2.
pub const TEXT_22: &str = "\
$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
2
1 7 \"the wall\"
2 3 \"inside\"
$EndPhysicalNames
$Nodes
6
1 0 0 0
2 1 0 0
3 1 1 0
4 0 1 0
5 2 0 0
100 2 1 0
$EndNodes
$Elements
4
1 1 2 7 1 1 2
2 2 2 3 1 1 2 3
3 2 2 3 1 1 3 4
4 3 2 0 2 2 5 100 3
$EndElements
";

const NAMES: &str = "\n$EndMeshFormat\n$PhysicalNames\n2\n1 7 \"the wall\"\n2 3 \"inside\"\n$EndPhysicalNames\n";

/// The same in version 2.2, binary, with the lowest byte first or last.
pub fn binary_22(big: bool) -> Vec<u8> {
    let mut bytes = Bytes { bytes: b"$MeshFormat\n2.2 1 8\n".to_vec(), big, size: 4 };
    bytes.ints(&[1]);
    bytes.text(NAMES);
    bytes.text("$Nodes\n6\n");
    for (number, x, y) in [(1, 0.0, 0.0), (2, 1.0, 0.0), (3, 1.0, 1.0), (4, 0.0, 1.0), (5, 2.0, 0.0), (100, 2.0, 1.0)] {
        bytes.ints(&[number]);
        bytes.floats(&[x, y, 0.0]);
    }
    bytes.text("\n$EndNodes\n$Elements\n4\n");
    bytes.ints(&[1, 1, 2, 1, 7, 1, 1, 2]);
    bytes.ints(&[2, 2, 2, 2, 3, 1, 1, 2, 3, 3, 3, 1, 1, 3, 4]);
    bytes.ints(&[3, 1, 2, 4, 0, 2, 2, 5, 100, 3]);
    bytes.text("\n$EndElements\n");
    bytes.bytes
}

/// The same in version 4.0 or 4.1, binary, with the lowest byte first or last, and sizes of 8 or 4 bytes.
pub fn binary(version: f32, big: bool, size: usize) -> Vec<u8> {
    let older = version == 4.0;
    let mut bytes = Bytes { bytes: format!("$MeshFormat\n{version} 1 {size}\n").into_bytes(), big, size };
    bytes.ints(&[1]);
    bytes.text(NAMES);
    bytes.text("$Entities\n");
    bytes.sizes(&[1, 1, 2, 0]);
    bytes.ints(&[1]);
    bytes.floats(&[0.0; 6][..if older { 6 } else { 3 }]);
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
    bytes.sizes(if older { &[2, 6] } else { &[2, 6, 1, 100] });
    let curve: [(i32, [f64; 4]); 2] = [(1, [0.0, 0.0, 0.0, 0.5]), (2, [1.0, 0.0, 0.0, 1.5])];
    let surface = [(3, [1.0, 1.0, 0.0]), (4, [0.0, 1.0, 0.0]), (5, [2.0, 0.0, 0.0]), (100, [2.0, 1.0, 0.0])];
    let mut block = |entity: [i32; 2], parametric: i32, nodes: &[(i32, &[f64])]| {
        let [dimension, number] = entity;
        bytes.ints(&if older { [number, dimension, parametric] } else { [dimension, number, parametric] });
        bytes.sizes(&[nodes.len() as u64]);
        if !older {
            nodes.iter().for_each(|(number, _)| bytes.sizes(&[*number as u64]));
        }
        for (number, place) in nodes {
            if older {
                bytes.ints(&[*number]);
            }
            bytes.floats(place);
        }
    };
    block([1, 1], 1, &[(curve[0].0, &curve[0].1), (curve[1].0, &curve[1].1)]);
    block([2, 1], 0, &[0, 1, 2, 3].map(|index| (surface[index].0, &surface[index].1[..])));
    bytes.text("\n$EndNodes\n$Elements\n");
    bytes.sizes(if older { &[3, 4] } else { &[3, 4, 1, 4] });
    for ([dimension, number, kind], count, elements) in
        [([1, 1, 1], 1, &[1, 1, 2][..]), ([2, 1, 2], 2, &[2, 1, 2, 3, 3, 1, 3, 4]), ([2, 2, 3], 1, &[4, 2, 5, 100, 3])]
    {
        bytes.ints(&if older { [number, dimension, kind] } else { [dimension, number, kind] });
        bytes.sizes(&[count]);
        for number in elements {
            if older { bytes.ints(&[*number]) } else { bytes.sizes(&[*number as u64]) }
        }
    }
    bytes.text("\n$EndElements\n");
    bytes.bytes
}

struct Bytes {
    bytes: Vec<u8>,
    big: bool,
    /// How many bytes a size takes.
    size: usize,
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
        if self.size == 4 {
            return self.ints(&values.iter().map(|value| *value as i32).collect::<Vec<_>>());
        }
        let big = self.big;
        self.bytes.extend(values.iter().flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() }));
    }

    fn floats(&mut self, values: &[f64]) {
        let big = self.big;
        self.bytes.extend(values.iter().flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() }));
    }
}
