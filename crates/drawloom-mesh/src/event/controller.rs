//! The device `global`: the program as a list of steps, and the globals.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use drawloom_messages::{Device, DeviceView, EdgeView, Handlers, InputId, OutputId, Pins, Sent};

use super::element::{number, set_number};
use super::involved::Invocation;
use crate::kernel::args::Folding;
use crate::kernel::place::Place;
use crate::kernel::site::ArgDecl;
use crate::mesh::Mesh;
use crate::program::statement::{Condition, LoopDecl, ScalarDecl, Statement};
use crate::run::{Trouble, require_finite, said_by};

/// One step of a program.
pub(super) enum Step {
    /// Runs a loop, by its number.
    Loop(usize),
    Scalar(Arc<ScalarDecl>),
    Jump(usize),
    /// Goes on at another step unless a global is true.
    Unless(Condition, usize),
    /// Sets the number of a repetition's run, and the global that shows it.
    Set {
        run: usize,
        global: Option<u32>,
        to: u64,
    },
    /// The next run of a repetition; if it is in no other, with its number among the statements of the program.
    Next {
        run: usize,
        global: Option<u32>,
        outermost: Option<usize>,
    },
    /// Goes on at another step when a repetition has had its runs.
    AfterRuns {
        run: usize,
        count: u64,
        to: usize,
    },
    /// Stops unless a global is finite. The repetitions around it, by name and number.
    RequireFinite(u32, Vec<(Arc<str>, usize)>),
    /// The end of the program.
    Stop,
}

/// A program as steps. Returns how many repetitions there are.
pub(super) fn steps(statements: &[Statement], loops: &[Arc<LoopDecl>]) -> (Vec<Step>, usize) {
    let mut flat = Flat { steps: Vec::new(), runs: 0, within: Vec::new(), loops };
    for (number, statement) in statements.iter().enumerate() {
        flat.statement(statement, Some(number));
    }
    flat.steps.push(Step::Stop);
    (flat.steps, flat.runs)
}

struct Flat<'a> {
    steps: Vec<Step>,
    runs: usize,
    within: Vec<(Arc<str>, usize)>,
    loops: &'a [Arc<LoopDecl>],
}

impl Flat<'_> {
    fn block(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.statement(statement, None));
    }

    /// Adds a statement; if it is in no other, with its number.
    fn statement(&mut self, statement: &Statement, outermost: Option<usize>) {
        match statement {
            Statement::Loop(decl) => {
                let number = self.loops.iter().position(|known| Arc::ptr_eq(known, decl));
                self.steps.push(Step::Loop(number.expect("every loop is known")));
            }
            Statement::Scalar(decl) => self.steps.push(Step::Scalar(Arc::clone(decl))),
            Statement::RequireFinite { global } => {
                self.steps.push(Step::RequireFinite(*global, self.within.clone()));
            }
            Statement::Repeat { name, count, counter, body } => {
                let run = self.runs;
                self.runs += 1;
                self.within.push((Arc::clone(name), run));
                self.steps.push(Step::Set { run, global: *counter, to: 0 });
                let again = self.steps.len();
                self.steps.push(Step::AfterRuns { run, count: *count, to: 0 });
                self.block(body);
                self.steps.push(Step::Next { run, global: *counter, outermost });
                self.steps.push(Step::Jump(again));
                let after = self.steps.len();
                self.steps[again] = Step::AfterRuns { run, count: *count, to: after };
                self.within.pop();
            }
            Statement::While { condition, body } => {
                let again = self.steps.len();
                self.steps.push(Step::Unless(*condition, 0));
                self.block(body);
                self.steps.push(Step::Jump(again));
                let after = self.steps.len();
                self.steps[again] = Step::Unless(*condition, after);
            }
            Statement::If { condition, then, otherwise } => {
                let branch = self.steps.len();
                self.steps.push(Step::Unless(*condition, 0));
                self.block(then);
                let skip = self.steps.len();
                self.steps.push(Step::Jump(0));
                self.steps[branch] = Step::Unless(*condition, self.steps.len());
                self.block(otherwise);
                self.steps[skip] = Step::Jump(self.steps.len());
            }
        }
    }
}

/// The next step is to be taken, when nothing is under way that it must wait for.
const BETWEEN: u32 = 0;
/// A loop is to begin.
const BEGINS: u32 = 1;

