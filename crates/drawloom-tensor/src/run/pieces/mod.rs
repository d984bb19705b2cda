//! Pieces of a batch on the engine.
//!
//! Each piece in flight has a *lane*: an arena, and the tensors that are there now. A piece is a chain of tasks over its
//! lane, one for each node. Whoever begins a chain takes the next piece, so a slow worker takes fewer of them. What the
//! pieces share is never written: constants, and what is the same for all rows. Results go to rows that belong to one piece.

mod lane;

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use drawloom_runtime::{Loom, Region, Value};

use crate::error::{Error, ErrorKind};
use crate::graph::{NodeId, Operator, Placement, TensorId};
use crate::plan::{PiecePlan, Planned};
use crate::program::Program;
use crate::run::executor::{Executor, Source, Tensors, node_error};
use crate::run::place::{rows_first, turned_back};
use crate::run::room::Room;
use crate::slice::RowSink;
use crate::tensor::memory::Arena;
use crate::tensor::{Tensor, View};
use lane::Lane;

/// How many chains wait in each lane, so that none is empty while the next one is on its way.
const AHEAD: usize = 2;

/// How far a run in pieces is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// How many rows are finished.
    pub rows: u64,
    /// How many there are.
    pub total: u64,
    /// How many bytes were in use at most so far.
    pub peak_bytes: usize,
}

/// What a run in pieces computed.
pub struct BatchOutcome {
    names: Vec<String>,
    tensors: Vec<Tensor>,
    times: Vec<(NodeId, Duration)>,
    peak: usize,
}

impl BatchOutcome {
    /// An output by its name.
    pub fn output(&self, name: &str) -> Option<&Tensor> {
        self.names.iter().position(|other| other == name).map(|index| &self.tensors[index])
    }

    /// All outputs, in the order of the output node.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.names.iter().map(String::as_str).zip(&self.tensors)
    }

    /// How long each node of the program ran, over all pieces.
    pub fn times(&self) -> &[(NodeId, Duration)] {
        &self.times
    }

    /// The most bytes that the run used.
    pub fn peak_bytes(&self) -> usize {
        self.peak
    }
}

/// One output while pieces write it.
enum Gathered {
    /// Rows along the first axis, in memory for all of them.
    Rows(Arc<Arena>),
    /// The value of the last piece.
    Fixed(Mutex<Option<Tensor>>),
    /// Rows that somebody else takes.
    Given(Arc<dyn RowSink>),
}

/// What all lanes share.
struct Work {
    plan: Arc<Planned>,
    /// Results of nodes that run once, because they are the same for all rows.
    kept: Vec<Option<Tensor>>,
    gathered: Vec<Gathered>,
    next: AtomicU64,
    stop: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    finished: Vec<bool>,
    finished_rows: u64,
    /// The error of the earliest piece that had one.
    error: Option<(u64, Error)>,
}

/// Says that a chain is over, also when its tasks are dropped without having run.
struct Notice {
    lane: usize,
    sender: Sender<usize>,
}

impl Drop for Notice {
    fn drop(&mut self) {
        // Nobody listens any more after an error.
        let _ = self.sender.send(self.lane);
    }
}

impl PiecePlan {
    /// Runs it.
    pub fn run(&self, loom: &Loom) -> Result<BatchOutcome, Error> {
        self.run_with(loom, |_| ControlFlow::Continue(()))
    }

