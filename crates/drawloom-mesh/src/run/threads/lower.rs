//! From the steps of a program to recorded plans, and the jumps between them.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use drawloom_runtime::{Capture, Erased, Loom, Plan, Vector, panic};

use super::blocks::Blocks;
use super::cut::CutLoop;
use super::job::{self, Job, Source};
use super::machine::{Data, GlobalValues, Trouble};
use super::staged::{self, Stage, Staged};
use crate::error::Error;
use crate::kernel::args::Folding;
use crate::kernel::place::Place;
use crate::kernel::site::{Access, ArgDecl};
use crate::mesh::Mesh;
use crate::mesh::store::of_engine;
use crate::program::statement::{Condition, LoopDecl, ScalarDecl};
use crate::program::steps::{Step, Steps};
use crate::run::partials::{Slot, block_count, fold_blocks, slots_each};
use crate::run::serial::{not_written, require_finite};

/// A repetition inside of another one that runs at most this often becomes a part of the recording around it.
pub(crate) const UNROLLED: u64 = 8;

/// What the machine does next.
pub(crate) enum Action {
    /// Starts a recorded plan.
    Plan(Plan),
    Jump(usize),
    Unless(Condition, usize),
    Start(usize),
    Next {
        repeat: usize,
        outermost: Option<usize>,
    },
    AfterRuns {
        repeat: usize,
        to: usize,
    },
    Stop,
}

/// The contributions of a loop to one global: where they are kept apart.
struct Kept {
    arg: usize,
    folding: Folding,
    whole: Vector<Slot>,
    blocks: Vec<Erased>,
}

pub(crate) struct Lowering<'a> {
    pub(crate) loom: &'a Loom,
    pub(crate) mesh: &'a Arc<Mesh>,
    pub(crate) blocks: &'a Blocks,
    pub(crate) data: &'a Arc<Data>,
    pub(crate) trouble: &'a Arc<Trouble>,
    pub(crate) steps: &'a Arc<Steps>,
    pub(crate) cuts: &'a [Arc<CutLoop>],
    kept: HashMap<*const LoopDecl, Arc<Vec<Kept>>>,
    stages: HashMap<*const LoopDecl, Arc<Stage>>,
}

impl<'a> Lowering<'a> {
    pub(crate) fn new(
        loom: &'a Loom,
        mesh: &'a Arc<Mesh>,
        blocks: &'a Blocks,
        data: &'a Arc<Data>,
        trouble: &'a Arc<Trouble>,
        steps: &'a Arc<Steps>,
        cuts: &'a [Arc<CutLoop>],
    ) -> Self {
        Self { loom, mesh, blocks, data, trouble, steps, cuts, kept: HashMap::new(), stages: HashMap::new() }
    }

    /// A program as actions. Also, for each step that is jumped to, the action that it became.
    pub(crate) fn program(&mut self) -> Result<(Vec<Action>, Vec<usize>), Error> {
        let steps = self.steps;
        let mut is_target = vec![false; steps.list.len()];
        let mut is_jumping = vec![false; steps.repeats.len()];
        for step in &steps.list {
            if let Step::Jump(to) | Step::Unless(_, to) | Step::AfterRuns { to, .. } = step {
                is_target[*to] = true;
            }
            if let Step::AfterRuns { repeat, .. } = step {
                is_jumping[*repeat] = true;
            }
        }
        let (mut actions, mut straight, mut action_of) = (Vec::new(), Vec::new(), vec![0; steps.list.len()]);
        for (number, step) in steps.list.iter().enumerate() {
            if is_target[number] {
                self.record("loops", &mut straight, &mut actions)?;
            }
            action_of[number] = actions.len();
            match step {
                Step::Loop(_) | Step::Scalar(_) | Step::RequireFinite(..) | Step::Show { .. } => straight.push(step),
                Step::Start { repeat } => {
                    straight.push(step);
                    if is_jumping[*repeat] {
                        self.record("loops", &mut straight, &mut actions)?;
                        actions.push(Action::Start(*repeat));
                    }
                }
                Step::Next { repeat, outermost } => {
                    straight.push(step);
                    if is_jumping[*repeat] {
                        self.record(&steps.repeats[*repeat].0, &mut straight, &mut actions)?;
                        actions.push(Action::Next { repeat: *repeat, outermost: *outermost });
                    }
                }
                Step::Jump(to) => {
                    self.record("loops", &mut straight, &mut actions)?;
                    actions.push(Action::Jump(*to));
                }
                Step::Unless(condition, to) => {
                    self.record("loops", &mut straight, &mut actions)?;
                    actions.push(Action::Unless(*condition, *to));
                }
                // It is jumped to, so nothing is pending.
                Step::AfterRuns { repeat, to } => actions.push(Action::AfterRuns { repeat: *repeat, to: *to }),
                Step::Stop => {
                    self.record("loops", &mut straight, &mut actions)?;
                    actions.push(Action::Stop);
                }
            }
        }
        for action in &mut actions {
            if let Action::Jump(to) | Action::Unless(_, to) | Action::AfterRuns { to, .. } = action {
                *to = action_of[*to];
            }
        }
        Ok((actions, action_of))
    }

