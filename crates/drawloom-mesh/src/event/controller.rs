//! The device `global`: it takes the steps of the program, and keeps the globals.

#![allow(unsafe_code)]

use std::sync::Arc;

use drawloom_messages::{Device, DeviceView, EdgeView, Handlers, InputId, OutputId, Pins, Sent};
use drawloom_runtime::panic;

use super::element::{Records, number, set_number};
use super::involved::Invocation;
use crate::kernel::args::Folding;
use crate::kernel::place::Place;
use crate::kernel::site::ArgDecl;
use crate::mesh::Mesh;
use crate::mesh::store::Store;
use crate::program::statement::ScalarDecl;
use crate::program::steps::{Step, Steps};
use crate::run::{Trouble, require_finite};

/// No loop is under way: the next step is to be taken.
pub(super) const BETWEEN: u32 = 0;
/// A loop is to begin.
const BEGINS: u32 = 1;
/// A loop is under way.
const UNDER_WAY: u32 = 2;

/// The program goes on to its end.
pub(super) const NEVER_PAUSES: u32 = 0;
/// The program pauses after the next run of a repetition that is in no other.
pub(super) const PAUSES: u32 = 1;
/// It pauses: this, and the number of the repetition among the statements of the program.
pub(super) const PAUSED: u32 = 2;

/// The device `global`. Offsets are those of its state.
pub(super) struct Controller {
    pub(super) mesh: Arc<Mesh>,
    pub(super) pc: usize,
    /// The loop that is to begin, or is under way, and how many devices are at its end.
    pub(super) invocation_index: usize,
    pub(super) phase: usize,
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
    /// For each loop, where the number of messages at its end is among the properties of the graph.
    pub(super) totals: Vec<usize>,
    /// Where the numbers of runs of repetitions are among the properties of the graph.
    pub(super) run_counts: usize,
    pub(super) records: Records,
    pub(super) invocations: Arc<Vec<Invocation>>,
    pub(super) steps: Steps,
    pub(super) trouble: Arc<Trouble>,
}

impl Handlers for Controller {
    fn receive(&self, pin: InputId, device: &mut Device<'_>, message: &[u8], _: EdgeView<'_>) {
        let loop_number = pin.index();
        if !self.is_under_way(device.state, loop_number) {
            let name = &self.invocations[loop_number].decl.name;
            return device
                .assert(false, || format!("more devices than there are say that they are at the end of `{name}`"));
        }
        self.records.check(device);
        for ((arg, at, folding), best) in self.ends[loop_number].iter().zip(&self.bests[loop_number]) {
            let ArgDecl::Global { global, payload, .. } = self.invocations[loop_number].decl.args[*arg] else {
                continue;
            };
            let of = |global: u32| self.globals[global as usize].expect("a loop contributes to no constant");
            let from = &message[*at..*at + folding.size];
            let Some(payload) = payload else {
                folding.fold_bytes(&mut device.state[of(global)..of(global) + folding.size], from);
                continue;
            };
            folding.check(from);
            self.check(device, global);
            self.check(device, payload);
            let state = device.state.as_mut_ptr();
            // SAFETY: the offsets are those of members, within the state, whose size was checked above, and which is this
            // device's alone; a contribution, and values of the types of the globals, were found there.
            unsafe {
                let stage = best.map_or(std::ptr::null_mut(), |best| state.add(best));
                let place = Place { base: state.add(of(global)), stage, ..Place::NOWHERE };
                (folding.apply)(&place, 0, state.add(of(payload)), from.as_ptr());
            }
        }
        let ended = number(device.state, self.end_received) + 1;
        let is_last = ended == number(device.graph, self.totals[loop_number]);
        set_number(device.state, self.end_received, if is_last { 0 } else { ended });
        if is_last {
            set_number(device.state, self.phase, BETWEEN);
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
        let is_between = number(device.state, self.phase) == BETWEEN;
        pins.insert_if(OutputId(0), is_between && !self.is_paused(device.state) && !self.is_at_end(device.state));
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
        set_number(device.state, self.phase, UNDER_WAY);
        Sent::Broadcast
    }

    fn waits_for(&self, device: &DeviceView<'_>) -> Option<String> {
        let is_between = number(device.state, self.phase) == BETWEEN;
        if is_between && (self.is_at_end(device.state) || self.is_paused(device.state)) {
            return None;
        }
        let pc = number(device.state, self.pc) as usize;
        let mut text = format!("the program is before step {} of {}", pc + 1, self.steps.list.len());
        if let Some(loop_number) =
            (0..self.invocations.len()).find(|loop_number| self.is_under_way(device.state, *loop_number))
        {
            text.push_str(&format!(
                ", and loop `{}` is under way: {} of {} devices say that they are at its end",
                self.invocations[loop_number].decl.name,
                number(device.state, self.end_received),
                number(device.graph, self.totals[loop_number])
            ));
        }
        Some(text)
    }

    fn hears_idle(&self) -> bool {
        false
    }
}

impl Controller {
    pub(super) fn is_under_way(&self, state: &[u8], loop_number: usize) -> bool {
        number(state, self.phase) == UNDER_WAY && number(state, self.invocation_index) as usize == loop_number
    }

    fn is_at_end(&self, state: &[u8]) -> bool {
        matches!(self.steps.list.get(number(state, self.pc) as usize), Some(Step::Stop))
    }

