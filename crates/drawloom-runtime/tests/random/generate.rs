//! Makes descriptions of programs from a seed.

use std::collections::BTreeSet;

use fastrand::Rng;

use crate::forms;
use crate::layout::{Form, Layout, form, layout, pieces_of};
use crate::program::{ContextOf, Cut, Fate, Id, Kind, Mode, Op, Piece, PlanOf, Program, RunOf, TaskOf, TeamOf};
use crate::{POLICIES, WORKERS};

/// How deep tasks submit tasks.
const DEPTH: usize = 3;

/// Makes one program. With `failures`, some tasks fail, are refused, or read what was never written.
pub(crate) fn generate(seed: u64, failures: bool) -> Program {
    let mut rng = Rng::with_seed(seed);
    let streams = if rng.u32(..4) == 0 { rng.usize(2..=3) } else { 1 };
    let per_stream = rng.usize(1..=3);
    let mut regions: Vec<Kind> = (0..streams * per_stream).map(|_| kind(&mut rng, failures)).collect();
    // Twins, which can take each other's places in plans.
    if per_stream > 1 && rng.bool() {
        regions.chunks_mut(per_stream).for_each(|own| own[per_stream - 1] = own[0].clone());
    }
    // One region for all streams, which they only add to, so that the order among them is of no matter.
    let shared = (streams > 1 && !failures).then(|| {
        regions.push(Kind::Vector { len: rng.usize(1..=6), contents: true });
        regions.len() - 1
    });
    let contexts = contexts(&mut rng, streams);
    let known = vec![Vec::new(); regions.len()];
    let mut generator = Generator { rng, regions, known, next: 0, failures, shared, contexts, gone: BTreeSet::new() };
    let steps = generator.rng.usize(3..=22);
    let streams = (0..streams)
        .map(|stream| {
            let own: Vec<usize> = (stream * per_stream..(stream + 1) * per_stream).collect();
            generator.stream(stream, &own, steps)
        })
        .collect();
    let disturbed = (generator.rng.u32(..8) == 0).then_some(seed);
    Program { regions: generator.regions, streams, contexts: generator.contexts, disturbed, cancelled: None }
}

/// Some sets of workers, some of which are inside of others.
fn contexts(rng: &mut Rng, streams: usize) -> Vec<ContextOf> {
    let count = if rng.u32(..3) == 0 { rng.usize(1..=4) } else { 0 };
    (0..count)
        .map(|number| ContextOf {
            around: (number > 0 && rng.bool()).then(|| rng.usize(..number)),
            policy: POLICIES[rng.usize(..POLICIES.len())],
            mask: rng.u64(..),
            owner: (rng.u32(..3) == 0).then(|| rng.usize(..streams)),
        })
        .collect()
}

fn kind(rng: &mut Rng, failures: bool) -> Kind {
    match rng.u32(..11) {
        0..=4 => Kind::Vector { len: rng.usize(..=20), contents: !failures || rng.u32(..4) > 0 },
        5 | 6 => {
            let rows = rng.usize(..=6);
            Kind::Matrix { rows, columns: rng.usize(..=6), leading: rows + rng.usize(..=2) }
        }
        7 => Kind::Array { extents: [rng.usize(1..=3), rng.usize(..=3), rng.usize(1..=4)] },
        8 => Kind::Floats { len: rng.usize(1..=5) },
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
    contexts: Vec<ContextOf>,
    /// Contexts that were deleted.
    gone: BTreeSet<usize>,
}

/// Where a task is submitted.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    /// The stream, for tasks that are not submitted by others.
    stream: Option<usize>,
    /// Whether nobody inside of a task waits for the task. Others stay in the main context: two workers that wait for what
    /// only the other one may run would wait for ever.
    free: bool,
    /// Whether it is inside of a task that is tried again, which waits for all that it submitted.
    retried: bool,
}

impl Generator {
    fn stream(&mut self, stream: usize, own: &[usize], steps: usize) -> Vec<Op> {
        let place = Place { depth: 0, stream: Some(stream), free: true, retried: false };
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
                4 if !self.contexts.is_empty() => self.change_of_contexts(stream),
                5 => match self.plan(own) {
                    Some(plan) => Op::Plan(plan),
                    None => continue,
                },
                _ => Op::Task(self.task(&whole, &ops, place)),
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

    /// A change that the thread of a stream makes.
    fn change_of_contexts(&mut self, stream: usize) -> Op {
        let context = self.rng.usize(..self.contexts.len());
        match self.rng.u32(..4) {
            0 if self.contexts[context].owner == Some(stream) && !self.gone.contains(&context) => {
                self.gone.insert(context);
                Op::Delete(context)
            }
            1 => Op::Empty(context),
            _ => Op::Resize { context, mask: self.rng.u64(..) },
        }
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
        };
        let count = pieces_of(&layout, &cut).len();
        (count > 0).then(|| (cut, rng.usize(..count)))
    }