/// The program goes on to its end.
pub(super) const NEVER_PAUSES: u32 = 0;
/// The program pauses after the next run of a repetition that is in no other.
pub(super) const PAUSES: u32 = 1;
/// It pauses: this, and the number of the repetition among the statements of the program.
pub(super) const PAUSED: u32 = 2;

/// A repetition that is in no other.
pub(super) struct Outermost {
    /// Its number among the statements of the program.
    pub(super) statement: usize,
    /// The step at which it begins, and goes on with the next run.
    pub(super) step: usize,
    /// Its number among all repetitions.
    pub(super) run: usize,
    /// The global that shows which run it is in.
    pub(super) counter: Option<u32>,
}

/// The repetitions that are in no other.
pub(super) fn outermost(steps: &[Step]) -> Vec<Outermost> {
    let of = |step: &Step| {
        let Step::Next { run, global, outermost: Some(statement) } = *step else { return None };
        let begins = |step: &Step| matches!(step, Step::AfterRuns { run: of, .. } if *of == run);
        Some(Outermost { statement, step: steps.iter().position(begins)?, run, counter: global })
    };
    steps.iter().filter_map(of).collect()
}

/// The device `global`. Offsets are those of its state.
pub(super) struct Controller {
    pub(super) mesh: Arc<Mesh>,
    pub(super) pc: usize,
    pub(super) invocation_index: usize,
    pub(super) phase: usize,
    /// How many loops are under way, and for each whether it is, and how many devices are at its end.
    pub(super) busy: usize,
    pub(super) under_way: usize,
    pub(super) end_received: usize,
    pub(super) runs: usize,
    /// Whether the program pauses. There is no such member where nobody could let it go on.
    pub(super) pause: Option<usize>,
    /// Where constants are among the properties of the graph, and the other globals in the state.
    pub(super) constants: Vec<Option<usize>>,
    pub(super) globals: Vec<Option<usize>>,
    /// For each loop, what to copy into the message that begins it: from where, to where, how many bytes.
    pub(super) begins: Vec<Vec<(usize, usize, usize)>>,
    /// For each loop, the arguments that contribute to globals, and where they are in a message at its end.
    pub(super) ends: Vec<Vec<(usize, usize, Folding)>>,
    /// For each of these, where the number of the element is whose contribution the global has, if equal ones count by that.
    pub(super) bests: Vec<Vec<Option<usize>>>,
    /// For each loop, how its end is known.
    pub(super) enders: Vec<Enders>,
    /// Where the numbers of runs of repetitions are among the properties of the graph.
    pub(super) run_counts: usize,
    pub(super) invocations: Arc<Vec<Invocation>>,
    pub(super) steps: Vec<Step>,
    /// For each step, the loops that must be at their end before; if there is no such list, all of them.
    pub(super) waits: Option<Vec<Vec<usize>>>,
    pub(super) trouble: Arc<Trouble>,
}

/// How the end of a loop is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enders {
    /// By as many messages as a property of the graph says, there. If there are none, the loop has nothing to do.
    Messages(usize),
    /// When all is quiet.
    Quiet,
}

impl Handlers for Controller {
    fn receive(&self, pin: InputId, device: &mut Device<'_>, message: &[u8], _: EdgeView<'_>) {
        let loop_number = pin.index();
        if !self.is_under_way(device.state, loop_number) {
            let name = &self.invocations[loop_number].decl.name;
            return device
                .assert(false, || format!("more devices than there are say that they are at the end of `{name}`"));
        }
        let state = device.state.as_mut_ptr();
        for ((arg, at, folding), best) in self.ends[loop_number].iter().zip(&self.bests[loop_number]) {
            let ArgDecl::Global { global, payload, .. } = self.invocations[loop_number].decl.args[*arg] else {
                continue;
            };
            let of = |global: u32| self.globals[global as usize].expect("a loop contributes to no constant");
            // SAFETY: the offsets are those of members, within the state and within the message, of the types of the
            // argument; the state is this device's alone.
            unsafe {
                let stage = best.map_or(std::ptr::null_mut(), |best| state.add(best));
                let place = Place { base: state.add(of(global)), stage, ..Place::NOWHERE };
                let payload = payload.map_or(std::ptr::null_mut(), |payload| state.add(of(payload)));
                (folding.apply)(&place, 0, payload, message.as_ptr().add(*at));
            }
        }
        let Enders::Messages(total) = self.enders[loop_number] else { return };
        let total = number(device.graph, total);
        let at = self.end_received + 4 * loop_number;
        let ended = number(device.state, at) + 1;
        set_number(device.state, at, if ended == total { 0 } else { ended });
        if ended == total {
            self.end(device.state, loop_number);
        }
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        if number(device.state, self.phase) == BEGINS {
            // A state that somebody else made may name what is not there; the next step finds that.
            let loop_number = number(device.state, self.invocation_index);
            let exists = (loop_number as usize) < self.invocations.len();
            pins.insert(OutputId(if exists { 1 + loop_number } else { 0 }));
            return;
        }
        if self.is_paused(device.state) {
            return;
        }
        let pc = number(device.state, self.pc) as usize;
        let is_under_way = |other: &usize| self.is_under_way(device.state, *other);
        let waits = match &self.waits {
            _ if number(device.state, self.busy) == 0 => false,
            None => true,
            Some(waits) => waits.get(pc).is_some_and(|waits| waits.iter().any(is_under_way)),
        };
        pins.insert_if(OutputId(0), !waits && !matches!(self.steps.get(pc), Some(Step::Stop)));
    }

