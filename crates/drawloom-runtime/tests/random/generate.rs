//! Makes descriptions of programs from a seed.

use std::collections::BTreeSet;

use fastrand::Rng;

use crate::forms;
use crate::program::{Cut, Fate, Id, Kind, Layout, Mode, Op, Piece, Program, TaskOf, form, layout, pieces_of};

/// How deep tasks submit tasks.
const DEPTH: usize = 3;

/// Makes one program. With `failures`, some tasks fail, are refused, or read what was never written.
pub(crate) fn generate(seed: u64, failures: bool) -> Program {
    let mut rng = Rng::with_seed(seed);
    let streams = if rng.u32(..4) == 0 { rng.usize(2..=3) } else { 1 };
    let per_stream = rng.usize(1..=3);
    let mut regions: Vec<Kind> = (0..streams * per_stream).map(|_| kind(&mut rng, failures)).collect();
    // One region for all streams, which they only add to, so that the order among them is of no matter.
    let shared = (streams > 1 && !failures).then(|| {
        regions.push(Kind::Vector { len: rng.usize(1..=6), contents: true });
        regions.len() - 1
    });
    let mut generator = Generator { rng, regions, known: Vec::new(), next: 0, failures, shared };
    generator.known = vec![Vec::new(); generator.regions.len()];
    let steps = generator.rng.usize(3..=22);
    let streams = (0..streams)
        .map(|stream| {
            let own: Vec<usize> = (stream * per_stream..(stream + 1) * per_stream).collect();
            generator.stream(&own, steps)
        })
        .collect();
    Program { regions: generator.regions, streams }
}

fn kind(rng: &mut Rng, failures: bool) -> Kind {
    match rng.u32(..12) {
        0..=4 => Kind::Vector { len: rng.usize(..=20), contents: !failures || rng.u32(..4) > 0 },
        5 | 6 => {
            let rows = rng.usize(..=6);
            Kind::Matrix { rows, columns: rng.usize(..=6), leading: rows + rng.usize(..=2) }
        }
        7 => Kind::Array { extents: [rng.usize(1..=3), rng.usize(..=3), rng.usize(1..=4)] },
        8 => {
            let mut starts = vec![0];
            for _ in 0..rng.usize(1..=5) {
                starts.push(starts[starts.len() - 1] + rng.usize(..=3));
            }
            Kind::Csr { starts }
        }
        9 => Kind::Floats { len: rng.usize(1..=5) },
        _ => Kind::Value,
    }
}

struct Generator {
    rng: Rng,
    regions: Vec<Kind>,
    /// Pieces of each region that were used before: using them again makes tasks wait for each other.
    known: Vec<Vec<Piece>>,
    next: Id,
    failures: bool,
    shared: Option<usize>,
}

impl Generator {
    fn stream(&mut self, own: &[usize], steps: usize) -> Vec<Op> {
        let whole: Vec<(Piece, Mode)> =
            own.iter().map(|&region| (Piece { region, cuts: Vec::new() }, Mode::Lend)).collect();
        let mut ops: Vec<Op> = Vec::new();
        for _ in 0..steps {
            let op = match self.rng.u32(..20) {
                0 => Op::Look(self.piece_for_guard(own)),
                1 => {
                    let salt = self.rng.u64(..);
                    Op::Change(self.piece_for_guard(own), salt)
                }
                2 => match earlier(&mut self.rng, &ops) {
                    Some(id) => Op::Wait(id),
                    None => Op::WaitAll,
                },
                3 => Op::WaitFor(self.piece_for_guard(own)),
                _ => Op::Task(self.task(&whole, &ops, 0)),
            };
            // What floats hold depends on the order of folding, which the interpreter does not follow, and what was never
            // written cannot be waited for.
            let refused = match &op {
                Op::Look(p) | Op::Change(p, _) | Op::WaitFor(p) => !self.is_plain(p.region),
                _ => false,
            };
            if !refused {
                ops.push(op);
            }
        }
        ops
    }

    fn is_plain(&self, region: usize) -> bool {
        !matches!(self.regions[region], Kind::Floats { .. } | Kind::Vector { contents: false, .. })
    }

    fn piece_for_guard(&mut self, own: &[usize]) -> Piece {
        let region = own[self.rng.usize(..own.len())];
        self.piece(&Piece { region, cuts: Vec::new() })
    }

