//! Coordinates: cells near their neighbours, long lines straight, nothing overlapping.
//!
//! Each sweep asks every cell where it would like to be, the weighted mean of its neighbours, and gives each row the
//! nearest positions (least squares) that keep the order and the distances. That is isotonic regression, solved exactly by
//! pooling neighbours. Lines inside long edges weigh most, as in Gansner and others (1993), and are made straight at the
//! end where there is room.

use super::layers::{Cell, Layers};

/// Distance between nodes, and between lines that pass a layer.
const NODE_GAP: f64 = 26.0;
const LINE_GAP: f64 = 16.0;
const SWEEPS: usize = 64;
/// Straightening one line can make room for the next.
const STRAIGHTENINGS: usize = 6;

/// The centre of every cell along its row.
pub(super) fn assign(layers: &Layers, width: impl Fn(usize) -> f64) -> Vec<f64> {
    let widths: Vec<f64> = layers.cells.iter().map(|cell| cell.node.map_or(0.0, &width)).collect();
    let distance = |a: usize, b: usize| {
        let lines = layers.cells[a].node.is_none() || layers.cells[b].node.is_none();
        (widths[a] + widths[b]) / 2.0 + if lines { LINE_GAP } else { NODE_GAP }
    };
    let mut x = vec![0.0; layers.cells.len()];
    for row in &layers.rows {
        let mut at = 0.0;
        for (i, &cell) in row.iter().enumerate() {
            at += if i == 0 { 0.0 } else { distance(row[i - 1], cell) };
            x[cell] = at;
        }
        row.iter().for_each(|cell| x[*cell] -= at / 2.0);
    }
    for sweep in 0..SWEEPS {
        let rows = layers.rows.len();
        for step in 0..rows {
            let row = &layers.rows[if sweep % 2 == 0 { step } else { rows - 1 - step }];
            // Half of the sweeps look one way, so that positions travel; the last ones look both ways, so that they settle.
            let both = sweep + 24 >= SWEEPS;
            let wishes: Vec<(f64, f64)> = row
                .iter()
                .map(|&cell| wish(layers, &x, cell, both || sweep % 2 == 0, both || sweep % 2 == 1))
                .collect();
            settle(row, &wishes, &distance, &mut x);
        }
    }
    straighten(layers, &distance, &mut x);
    x
}

/// Where a cell would like to be, and how much.
fn wish(layers: &Layers, x: &[f64], cell: usize, up: bool, down: bool) -> (f64, f64) {
    let c = &layers.cells[cell];
    let above = c.up.iter().filter(|_| up);
    let below = c.down.iter().filter(|_| down);
    let (mut sum, mut total) = (0.0, 0.0);
    for &near in above.chain(below) {
        let other = &layers.cells[near];
        // The only line between two nodes should be straight, and so should the inside of a long edge.
        let only = |upper: &Cell, lower: &Cell| upper.down.len() == 1 && lower.up.len() == 1;
        let weight = match (c.node.is_some(), other.node.is_some()) {
            (true, true) if only(c, other) || only(other, c) => 10.0,
            (true, true) => 1.0,
            (false, false) => 8.0,
            _ => 2.0,
        };
        sum += weight * x[near];
        total += weight;
    }
    if total > 0.0 { (sum / total, total) } else { (x[cell], 0.01) }
}

/// The positions nearest to the wishes that keep order and distances: pool adjacent violators.
fn settle(row: &[usize], wishes: &[(f64, f64)], distance: &impl Fn(usize, usize) -> f64, x: &mut [f64]) {
    // Subtracting the least distances from the left turns "apart enough" into "not decreasing".
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(row.len());
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for (i, &(wish, weight)) in wishes.iter().enumerate() {
        offset += if i == 0 { 0.0 } else { distance(row[i - 1], row[i]) };
        offsets.push(offset);
        let mut pool = (wish - offset, weight, 1);
        while let Some(&(value, before, count)) = pools.last()
            && value > pool.0
        {
            pools.pop();
            pool = ((value * before + pool.0 * pool.1) / (before + pool.1), before + pool.1, pool.2 + count);
        }
        pools.push(pool);
    }
    let values = pools.iter().flat_map(|(value, _, count)| std::iter::repeat_n(*value, *count));
    for ((cell, value), offset) in row.iter().zip(values).zip(offsets) {
        x[*cell] = value + offset;
    }
}

/// Makes the inner part of a long edge vertical where its neighbours leave room for that.
fn straighten(layers: &Layers, distance: &impl Fn(usize, usize) -> f64, x: &mut [f64]) {
    let mut place = vec![0usize; layers.cells.len()];
    for row in &layers.rows {
        row.iter().enumerate().for_each(|(at, cell)| place[*cell] = at);
    }
    let long = || layers.chains.iter().filter(|chain| chain.len() > 3);
    for chain in (0..STRAIGHTENINGS).flat_map(|_| long()) {
        let inner = &chain[1..chain.len() - 1];
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for &cell in inner {
            let row = &layers.rows[layers.cells[cell].layer];
            let at = place[cell];
            if at > 0 {
                low = low.max(x[row[at - 1]] + distance(row[at - 1], cell));
            }
            if let Some(&right) = row.get(at + 1) {
                high = high.min(x[right] - distance(cell, right));
            }
        }
        if low <= high {
            let mean = inner.iter().map(|cell| x[*cell]).sum::<f64>() / inner.len() as f64;
            inner.iter().for_each(|cell| x[*cell] = mean.clamp(low, high));
        }
    }
}