    /// Records steps without jumps, and makes a plan of them.
    fn record(&mut self, name: &str, straight: &mut Vec<&Step>, actions: &mut Vec<Action>) -> Result<(), Error> {
        let capture = self.loom.capture(name.to_owned());
        let mut rest = straight.drain(..).peekable();
        while let Some(step) = rest.next() {
            match step {
                Step::Loop(number) => {
                    let mut together = vec![Arc::clone(&self.cuts[*number])];
                    while let Some(Step::Loop(next)) = rest.peek()
                        && together.iter().all(|cut| cut.can_go_with(&self.cuts[*next]))
                    {
                        together.push(Arc::clone(&self.cuts[*next]));
                        rest.next();
                    }
                    self.loops(&capture, &together)?;
                }
                Step::Scalar(decl) => self.scalar(&capture, decl),
                Step::RequireFinite(global, within) => self.require_finite(&capture, *global, within),
                Step::Start { repeat } => self.count(&capture, *repeat, None, |_| 0),
                Step::Next { repeat, .. } => self.count(&capture, *repeat, None, |runs| runs + 1),
                Step::Show { repeat, counter } => self.count(&capture, *repeat, Some(*counter), |runs| runs),
                Step::Jump(_) | Step::Unless(..) | Step::AfterRuns { .. } | Step::Stop => {}
            }
        }
        if !capture.is_empty() {
            actions.push(Action::Plan(capture.plan().map_err(of_engine)?));
        }
        Ok(())
    }

    /// Records the counting of the runs of a repetition, if something shows them.
    fn count(
        &self,
        capture: &Capture,
        repeat: usize,
        counter: Option<u32>,
        next: impl Fn(u64) -> u64 + Send + Sync + 'static,
    ) {
        let shows = |step: &Step| matches!(step, Step::Show { repeat: shown, .. } if *shown == repeat);
        if !self.data.may_stop() && !self.steps.list.iter().any(shows) {
            return;
        }
        let body = self.data.counting(repeat, self.trouble, next);
        capture.task("count").update_all(&self.data.in_order(counter)).run(body);
    }

    fn scalar(&self, capture: &Capture, decl: &Arc<ScalarDecl>) {
        let (mut reads, mut updates) = (Vec::new(), self.data.in_order(None));
        let mut sources = Vec::new();
        for arg in &decl.args {
            let ArgDecl::Global { global, access, .. } = *arg else { continue };
            sources.push(self.source_of_global(global, access != Access::Read, &mut reads, &mut updates));
        }
        let (decl, trouble, data) = (Arc::clone(decl), Arc::clone(self.trouble), Arc::clone(self.data));
        capture.task(decl.name.clone()).read_all(&reads).update_all(&updates).try_run(move |reads, mut updates| {
            let place = |source: &Source| Place { base: source.address(&reads, &mut updates), ..Place::NOWHERE };
            if trouble.stops() {
                return Ok(());
            }
            let places: Vec<Place> = sources.iter().map(place).collect();
            let _constants = &data;
            panic::catch(|| (decl.body)(&places)).flatten().map_err(|said| trouble.note(decl.failed(&said)))
        });
    }

    fn require_finite(&self, capture: &Capture, global: u32, within: &[usize]) {
        let (mesh, trouble) = (Arc::clone(self.mesh), Arc::clone(self.trouble));
        let (steps, data, within) = (Arc::clone(self.steps), Arc::clone(self.data), within.to_vec());
        let (mut reads, mut updates) = (Vec::new(), self.data.in_order(None));
        let source = self.source_of_global(global, false, &mut reads, &mut updates);
        let is_constant = !matches!(source, Source::Read(_));
        updates.extend(self.data.gate());
        capture.task("require finite").read_all(&reads).update_all(&updates).run(move |reads, _| {
            if trouble.stops() {
                return;
            }
            let declared = &mesh.globals[global as usize].values;
            let values = match is_constant {
                true => declared.duplicate(),
                false => {
                    let bytes = declared.len() * declared.bytes_each();
                    // SAFETY: the task reads the global, which has the type that it was declared with.
                    let bytes = unsafe { std::slice::from_raw_parts(reads.get(0).base(), bytes) };
                    declared.like_bytes(bytes).expect("a global holds values of its type")
                }
            };
            let within = steps.progress(&within, |repeat| data.runs[repeat].load(Ordering::Relaxed));
            if let Err(error) = require_finite(&mesh, global, &*values, &within) {
                trouble.stop(error);
            }
        });
    }