    fn is_paused(&self, state: &[u8]) -> bool {
        self.pause.is_some_and(|at| number(state, at) >= PAUSED)
    }

    /// Takes the next step of the program.
    fn step(&self, device: &mut Device<'_>) {
        let pc = number(device.state, self.pc) as usize;
        let mut next = pc + 1;
        if number(device.state, self.phase) == BEGINS {
            let loop_number = number(device.state, self.invocation_index);
            return device.assert(false, || format!("the program has no loop {loop_number}"));
        }
        let Some(step) = self.steps.list.get(pc) else {
            return device.assert(false, || format!("the program has no step {pc}"));
        };
        match step {
            // No device takes part, so no message of its end would come.
            Step::Loop(loop_number) if number(device.graph, self.totals[*loop_number]) == 0 => {}
            Step::Loop(loop_number) => {
                set_number(device.state, self.invocation_index, *loop_number as u32);
                set_number(device.state, self.phase, BEGINS);
            }
            Step::Scalar(decl) => self.scalar(device, decl),
            Step::Jump(to) => next = *to,
            Step::Unless(condition, to) => {
                if !(condition.test)(self.value(device, condition.global).as_any()) {
                    next = *to;
                }
            }
            Step::Start { repeat } => self.set_run(device, *repeat, 0),
            Step::Show { repeat, counter } => {
                let at = self.globals[*counter as usize].expect("a counter is no constant");
                let runs = self.run(device.state, *repeat) as i64;
                device.state[at..at + 8].copy_from_slice(&runs.to_ne_bytes());
            }
            Step::Next { repeat, outermost } => {
                let runs = self.run(device.state, *repeat) + 1;
                self.set_run(device, *repeat, runs);
                if let (Some(at), Some(statement)) = (self.pause, outermost)
                    && number(device.state, at) == PAUSES
                {
                    set_number(device.state, at, PAUSED + *statement as u32);
                }
            }
            Step::AfterRuns { repeat, to } => {
                let at = self.run_counts + 8 * repeat;
                let count = u64::from_ne_bytes(device.graph[at..at + 8].try_into().expect("eight bytes"));
                if self.run(device.state, *repeat) >= count {
                    next = *to;
                }
            }
            Step::RequireFinite(global, within) => {
                let values = self.value(device, *global);
                let within = self.steps.progress(within, |repeat| self.run(device.state, repeat));
                if let Err(error) = require_finite(&self.mesh, *global, &*values, &within) {
                    let message = self.trouble.note(error);
                    device.assert(false, || message);
                }
            }
            Step::Stop => next = pc,
        }
        set_number(device.state, self.pc, next as u32);
    }

    /// The bytes of a global.
    fn bytes<'d>(&self, device: &'d Device<'_>, global: u32) -> &'d [u8] {
        let size = self.mesh.globals[global as usize].values.bytes_each();
        match (self.globals[global as usize], self.constants[global as usize]) {
            (Some(at), _) => &device.state[at..at + size],
            (None, Some(at)) => &device.graph[at..at + size],
            (None, None) => &[],
        }
    }

    /// The value of a global.
    ///
    /// # Panics
    /// When its bytes are no value of its type.
    fn value(&self, device: &Device<'_>, global: u32) -> Box<dyn Store> {
        let decl = &self.mesh.globals[global as usize];
        decl.values.like_bytes(self.bytes(device, global)).unwrap_or_else(|| panic!("{}", no_value(&decl.name)))
    }

    /// Refuses bytes of a global that are no value of its type.
    ///
    /// # Panics
    /// When they are none.
    fn check(&self, device: &Device<'_>, global: u32) {
        let decl = &self.mesh.globals[global as usize];
        let is_value = decl.values.validity().is_none_or(|is_valid| is_valid(self.bytes(device, global)));
        assert!(is_value, "{}", no_value(&decl.name));
    }

    fn scalar(&self, device: &mut Device<'_>, decl: &ScalarDecl) {
        let run = || {
            self.records.check(device);
            let globals = || {
                decl.args
                    .iter()
                    .filter_map(|arg| if let ArgDecl::Global { global, .. } = *arg { Some(global) } else { None })
            };
            globals().for_each(|global| self.check(device, global));
            // One address for all, so that what is written through one place is seen through the others.
            let state = device.state.as_mut_ptr();
            let place = |global: u32| {
                let base = match self.globals[global as usize] {
                    Some(at) => state.wrapping_add(at),
                    None => self.bytes(device, global).as_ptr().cast_mut(),
                };
                Place { base, ..Place::NOWHERE }
            };
            let places: Vec<Place> = globals().map(place).collect();
            (decl.body)(&places)
        };
        if let Err(said) = panic::catch(run).flatten() {
            let message = self.trouble.note(decl.failed(&said));
            device.assert(false, || message);
        }
    }

    fn run(&self, state: &[u8], run: usize) -> u64 {
        let at = self.runs + 8 * run;
        u64::from_ne_bytes(state[at..at + 8].try_into().expect("eight bytes"))
    }

    fn set_run(&self, device: &mut Device<'_>, run: usize, to: u64) {
        let at = self.runs + 8 * run;
        device.state[at..at + 8].copy_from_slice(&to.to_ne_bytes());
    }
}

fn no_value(global: &str) -> String {
    format!("global `{global}` holds bytes that are no value of its type")
}
