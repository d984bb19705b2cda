//! Raw graphs. A weaver appends tasks in program order and keeps, for every region, the version that is current, so the
//! cloth is valid; then, in some places on purpose, a task takes an older version, an edge is dropped, moved or relabelled.

use std::sync::Arc;

use drawloom_graph::{Label, NodeKind, RegionId};
use fastrand::Rng;

use super::sketch::Sketch;
use super::worlds::World;

/// The most tasks in a graph: every order of so many can be tried.
pub(crate) const MOST_TASKS: usize = 7;

/// A graph over the world, with up to [`MOST_TASKS`] tasks.
pub(crate) fn sketch(rng: &mut Rng, world: &World) -> Sketch {
    let mut weaver = Weaver::new(world);
    let stale = [0, 20, 40][rng.usize(..3)];
    let ports = rng.u8(..4) == 0;
    for _ in 0..rng.usize(1..=MOST_TASKS).max(rng.usize(1..=MOST_TASKS)) {
        weaver.task(rng, stale, ports);
    }
    let mut sketch = weaver.sketch;
    if rng.u8(..4) == 0 {
        state_orders(rng, &mut sketch);
    }
    if rng.u8(..10) < 3 {
        for _ in 0..rng.u8(1..3) {
            perturb(rng, &mut sketch);
        }
    }
    sketch
}

/// A reduction that further tasks may join.
struct Fold {
    version: usize,
    base: usize,
    operator: &'static str,
}

struct Weaver<'a> {
    world: &'a World,
    sketch: Sketch,
    /// The versions that hold the present values: at each element, the latest version is among them.
    live: Vec<usize>,
    folds: Vec<Fold>,
}

impl<'a> Weaver<'a> {
    fn new(world: &'a World) -> Self {
        let sketch = Sketch::new(Arc::new(world.regions.clone()));
        Self { world, sketch, live: Vec::new(), folds: Vec::new() }
    }

    fn region(&self, version: usize) -> RegionId {
        self.sketch.region(version).expect("the weaver makes versions of regions only")
    }

    fn inside(&self, child: RegionId, parent: RegionId) -> bool {
        self.world.regions.is_subregion(child, parent) && self.world.regions.may_alias(child, parent)
    }

    fn near(&self, region: RegionId) -> Vec<usize> {
        self.live.iter().copied().filter(|v| self.world.regions.may_alias(self.region(*v), region)).collect()
    }

    /// A new version, which replaces the live versions of everything inside its region.
    fn make(&mut self, region: RegionId) -> usize {
        let version = self.sketch.data(region);
        let kept = self.live.iter().copied().filter(|v| !self.inside(self.region(*v), region)).collect();
        self.live = kept;
        self.live.push(version);
        version
    }

    /// The present version of a region, opened or closed when needed. `None` when no region of the world contains
    /// everything that would have to be closed.
    fn current(&mut self, rng: &mut Rng, region: RegionId) -> Option<usize> {
        let near = self.near(region);
        if near.is_empty() {
            return Some(self.make(region));
        }
        let own = near.iter().copied().find(|v| self.region(*v) == region);
        if let Some(own) = own
            && near.iter().all(|v| self.inside(region, self.region(*v)))
        {
            return Some(own);
        }
        if near.iter().all(|v| self.inside(self.region(*v), region)) {
            let close = self.sketch.compute(NodeKind::Close);
            near.iter().for_each(|v| _ = self.sketch.line(*v, close, Label::Read));
            let version = self.make(region);
            self.sketch.line(close, version, Label::Write);
            return Some(version);
        }
        let holds_all = |p: &RegionId| {
            self.inside(region, *p) && near.iter().all(|v| self.inside(self.region(*v), *p)) && *p != region
        };
        let parent = self.world.ids.iter().rev().copied().find(holds_all)?;
        let whole = self.current(rng, parent)?;
        let open = self.sketch.compute(NodeKind::Open);
        self.sketch.line(whole, open, Label::Read);
        let version = self.make(region);
        self.sketch.line(open, version, Label::Write);
        if rng.u8(..3) == 0 {
            self.open_more(open, parent, region);
        }
        Some(version)
    }

