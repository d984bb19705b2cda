//! One iteration after the other: the reference. With a seed, the debug backend: in shuffled order, on copies.

use std::sync::Arc;
use std::time::Instant;

use drawloom_runtime::panic;

use super::partials::{BLOCK, Slot, block_count, fold_blocks, slots_each};
use super::places::place_of;
use super::start::Machine;
use super::stats::{Clock, LoopStats, Strategy};
use super::threads::traffic_of;
use crate::checkpoint::{Keeper, Position};
use crate::error::{Error, ErrorKind};
use crate::kernel::args::Folding;
use crate::kernel::place::Place;
use crate::kernel::site::ArgDecl;
use crate::mesh::Mesh;
use crate::mesh::store::{Store, Typed};
use crate::program::statement::{Condition, LoopDecl, ScalarDecl, Statement};
use crate::program::steps::{Step, Steps};

/// A program on one thread.
pub(crate) struct Serial {
    mesh: Arc<Mesh>,
    steps: Arc<Steps>,
    dats: Vec<Box<dyn Store>>,
    globals: Vec<Box<dyn Store>>,
    /// For each repetition, how many of its runs are complete.
    runs: Vec<u64>,
    /// With the debug backend, what decides the order of iterations.
    shuffle: Option<fastrand::Rng>,
    /// For each loop, how long it took.
    clocks: Vec<Clock>,
}

impl Serial {
    pub(crate) fn new(mesh: Arc<Mesh>, statements: &[Statement], seed: Option<u64>) -> Self {
        let dats = mesh.dats.iter().map(|dat| dat.values.duplicate()).collect();
        let globals = mesh.globals.iter().map(|global| global.values.duplicate()).collect();
        let steps = Arc::new(Steps::new(statements, 0));
        let clocks = steps.loops.iter().map(|_| Clock::default()).collect();
        let (runs, shuffle) = (vec![0; steps.repeats.len()], seed.map(fastrand::Rng::with_seed));
        Self { mesh, steps, dats, globals, runs, shuffle, clocks }
    }

    fn holds(&self, condition: &Condition) -> bool {
        (condition.test)(self.globals[condition.global as usize].as_any())
    }

    fn scalar(&mut self, decl: &ScalarDecl) -> Result<(), Error> {
        let places: Vec<Place> = self.places(&decl.args);
        panic::catch(|| (decl.body)(&places)).flatten().map_err(|said| decl.failed(&said))
    }

    fn places(&mut self, args: &[ArgDecl]) -> Vec<Place> {
        let copied = self.shuffle.is_some();
        let mut place = |arg: &ArgDecl| {
            let base = match *arg {
                ArgDecl::Dat { dat, .. } => self.dats[dat as usize].base(),
                ArgDecl::Global { global, .. } => self.globals[global as usize].base(),
                ArgDecl::Index { .. } | ArgDecl::Size { .. } => std::ptr::null_mut(),
            };
            Place { copied, ..place_of(&self.mesh, arg, base) }
        };
        args.iter().map(&mut place).collect()
    }

    fn each(&mut self, decl: &LoopDecl) -> Result<(), Error> {
        let iterations = self.mesh.sets[decl.set as usize].size;
        let mut places = self.places(&decl.args);
        let blocks = block_count(iterations);
        // Of equal values the first iteration's counts, whatever the order: each has its own place then.
        let own = if self.shuffle.is_some() { iterations } else { blocks };
        let mut partials = Partials::new(&mut places, decl, blocks, own);
        let run = || -> Result<(), usize> {
            if let Some(shuffle) = &mut self.shuffle {
                partials.select(&mut places, 0);
                let mut order: Vec<usize> = (0..iterations).collect();
                shuffle.shuffle(&mut order);
                for iteration in order {
                    partials.select_own(&mut places, iteration);
                    // SAFETY: the data is this machine's alone, maps were checked to lead to elements that exist, and the
                    // values of a dat have the type of its handle.
                    unsafe { decl.body.run(&places, iteration..iteration + 1)? };
                }
                return Ok(());
            }
            for block in 0..blocks {
                partials.select(&mut places, block);
                // SAFETY: as above.
                unsafe { decl.body.run(&places, block * BLOCK..iterations.min((block + 1) * BLOCK))? };
            }
            Ok(())
        };
        match panic::catch(run) {
            Ok(Ok(())) => {}
            Ok(Err(iteration)) => return Err(decl.failed(&not_written(iteration))),
            Err(said) => return Err(decl.failed(&said)),
        }
        for (number, folding, mut slots, place) in partials.list {
            if slots.is_empty() {
                continue;
            }
            fold_blocks(&mut slots, &folding);
            let ArgDecl::Global { payload, .. } = decl.args[number] else { continue };
            let payload = payload.map_or(std::ptr::null_mut(), |p| self.globals[p as usize].base());
            // SAFETY: the place is that of the global itself, and the slots hold a contribution to it.
            unsafe { (folding.apply)(&place, 0, payload, slots.as_ptr().cast()) };
        }
        Ok(())
    }
}

/// The contributions of a loop to globals: the number of the argument, how to fold, the slots, the place of the global.
struct Partials {
    list: Vec<(usize, Folding, Vec<Slot>, Place)>,
}