    /// Runs it, and tells how far it is after each piece. The answer may end the run. It must not be called by a task of the
    /// same runtime, which would wait for itself.
    pub fn run_with(
        &self,
        loom: &Loom,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<BatchOutcome, Error> {
        let (kept, kept_bytes) = self.run_once()?;
        let carried = self.planned.carries.iter().map(|(_, next)| {
            let result = self.planned.results.iter().find(|result| result.tensor == *next);
            2 * result.map_or(0, |result| result.growth.bytes(1))
        });
        let kept_bytes = kept_bytes + carried.sum::<usize>();
        let gathered = (self.planned.results.iter())
            .map(|result| match (&result.sink, result.placement) {
                (Some(sink), _) => {
                    sink.begin(result.growth.element, &result.growth.shape(count(self.planned.rows)))?;
                    Ok(Gathered::Given(Arc::clone(sink)))
                }
                (None, Placement::Rows { .. }) => {
                    Arena::new(result.growth.bytes(count(self.planned.rows))).map(Gathered::Rows)
                }
                (None, Placement::Fixed) => Ok(Gathered::Fixed(Mutex::default())),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let work = Arc::new(Work {
            plan: Arc::clone(&self.planned),
            kept,
            gathered,
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            state: Mutex::new(State { finished: vec![false; count(self.planned.cut.pieces())], ..State::default() }),
        });
        let lanes = (0..self.in_flight).map(|_| Lane::new(&work)).collect::<Result<Vec<_>, _>>()?;
        let in_lanes: Vec<_> = lanes.iter().map(Lane::most_bytes).collect();
        let peak = || kept_bytes + in_lanes.iter().map(|bytes| bytes()).sum::<usize>() + work.gathered_bytes();
        let lanes = (0..).zip(lanes);
        let lanes: Vec<Value<Mutex<Lane>>> =
            lanes.map(|(number, lane)| loom.host_value(format!("lane {number}"), Mutex::new(lane))).collect();
        if self.planned.rows > 0 {
            self.drive(loom, &work, &lanes, &mut |rows| {
                progress(Progress { rows, total: self.planned.rows, peak_bytes: peak() })
            })?;
        }
        let mut times = vec![Duration::ZERO; self.planned.program.graph.nodes.len()];
        for lane in &lanes {
            let mut lane = lane.write().map_err(engine)?;
            let lane = lane.get_mut();
            times.iter_mut().zip(&lane.times).for_each(|(sum, time)| *sum += *time);
            // Loans into the results end here.
            lane.clear();
        }
        let peak = peak();
        let kept = self.planned.results.iter().filter(|result| result.sink.is_none());
        let names = kept.map(|result| self.planned.program.graph.tensor_name(result.tensor).to_owned());
        Ok(BatchOutcome {
            names: names.collect(),
            tensors: self.take_results(&work)?,
            times: self.planned.program.order().iter().map(|node| (*node, times[node.index()])).collect(),
            peak: peak + self.turned_bytes(),
        })
    }

    /// Keeps all lanes busy until there are no pieces left, or something went wrong.
    fn drive(
        &self,
        loom: &Loom,
        work: &Work,
        lanes: &[Value<Mutex<Lane>>],
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let (sender, receiver): (Sender<usize>, Receiver<usize>) = channel();
        let pieces = self.planned.cut.pieces();
        let (mut submitted, mut over) = (0u64, 0u64);
        let submit = |lane: usize, submitted: &mut u64| {
            if *submitted < pieces && !work.stop.load(Ordering::Relaxed) {
                *submitted += 1;
                submit_chain(loom, &self.planned.program, &lanes[lane], Notice { lane, sender: sender.clone() });
            }
        };
        for lane in (0..AHEAD).flat_map(|_| 0..lanes.len()) {
            submit(lane, &mut submitted);
        }
        let mut cancelled = false;
        while over < submitted {
            let Ok(lane) = receiver.recv() else { break };
            over += 1;
            submit(lane, &mut submitted);
            let finished = work.state().finished_rows;
            if !cancelled && progress(finished).is_break() {
                cancelled = true;
                work.stop.store(true, Ordering::Relaxed);
            }
        }
        let finished = self.finished_ranges(work);
        let error = work.state().error.take();
        if let Some((_, error)) = error {
            return Err(error.with_finished(finished, self.planned.rows));
        }
        if work.state().finished.iter().all(|finished| *finished) {
            return Ok(());
        }
        // Tasks that did not run were cancelled: by the user, or with the whole runtime.
        let what = if cancelled { "the run was cancelled" } else { "the runtime was cancelled or shut down" };
        Err(Error::new(ErrorKind::Cancelled, what).with_finished(finished, self.planned.rows))
    }

    /// Runs the nodes that are the same for all rows, and says how many bytes that takes.
    fn run_once(&self) -> Result<(Vec<Option<Tensor>>, usize), Error> {
        let source = Source { program: &self.planned.program, tensors: &self.planned.given };
        let program = source.program;
        let mut executor = Executor::new(program, Room::new(usize::MAX / 2));
        for (place, id) in program.order().iter().enumerate() {
            let output = matches!(program.graph.nodes[id.index()].operator, Operator::Output);
            if program.partition(*id) == 0 && !output {
                executor.run(source, *id).map_err(|fault| node_error(program, *id, &fault, &[]))?;
                executor.release_ends(program, place);
            }
        }
        Ok((executor.tensors, executor.memory.most()))
    }

    fn take_results(&self, work: &Work) -> Result<Vec<Tensor>, Error> {
        let mut tensors = Vec::new();
        for (index, (result, gathered)) in self.planned.results.iter().zip(&work.gathered).enumerate() {
            if result.sink.is_some() {
                continue;
            }
            let tensor = match (gathered, result.placement) {
                (Gathered::Rows(arena), Placement::Rows { axis }) => {
                    let shape = result.growth.shape(count(self.planned.rows));
                    let kept = Tensor::in_arena(result.growth.element, &rows_first(&shape, axis), arena, 0)?;
                    if axis == 0 { kept } else { turned_back(&kept, axis)? }
                }
                (Gathered::Fixed(value), _) if self.planned.rows > 0 => {
                    let value = value.lock().take();
                    let name = self.planned.program.graph.tensor_name(result.tensor);
                    value.ok_or_else(|| Error::new(ErrorKind::Output, format!("output `{name}` was not computed")))?
                }
                _ => self
                    .fixed
                    .get(index)
                    .cloned()
                    .flatten()
                    .unwrap_or(Tensor::zeros(result.growth.element, &result.growth.shape(0))?),
            };
            tensors.push(tensor);
        }
        Ok(tensors)
    }

    fn turned_bytes(&self) -> usize {
        let turned =
            self.planned.results.iter().filter(|result| matches!(result.placement, Placement::Rows { axis: 1.. }));
        turned.map(|result| result.growth.bytes(count(self.planned.rows))).sum()
    }

    fn finished_ranges(&self, work: &Work) -> Vec<Range<u64>> {
        let state = work.state();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for number in (0..).zip(&state.finished).filter(|(_, finished)| **finished).map(|(number, _)| number) {
            let Some((first, rows)) = self.planned.cut.piece(number) else { continue };
            match ranges.last_mut() {
                Some(range) if range.end == first => range.end += rows,
                _ => ranges.push(first..first + rows),
            }
        }
        ranges
    }
}

/// Submits one task for each node of a piece.
fn submit_chain(loom: &Loom, program: &Program, lane: &Value<Mutex<Lane>>, notice: Notice) {
    let mut notice = Some(notice);
    let in_loop: Vec<usize> =
        (0..program.order().len()).filter(|place| program.partition(program.order()[*place]) > 0).collect();
    for (index, place) in in_loop.iter().copied().enumerate() {
        let (first, last) = (index == 0, index + 1 == in_loop.len());
        let notice = if last { notice.take() } else { None };
        let name = program.graph.nodes[program.order()[place].index()].name.clone();
        loom.task(name).update(lane).run(move |lane: &mut Mutex<Lane>| {
            let lane = lane.get_mut();
            if first {
                lane.begin();
            }
            lane.step(place);
            if last {
                lane.finish();
            }
            drop(notice);
        });
    }
}

/// What is the same for all pieces: computed once, or given.
impl Tensors for Work {
    fn tensor(&self, tensor: TensorId) -> Option<View<'_>> {
        let kept = self.kept[tensor.index()].as_ref().map(Tensor::view);
        kept.or_else(|| self.plan.given.tensor(tensor))
    }
}

impl Work {
    /// Ends the run with an error of a piece. That of the earliest piece is reported.
    fn fail(&self, piece: u64, error: Error) {
        self.stop.store(true, Ordering::Relaxed);
        let mut state = self.state();
        if state.error.as_ref().is_none_or(|(earlier, _)| piece < *earlier) {
            state.error = Some((piece, error));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn gathered_bytes(&self) -> usize {
        let bytes = |gathered: &Gathered| match gathered {
            Gathered::Rows(arena) => arena.high(),
            Gathered::Given(_) => 0,
            Gathered::Fixed(value) => value.lock().as_ref().map_or(0, Tensor::bytes),
        };
        self.gathered.iter().map(bytes).sum()
    }
}

fn engine(error: drawloom_runtime::Error) -> Error {
    Error::new(ErrorKind::Cancelled, format!("the engine: {error}"))
}

/// Numbers of rows fit, because there are tensors with so many.
pub(crate) fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
