//! Lowest and highest values, and sums, directly and through a map.

use drawloom_mesh::kernel::{Acc, Highest, Lowest, LowestWith};
use drawloom_mesh::raw::RawMesh;
use drawloom_mesh::{Error, Global, Mesh, Program};

/// How many components the wide globals have.
pub const FIVE: usize = 5;

/// The program, and the names of what it computes.
pub struct Bounds {
    /// Its loops.
    pub program: Program,
    /// The lowest and the highest coordinates of all nodes.
    pub direct: (Global<f64, 2>, Global<f64, 2>),
    /// The lowest and the highest coordinates of all nodes at the ends of edges.
    pub indirect: (Global<f64, 2>, Global<f64, 2>),
    /// Which node has the lowest first coordinate: the first of them, if there are several.
    pub leftmost: Global<u32, 1>,
    /// The lowest, the highest, and the sum of [`five`] over all nodes.
    pub five: [Global<i64, FIVE>; 3],
    /// The sum of [`five`] over the first nodes of all edges, with a constant added for each.
    pub through: Global<i64, FIVE>,
}

/// Five numbers for each node, which look random.
pub fn five(node: usize) -> [i64; FIVE] {
    std::array::from_fn(|c| ((node * 7919 + c * 104_729) % 1009) as i64 - 500)
}

fn direct(x: &[f64; 2], low: &mut [Lowest<f64>; 2], high: &mut [Highest<f64>; 2]) {
    for c in 0..2 {
        low[c].offer(x[c]);
        high[c].offer(x[c]);
    }
}

fn indirect(ends: [&[f64; 2]; 2], low: &mut [Lowest<f64>; 2], high: &mut [Highest<f64>; 2]) {
    for x in ends {
        direct(x, low, high);
    }
}

fn leftmost(node: usize, x: &[f64; 2], left: &mut LowestWith<f64, u32>) {
    left.offer(x[0], node as u32);
}

fn wide(node: usize, low: &mut [Lowest<i64>; FIVE], high: &mut [Highest<i64>; FIVE], sum: &mut [Acc<i64>; FIVE]) {
    for (c, value) in five(node).into_iter().enumerate() {
        low[c].offer(value);
        high[c].offer(value);
        sum[c] += value;
    }
}

fn through(first: usize, more: &[i64; FIVE], sum: &mut [Acc<i64>; FIVE]) {
    for (c, value) in five(first).into_iter().enumerate() {
        sum[c] += value + more[c];
    }
}

impl Bounds {
    /// What is added for each edge, in each component.
    pub const MORE: [i64; FIVE] = [1, 2, 3, 4, 5];

    /// The program on a mesh.
    ///
    /// # Errors
    /// When the mesh has no nodes with coordinates `p_x`, or no map `pedge` from edges to two of them.
    pub fn new(raw: &RawMesh) -> Result<Self, Error> {
        let mut mesh = Mesh::from_raw(raw)?;
        let (nodes, edges) = (mesh.find_set("nodes")?, mesh.find_set("edges")?);
        let (pedge, x) = (mesh.find_map::<2>("pedge")?, mesh.find_dat::<f64, 2>("p_x")?);
        let more = mesh.constant("more", Self::MORE)?;
        let (low, high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        let all = (mesh.global("low", low)?, mesh.global("high", high)?);
        let ends = (mesh.global("low_of_ends", low)?, mesh.global("high_of_ends", high)?);
        let (left, place) = (mesh.global("left", [f64::INFINITY])?, mesh.global("leftmost", [u32::MAX])?);
        let (lows, highs) = (mesh.global("lows", [i64::MAX; FIVE])?, mesh.global("highs", [i64::MIN; FIVE])?);
        let (sums, sums_through) = (mesh.global("sums", [0; FIVE])?, mesh.global("sums_through", [0; FIVE])?);

        let mut program = Program::new(mesh);
        // Loops start from what is there: sums would grow with every run.
        program.scalar("reset").update(sums).update(sums_through).run(|sums, through| {
            (*sums, *through) = ([0; FIVE], [0; FIVE]);
        });
        program.each(nodes, "direct").read(x).min(all.0).max(all.1).run(direct);
        program.each(edges, "indirect").read(x.through(pedge)).min(ends.0).max(ends.1).run(indirect);
        program.each(nodes, "leftmost").index().read(x).min_with(left, place).run(leftmost);
        program.each(nodes, "wide").index().min(lows).max(highs).inc(sums).run(wide);
        program.each(edges, "through").index_at(pedge, 0).read(more).inc(sums_through).run(through);
        program.check()?;
        Ok(Self {
            program,
            direct: all,
            indirect: ends,
            leftmost: place,
            five: [lows, highs, sums],
            through: sums_through,
        })
    }
}
