//! Where the elements of pieces are, by the meaning of the cuts.

use crate::program::{Cut, Kind, Piece};

/// The numbers in a region's storage of the elements of a piece, in the order in which a view shows them.
pub(crate) fn elements(regions: &[Kind], piece: &Piece) -> Vec<usize> {
    layout(regions, piece).elements()
}

/// Where the elements of a piece are.
#[derive(Clone, Debug)]
pub(crate) enum Layout {
    /// Neighbours, or listed elements in ascending order.
    Line(Vec<usize>),
    Scattered(Vec<usize>),
    Grid {
        first: usize,
        extents: Vec<usize>,
        strides: Vec<usize>,
    },
}

impl Layout {
    pub(crate) fn elements(&self) -> Vec<usize> {
        match self {
            Layout::Line(list) | Layout::Scattered(list) => list.clone(),
            Layout::Grid { first, extents, strides } => {
                // The last dimension is the slow one for matrices, and the fast one for arrays; views are walked with the
                // first dimension fastest either way.
                let mut list = vec![*first];
                for (extent, stride) in extents.iter().zip(strides).rev() {
                    list = list.iter().flat_map(|&at| (0..*extent).map(move |i| at + i * stride)).collect();
                }
                list
            }
        }
    }
}

/// Follows the cuts of a piece.
pub(crate) fn layout(regions: &[Kind], piece: &Piece) -> Layout {
    let mut layout = match &regions[piece.region] {
        Kind::Vector { len, .. } | Kind::Floats { len } => Layout::Line((0..*len).collect()),
        Kind::Value => Layout::Line(vec![0]),
        Kind::Matrix { rows, columns, leading } => {
            Layout::Grid { first: 0, extents: vec![*rows, *columns], strides: vec![1, *leading] }
        }
        Kind::Array { extents: [a, b, c] } => {
            Layout::Grid { first: 0, extents: vec![*a, *b, *c], strides: vec![b * c, *c, 1] }
        }
    };
    for (cut, number) in &piece.cuts {
        layout = pieces_of(&layout, cut).swap_remove(*number);
    }
    layout
}

/// The kinds of handles, in the order in which lists of them are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Line,
    Scattered,
    Matrix,
    Array,
    Value,
    Floats,
}

/// The kind of handle that a piece has.
pub(crate) fn form(regions: &[Kind], piece: &Piece) -> Form {
    match &regions[piece.region] {
        Kind::Vector { .. } if matches!(piece.cuts.last(), Some((Cut::Colours(_) | Cut::Lists(_), _))) => {
            Form::Scattered
        }
        Kind::Vector { .. } => Form::Line,
        Kind::Matrix { .. } => Form::Matrix,
        Kind::Array { .. } => Form::Array,
        Kind::Value => Form::Value,
        Kind::Floats { .. } => Form::Floats,
    }
}

/// All pieces of a cut.
pub(crate) fn pieces_of(layout: &Layout, cut: &Cut) -> Vec<Layout> {
    match (layout, cut) {
        (Layout::Line(list), Cut::Blocks(count)) => {
            blocks(list.len(), *count).map(|(a, b)| Layout::Line(list[a..b].to_vec())).collect()
        }
        (Layout::Line(list), Cut::Halos(count, width)) => blocks(list.len(), *count)
            .map(|(a, b)| {
                let wider = if a == b { a..b } else { a.saturating_sub(*width)..(b + width).min(list.len()) };
                Layout::Line(list[wider].to_vec())
            })
            .collect(),
        (Layout::Line(list), Cut::Colours(colours)) => {
            let count = colours.iter().max().map_or(0, |&c| c as usize + 1);
            let chosen = |c: usize| list.iter().zip(colours).filter(move |(_, d)| **d as usize == c).map(|(i, _)| *i);
            (0..count).map(|c| Layout::Scattered(chosen(c).collect())).collect()
        }
        (Layout::Line(list), Cut::Lists(lists)) => lists
            .iter()
            .map(|numbers| {
                let mut chosen: Vec<usize> = numbers.iter().map(|&i| list[i]).collect();
                chosen.sort_unstable();
                chosen.dedup();
                Layout::Scattered(chosen)
            })
            .collect(),
        (Layout::Grid { .. }, Cut::Tiles(rows, columns)) => tiles(layout, &[*rows, *columns]),
        (Layout::Grid { .. }, Cut::Grid(tile)) => tiles(layout, tile),
        _ => unreachable!("{cut:?} does not fit"),
    }
}

/// The first ones are the larger ones.
fn blocks(len: usize, count: usize) -> impl Iterator<Item = (usize, usize)> {
    let cut = move |i: usize| i * (len / count) + i.min(len % count);
    (0..count).map(move |i| (cut(i), cut(i + 1)))
}

/// The first dimension fastest.
fn tiles(layout: &Layout, tile: &[usize]) -> Vec<Layout> {
    let Layout::Grid { first, extents, strides } = layout else { unreachable!("only grids have tiles") };
    let mut corners = vec![Vec::new()];
    for (extent, size) in extents.iter().zip(tile).rev() {
        let steps = || (0..*extent).step_by(*size);
        corners = corners.iter().flat_map(|rest| steps().map(move |at| [&[at], &rest[..]].concat())).collect();
    }
    corners
        .iter()
        .map(|corner| Layout::Grid {
            first: first + corner.iter().zip(strides).map(|(at, stride)| at * stride).sum::<usize>(),
            extents: (0..tile.len()).map(|d| tile[d].min(extents[d] - corner[d])).collect(),
            strides: strides.clone(),
        })
        .collect()
}
