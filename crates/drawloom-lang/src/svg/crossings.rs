//! Few crossings: the order of the cells inside each layer.
//!
//! Barycentre sweeps (Sugiyama, Tagawa, Toda 1981) with the best order kept, then exchanges of neighbours as in Gansner,
//! Koutsofios, North and Vo, "A Technique for Drawing Directed Graphs" (1993).

use super::layers::Layers;

const SWEEPS: usize = 24;
const EXCHANGES: usize = 12;
/// Neighbours with more pairs of lines than this are left where the sweeps put them.
const MOST_PAIRS: usize = 4096;

/// Orders the rows so that few lines cross.
pub(super) fn reduce(layers: &mut Layers) {
    let mut place = vec![0usize; layers.cells.len()];
    number(&layers.rows, &mut place);
    let mut best = (count(layers, &place), layers.rows.clone());
    for sweep in 0..SWEEPS {
        if best.0 == 0 {
            break;
        }
        let down = sweep % 2 == 0;
        let rows = layers.rows.len();
        for step in 0..rows {
            let row = if down { step } else { rows - 1 - step };
            let mut cells: Vec<(f64, usize)> = layers.rows[row]
                .iter()
                .map(|&cell| {
                    let near = if down { &layers.cells[cell].up } else { &layers.cells[cell].down };
                    let sum: usize = near.iter().map(|n| place[*n]).sum();
                    (if near.is_empty() { place[cell] as f64 } else { sum as f64 / near.len() as f64 }, cell)
                })
                .collect();
            // Equal cells change places in every other pair of sweeps, so that ties do not freeze a bad order.
            if sweep % 4 >= 2 {
                cells.reverse();
            }
            cells.sort_by(|a, b| a.0.total_cmp(&b.0));
            layers.rows[row] = cells.into_iter().map(|(_, cell)| cell).collect();
            layers.rows[row].iter().enumerate().for_each(|(at, cell)| place[*cell] = at);
        }
        exchange(layers, &mut place);
        let crossings = count(layers, &place);
        if crossings < best.0 {
            best = (crossings, layers.rows.clone());
        }
    }
    layers.rows = best.1;
}

fn number(rows: &[Vec<usize>], place: &mut [usize]) {
    for row in rows {
        row.iter().enumerate().for_each(|(at, cell)| place[*cell] = at);
    }
}

/// Exchanges neighbours as long as that removes crossings.
fn exchange(layers: &mut Layers, place: &mut [usize]) {
    for _ in 0..EXCHANGES {
        let mut better = false;
        for row in 0..layers.rows.len() {
            for at in 1..layers.rows[row].len() {
                let (left, right) = (layers.rows[row][at - 1], layers.rows[row][at]);
                let (a, b) = (&layers.cells[left], &layers.cells[right]);
                if (a.up.len() + a.down.len()) * (b.up.len() + b.down.len()) > MOST_PAIRS {
                    continue;
                }
                let now = between(&a.up, &b.up, place) + between(&a.down, &b.down, place);
                let then = between(&b.up, &a.up, place) + between(&b.down, &a.down, place);
                if then < now {
                    layers.rows[row].swap(at - 1, at);
                    place.swap(left, right);
                    better = true;
                }
            }
        }
        if !better {
            break;
        }
    }
}

/// The crossings between the lines of a left and a right cell on one side.
fn between(left: &[usize], right: &[usize], place: &[usize]) -> usize {
    left.iter().map(|l| right.iter().filter(|r| place[**r] < place[*l]).count()).sum()
}

/// All crossings: inversions between the ends of lines, counted with a Fenwick tree.
fn count(layers: &Layers, place: &[usize]) -> usize {
    let mut total = 0;
    for pair in layers.rows.windows(2) {
        let mut tree = vec![0usize; pair[1].len() + 1];
        let mut seen = 0;
        for &cell in &pair[0] {
            let mut ends: Vec<usize> = layers.cells[cell].down.iter().map(|d| place[*d]).collect();
            ends.sort_unstable();
            for &end in &ends {
                let mut at = end + 1;
                let mut not_right = 0;
                while at > 0 {
                    not_right += tree[at];
                    at -= at & at.wrapping_neg();
                }
                total += seen - not_right;
            }
            for &end in &ends {
                let mut at = end + 1;
                while at < tree.len() {
                    tree[at] += 1;
                    at += at & at.wrapping_neg();
                }
            }
            seen += ends.len();
        }
    }
    total
}
