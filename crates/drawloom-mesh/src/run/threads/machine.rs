//! Running a program on the workers of the engine.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use drawloom_runtime::access::ViewsMut;
use drawloom_runtime::{Erased, Future, Loom};
use parking_lot::Mutex;

use super::Threads;
use super::blocks::Blocks;
use super::cut::CutLoop;
use super::lower::{Action, Lowering, UNROLLED};
use crate::checkpoint::{Keeper, Position};
use crate::error::Error;
use crate::mesh::Mesh;
use crate::mesh::store::{Pieces, Store, of_engine};
use crate::program::statement::{Condition, Statement};
use crate::program::steps::{Step, Steps};
use crate::run::start::Machine;
use crate::run::stats::LoopStats;

/// How many runs of a plan may be submitted before the first is complete: enough that workers never wait for the program,
/// and few, so that a failure is seen soon.
const AHEAD: usize = 4;

/// The values of a program in regions of a runtime.
pub(crate) struct Data {
    pub(crate) dats: Vec<Box<dyn Pieces>>,
    pub(crate) globals: Vec<GlobalValues>,
    /// What every piece of scalar code changes, so that they run in the order of the program.
    order: Erased,
    /// What all tasks of loops read, and what is changed where the program may stop: all that comes before is done then, and
    /// nothing that comes after has begun. There is none if the program stops nowhere.
    gate: Option<Erased>,
    /// For each repetition, how many of its runs the tasks have completed.
    pub(crate) runs: Vec<AtomicU64>,
}

pub(crate) enum GlobalValues {
    Region(Box<dyn Pieces>),
    /// Tasks read it by its address, which stays the same for as long as the values are kept.
    Constant {
        address: usize,
        _kept: Box<dyn Store>,
    },
}

impl Data {
    fn new(mesh: &Mesh, loom: &Loom, blocks: &Blocks, steps: &Steps) -> Result<Self, Error> {
        let may_stop = steps.list.iter().any(|step| matches!(step, Step::RequireFinite(..)));
        let dat = |dat: &crate::mesh::declare::DatDecl| dat.values.in_region(loom, &dat.name, blocks.starts(dat.set));
        let global = |global: &crate::mesh::declare::GlobalDecl| {
            if global.constant {
                let mut values = global.values.duplicate();
                let address = values.base().expose_provenance();
                return Ok(GlobalValues::Constant { address, _kept: values });
            }
            global.values.in_region(loom, &global.name, &[]).map(GlobalValues::Region)
        };
        Ok(Self {
            dats: mesh.dats.iter().map(dat).collect::<Result<_, _>>()?,
            globals: mesh.globals.iter().map(global).collect::<Result<_, _>>()?,
            order: loom.vector("the order of scalar code", vec![0_u8]).erased(),
            gate: may_stop.then(|| loom.vector("where the program may stop", vec![0_u8]).erased()),
            runs: steps.repeats.iter().map(|_| AtomicU64::new(0)).collect(),
        })
    }

    /// Whether the program may stop at an error before its end.
    pub(crate) fn may_stop(&self) -> bool {
        self.gate.is_some()
    }

