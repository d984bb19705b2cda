//! Programs as descriptions: what is created, and what is submitted, in text that a person can read.
//!
//! A description has no handles and no closures, so that it can be printed when a case fails, cut down by hand, and carried
//! out by two parties that know nothing of each other: the engine, and an interpreter over plain vectors.

use std::fmt;

/// What a region is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Vector {
        len: usize,
        contents: bool,
    },
    Matrix {
        rows: usize,
        columns: usize,
        leading: usize,
    },
    Array {
        extents: [usize; 3],
    },
    /// Where each row starts, and the end.
    Csr {
        starts: Vec<usize>,
    },
    Value,
    /// A vector of floating-point numbers, which tasks only reduce into and write.
    Floats {
        len: usize,
    },
}

impl Kind {
    /// How many elements are stored, those between columns included.
    pub(crate) fn stored(&self) -> usize {
        match self {
            Kind::Vector { len, .. } | Kind::Floats { len } => *len,
            Kind::Matrix { columns, leading, .. } => columns * leading,
            Kind::Array { extents } => extents.iter().product(),
            Kind::Csr { starts } => *starts.last().expect("there is an end"),
            Kind::Value => 1,
        }
    }
}

/// How a piece is cut into further ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cut {
    Blocks(usize),
    Halos(usize, usize),
    Colours(Vec<u32>),
    /// Element numbers of each piece, which may overlap.
    Lists(Vec<Vec<usize>>),
    Tiles(usize, usize),
    Grid([usize; 3]),
    Rows(usize),
}

/// A region, or a part of it: cut, choose one, cut again.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Piece {
    pub(crate) region: usize,
    pub(crate) cuts: Vec<(Cut, usize)>,
}

impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.region)?;
        for (cut, number) in &self.cuts {
            write!(f, ".{cut:?}[{number}]")?;
        }
        Ok(())
    }
}

/// What a task does with a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Read,
    Update,
    Write,
    Commute,
    Sum,
    Max,
    Lend,
    LendRead,
    LendWrite,
}

impl Mode {
    pub(crate) fn mutates(self) -> bool {
        !matches!(self, Mode::Read | Mode::LendRead)
    }

    /// Whether the present contents must be good for the task to run.
    pub(crate) fn needs(self) -> bool {
        !matches!(self, Mode::Write | Mode::LendWrite)
    }

    pub(crate) fn lends(self) -> bool {
        matches!(self, Mode::Lend | Mode::LendRead | Mode::LendWrite)
    }

    pub(crate) fn reduces(self) -> bool {
        matches!(self, Mode::Sum | Mode::Max)
    }

    /// Whether the task is declared with a method of its own, instead of being in a list.
    pub(crate) fn is_special(self) -> bool {
        !matches!(self, Mode::Read | Mode::Update)
    }
}

/// How a task ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Returns,
    Errs,
    Panics,
}

/// The name of a task in a description.
pub(crate) type Id = usize;

/// One task.
#[derive(Clone, Debug)]
pub(crate) struct TaskOf {
    pub(crate) id: Id,
    /// At most two special ones first, then what is read, then what is updated.
    pub(crate) args: Vec<(Piece, Mode)>,
    /// Whether to use the methods for single regions instead of lists, where there is such a form.
    pub(crate) direct: bool,
    pub(crate) priority: i32,
    pub(crate) after: Vec<Id>,
    pub(crate) ends_with: Vec<Id>,
    pub(crate) fate: Fate,
    pub(crate) children: Vec<Op>,
}

/// One step of a program.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Task(TaskOf),
    /// Waits for a task's value.
    Wait(Id),
    /// Takes a guard and looks.
    Look(Piece),
    /// Takes a guard and changes everything.
    Change(Piece, u64),
    /// Waits for everything before on a piece.
    WaitFor(Piece),
    WaitAll,
    /// In a task: makes a region of its own, has a child change it and another one read it.
    Local {
        id: Id,
        len: usize,
        blocks: usize,
    },
}

/// A whole program: each stream is submitted by a thread of its own.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) regions: Vec<Kind>,
    pub(crate) streams: Vec<Vec<Op>>,
}

impl Program {
    /// Whether some task, also one inside of others, is such a one.
    pub(crate) fn any_task(&self, is: &dyn Fn(&TaskOf) -> bool) -> bool {
        fn any(ops: &[Op], is: &dyn Fn(&TaskOf) -> bool) -> bool {
            ops.iter().any(|op| matches!(op, Op::Task(task) if is(task) || any(&task.children, is)))
        }
        self.streams.iter().any(|stream| any(stream, is))
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, kind) in self.regions.iter().enumerate() {
            writeln!(f, "r{number} = {kind:?}")?;
        }
        for (number, stream) in self.streams.iter().enumerate() {
            writeln!(f, "stream {number}")?;
            write_ops(f, stream, 1)?;
        }
        Ok(())
    }
}

fn write_ops(f: &mut fmt::Formatter<'_>, ops: &[Op], depth: usize) -> fmt::Result {
    for op in ops {
        write!(f, "{}", "  ".repeat(depth))?;
        let Op::Task(task) = op else {
            writeln!(f, "{op:?}")?;
            continue;
        };
        write!(f, "t{}:", task.id)?;
        for (piece, mode) in &task.args {
            write!(f, " {mode:?} {piece:?}")?;
        }
        if !task.after.is_empty() {
            write!(f, " after {:?}", task.after)?;
        }
        if !task.ends_with.is_empty() {
            write!(f, " ends with {:?}", task.ends_with)?;
        }
        if task.fate != Fate::Returns {
            write!(f, " {:?}", task.fate)?;
        }
        writeln!(f, "{}{}", if task.direct { " direct" } else { "" }, if task.priority != 0 { " prio" } else { "" })?;
        write_ops(f, &task.children, depth + 1)?;
    }
    Ok(())
}

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
    Rows(usize, usize, Vec<usize>),
}

impl Layout {
    pub(crate) fn elements(&self) -> Vec<usize> {
        match self {
            Layout::Line(list) | Layout::Scattered(list) => list.clone(),
            Layout::Rows(first, end, starts) => (starts[*first]..starts[*end]).collect(),
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
        Kind::Csr { starts } => Layout::Rows(0, starts.len() - 1, starts.clone()),
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
    Csr,
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
        Kind::Csr { .. } => Form::Csr,
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
        (Layout::Rows(first, end, starts), Cut::Rows(count)) => {
            blocks(end - first, *count).map(|(a, b)| Layout::Rows(first + a, first + b, starts.clone())).collect()
        }
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

/// Mixes two numbers into one.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.rotate_left(23) ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^ (x >> 29)
}

/// What a task adds to element `k` of its argument `arg`.
pub(crate) fn addition(task: Id, arg: usize, k: usize) -> u64 {
    mix(mix(task as u64, arg as u64), k as u64) >> 8
}

/// What a task adds to element `k` of a floating-point argument.
pub(crate) fn float_addition(task: Id, arg: usize, k: usize) -> f64 {
    1.0 / ((addition(task, arg, k) % 1000) as f64 + 1.5)
}

/// What the elements of a region hold at first.
pub(crate) fn initial(region: usize, index: usize) -> u64 {
    mix(region as u64 + 77, index as u64)
}