    /// Lets an Open write further regions that alias none of those it wrote.
    fn open_more(&mut self, open: usize, parent: RegionId, region: RegionId) {
        let mut taken = vec![region];
        for &other in &self.world.ids {
            let regions = &self.world.regions;
            if self.inside(other, parent)
                && !self.inside(parent, other)
                && taken.iter().all(|t| !regions.may_alias(*t, other))
                && self.near(other).iter().all(|v| self.inside(other, self.region(*v)) && self.region(*v) != other)
            {
                let version = self.make(other);
                self.sketch.line(open, version, Label::Write);
                taken.push(other);
            }
        }
    }

    /// The version a task takes: the present one or, sometimes, any older one of the same region.
    fn taken(&self, rng: &mut Rng, present: usize, stale: u8) -> usize {
        if rng.u8(..100) >= stale {
            return present;
        }
        let region = self.region(present);
        // Versions are numbered as they are made, so a larger number is never an older version.
        let older: Vec<usize> = (0..present).filter(|n| self.sketch.nodes[*n].2 == Some(region)).collect();
        rng.choice(&older).copied().unwrap_or(present)
    }

    fn task(&mut self, rng: &mut Rng, stale: u8, ports: bool) {
        let mut wanted: Vec<RegionId> = Vec::new();
        // Reductions are more interesting when several tasks take part.
        let joins = self.folds.last().map(|f| self.region(f.version)).filter(|_| rng.u8(..3) == 0);
        wanted.extend(joins);
        for _ in 0..[1, 2, 2, 3, 3, 4][rng.usize(..6)] {
            let region = self.world.ids[rng.usize(..self.world.ids.len())];
            if rng.u8(..30) == 0 || wanted.iter().all(|w| !self.world.regions.may_alias(*w, region)) {
                wanted.push(region);
            }
        }
        // Fetching one region can close what an earlier one opened, so everything is fetched twice.
        wanted.retain(|r| self.current(rng, *r).is_some());
        let fetched: Vec<usize> = wanted.iter().filter_map(|r| self.current(rng, *r)).collect();
        let task = self.sketch.compute(NodeKind::Task);
        for (argument, present) in fetched.into_iter().enumerate() {
            let first = self.sketch.lines.len();
            let region = self.region(present);
            let kind = if joins == Some(region) { 19 } else { rng.u8(..20) };
            // A mutator of an old version almost always breaks the history of its region; a reader need not.
            let taken = self.taken(rng, present, if kind < 8 { stale } else { stale / 8 });
            match kind {
                0..8 => _ = self.sketch.line(taken, task, Label::Read),
                8..12 => {
                    self.sketch.line(taken, task, Label::Read);
                    let made = self.make(region);
                    self.sketch.line(task, made, Label::Write);
                }
                12..15 => {
                    self.sketch.line(taken, task, Label::Discard);
                    let made = self.make(region);
                    self.sketch.line(task, made, Label::Write);
                }
                _ => self.reduce(rng, task, taken),
            }
            if ports {
                self.sketch.lines[first..].iter_mut().for_each(|l| l.port = Some(argument as u32));
            }
        }
    }

    fn reduce(&mut self, rng: &mut Rng, task: usize, base: usize) {
        let region = self.region(base);
        let consumed = |sketch: &Sketch, version: usize| sketch.lines.iter().any(|l| l.from == version);
        let open = self.folds.iter().rposition(|f| {
            self.region(f.version) == region && self.live.contains(&f.version) && !consumed(&self.sketch, f.version)
        });
        let (version, base, operator, joined) = match open {
            Some(at) if rng.u8(..4) > 0 => {
                let fold = &self.folds[at];
                (fold.version, fold.base, fold.operator, true)
            }
            _ => {
                let operator = ["+", "*", "min"][rng.usize(..3)];
                let version = self.make(region);
                self.folds.push(Fold { version, base, operator });
                (version, base, operator, false)
            }
        };
        let start = match rng.u8(..20) {
            0..9 => Some(Label::Use),
            9..14 => Some(Label::Read),
            14 => Some(Label::Discard),
            _ if joined || rng.bool() => None,
            _ => Some(Label::Use),
        };
        if let Some(label) = start {
            self.sketch.line(base, task, label);
        }
        self.sketch.line(task, version, Label::Reduce).operator = Some(operator);
    }
}