    /// The body of a task that changes the number of runs of a repetition, and the global that shows it, if the task has one.
    pub(crate) fn counting(
        self: &Arc<Self>,
        repeat: usize,
        trouble: &Arc<Trouble>,
        next: impl Fn(u64) -> u64 + Send + Sync + 'static,
    ) -> impl Fn(ViewsMut<'_, Erased>) + Send + Sync + 'static {
        let (data, trouble) = (Arc::clone(self), Arc::clone(trouble));
        move |mut updates| {
            if trouble.stops() {
                return;
            }
            let runs = next(data.runs[repeat].load(Ordering::Relaxed));
            data.runs[repeat].store(runs, Ordering::Relaxed);
            if updates.len() > 1 {
                // SAFETY: counters are globals of one `i64`, and this task changes the second region of its list alone.
                unsafe { *updates.get_mut(1).base().cast::<i64>() = runs as i64 };
            }
        }
    }

    /// The region of a global that is no constant.
    pub(crate) fn global_region(&self, global: u32) -> Option<&Erased> {
        match &self.globals[global as usize] {
            GlobalValues::Region(pieces) => Some(pieces.block(0)),
            GlobalValues::Constant { .. } => None,
        }
    }

    /// What scalar code changes that changes a global, or none.
    pub(crate) fn in_order(&self, global: Option<u32>) -> Vec<Erased> {
        std::iter::once(&self.order).chain(global.and_then(|global| self.global_region(global))).cloned().collect()
    }

    /// What tasks of loops read besides their own data, and what is changed where the program may stop.
    pub(crate) fn gate(&self) -> impl Iterator<Item = Erased> {
        self.gate.iter().cloned()
    }

    fn global(&self, mesh: &Mesh, number: u32) -> Result<Box<dyn Store>, Error> {
        match &self.globals[number as usize] {
            GlobalValues::Region(pieces) => pieces.fetch(),
            GlobalValues::Constant { .. } => Ok(mesh.globals[number as usize].values.duplicate()),
        }
    }
}

/// The first thing that went wrong in a run, with its kind.
#[derive(Default)]
pub(crate) struct Trouble {
    first: Mutex<Option<Error>>,
    /// Whether tasks that come later are to leave everything as it is.
    stops: AtomicBool,
}

impl Trouble {
    /// Notes an error after which all data stays as it is. A task that failed would take with it what others have computed.
    pub(crate) fn stop(&self, error: Error) {
        self.note(error);
        // The engine orders this before whatever waits for the task that calls it; see `Data::gate`.
        self.stops.store(true, Ordering::Relaxed);
    }

    /// Whether the program has stopped at an earlier task.
    pub(crate) fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    /// Notes an error, and gives the message to fail with.
    pub(crate) fn note(&self, error: Error) -> String {
        let message = error.to_string();
        self.first.lock().get_or_insert(error);
        message
    }

    pub(crate) fn take(&self) -> Option<Error> {
        self.stops.store(false, Ordering::Relaxed);
        self.first.lock().take()
    }
}

/// A program on the workers of the engine.
pub(crate) struct OnThreads {
    loom: Loom,
    mesh: Arc<Mesh>,
    data: Arc<Data>,
    cuts: Vec<Arc<CutLoop>>,
    steps: Arc<Steps>,
    actions: Arc<Vec<Action>>,
    /// For each step that is jumped to, the number of its action.
    action_of: Vec<usize>,
    /// For each repetition, how many of its runs were submitted.
    submitted: Vec<u64>,
    trouble: Arc<Trouble>,
    started: VecDeque<Future<()>>,
}

impl OnThreads {
    pub(crate) fn new(mesh: Arc<Mesh>, statements: &[Statement], threads: &Threads) -> Result<Self, Error> {
        let loom = match (&threads.loom, threads.workers) {
            (Some(loom), _) => loom.clone(),
            (None, Some(workers)) => Loom::builder().workers(workers).build().map_err(of_engine)?,
            (None, None) => Loom::new().map_err(of_engine)?,
        };
        let blocks = Blocks::new(&mesh, loom.workers(), threads.blocks);
        let steps = Arc::new(Steps::new(statements, UNROLLED));
        let data = Arc::new(Data::new(&mesh, &loom, &blocks, &steps)?);
        let cut = |decl| Arc::new(CutLoop::new(&mesh, &blocks, Arc::clone(decl), threads.mode, loom.workers()));
        let cuts: Vec<Arc<CutLoop>> = steps.loops.iter().map(cut).collect();
        let trouble = Arc::new(Trouble::default());
        let lowering = Lowering::new(&loom, &mesh, &blocks, &data, &trouble, &steps, &cuts).program()?;
        let (actions, action_of) = (Arc::new(lowering.0), lowering.1);
        let (submitted, started) = (vec![0; steps.repeats.len()], VecDeque::new());
        Ok(Self { loom, mesh, data, cuts, steps, actions, action_of, submitted, trouble, started })
    }

