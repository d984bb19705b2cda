//! The layout of one graph: centres of nodes, and points of edges.

use super::layers::Layers;
use super::{MOST_CELLS, coordinates, crossings};

/// The least distance between two layers, and how much of it is added for lines that go far sideways.
const LAYER_GAP: f64 = 44.0;
const SLANT: f64 = 0.07;
const MOST_EXTRA: f64 = 70.0;
/// The distance between lines that leave one node.
const LINE_STEP: f64 = 15.0;

/// Where everything is. The top left corner is at (0, 0).
pub(super) struct Layout {
    /// The centre of each node.
    pub(super) centres: Vec<(f64, f64)>,
    /// The points of each edge, in the direction of the edge. The first and the last are where it meets its nodes'
    /// bounding boxes; between two points it runs vertically at both. Empty for an edge from a node to itself.
    pub(super) paths: Vec<Vec<(f64, f64)>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Layout {
    /// Lays out nodes of the given sizes. `None` when long edges cross too many layers.
    pub(super) fn new(sizes: &[(f64, f64)], edges: &[(usize, usize)]) -> Option<Self> {
        let mut layers = Layers::new(sizes.len(), edges, MOST_CELLS)?;
        crossings::reduce(&mut layers);
        let mut x = coordinates::assign(&layers, |node| sizes[node].0);
        let left = (0..sizes.len()).map(|n| x[n] - sizes[n].0 / 2.0);
        let left = left.chain(x[sizes.len()..].iter().copied()).fold(f64::INFINITY, f64::min);
        x.iter_mut().for_each(|x| *x -= left);
        let right = (0..sizes.len()).map(|n| x[n] + sizes[n].0 / 2.0);
        let width = right.chain(x[sizes.len()..].iter().copied()).fold(0.0, f64::max);

        let bands = bands(&layers, &x, sizes);
        let centres: Vec<(f64, f64)> = (0..sizes.len())
            .map(|n| (x[n], (bands[layers.cells[n].layer].0 + bands[layers.cells[n].layer].1) / 2.0))
            .collect();
        let ends = ends(&layers, &x, sizes);
        let paths = layers
            .chains
            .iter()
            .enumerate()
            .map(|(edge, chain)| {
                let (Some(&top), Some(&bottom)) = (chain.first(), chain.last()) else { return Vec::new() };
                let mut path = vec![(ends[edge].0, centres[top].1 + sizes[top].1 / 2.0)];
                for &cell in &chain[1..chain.len() - 1] {
                    let (from, to) = bands[layers.cells[cell].layer];
                    path.extend([(x[cell], from), (x[cell], to)]);
                }
                path.push((ends[edge].1, centres[bottom].1 - sizes[bottom].1 / 2.0));
                if layers.turned[edge] {
                    path.reverse();
                }
                path
            })
            .collect();
        Some(Self { centres, paths, width, height: bands.last().map_or(0.0, |band| band.1) })
    }
}

/// The top and the bottom of each layer. Layers lie further apart where lines go far sideways, so that none is too flat.
fn bands(layers: &Layers, x: &[f64], sizes: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut top = 0.0;
    let mut bands = Vec::with_capacity(layers.rows.len());
    for row in &layers.rows {
        let height = row.iter().filter_map(|cell| layers.cells[*cell].node).map(|n| sizes[n].1).fold(0.0, f64::max);
        bands.push((top, top + height));
        let far = row.iter().flat_map(|cell| layers.cells[*cell].down.iter().map(|d| (x[*d] - x[*cell]).abs()));
        top += height + LAYER_GAP + (far.fold(0.0, f64::max) * SLANT).min(MOST_EXTRA);
    }
    bands
}

/// Where each edge leaves its upper node and meets its lower one: spread along the side, in the order of the far ends.
fn ends(layers: &Layers, x: &[f64], sizes: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut leaving: Vec<Vec<usize>> = vec![Vec::new(); sizes.len()];
    let mut meeting: Vec<Vec<usize>> = vec![Vec::new(); sizes.len()];
    for (edge, chain) in layers.chains.iter().enumerate() {
        if let (Some(&top), Some(&bottom)) = (chain.first(), chain.last()) {
            leaving[top].push(edge);
            meeting[bottom].push(edge);
        }
    }
    let mut ends = vec![(0.0, 0.0); layers.chains.len()];
    for node in 0..sizes.len() {
        let spread = |count: usize| LINE_STEP.min(0.62 * sizes[node].0 / count.max(1) as f64);
        let place = |at: usize, count: usize| x[node] + (at as f64 - (count as f64 - 1.0) / 2.0) * spread(count);
        let side = &mut leaving[node];
        side.sort_by(|a, b| x[layers.chains[*a][1]].total_cmp(&x[layers.chains[*b][1]]).then(a.cmp(b)));
        side.iter().enumerate().for_each(|(at, edge)| ends[*edge].0 = place(at, side.len()));
        let side = &mut meeting[node];
        let before = |edge: usize| x[layers.chains[edge][layers.chains[edge].len() - 2]];
        side.sort_by(|a, b| before(*a).total_cmp(&before(*b)).then(a.cmp(b)));
        side.iter().enumerate().for_each(|(at, edge)| ends[*edge].1 = place(at, side.len()));
    }
    ends
}