/// Adds a few HappensBefore edges, most of them forwards.
fn state_orders(rng: &mut Rng, sketch: &mut Sketch) {
    let computes: Vec<usize> = (0..sketch.nodes.len()).filter(|n| sketch.nodes[*n].1.is_compute()).collect();
    for _ in 0..rng.u8(1..3) {
        let (a, b) = (computes[rng.usize(..computes.len())], computes[rng.usize(..computes.len())]);
        let (from, to) = if rng.u8(..12) == 0 { (a.max(b), a.min(b)) } else { (a.min(b), a.max(b)) };
        if from != to || rng.u8(..8) == 0 {
            sketch.line(from, to, Label::HappensBefore);
        }
    }
}

/// Changes one thing.
fn perturb(rng: &mut Rng, sketch: &mut Sketch) {
    let nodes = sketch.nodes.len();
    let regions = sketch.regions.len();
    let any_region = |rng: &mut Rng| RegionId::from_index(rng.usize(..regions));
    if sketch.lines.is_empty() {
        return;
    }
    let at = rng.usize(..sketch.lines.len());
    match rng.u8(..14) {
        0 | 1 => _ = sketch.lines.remove(at),
        2 => sketch.lines[at].from = rng.usize(..nodes),
        3 => sketch.lines[at].to = rng.usize(..nodes),
        4 => {
            let line = &mut sketch.lines[at];
            line.label = Label::ALL[rng.usize(..6)];
            line.operator = line.operator.filter(|_| line.label == Label::Reduce);
        }
        5 => {
            let line = sketch.lines[at].clone();
            sketch.lines.push(line);
        }
        6 => {
            let node = rng.usize(..nodes);
            if sketch.nodes[node].1 == NodeKind::Data {
                sketch.nodes[node].2 = if rng.u8(..8) == 0 { None } else { Some(any_region(rng)) };
            }
        }
        7 => {
            let node = rng.usize(..nodes);
            if sketch.nodes[node].1.is_compute() {
                sketch.nodes[node].1 = [NodeKind::Task, NodeKind::Open, NodeKind::Close][rng.usize(..3)];
            } else if rng.u8(..8) == 0 {
                sketch.nodes[node] = ("ghost".to_owned(), NodeKind::Undeclared, None);
            }
        }
        8 => {
            // A version nobody touches, which no rule minds.
            let region = any_region(rng);
            sketch.data(region);
        }
        9 => {
            // An Open without writes, or one that only renames.
            let Some(version) = (0..nodes).filter(|n| sketch.nodes[*n].2.is_some()).nth(rng.usize(..nodes)) else {
                return;
            };
            let open = sketch.compute(NodeKind::Open);
            sketch.line(version, open, Label::Read);
            if rng.bool() {
                let region = sketch.region(version).expect("chosen for having one");
                let renamed = sketch.data(region);
                sketch.line(open, renamed, Label::Write);
            }
        }
        10 | 11 => {
            // One more reader of any version.
            let (from, to) = (rng.usize(..nodes), rng.usize(..nodes));
            if sketch.nodes[from].2.is_some() && sketch.nodes[to].1 == NodeKind::Task {
                let label = [Label::Read, Label::Read, Label::Discard, Label::Use][rng.usize(..4)];
                sketch.line(from, to, label);
            }
        }
        12 => {
            // The same edge from another version of the same region.
            let line = sketch.lines[at].clone();
            let region = sketch.nodes[line.from].2;
            let others: Vec<usize> = (0..nodes).filter(|n| region.is_some() && sketch.nodes[*n].2 == region).collect();
            if !others.is_empty() {
                sketch.lines[at].from = others[rng.usize(..others.len())];
            }
        }
        _ => {
            if sketch.lines[at].label == Label::Reduce {
                sketch.lines[at].operator = [None, Some("-"), Some("+"), Some("*")][rng.usize(..4)];
            }
        }
    }
}