    fn send(&self, pin: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        let Some(loop_number) = pin.index().checked_sub(1) else {
            self.step(device);
            return Sent::Cancelled;
        };
        for &(from, to, size) in &self.begins[loop_number] {
            message[to..to + size].copy_from_slice(&device.state[from..from + size]);
        }
        // No element comes before that which the global has from before the loop.
        for best in self.bests[loop_number].iter().flatten() {
            set_number(device.state, *best, 0);
        }
        set_number(device.state, self.phase, BETWEEN);
        set_number(device.state, self.under_way + 4 * loop_number, 1);
        let busy = number(device.state, self.busy) + 1;
        set_number(device.state, self.busy, busy);
        Sent::Broadcast
    }

    fn waits_for(&self, device: &DeviceView<'_>) -> Option<String> {
        let pc = number(device.state, self.pc) as usize;
        let is_at_end = matches!(self.steps.get(pc), Some(Step::Stop)) && number(device.state, self.busy) == 0;
        if is_at_end || self.is_paused(device.state) && number(device.state, self.busy) == 0 {
            return None;
        }
        let mut text = format!("the program is before step {} of {}", pc + 1, self.steps.len());
        let loops = (0..self.invocations.len()).filter(|loop_number| self.is_under_way(device.state, *loop_number));
        for loop_number in loops {
            let name = &self.invocations[loop_number].decl.name;
            text.push_str(&match self.enders[loop_number] {
                Enders::Messages(total) => format!(
                    ", and loop `{name}` is under way: {} of {} devices say that they are at its end",
                    number(device.state, self.end_received + 4 * loop_number),
                    number(device.graph, total)
                ),
                Enders::Quiet => format!(", and loop `{name}` is under way"),
            });
        }
        Some(text)
    }

    fn idle(&self, device: &mut Device<'_>) {
        for (number, enders) in self.enders.iter().enumerate() {
            if *enders == Enders::Quiet && self.is_under_way(device.state, number) {
                self.end(device.state, number);
            }
        }
    }
}

impl Controller {
    pub(super) fn is_under_way(&self, state: &[u8], loop_number: usize) -> bool {
        number(state, self.under_way + 4 * loop_number) == 1
    }

    /// Whether nobody would ever say that a loop is at its end.
    fn is_empty(&self, graph: &[u8], loop_number: usize) -> bool {
        matches!(self.enders[loop_number], Enders::Messages(total) if number(graph, total) == 0)
    }

    fn is_paused(&self, state: &[u8]) -> bool {
        self.pause.is_some_and(|at| number(state, at) >= PAUSED)
    }

    /// A loop is at its end.
    fn end(&self, state: &mut [u8], loop_number: usize) {
        set_number(state, self.under_way + 4 * loop_number, 0);
        let busy = number(state, self.busy) - 1;
        set_number(state, self.busy, busy);
    }