    /// Where a global comes from.
    fn source_of_global(
        &self,
        global: u32,
        changes: bool,
        reads: &mut Vec<Erased>,
        updates: &mut Vec<Erased>,
    ) -> Source {
        match &self.data.globals[global as usize] {
            GlobalValues::Constant { address, .. } => Source::Constant(*address),
            GlobalValues::Region(pieces) if changes => {
                updates.push(pieces.block(0).clone());
                Source::Update(updates.len() - 1)
            }
            GlobalValues::Region(pieces) => {
                reads.push(pieces.block(0).clone());
                Source::Read(reads.len() - 1)
            }
        }
    }

    /// Where the contributions of a loop to globals are kept apart.
    fn kept(&mut self, cut: &CutLoop) -> Result<Arc<Vec<Kept>>, Error> {
        let key = Arc::as_ptr(&cut.decl);
        if let Some(known) = self.kept.get(&key) {
            return Ok(Arc::clone(known));
        }
        let mut list = Vec::new();
        for (arg, (decl, folding)) in cut.decl.args.iter().zip(&cut.decl.foldings).enumerate() {
            let (ArgDecl::Global { present: true, .. }, Some(folding)) = (decl, *folding) else { continue };
            let each = slots_each(&folding);
            let count = block_count(self.mesh.sets[cut.decl.set as usize].size);
            let whole = self.loom.vector(format!("{}.{arg}", cut.decl.invocation), vec![0; each * count]);
            let first_of = |start: &usize| block_count(*start) * each;
            let starts: Vec<usize> = self.blocks.starts(cut.decl.set).iter().map(first_of).collect();
            let blocks = whole.runs(&starts).map_err(of_engine)?.map(|run| run.erased()).collect();
            list.push(Kept { arg, folding, whole, blocks });
        }
        let list = Arc::new(list);
        self.kept.insert(key, Arc::clone(&list));
        Ok(list)
    }

    /// Records loops that go together, or a single one.
    fn loops(&mut self, capture: &Capture, together: &[Arc<CutLoop>]) -> Result<(), Error> {
        let kept: Vec<Arc<Vec<Kept>>> = together.iter().map(|cut| self.kept(cut)).collect::<Result<_, _>>()?;
        let names: Vec<&str> = together.iter().map(|cut| cut.decl.invocation.as_str()).collect();
        let name = names.join("+");
        let stage = match (&together[0].staged, together) {
            (Some(staged), [cut]) => Some(self.stage(cut, staged)?),
            _ => None,
        };
        for part in 0..together[0].parts.len() {
            self.task(capture, &name, together, &kept, stage.as_deref(), part);
        }
        if let Some(stage) = stage {
            staged::apply(capture, self.mesh, self.blocks, self.data, self.trouble, &together[0], &stage);
        }
        for (cut, kept) in together.iter().zip(&kept) {
            if !cut.parts.is_empty() {
                (0..kept.len()).for_each(|number| self.fold(capture, &cut.decl, kept, number));
            }
        }
        Ok(())
    }

    /// The stage of a loop: the same one wherever it is recorded, as one execution ends before the next begins to fill it.
    fn stage(&mut self, cut: &CutLoop, staged: &Staged) -> Result<Arc<Stage>, Error> {
        let key = Arc::as_ptr(&cut.decl);
        if let Some(known) = self.stages.get(&key) {
            return Ok(Arc::clone(known));
        }
        let stage = Arc::new(Stage::new(self.loom, self.mesh, self.blocks, &cut.decl, staged)?);
        self.stages.insert(key, Arc::clone(&stage));
        Ok(stage)
    }

