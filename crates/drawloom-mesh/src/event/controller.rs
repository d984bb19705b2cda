//! The device `global`: the program as a list of steps, and the globals.

use std::sync::Arc;

use drawloom_event::{Device, DeviceView, EdgeView, Handlers, InputId, OutputId, Pins, Sent};

use super::element::{number, set_number};
use super::involved::Invocation;
use crate::kernel::args::Folding;
use crate::kernel::place::Place;
use crate::kernel::site::ArgDecl;
use crate::mesh::Mesh;
use crate::program::statement::{Condition, LoopDecl, ScalarDecl, Statement};
use crate::run::{Trouble, failed, require_finite};

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
    /// The next run of a repetition.
    Next {
        run: usize,
        global: Option<u32>,
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
    flat.block(statements);
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
        for statement in statements {
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
                    self.steps.push(Step::Next { run, global: *counter });
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
}

/// No loop is under way; the next step is to be taken.
const BETWEEN: u32 = 0;
/// A loop is to begin.
const BEGINS: u32 = 1;
/// A loop is under way.
const UNDER_WAY: u32 = 2;

/// The device `global`. Offsets are those of its state.
pub(super) struct Controller {
    pub(super) mesh: Arc<Mesh>,
    pub(super) pc: usize,
    pub(super) invocation_index: usize,
    pub(super) phase: usize,
    pub(super) end_received: usize,
    pub(super) runs: usize,
    /// Where constants are among the properties of the graph, and the other globals in the state.
    pub(super) constants: Vec<Option<usize>>,
    pub(super) globals: Vec<Option<usize>>,
    /// For each loop, what to copy into the message that begins it: from where, to where, how many bytes.
    pub(super) begins: Vec<Vec<(usize, usize, usize)>>,
    /// For each loop, the arguments that contribute to globals, and where they are in a message at its end.
    pub(super) ends: Vec<Vec<(usize, usize, Folding)>>,
    pub(super) responders: Vec<u32>,
    pub(super) invocations: Arc<Vec<Invocation>>,
    pub(super) steps: Vec<Step>,
    pub(super) trouble: Arc<Trouble>,
}

impl Handlers for Controller {
    fn receive(&self, pin: InputId, device: &mut Device<'_>, message: &[u8], _: EdgeView<'_>) {
        let loop_number = pin.index();
        let state = device.state.as_mut_ptr();
        for (arg, at, folding) in &self.ends[loop_number] {
            let ArgDecl::Global { global, payload, .. } = self.invocations[loop_number].decl.args[*arg] else {
                continue;
            };
            let of = |global: u32| self.globals[global as usize].expect("a loop contributes to no constant");
            // SAFETY: the offsets are those of members, within the state and within the message, of the types of the
            // argument; the state is this device's alone.
            unsafe {
                let place = Place { base: state.add(of(global)), ..Place::NOWHERE };
                let payload = payload.map_or(std::ptr::null_mut(), |payload| state.add(of(payload)));
                (folding.apply)(&place, 0, payload, message.as_ptr().add(*at));
            }
        }
        let ended = number(device.state, self.end_received) + 1;
        let all = ended == self.responders[loop_number];
        set_number(device.state, self.end_received, if all { 0 } else { ended });
        if all {
            set_number(device.state, self.phase, BETWEEN);
        }
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        match number(device.state, self.phase) {
            BETWEEN => {
                let pc = number(device.state, self.pc) as usize;
                pins.insert_if(OutputId(0), !matches!(self.steps[pc], Step::Stop));
            }
            BEGINS => pins.insert_if(OutputId(1 + number(device.state, self.invocation_index)), true),
            _ => {}
        }
    }

    fn send(&self, pin: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        let Some(loop_number) = pin.index().checked_sub(1) else {
            self.step(device);
            return Sent::Cancelled;
        };
        for &(from, to, size) in &self.begins[loop_number] {
            message[to..to + size].copy_from_slice(&device.state[from..from + size]);
        }
        set_number(device.state, self.phase, UNDER_WAY);
        Sent::Broadcast
    }
}

impl Controller {
    /// Takes the next step of the program.
    fn step(&self, device: &mut Device<'_>) {
        let pc = number(device.state, self.pc) as usize;
        let mut next = pc + 1;
        match &self.steps[pc] {
            // Nobody would ever say that it is at the end.
            Step::Loop(number) if self.responders[*number] == 0 => {}
            Step::Loop(number) => {
                set_number(device.state, self.invocation_index, *number as u32);
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
            Step::Next { run, global } => {
                let before = self.run(device.state, *run);
                self.set_run(device, *run, *global, before + 1);
            }
            Step::AfterRuns { run, count, to } => {
                if self.run(device.state, *run) >= *count {
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
        if let Err(said) = (decl.body)(&places) {
            let message = self.trouble.note(failed("scalar code", &decl.name, &said));
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