impl Partials {
    /// With slots for each block, or where equal contributions are told apart, as many as `own`.
    fn new(places: &mut [Place], decl: &LoopDecl, blocks: usize, own: usize) -> Self {
        let mut list = Vec::new();
        for (number, (arg, folding)) in decl.args.iter().zip(&decl.foldings).enumerate() {
            if let (ArgDecl::Global { present: true, .. }, Some(folding)) = (arg, *folding) {
                let each = slots_each(&folding);
                let mut slots = vec![0; each * if folding.element_at.is_some() { own } else { blocks }];
                for slot in slots.chunks_mut(each) {
                    // SAFETY: there is room for one contribution.
                    unsafe { (folding.identity)(slot.as_mut_ptr().cast()) };
                }
                list.push((number, folding, slots, places[number]));
            }
        }
        Self { list }
    }

    /// Contributions of which equal ones are told apart go to the slots of an iteration from now on.
    fn select_own(&mut self, places: &mut [Place], iteration: usize) {
        for (number, folding, slots, _) in self.list.iter_mut().filter(|(_, folding, ..)| folding.element_at.is_some())
        {
            places[*number].base = slots[iteration * slots_each(folding)..].as_mut_ptr().cast();
        }
    }

    /// Contributions go to the slots of a block from now on.
    fn select(&mut self, places: &mut [Place], block: usize) {
        for (number, folding, slots, _) in &mut self.list {
            if let Some(slot) = slots.get_mut(block * slots_each(folding)..) {
                places[*number].base = slot.as_mut_ptr().cast();
            }
        }
    }
}

impl Machine for Serial {
    fn run(&mut self, from: Option<Position>, mut keeper: Option<&mut Keeper>) -> Result<(), Error> {
        let steps = Arc::clone(&self.steps);
        let mut step = 0;
        if let Some(from) = from {
            let repeat = steps.outermost_at(from.statement);
            self.runs[repeat.repeat] = from.runs;
            step = repeat.step;
        }
        loop {
            let mut next = step + 1;
            match &steps.list[step] {
                Step::Loop(number) => {
                    let since = Instant::now();
                    let done = self.each(&steps.loops[*number]);
                    self.clocks[*number].add(since.elapsed(), 1);
                    done?;
                }
                Step::Scalar(decl) => self.scalar(decl)?,
                Step::Jump(to) => next = *to,
                Step::Unless(condition, to) if !self.holds(condition) => next = *to,
                Step::Unless(..) => {}
                Step::Start { repeat } => self.runs[*repeat] = 0,
                Step::Show { repeat, counter } => {
                    self.globals[*counter as usize] = Box::new(Typed(vec![[self.runs[*repeat] as i64]]));
                }
                Step::Next { repeat, outermost } => {
                    self.runs[*repeat] += 1;
                    let runs = self.runs[*repeat];
                    let position = outermost.map(|statement| Position { statement, runs });
                    if let (Some(position), Some(keeper)) = (position, &mut keeper)
                        && keeper.is_due(position)
                    {
                        keeper.save(&self.mesh, position, self)?;
                    }
                }
                Step::AfterRuns { repeat, to } if self.runs[*repeat] >= steps.repeats[*repeat].1 => next = *to,
                Step::AfterRuns { .. } => {}
                Step::RequireFinite(global, within) => {
                    let within = steps.progress(within, |repeat| self.runs[repeat]);
                    require_finite(&self.mesh, *global, &*self.globals[*global as usize], &within)?;
                }
                Step::Stop => return Ok(()),
            }
            step = next;
        }
    }

    fn dat(&self, number: u32) -> Result<Box<dyn Store>, Error> {
        Ok(self.dats[number as usize].duplicate())
    }

    fn global(&self, number: u32) -> Result<Box<dyn Store>, Error> {
        Ok(self.globals[number as usize].duplicate())
    }

    fn stats(&self) -> Vec<LoopStats> {
        let of_loop = |(decl, clock): (&Arc<LoopDecl>, &Clock)| {
            let (bytes, reuse) = traffic_of(&self.mesh, decl);
            LoopStats {
                name: decl.invocation.clone(),
                strategy: Strategy::Serial,
                tasks: 1,
                colours: 1,
                repeated: 0,
                reuse,
                bytes,
                executions: clock.executions(),
                seconds: clock.seconds(),
            }
        };
        self.steps.loops.iter().zip(&self.clocks).map(of_loop).collect()
    }
}

/// Refuses a global that is infinite or not a number. The runs of repetitions are counted from zero here, and from one in
/// what is said.
pub(crate) fn require_finite(
    mesh: &Mesh,
    global: u32,
    values: &dyn Store,
    within: &[(Arc<str>, u64)],
) -> Result<(), Error> {
    let Some((_, component)) = values.first_not_finite() else { return Ok(()) };
    let value = values.values().and_then(|values| values.number(component)).unwrap_or(f64::NAN);
    let place: Vec<String> = within.iter().map(|(name, run)| format!("run {} of `{name}`", run + 1)).collect();
    let place = if place.is_empty() { String::new() } else { format!(" in {}", place.join(", ")) };
    let name = &mesh.globals[global as usize].name;
    Err(Error::new(ErrorKind::NotFinite, format!("global `{name}` is {value}{place}")))
}

/// That a kernel did not write what it must, in an iteration if it is known.
pub(crate) fn not_written(iteration: impl Into<Option<usize>>) -> String {
    let of = iteration.into().map_or(String::new(), |iteration| format!(" of iteration {iteration}"));
    format!("its kernel returned without having written an argument{of}")
}