    fn task(
        &self,
        capture: &Capture,
        name: &str,
        together: &[Arc<CutLoop>],
        kept: &[Arc<Vec<Kept>>],
        stage: Option<&Stage>,
        part: usize,
    ) {
        let (mut reads, mut updates): (Vec<Erased>, Vec<Erased>) = (Vec::new(), Vec::new());
        // Which regions, by what they belong to, are where in the lists.
        let mut at: HashMap<(u8, u32), Source> = HashMap::new();
        let mut uses = super::cut::Uses::new();
        for (which, changes) in together.iter().flat_map(|cut| &cut.parts[part].uses) {
            *uses.entry(*which).or_insert(false) |= *changes;
        }
        for ((dat, block), changes) in &uses {
            let list = if *changes { &mut updates } else { &mut reads };
            let first = list.len();
            list.push(self.data.dats[*dat as usize].block(*block).clone());
            // Any piece leads to the address of the whole region.
            at.insert((0, *dat), if *changes { Source::Update(first) } else { Source::Read(first) });
        }
        for arg in together.iter().flat_map(|cut| &cut.decl.args) {
            if let ArgDecl::Global { global, access: Access::Read, .. } = *arg
                && !at.contains_key(&(1, global))
            {
                at.insert((1, global), self.source_of_global(global, false, &mut reads, &mut updates));
            }
        }
        let mut steps = Vec::new();
        for (cut, kept) in together.iter().zip(kept) {
            let slots: HashMap<usize, usize> = kept
                .iter()
                .map(|kept| {
                    updates.push(kept.blocks[cut.parts[part].block].clone());
                    (kept.arg, updates.len() - 1)
                })
                .collect();
            steps.push(job::Step::new(self.mesh, cut, part, |number, arg| match *arg {
                ArgDecl::Dat { dat, .. } => at.get(&(0, dat)).copied().unwrap_or(Source::Nowhere),
                ArgDecl::Global { global, .. } => match slots.get(&number) {
                    Some(&slots) => Source::Update(slots),
                    None => at.get(&(1, global)).copied().unwrap_or(Source::Nowhere),
                },
                ArgDecl::Index { .. } | ArgDecl::Size { .. } => Source::Nowhere,
            }));
        }
        if let (Some(stage), Some(staged), [step]) = (stage, &together[0].staged, &mut steps[..]) {
            for (arg, blocks) in staged.args.iter().zip(&stage.blocks) {
                step.stages.push((arg.arg, updates.len()));
                updates.push(blocks[together[0].parts[part].block].clone());
            }
        }
        let (job, trouble, data) = (Job { steps }, Arc::clone(self.trouble), Arc::clone(self.data));
        let mesh = Arc::clone(self.mesh);
        reads.extend(self.data.gate());
        capture.task(name.to_owned()).read_all(&reads).update_all(&updates).try_run(move |reads, mut updates| {
            if trouble.stops() {
                return Ok(());
            }
            // The tables of maps and the values of constants live as long as these.
            let _alive = (&mesh, &data);
            let at = Cell::new(0);
            let said = match panic::catch(|| job.run(&reads, &mut updates, &at)) {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(iteration)) => not_written(iteration),
                Err(said) => said,
            };
            Err(trouble.note(job.steps[at.get()].cut.decl.failed(&said)))
        });
    }

    /// Records the folding of the contributions to a global.
    fn fold(&self, capture: &Capture, decl: &LoopDecl, kept: &Arc<Vec<Kept>>, number: usize) {
        let ArgDecl::Global { global, payload, .. } = decl.args[kept[number].arg] else { return };
        let reads: Vec<Erased> = std::iter::once(kept[number].whole.erased()).chain(self.data.gate()).collect();
        let region = |global| self.data.global_region(global).cloned();
        let updates: Vec<Erased> = [Some(global), payload].into_iter().flatten().filter_map(region).collect();
        let name = format!("{} into {}", decl.invocation, self.mesh.globals[global as usize].name);
        let (kept, trouble) = (Arc::clone(kept), Arc::clone(self.trouble));
        capture.task(name.to_owned()).read_all(&reads).update_all(&updates).run(move |reads, mut updates| {
            if trouble.stops() {
                return;
            }
            let Kept { folding, .. } = &kept[number];
            let slots = reads.get(0);
            // SAFETY: the task reads all slots, which are those of the whole region.
            let mut slots =
                unsafe { std::slice::from_raw_parts(slots.base().cast::<Slot>(), slots.elements().len()) }.to_vec();
            fold_blocks(&mut slots, folding);
            let place = Place { base: updates.get_mut(0).base(), ..Place::NOWHERE };
            let payload = if updates.len() > 1 { updates.get_mut(1).base() } else { std::ptr::null_mut() };
            // SAFETY: the task changes the global and what belongs to it alone; the slots hold a contribution to it.
            unsafe { (folding.apply)(&place, 0, payload, slots.as_ptr().cast()) };
        });
    }
}
