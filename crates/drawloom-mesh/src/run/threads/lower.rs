//! From statements to recorded plans, and the control flow around them.

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use drawloom_runtime::{Capture, Erased, Loom, Plan, Vector};

use super::blocks::Blocks;
use super::cut::CutLoop;
use super::job::{Job, Source, Step};
use super::machine::{Data, Trouble};
use super::staged::{self, Stage, Staged};
use crate::error::Error;
use crate::kernel::args::Folding;
use crate::kernel::place::Place;
use crate::kernel::site::{Access, ArgDecl};
use crate::mesh::Mesh;
use crate::mesh::store::of_engine;
use crate::program::statement::{Condition, LoopDecl, ScalarDecl, Statement};
use crate::run::partials::{Slot, block_count, fold_pairwise, slots_each};
use crate::run::serial::{not_written, require_finite, said_by};

/// A repetition that runs at most this often becomes a part of the recording around it.
const UNROLLED: u64 = 8;

/// A part of a program that the machine can run.
pub(crate) enum Segment {
    Plan(Plan),
    /// If it is in no other, with its number among the statements of the program.
    Repeat {
        outermost: Option<usize>,
        count: u64,
        counter: Option<Counter>,
        body: Vec<Segment>,
    },
    While {
        condition: Condition,
        body: Vec<Segment>,
    },
    If {
        condition: Condition,
        then: Vec<Segment>,
        otherwise: Vec<Segment>,
    },
}

/// Which run of a repetition the scalar code is in, and the global that shows it.
#[derive(Clone)]
pub(crate) struct Counter {
    pub(crate) runs: Arc<AtomicU64>,
    pub(crate) global: Option<u32>,
}

