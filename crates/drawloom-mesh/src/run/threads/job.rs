//! What one task does: a block of one loop, or of several that go together.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use drawloom_runtime::Erased;
use drawloom_runtime::access::{Views, ViewsMut};

use super::cut::{CutLoop, Part};
use crate::kernel::args::Folding;
use crate::kernel::place::{Place, Route};
use crate::kernel::site::{Access, ArgDecl};
use crate::mesh::Mesh;
use crate::run::partials::{BLOCK, Slot, slots_each};
use crate::run::places::place_of;

/// How many iterations of one loop are run before those of the next one that goes with it: their data stays in the nearest
/// cache.
const CHUNK: usize = 256;

/// Where the values of an argument come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A region that the task reads, by its place in the list.
    Read(usize),
    /// A region that the task changes, by its place in the list.
    Update(usize),
    /// Something that never changes, and lives as long as the machine.
    Constant(usize),
    /// Nowhere: the argument has no values.
    Nowhere,
}

impl Source {
    /// The address of the values, in a task with these regions.
    pub(crate) fn address(self, reads: &Views<'_, Erased>, updates: &mut ViewsMut<'_, Erased>) -> *mut u8 {
        match self {
            Source::Read(number) => reads.get(number).base().cast_mut(),
            Source::Update(number) => updates.get_mut(number).base(),
            Source::Constant(address) => std::ptr::with_exposed_provenance_mut(address),
            Source::Nowhere => std::ptr::null_mut(),
        }
    }
}

/// One loop in a task.
pub(crate) struct Step {
    pub(crate) cut: Arc<CutLoop>,
    pub(crate) part: usize,
    /// For each argument, its place without an address, and where the address comes from.
    pub(crate) args: Vec<(Place, Source)>,
    /// The arguments that contribute to globals.
    pub(crate) foldings: Vec<(usize, Folding)>,
    /// The arguments whose contributions are staged, and the regions for that among those that the task changes.
    pub(crate) stages: Vec<(usize, usize)>,
}

impl Step {
    pub(crate) fn new(
        mesh: &Mesh,
        cut: &Arc<CutLoop>,
        part: usize,
        mut source: impl FnMut(usize, &ArgDecl) -> Source,
    ) -> Self {
        let Part { home, own, .. } = &cut.parts[part];
        let mut args = Vec::new();
        let mut foldings = Vec::new();
        for (number, (arg, folding)) in cut.decl.args.iter().zip(&cut.decl.foldings).enumerate() {
            let source = source(number, arg);
            let mut place = place_of(mesh, arg, std::ptr::null_mut());
            match *arg {
                ArgDecl::Dat { route: Route::Direct, access: Access::Write, .. } => {
                    place.own = (home.start, home.len());
                }
                ArgDecl::Dat { access, .. } if access.contributes() => {
                    if let Some(own) = own {
                        place.own = (own.start, own.len());
                    }
                }
                ArgDecl::Global { present: true, .. } => foldings.extend(folding.map(|folding| (number, folding))),
                _ => {}
            }
            args.push((place, source));
        }
        Self { cut: Arc::clone(cut), part, args, foldings, stages: Vec::new() }
    }

    fn part(&self) -> &Part {
        &self.cut.parts[self.part]
    }

    /// The places of the arguments, with addresses.
    fn places(&self, reads: &Views<'_, Erased>, updates: &mut ViewsMut<'_, Erased>) -> Vec<Place> {
        let resolve = |(place, source): &(Place, Source)| Place { base: source.address(reads, updates), ..*place };
        let mut places: Vec<Place> = self.args.iter().map(resolve).collect();
        for &(arg, region) in &self.stages {
            places[arg].stage = updates.get_mut(region).base();
        }
        places
    }

    /// Contributions to globals go to the slots of a block of iterations from now on, which are made empty.
    fn select(&self, places: &mut [Place], bases: &[*mut u8], block: usize) {
        for ((number, folding), base) in self.foldings.iter().zip(bases) {
            // SAFETY: the region has slots for every block, and those of this task's blocks are its own to change.
            unsafe {
                let slot = base.cast::<Slot>().add(block * slots_each(folding)).cast::<u8>();
                (folding.identity)(slot);
                places[*number].base = slot;
            }
        }
    }
}

/// Loops of which a task runs a block each, in small pieces in turn.
pub(crate) struct Job {
    pub(crate) steps: Vec<Step>,
}

impl Job {
    /// Runs the task, and notes which of its loops it is at. The error is the iteration after which something was not
    /// written.
    pub(crate) fn run(
        &self,
        reads: &Views<'_, Erased>,
        updates: &mut ViewsMut<'_, Erased>,
        at: &Cell<usize>,
    ) -> Result<(), usize> {
        let mut places: Vec<Vec<Place>> = self.steps.iter().map(|step| step.places(reads, updates)).collect();
        let bases: Vec<Vec<*mut u8>> = (self.steps.iter().zip(&places))
            .map(|(step, places)| step.foldings.iter().map(|(number, _)| places[*number].base).collect())
            .collect();
        if let [step] = &self.steps[..] {
            let since = Instant::now();
            let done = run_alone(step, &mut places[0], &bases[0]);
            step.cut.clock.add(since.elapsed(), u64::from(step.part == 0));
            return done;
        }
        let home = self.steps[0].part().home.clone();
        let mut spent = vec![Duration::ZERO; self.steps.len()];
        let mut since = Instant::now();
        for chunk in chunks(home, CHUNK) {
            for (number, step) in self.steps.iter().enumerate() {
                at.set(number);
                if chunk.start.is_multiple_of(BLOCK) {
                    step.select(&mut places[number], &bases[number], chunk.start / BLOCK);
                }
                // SAFETY: the task declared the blocks that the iterations lead to, and whether it changes them, so the
                // engine lets nobody get into its way; maps lead to elements that exist; and the values of a dat have the
                // type of its handle.
                unsafe { step.cut.decl.body.run(&places[number], chunk.clone())? };
                let now = Instant::now();
                spent[number] += now - since;
                since = now;
            }
        }
        for (step, spent) in self.steps.iter().zip(spent) {
            step.cut.clock.add(spent, u64::from(step.part == 0));
        }
        Ok(())
    }
}

fn run_alone(step: &Step, places: &mut [Place], bases: &[*mut u8]) -> Result<(), usize> {
    let part = step.part();
    let mut nobody: Vec<Slot> = Vec::new();
    for run in &part.runs {
        let is_home = *run == part.home;
        if !is_home && !step.foldings.is_empty() {
            // What a repeated iteration contributes to globals was counted where it is at home.
            let most = step.foldings.iter().map(|(_, folding)| slots_each(folding)).max().unwrap_or(0);
            nobody.resize(most, 0);
            for (number, folding) in &step.foldings {
                places[*number].base = nobody.as_mut_ptr().cast();
                // SAFETY: there is room for the largest contribution.
                unsafe { (folding.identity)(places[*number].base) };
            }
        }
        let size = if is_home && !step.foldings.is_empty() { BLOCK } else { usize::MAX };
        for chunk in chunks(run.clone(), size) {
            if is_home {
                step.select(places, bases, chunk.start / BLOCK);
            }
            // SAFETY: as in `Job::run`.
            unsafe { step.cut.decl.body.run(places, chunk)? };
        }
    }
    Ok(())
}

/// A range in pieces of a size.
fn chunks(range: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(size).map(move |start| start..end.min(start.saturating_add(size)))
}