    /// A piece inside of another one.
    fn piece(&mut self, within: &Piece) -> Piece {
        let region = within.region;
        let known = &self.known[region];
        if !known.is_empty() && self.rng.u32(..3) > 0 {
            let inside = layout(&self.regions, within).elements();
            let chosen = known[self.rng.usize(..known.len())].clone();
            if layout(&self.regions, &chosen).elements().iter().all(|i| inside.contains(i)) {
                return chosen;
            }
        }
        let mut piece = within.clone();
        while self.rng.u32(..5) > 1 && piece.cuts.len() < 3 {
            let Some(next) = self.cut(&piece) else { break };
            piece.cuts.push(next);
        }
        self.known[region].push(piece.clone());
        piece
    }

    /// Cuts a piece further, if that is possible, and chooses one part.
    fn cut(&mut self, piece: &Piece) -> Option<(Cut, usize)> {
        let rng = &mut self.rng;
        let layout = layout(&self.regions, piece);
        let floats = matches!(self.regions[piece.region], Kind::Floats { .. });
        let cut = match &layout {
            _ if matches!(self.regions[piece.region], Kind::Value) => return None,
            Layout::Scattered(_) => return None,
            Layout::Line(list) => match rng.u32(..if floats { 3 } else { 6 }) {
                0..=2 => Cut::Blocks(rng.usize(1..=4)),
                3 => Cut::Halos(rng.usize(1..=4), rng.usize(..=3)),
                4 => Cut::Colours(list.iter().map(|_| rng.u32(..3)).collect()),
                _ if list.is_empty() => return None,
                _ => {
                    // Sorted, so that lists with other elements are other pieces.
                    let mut chosen =
                        || -> BTreeSet<usize> { (0..rng.usize(..=5)).map(|_| rng.usize(..list.len())).collect() };
                    Cut::Lists((0..3).map(|_| chosen().into_iter().collect()).collect())
                }
            },
            Layout::Grid { extents, .. } if extents.len() == 2 => Cut::Tiles(rng.usize(1..=3), rng.usize(1..=3)),
            Layout::Grid { .. } => Cut::Grid([rng.usize(1..=2), rng.usize(1..=2), rng.usize(1..=3)]),
            Layout::Rows(..) => Cut::Rows(rng.usize(1..=3)),
        };
        let count = pieces_of(&layout, &cut).len();
        (count > 0).then(|| (cut, rng.usize(..count)))
    }

    /// A task on pieces of what is given.
    fn task(&mut self, given: &[(Piece, Mode)], before: &[Op], depth: usize) -> TaskOf {
        let id = self.next;
        self.next += 1;
        let mut args: Vec<(Piece, Mode)> = Vec::new();
        let parent = depth < DEPTH && self.rng.u32(..6) == 0;
        for _ in 0..self.rng.usize(1..=4) {
            let Some((piece, lent)) = (!given.is_empty()).then(|| given[self.rng.usize(..given.len())].clone()) else {
                break;
            };
            let piece = self.piece(&piece);
            let mode = self.mode(&piece, lent, parent && args.is_empty());
            if mode.is_special() && args.iter().filter(|(_, m)| m.is_special()).count() == 2 {
                continue;
            }
            if self.failures && depth == 0 && self.rng.u32(..40) == 0 || !self.conflicts(&args, &piece, mode) {
                args.push((piece, mode));
            }
        }
        if let Some(region) = self.shared
            && depth == 0
            && self.rng.u32(..4) == 0
            && !args.iter().any(|(_, m)| m.is_special())
        {
            let mode = if self.rng.bool() { Mode::Commute } else { Mode::Sum };
            args.push((self.piece(&Piece { region, cuts: Vec::new() }), mode));
        }
        self.arrange(&mut args);
        let has_special = args.iter().any(|(_, mode)| mode.is_special());
        args.retain(|(piece, mode)| {
            mode.is_special() || forms::in_lists(has_special, *mode, form(&self.regions, piece))
        });
        if args.len() > 1 && args[1].1.is_special() {
            let [first, second] = [0, 1].map(|i| (args[i].1, form(&self.regions, &args[i].0)));
            if !forms::has_pair(first, second) {
                args.remove(1);
            }
        }
        let lent: Vec<(Piece, Mode)> = args.iter().filter(|(_, mode)| mode.lends()).cloned().collect();
        let children = if lent.is_empty() && self.rng.u32(..30) > 0 { Vec::new() } else { self.family(&lent, depth) };
        let (after, ends_with) = match (self.rng.u32(..8), self.rng.u32(..12)) {
            (0, _) => (pending(&mut self.rng, before).into_iter().collect(), Vec::new()),
            (_, 0) => (Vec::new(), pending(&mut self.rng, before).into_iter().collect()),
            _ => (Vec::new(), Vec::new()),
        };
        let fate = match self.rng.u32(..if self.failures && depth == 0 { 16 } else { 1 }) {
            1 => Fate::Errs,
            2 => Fate::Panics,
            _ => Fate::Returns,
        };
        let children = if fate == Fate::Returns { children } else { Vec::new() };
        let priority = if self.rng.u32(..4) == 0 { self.rng.i32(-3..=3) } else { 0 };
        TaskOf { id, args, direct: self.rng.bool(), priority, after, ends_with, fate, children }
    }