    /// A task on pieces of what is given.
    fn task(&mut self, given: &[(Piece, Mode)], before: &[Op], place: Place) -> TaskOf {
        let depth = place.depth;
        let id = self.id();
        let mut args: Vec<(Piece, Mode)> = Vec::new();
        let parent = depth < DEPTH && self.rng.u32(..6) == 0;
        for _ in 0..self.rng.usize(1..=4) {
            let Some((piece, lent)) = (!given.is_empty()).then(|| given[self.rng.usize(..given.len())].clone()) else {
                break;
            };
            let piece = self.piece(&piece);
            let mode = self.mode(&piece, lent, parent && args.is_empty());
            if mode.is_special() && specials(&args) == 2 {
                continue;
            }
            if self.failures && self.rng.u32(..40) == 0 || !self.conflicts(&args, &piece, mode) {
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
        let team = (self.rng.u32(..8) == 0).then(|| self.team(&mut args, place));
        let lent: Vec<(Piece, Mode)> = args.iter().filter(|(_, mode)| mode.lends()).cloned().collect();
        let (after, ends_with) = match (self.rng.u32(..8), self.rng.u32(..12)) {
            (0, _) => (pending(&mut self.rng, before).into_iter().collect(), Vec::new()),
            (_, 0) => (Vec::new(), pending(&mut self.rng, before).into_iter().collect()),
            _ => (Vec::new(), Vec::new()),
        };
        let mut fate = match self.rng.u32(..if self.failures { 16 } else { 1 }) {
            1 => Fate::Errs,
            2 => Fate::Panics,
            _ => Fate::Returns,
        };
        let mut bad = u32::MAX;
        let mut retries = 0;
        let restored = lent.iter().all(|(_, mode)| *mode == Mode::LendRead);
        if team.is_none() && restored && specials(&args) < 2 && self.rng.u32(..10) == 0 && self.is_listed(&args) {
            retries = self.rng.u32(1..=3);
            fate = if self.rng.bool() { Fate::Errs } else { Fate::Panics };
            bad = self.rng.u32(..=if self.failures { retries + 1 } else { retries });
        }
        // Which members of a failing team come to submit children is a matter of chance.
        let barren = team.is_some() && fate != Fate::Returns;
        let wants = !lent.is_empty() || self.rng.u32(..if retries > 0 { 3 } else { 30 }) == 0;
        let children = if wants && !barren { self.family(&lent, place, retries > 0) } else { Vec::new() };
        let priority = if self.rng.u32(..4) == 0 { self.rng.i32(-3..=3) } else { 0 };
        let small = team.is_none_or(|team| team.least == 1);
        let context = if place.free && small && self.rng.bool() { self.context(place.stream) } else { None };
        let direct = self.rng.bool();
        TaskOf { id, args, direct, priority, after, ends_with, fate, bad, retries, context, team, children }
    }

    /// A context that a task may be submitted to.
    fn context(&mut self, stream: Option<usize>) -> Option<usize> {
        let allowed = |context: &ContextOf| context.owner.is_none() || context.owner == stream;
        let numbers: Vec<usize> = (0..self.contexts.len()).filter(|&c| allowed(&self.contexts[c])).collect();
        // A deleted one is an error, which only some programs may have.
        let chosen = (!numbers.is_empty()).then(|| numbers[self.rng.usize(..numbers.len())])?;
        (self.failures || !self.gone.contains(&chosen)).then_some(chosen)
    }

    /// Makes arguments such that a team can have them: what is read, and one that is changed or lent.
    fn team(&mut self, args: &mut Vec<(Piece, Mode)>, place: Place) -> TeamOf {
        let mut changes = 0;
        args.retain(|(piece, mode)| {
            let form = form(&self.regions, piece);
            if *mode == Mode::Read {
                return forms::in_lists(true, *mode, form);
            }
            changes += 1;
            changes == 1 && !mode.reduces() && form != Form::Floats
        });
        // Two tasks that wait for teams of more than one could each have a worker that the other one needs.
        let least = if place.depth == 0 && self.rng.bool() { self.rng.u32(1..=3) } else { 1 };
        // Where a task may not fail, there are engines with fewer workers than that.
        let least = if self.failures { least } else { least.min(WORKERS[0] as u32) };
        TeamOf { least, most: least + self.rng.u32(..=3) }
    }

    /// A plan over some regions, if they can be used in one.
    fn plan(&mut self, own: &[usize]) -> Option<PlanOf> {
        let floats = |region: &usize| matches!(self.regions[*region], Kind::Floats { .. });
        let usable: Vec<usize> = own.iter().copied().filter(|region| !floats(region)).collect();
        if usable.is_empty() {
            return None;
        }
        let mut tasks: Vec<TaskOf> = Vec::new();
        for _ in 0..self.rng.usize(1..=6) {
            let before: Vec<Op> = tasks.iter().cloned().map(Op::Task).collect();
            tasks.push(self.plan_task(&usable, &before));
        }
        let used: BTreeSet<usize> = tasks.iter().flat_map(|t| &t.args).map(|(piece, _)| piece.region).collect();
        let mutated = |region: &usize| {
            let mut args = tasks.iter().flat_map(|t| &t.args);
            args.any(|(piece, mode)| piece.region == *region && mode.mutates())
        };
        let mut free: Vec<usize> = usable.iter().copied().filter(|region| !used.contains(region)).collect();
        let mut instead = Vec::new();
        // Children know the regions that they were recorded with, and no others.
        let barren = tasks.iter().all(|task| task.children.is_empty());
        for &region in used.iter().filter(|_| barren) {
            let twin = free.iter().position(|other| self.regions[*other] == self.regions[region]);
            instead.extend(twin.map(|at| (region, free.swap_remove(at))));
        }
        let exchanged = |region: &usize| instead.iter().any(|(from, _)| from == region);
        let together = !instead.is_empty() && used.iter().all(|r| !mutated(r) || exchanged(r)) && self.rng.bool();
        // Which of the runs on different regions is the first one is a matter of chance.
        // Members of a team fail each time.
        let counts = |task: &TaskOf| task.team.is_none() && (self.failures || task.retries == 0);
        for task in tasks.iter_mut().filter(|task| instead.is_empty() && counts(task)) {
            task.bad = self.rng.u32(1..=task.retries + 2);
        }
        // Other contexts may have no workers for a while, and teams are refused there.
        let teams = tasks.iter().any(|task| task.team.is_some());
        let run = |own: &mut Self| {
            let exchanged = !instead.is_empty() && own.rng.bool();
            let context = own.lasting_context().filter(|_| !teams);
            RunOf { id: own.id(), exchanged, context }
        };
        let runs = (0..self.rng.usize(1..=4)).map(|_| run(self)).collect();
        Some(PlanOf { id: self.id(), tasks, instead, runs, together })
    }

    /// A task that can be recorded: on plain regions, with one special access at most.
    fn plan_task(&mut self, usable: &[usize], before: &[Op]) -> TaskOf {
        let id = self.id();
        let mut args: Vec<(Piece, Mode)> = Vec::new();
        let parent = self.rng.u32(..8) == 0;
        for _ in 0..self.rng.usize(1..=4) {
            let region = usable[self.rng.usize(..usable.len())];
            let piece = self.piece(&Piece { region, cuts: Vec::new() });
            let mode = self.mode(&piece, Mode::Lend, parent && args.is_empty());
            let refused = mode.is_special() && specials(&args) == 1;
            if !refused && !self.conflicts(&args, &piece, mode) {
                args.push((piece, mode));
            }
        }
        self.arrange(&mut args);
        args.retain(|(piece, mode)| mode.is_special() || forms::in_lists(true, *mode, form(&self.regions, piece)));
        let mut fate = match self.rng.u32(..if self.failures { 12 } else { 1 }) {
            1 => Fate::Errs,
            2 => Fate::Panics,
            _ => Fate::Returns,
        };
        // Nobody inside of a task waits for a run, so its tasks may wait for teams as others do.
        let place = Place { depth: 0, stream: None, free: false, retried: false };
        let team = (self.rng.u32(..10) == 0).then(|| self.team(&mut args, place));
        let lent: Vec<(Piece, Mode)> = args.iter().filter(|(_, mode)| mode.lends()).cloned().collect();
        let restored = lent.iter().all(|(_, mode)| *mode == Mode::LendRead);
        let retries = if team.is_none() && restored && self.rng.u32(..8) == 0 { self.rng.u32(1..=2) } else { 0 };
        if retries > 0 {
            fate = if self.rng.bool() { Fate::Errs } else { Fate::Panics };
        }
        let mut some = |one_in| {
            if self.rng.u32(..one_in) == 0 { earlier(&mut self.rng, before).into_iter().collect() } else { Vec::new() }
        };
        let (after, ends_with) = (some(6), some(10));
        let priority = if self.rng.u32(..6) == 0 { self.rng.i32(-3..=3) } else { 0 };
        let barren = team.is_some() && fate != Fate::Returns;
        let wants = !lent.is_empty() || retries > 0 && self.rng.u32(..3) == 0;
        let children = if wants && !barren { self.family(&lent, place, retries > 0) } else { Vec::new() };
        TaskOf {
            id,
            args,
            direct: false,
            priority,
            after,
            ends_with,
            fate,
            // Of runs at the same time, each may meet all of them.
            bad: if retries > 0 { self.rng.u32(..=retries) } else { u32::MAX },
            retries,
            context: self.lasting_context().filter(|_| team.is_none()),
            team,
            children,
        }
    }

    /// A context that is there until the end, now and then.
    fn lasting_context(&mut self) -> Option<usize> {
        let lasting: Vec<usize> = (0..self.contexts.len()).filter(|&c| self.contexts[c].owner.is_none()).collect();
        (!lasting.is_empty() && self.rng.u32(..3) == 0).then(|| lasting[self.rng.usize(..lasting.len())])
    }

    /// Whether all arguments but a special one can be in the lists of a form with one.
    fn is_listed(&self, args: &[(Piece, Mode)]) -> bool {
        args.iter().all(|(piece, mode)| mode.is_special() || forms::in_lists(true, *mode, form(&self.regions, piece)))
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

    /// The children of a task. If it is tried again it waits for all of them now and then, without being told to.
    fn family(&mut self, lent: &[(Piece, Mode)], place: Place, retried: bool) -> Vec<Op> {
        let mut ops = Vec::new();
        let waits = self.rng.bool();
        let retried = place.retried || retried;
        let inside = Place { depth: place.depth + 1, stream: None, free: place.free && !waits && !retried, retried };
        // What was lent to be written is written first.
        for (piece, _) in lent.iter().filter(|(_, mode)| *mode == Mode::LendWrite) {
            let mut task = self.task(&[], &[], Place { depth: DEPTH, ..inside });
            task.args.push((piece.clone(), Mode::Write));
            task.children.clear();
            task.team = None;
            ops.push(Op::Task(task));
        }
        for _ in 0..self.rng.usize(..=5) {
            let op = match (self.rng.u32(..12), earlier(&mut self.rng, &ops)) {
                (0..=2, Some(id)) if waits => Op::Wait(id),
                (3, _) if waits => {
                    Op::Local { id: self.id(), len: self.rng.usize(..=5), blocks: self.rng.usize(1..=3) }
                }
                (4, _) if !retried && self.rng.u32(..4) == 0 => {
                    Op::OwnContext { id: self.id(), mask: self.rng.u64(..) }
                }
                (5, _) if !self.contexts.is_empty() => {
                    Op::Resize { context: self.rng.usize(..self.contexts.len()), mask: self.rng.u64(..) }
                }
                _ if lent.is_empty() && self.rng.bool() => continue,
                _ => Op::Task(self.task(lent, &ops, inside)),
            };
            ops.push(op);
        }
        ops
    }

    fn id(&mut self) -> Id {
        self.next += 1;
        self.next - 1
    }
}

/// How many arguments are declared with methods of their own.
fn specials(args: &[(Piece, Mode)]) -> usize {
    args.iter().filter(|(_, mode)| mode.is_special()).count()
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

#[test]
fn programs_have_what_is_rare_often_enough() {
    let [mut teams, mut children, mut retried] = [0; 3];
    for seed in 0..2000 {
        let program = generate(seed, seed % 2 == 0);
        for op in program.streams.iter().flatten() {
            match op {
                Op::Task(task) => retried += usize::from(task.retries > 0 && !task.children.is_empty()),
                Op::Plan(plan) => {
                    for task in &plan.tasks {
                        teams += usize::from(task.team.is_some());
                        children += usize::from(!task.children.is_empty());
                    }
                }
                _ => {}
            }
        }
    }
    for (count, what) in [
        (teams, "teams in plans"),
        (children, "children in plans"),
        (retried, "children of tasks that are tried again"),
    ] {
        assert!(count > 50, "{count} {what}");
    }
}