    /// Takes the next step of the program.
    fn step(&self, device: &mut Device<'_>) {
        let pc = number(device.state, self.pc) as usize;
        let mut next = pc + 1;
        if number(device.state, self.phase) == BEGINS {
            let loop_number = number(device.state, self.invocation_index);
            return device.assert(false, || format!("the program has no loop {loop_number}"));
        }
        let Some(step) = self.steps.get(pc) else {
            return device.assert(false, || format!("the program has no step {pc}"));
        };
        match step {
            // Nobody would ever say that it is at the end.
            Step::Loop(loop_number) if self.is_empty(device.graph, *loop_number) => {}
            Step::Loop(loop_number) => {
                set_number(device.state, self.invocation_index, *loop_number as u32);
                set_number(device.state, self.phase, BEGINS);
            }
            Step::Scalar(decl) => self.scalar(device, decl),
            Step::Jump(to) => next = *to,
            Step::Unless(condition, to) => {
                // SAFETY: the global has the type that it was declared with.
                let values = unsafe {
                    self.mesh.globals[condition.global as usize].values.read_at(self.at(device, condition.global))
                };
                if !(condition.test)(values.as_any()) {
                    next = *to;
                }
            }
            Step::Set { run, global, to } => self.set_run(device, *run, *global, *to),
            Step::Next { run, global, outermost } => {
                let before = self.run(device.state, *run);
                match (self.pause, outermost) {
                    (Some(at), Some(statement)) if number(device.state, at) == PAUSES => {
                        set_number(device.state, at, PAUSED + *statement as u32);
                        // What shows the number is set when the next run begins.
                        self.set_run(device, *run, None, before + 1);
                    }
                    _ => self.set_run(device, *run, *global, before + 1),
                }
            }
            Step::AfterRuns { run, to, .. } => {
                let at = self.run_counts + 8 * run;
                let count = u64::from_ne_bytes(device.graph[at..at + 8].try_into().expect("eight bytes"));
                if self.run(device.state, *run) >= count {
                    next = *to;
                }
            }
            Step::RequireFinite(global, within) => {
                // SAFETY: as above.
                let values = unsafe { self.mesh.globals[*global as usize].values.read_at(self.at(device, *global)) };
                let within: Vec<(Arc<str>, u64)> =
                    within.iter().map(|(name, run)| (Arc::clone(name), self.run(device.state, *run))).collect();
                if let Err(error) = require_finite(&self.mesh, *global, &*values, &within) {
                    let message = self.trouble.note(error);
                    device.assert(false, || message);
                }
            }
            Step::Stop => next = pc,
        }
        set_number(device.state, self.pc, next as u32);
    }

    /// Where a global is.
    fn at(&self, device: &mut Device<'_>, global: u32) -> *mut u8 {
        match (self.globals[global as usize], self.constants[global as usize]) {
            (Some(at), _) => device.state[at..].as_mut_ptr(),
            (None, Some(at)) => device.graph[at..].as_ptr().cast_mut(),
            (None, None) => std::ptr::null_mut(),
        }
    }

    fn scalar(&self, device: &mut Device<'_>, decl: &ScalarDecl) {
        let state = device.state.as_mut_ptr();
        let place = |arg: &ArgDecl| {
            let ArgDecl::Global { global, .. } = *arg else { return Place::NOWHERE };
            // SAFETY: the offsets are those of members, within their records.
            let base = unsafe {
                match (self.globals[global as usize], self.constants[global as usize]) {
                    (Some(at), _) => state.add(at),
                    (None, Some(at)) => device.graph.as_ptr().add(at).cast_mut(),
                    (None, None) => std::ptr::null_mut(),
                }
            };
            Place { base, ..Place::NOWHERE }
        };
        let places: Vec<Place> = decl.args.iter().map(place).collect();
        let done = catch_unwind(AssertUnwindSafe(|| (decl.body)(&places)));
        if let Err(said) = done.unwrap_or_else(|panic| Err(said_by(&*panic))) {
            let message = self.trouble.note(decl.failed(&said));
            device.assert(false, || message);
        }
    }

    fn run(&self, state: &[u8], run: usize) -> u64 {
        let at = self.runs + 8 * run;
        u64::from_ne_bytes(state[at..at + 8].try_into().expect("eight bytes"))
    }

    fn set_run(&self, device: &mut Device<'_>, run: usize, global: Option<u32>, to: u64) {
        let at = self.runs + 8 * run;
        device.state[at..at + 8].copy_from_slice(&to.to_ne_bytes());
        if let Some(at) = global.and_then(|global| self.globals[global as usize]) {
            device.state[at..at + 8].copy_from_slice(&(to as i64).to_ne_bytes());
        }
    }
}