    fn mode(&mut self, piece: &Piece, lent: Mode, parent: bool) -> Mode {
        if matches!(self.regions[piece.region], Kind::Floats { .. }) {
            return if self.rng.u32(..6) == 0 { Mode::Write } else { Mode::Sum };
        }
        let kind = self.rng.u32(..20);
        match (parent, lent) {
            (true, Mode::LendRead) => Mode::LendRead,
            (true, _) => [Mode::Lend, Mode::Lend, Mode::LendRead, Mode::LendWrite][kind as usize % 4],
            (false, Mode::LendRead) => Mode::Read,
            (false, _) => match kind {
                0..=6 => Mode::Read,
                7..=12 => Mode::Update,
                13..=15 => Mode::Write,
                16 | 17 if !self.failures => Mode::Commute,
                18 => Mode::Max,
                _ => Mode::Sum,
            },
        }
    }

    fn conflicts(&self, args: &[(Piece, Mode)], piece: &Piece, mode: Mode) -> bool {
        let elements = layout(&self.regions, piece).elements();
        args.iter().any(|(other, m)| {
            other.region == piece.region
                && (m.mutates() || mode.mutates())
                && layout(&self.regions, other).elements().iter().any(|i| elements.contains(i))
        })
    }

    /// Brings arguments into the order in which they are declared: special ones, then by mode and kind.
    fn arrange(&self, args: &mut [(Piece, Mode)]) {
        args.sort_by_key(|(piece, mode)| {
            let place = match mode {
                Mode::Read => 1,
                Mode::Update => 2,
                _ => return (0, 0),
            };
            (place, form(&self.regions, piece) as usize)
        });
    }

    /// The children of a task that lends.
    fn family(&mut self, lent: &[(Piece, Mode)], depth: usize) -> Vec<Op> {
        let mut ops = Vec::new();
        // What was lent to be written is written first.
        for (piece, _) in lent.iter().filter(|(_, mode)| *mode == Mode::LendWrite) {
            let mut task = self.task(&[], &[], DEPTH);
            task.args.push((piece.clone(), Mode::Write));
            task.children.clear();
            ops.push(Op::Task(task));
        }
        for _ in 0..self.rng.usize(..=5) {
            let op = match (self.rng.u32(..10), earlier(&mut self.rng, &ops)) {
                (0..=2, Some(id)) => Op::Wait(id),
                (3, _) => {
                    let id = self.next;
                    self.next += 1;
                    Op::Local { id, len: self.rng.usize(..=5), blocks: self.rng.usize(1..=3) }
                }
                _ if lent.is_empty() => continue,
                _ => Op::Task(self.task(lent, &ops, depth + 1)),
            };
            ops.push(op);
        }
        ops
    }
}

/// A task among some steps.
fn earlier(rng: &mut Rng, ops: &[Op]) -> Option<Id> {
    let ids: Vec<Id> = ops.iter().filter_map(|op| if let Op::Task(task) = op { Some(task.id) } else { None }).collect();
    (!ids.is_empty()).then(|| ids[rng.usize(..ids.len())])
}

/// A task among some steps whose value was not waited for, so that its future still exists.
fn pending(rng: &mut Rng, ops: &[Op]) -> Option<Id> {
    earlier(rng, ops).filter(|id| !ops.iter().any(|op| matches!(op, Op::Wait(waited) if waited == id)))
}
