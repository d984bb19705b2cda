//! One piece in flight: an arena, and the tensors that are there now.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{Gathered, Work, count, node_error};
use crate::error::{ErrorKind, Fault};
use crate::graph::{NodeId, Operator, Placement, TensorId};
use crate::plan::results::ResultPort;
use crate::run::call::{Call, Place, Scratch};
use crate::run::loops::{Counts, LoopStack, LoopTurn};
use crate::run::place::rows_first;
use crate::run::room::Room;
use crate::tensor::Tensor;
use crate::tensor::memory::Arena;

/// One piece in flight.
pub(super) struct Lane {
    pub(super) arena: Arc<Arena>,
    pub(super) values: Vec<Option<Tensor>>,
    /// What the piece before handed on.
    pub(super) carried: Vec<Tensor>,
    pub(super) scratch: Scratch,
    /// The most bytes that a node took beside the arena.
    pub(super) heap: Arc<AtomicUsize>,
    /// The piece: its number, first row and rows.
    pub(super) piece: Option<(u64, u64, u64)>,
    pub(super) times: Vec<Duration>,
}

impl Lane {
    /// Takes the next piece, if there is one.
    pub(super) fn begin(&mut self, work: &Work) {
        self.piece = None;
        if work.stop.load(Ordering::Relaxed) {
            return;
        }
        let number = work.next.fetch_add(1, Ordering::Relaxed);
        self.piece = work.plan.cut.piece(number).map(|(first, rows)| (number, first, rows));
        for ((state, _), value) in work.plan.carries.iter().zip(self.carried.drain(..)) {
            self.values[state.index()] = Some(value);
        }
    }

    /// Runs one node for the piece.
    pub(super) fn step(&mut self, work: &Work, place: usize) {
        let Some((number, first, rows)) = self.piece else { return };
        if work.stop.load(Ordering::Relaxed) {
            self.piece = None;
            return;
        }
        let id = work.plan.program.order()[place];
        let begin = Instant::now();
        // A kernel is the user's: what it leaves half done in this lane is thrown away with the piece.
        let done = drawloom_runtime::panic::catch(|| self.execute(work, id, first, rows, number));
        let done = done.unwrap_or_else(|text| Err(Fault::new(format!("it panicked: {text}"))));
        self.times[id.index()] += begin.elapsed();
        match done {
            Ok(()) => {
                for tensor in &work.plan.program.ends[place] {
                    self.values[tensor.index()] = None;
                }
            }
            Err(fault) => self.fail(work, id, &fault),
        }
    }

    fn fail(&mut self, work: &Work, id: NodeId, fault: &Fault) {
        let Some((number, first, rows)) = self.piece.take() else { return };
        work.stop.store(true, Ordering::Relaxed);
        let counts = piece_counts(work, number, first, rows);
        let error = node_error(&work.plan.program, id, fault).at("", &[counts]).in_piece(number, first..first + rows);
        let mut state = work.state();
        if state.error.as_ref().is_none_or(|(earlier, _)| number < *earlier) {
            state.error = Some((number, error));
        }
    }

    pub(super) fn finish(&mut self, work: &Work) {
        self.values.iter_mut().for_each(|value| *value = None);
        self.scratch.done();
        if let Some((number, _, rows)) = self.piece.take() {
            let mut state = work.state();
            state.finished[count(number)] = true;
            state.finished_rows += rows;
        }
    }

    fn execute(&mut self, work: &Work, id: NodeId, first: u64, rows: u64, number: u64) -> Result<(), Fault> {
        let plan = &work.plan;
        let node = &plan.program.graph.nodes[id.index()];
        if matches!(node.operator, Operator::Output) {
            return self.gather(work, first, rows, number);
        }
        let places: Vec<Place> = node.outputs.iter().map(|output| self.place(work, *output, first, rows)).collect();
        let (offset, bytes) = plan.layout.scratch[id.index()];
        let mut stack = LoopStack::at(piece_counts(work, number, first, rows));
        let mut none: Box<dyn Any + Send> = Box::new(());
        let mut turn = LoopTurn::new(&mut stack, none.as_mut(), id);
        // A graph inside of a node computes elsewhere, with as much as the node was seen to take.
        let heap = plan.layout.heap[id.index()];
        let room = heap + places.iter().map(|place| place.bytes).sum::<usize>();
        self.scratch.ready(Room::new(room), Some(Place { arena: Arc::clone(&self.arena), offset, bytes }));
        let call = Call { node, places: &places, scratch: &mut self.scratch };
        let results = call.run(&|tensor| work.view(&self.values, tensor), &mut turn)?;
        // What reading rows takes is known, and not counted.
        let taken = if matches!(node.operator, Operator::Loop(_)) { heap } else { self.scratch.need().heap };
        self.heap.fetch_max(taken, Ordering::Relaxed);
        self.scratch.done();
        if taken > heap {
            let message = format!("it took {taken} bytes beside what it asked for, and {heap} were planned");
            return Err(Fault::of(ErrorKind::Memory, message));
        }
        for (output, result) in node.outputs.iter().zip(results) {
            self.values[output.index()] = Some(result);
        }
        Ok(())
    }

    /// Where a tensor of this piece belongs.
    fn place(&self, work: &Work, tensor: TensorId, first: u64, rows: u64) -> Place {
        let in_place = |result: &&ResultPort| result.in_place && result.tensor == tensor;
        let result = work.plan.results.iter().zip(&work.gathered).find(|(result, _)| in_place(result));
        if let Some((result, Gathered::Rows(arena))) = result {
            let (offset, bytes) = (count(first) * result.row_bytes(), count(rows) * result.row_bytes());
            return Place { arena: Arc::clone(arena), offset, bytes };
        }
        let (offset, bytes) = work.plan.layout.tensors[tensor.index()].unwrap_or((0, 0));
        Place { arena: Arc::clone(&self.arena), offset, bytes }
    }

    /// Puts results of the piece where they belong, unless they are there already.
    fn gather(&mut self, work: &Work, first: u64, rows: u64, number: u64) -> Result<(), Fault> {
        for (result, gathered) in work.plan.results.iter().zip(&work.gathered) {
            let program = &work.plan.program;
            let view =
                work.view(&self.values, result.tensor).ok_or_else(|| Fault::new("an output was not computed"))?;
            result.check(program, view, rows)?;
            match (gathered, result.placement) {
                (Gathered::Rows(arena), Placement::Rows { axis }) if !result.in_place => {
                    let shape = rows_first(view.shape(), axis);
                    let offset = count(first) * result.row_bytes();
                    let mut tensor = Tensor::in_arena(view.element(), &shape, arena, offset)?;
                    crate::run::place::copy_rows_first(&mut tensor, view, axis)?;
                }
                (Gathered::Given(sink), _) => sink.write(count(first), view)?,
                (Gathered::Fixed(value), _) if number + 1 == work.plan.cut.pieces() => {
                    *value.lock() = Some(view.to_tensor());
                }
                _ => {}
            }
        }
        for (_, next) in &work.plan.carries {
            let value = work.view(&self.values, *next);
            self.carried.push(value.ok_or_else(|| Fault::new("a state was not computed"))?.to_tensor());
        }
        Ok(())
    }
}

/// Where the loop over pieces is.
fn piece_counts(work: &Work, number: u64, first: u64, rows: u64) -> Counts {
    Counts { iteration: number, previous: first, current: rows, total: work.plan.rows, previous_outer: 0 }
}