/// A statement that needs no decision.
enum Straight {
    Loop(Arc<CutLoop>),
    Scalar(Arc<ScalarDecl>),
    RequireFinite(u32, Vec<(Arc<str>, Counter)>),
    /// The number of the run that begins; one more than before if it is not known.
    Count(Counter, Option<u64>),
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
    pub(crate) cuts: &'a [Arc<CutLoop>],
    /// The repetitions that the statement is in.
    within: Vec<(Arc<str>, Counter)>,
    /// Whether the next statements are those of the program itself.
    outermost: bool,
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
        cuts: &'a [Arc<CutLoop>],
    ) -> Self {
        Self {
            loom,
            mesh,
            blocks,
            data,
            trouble,
            cuts,
            within: Vec::new(),
            outermost: false,
            kept: HashMap::new(),
            stages: HashMap::new(),
        }
    }

    /// A program as segments. Its outermost repetitions stay what they are, however short, so that the machine can stop
    /// between two runs.
    pub(crate) fn program(&mut self, statements: &[Statement]) -> Result<Vec<Segment>, Error> {
        self.outermost = true;
        self.block(statements)
    }

    /// A block of statements as segments.
    fn block(&mut self, statements: &[Statement]) -> Result<Vec<Segment>, Error> {
        let (mut segments, mut pending) = (Vec::new(), Vec::new());
        self.flatten(statements, &mut pending, &mut segments)?;
        self.record("loops", pending, &mut segments)?;
        Ok(segments)
    }

    fn cut_of(&self, decl: &Arc<LoopDecl>) -> Arc<CutLoop> {
        let found = self.cuts.iter().find(|cut| Arc::ptr_eq(&cut.decl, decl));
        Arc::clone(found.expect("every loop of the program was cut"))
    }

    /// Lines statements up for as long as no decision is needed.
    fn flatten(
        &mut self,
        statements: &[Statement],
        pending: &mut Vec<Straight>,
        segments: &mut Vec<Segment>,
    ) -> Result<(), Error> {
        let outermost = std::mem::take(&mut self.outermost);
        for (number, statement) in statements.iter().enumerate() {
            match statement {
                Statement::Loop(decl) => pending.push(Straight::Loop(self.cut_of(decl))),
                Statement::Scalar(decl) => pending.push(Straight::Scalar(Arc::clone(decl))),
                Statement::RequireFinite { global } => {
                    pending.push(Straight::RequireFinite(*global, self.within.clone()));
                }
                Statement::Repeat { name, count, counter, body } => {
                    let counter = self.counter(*counter, body);
                    self.within.extend(counter.clone().map(|counter| (Arc::clone(name), counter)));
                    if !outermost && *count <= UNROLLED && is_straight(body) {
                        for run in 0..*count {
                            pending.extend(counter.clone().map(|counter| Straight::Count(counter, Some(run))));
                            self.flatten(body, pending, segments)?;
                        }
                        pending.extend(counter.clone().map(|counter| Straight::Count(counter, Some(*count))));
                    } else {
                        self.record("loops", std::mem::take(pending), segments)?;
                        let (mut inner, mut first) = (Vec::new(), Vec::new());
                        first.extend(counter.clone().map(|counter| Straight::Count(counter, None)));
                        self.flatten(body, &mut first, &mut inner)?;
                        self.record(name, first, &mut inner)?;
                        let outermost = outermost.then_some(number);
                        segments.push(Segment::Repeat {
                            outermost,
                            count: *count,
                            counter: counter.clone(),
                            body: inner,
                        });
                    }
                    self.within.truncate(self.within.len() - usize::from(counter.is_some()));
                }
                Statement::While { condition, body } => {
                    self.record("loops", std::mem::take(pending), segments)?;
                    let body = self.block(body)?;
                    segments.push(Segment::While { condition: *condition, body });
                }
                Statement::If { condition, then, otherwise } => {
                    self.record("loops", std::mem::take(pending), segments)?;
                    let (then, otherwise) = (self.block(then)?, self.block(otherwise)?);
                    segments.push(Segment::If { condition: *condition, then, otherwise });
                }
            }
        }
        Ok(())
    }

    /// Records what was lined up, and makes a plan of it.
    fn record(&mut self, name: &str, pending: Vec<Straight>, segments: &mut Vec<Segment>) -> Result<(), Error> {
        let capture = self.loom.capture(name.to_owned());
        let mut rest = pending.into_iter().peekable();
        while let Some(statement) = rest.next() {
            match statement {
                Straight::Loop(cut) => {
                    let mut together = vec![cut];
                    while let Some(Straight::Loop(next)) = rest.peek()
                        && together.iter().all(|cut| cut.can_go_with(next))
                    {
                        together.push(Arc::clone(next));
                        rest.next();
                    }
                    self.loops(&capture, &together)?;
                }
                Straight::Scalar(decl) => self.scalar(&capture, &decl),
                Straight::RequireFinite(global, within) => self.require_finite(&capture, global, within),
                Straight::Count(counter, run) => {
                    self.count(&capture, counter, move |before| run.unwrap_or(before.wrapping_add(1)));
                }
            }
        }
        if !capture.is_empty() {
            segments.push(Segment::Plan(capture.plan().map_err(of_engine)?));
        }
        Ok(())
    }

    /// The counter of a repetition, if something asks for it.
    fn counter(&self, global: Option<u32>, body: &[Statement]) -> Option<Counter> {
        (global.is_some() || may_stop(body)).then(|| Counter { runs: Arc::default(), global })
    }

    /// Records the counting of runs.
    fn count(&self, capture: &Capture, counter: Counter, next: impl Fn(u64) -> u64 + Send + Sync + 'static) {
        let Counter { runs, global } = counter;
        let updates: Vec<Erased> = self.data.in_order(global);
        let trouble = Arc::clone(self.trouble);
        capture.task("count").update_all(&updates).run(move |mut updates| {
            if trouble.stops() {
                return;
            }
            let run = next(runs.load(Ordering::Relaxed));
            runs.store(run, Ordering::Relaxed);
            if updates.len() > 1 {
                // SAFETY: counters are globals of one `i64`, and this task changes the second region of its list alone.
                unsafe { *updates.get_mut(1).base().cast::<i64>() = run as i64 };
            }
        });
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
            let place = |source: &Source| {
                let base = match *source {
                    Source::Read(number) => reads.get(number).base().cast_mut(),
                    Source::Update(number) => updates.get_mut(number).base(),
                    Source::Constant(address) => std::ptr::with_exposed_provenance_mut(address),
                    Source::Nowhere => std::ptr::null_mut(),
                };
                Place { base, ..Place::NOWHERE }
            };
            if trouble.stops() {
                return Ok(());
            }
            let places: Vec<Place> = sources.iter().map(place).collect();
            let _constants = &data;
            let done = catch_unwind(AssertUnwindSafe(|| (decl.body)(&places)));
            done.unwrap_or_else(|panic| Err(said_by(&*panic))).map_err(|said| trouble.note(decl.failed(&said)))
        });
    }

    fn require_finite(&self, capture: &Capture, global: u32, within: Vec<(Arc<str>, Counter)>) {
        let (mesh, trouble) = (Arc::clone(self.mesh), Arc::clone(self.trouble));
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
                // SAFETY: the task reads the global, which has the type that it was declared with.
                false => unsafe { declared.read_at(reads.get(0).base()) },
            };
            let within: Vec<(Arc<str>, u64)> =
                within.iter().map(|(name, counter)| (Arc::clone(name), counter.runs.load(Ordering::Relaxed))).collect();
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
        match self.data.global_region(global) {
            None => Source::Constant(self.data.constant_address(global)),
            Some(region) if changes => {
                updates.push(region.clone());
                Source::Update(updates.len() - 1)
            }
            Some(region) => {
                reads.push(region.clone());
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
        for (arg, (decl, folding)) in cut.decl.args.iter().zip(cut.decl.body.foldings()).enumerate() {
            let (ArgDecl::Global { present: true, .. }, Some(folding)) = (decl, folding) else { continue };
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
            list.extend(self.data.dats[*dat as usize].block(*block).iter().cloned());
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
            steps.push(Step::new(self.mesh, cut, part, |number, arg| match *arg {
                ArgDecl::Dat { dat, .. } => {
                    let source = at.get(&(0, dat)).copied().unwrap_or(Source::Nowhere);
                    (source, self.data.dats[dat as usize].distance())
                }
                ArgDecl::Global { global, .. } => match slots.get(&number) {
                    Some(&slots) => (Source::Update(slots), 0),
                    None => (at.get(&(1, global)).copied().unwrap_or(Source::Nowhere), 0),
                },
                ArgDecl::Index { .. } | ArgDecl::Size { .. } => (Source::Nowhere, 0),
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
            let done = catch_unwind(AssertUnwindSafe(|| job.run(&reads, &mut updates, &at)));
            let said = match done {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(iteration)) => not_written(iteration),
                Err(panic) => said_by(&*panic),
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
            fold_pairwise(&mut slots, folding);
            let place = Place { base: updates.get_mut(0).base(), ..Place::NOWHERE };
            let payload = if updates.len() > 1 { updates.get_mut(1).base() } else { std::ptr::null_mut() };
            // SAFETY: the task changes the global and what belongs to it alone; the slots hold a contribution to it.
            unsafe { (folding.apply)(&place, 0, payload, slots.as_ptr().cast()) };
        });
    }
}

/// Whether statements need no decision.
fn is_straight(statements: &[Statement]) -> bool {
    statements.iter().all(|statement| match statement {
        Statement::Loop(_) | Statement::Scalar(_) | Statement::RequireFinite { .. } => true,
        Statement::Repeat { count, body, .. } => *count <= UNROLLED && is_straight(body),
        Statement::While { .. } | Statement::If { .. } => false,
    })
}

/// Whether a statement may stop the program, and then says in which run of a repetition it is.
pub(super) fn may_stop(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::RequireFinite { .. } => true,
        Statement::Loop(_) | Statement::Scalar(_) => false,
        Statement::Repeat { body, .. } | Statement::While { body, .. } => may_stop(body),
        Statement::If { then, otherwise, .. } => may_stop(then) || may_stop(otherwise),
    })
}