    /// Submits the setting of the number of runs of a repetition.
    fn set_runs(&mut self, repeat: usize, runs: u64) {
        let body = self.data.counting(repeat, &self.trouble, move |_| runs);
        self.started.push_back(self.loom.task("count").update_all(&self.data.in_order(None)).run(body));
        self.submitted[repeat] = runs;
    }

    fn holds(&mut self, condition: &Condition) -> Result<bool, Error> {
        self.wait_for_all()?;
        Ok((condition.test)(self.data.global(&self.mesh, condition.global)?.as_any()))
    }

    fn wait_for_first(&mut self) -> Result<(), Error> {
        let failed = self.started.pop_front().and_then(|first| first.wait().err());
        if failed.is_none() && !self.trouble.stops() {
            return Ok(());
        }
        // What was submitted behind it is cancelled, or leaves all as it is; nothing is left running.
        for later in self.started.drain(..) {
            let _ = later.wait();
        }
        match (self.trouble.take(), failed) {
            (Some(error), _) => Err(error),
            (None, Some(error)) => Err(of_engine(error)),
            (None, None) => Ok(()),
        }
    }

    fn wait_for_all(&mut self) -> Result<(), Error> {
        while !self.started.is_empty() {
            self.wait_for_first()?;
        }
        Ok(())
    }
}

impl Machine for OnThreads {
    fn run(&mut self, from: Option<Position>, mut keeper: Option<&mut Keeper>) -> Result<(), Error> {
        let actions = Arc::clone(&self.actions);
        let mut number = 0;
        if let Some(from) = from {
            let repeat = self.steps.outermost_at(from.statement);
            self.set_runs(repeat.repeat, from.runs);
            number = self.action_of[repeat.step];
        }
        loop {
            let mut next = number + 1;
            match &actions[number] {
                Action::Plan(plan) => {
                    self.started.push_back(plan.start());
                    if self.started.len() > AHEAD {
                        self.wait_for_first()?;
                    }
                }
                Action::Jump(to) => next = *to,
                Action::Unless(condition, to) => {
                    if !self.holds(condition)? {
                        next = *to;
                    }
                }
                Action::Start(repeat) => self.submitted[*repeat] = 0,
                Action::Next { repeat, outermost } => {
                    self.submitted[*repeat] += 1;
                    let position = outermost.map(|statement| Position { statement, runs: self.submitted[*repeat] });
                    if let (Some(position), Some(keeper)) = (position, &mut keeper)
                        && keeper.is_due(position)
                    {
                        self.wait_for_all()?;
                        keeper.save(&self.mesh, position, self)?;
                    }
                }
                Action::AfterRuns { repeat, to } => {
                    if self.submitted[*repeat] >= self.steps.repeats[*repeat].1 {
                        next = *to;
                    }
                }
                Action::Stop => return self.wait_for_all(),
            }
            number = next;
        }
    }

    fn dat(&self, number: u32) -> Result<Box<dyn Store>, Error> {
        self.data.dats[number as usize].fetch()
    }

    fn global(&self, number: u32) -> Result<Box<dyn Store>, Error> {
        self.data.global(&self.mesh, number)
    }

    fn stats(&self) -> Vec<LoopStats> {
        let of_loop = |cut: &Arc<CutLoop>| LoopStats {
            name: cut.decl.invocation.clone(),
            strategy: cut.strategy,
            tasks: cut.parts.len(),
            colours: cut.colours,
            repeated: cut.repeated,
            reuse: cut.reuse,
            bytes: cut.bytes,
            executions: cut.clock.executions(),
            seconds: cut.clock.seconds(),
        };
        self.cuts.iter().map(of_loop).collect()
    }
}
