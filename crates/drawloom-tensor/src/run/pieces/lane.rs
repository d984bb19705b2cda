//! One piece in flight: an executor whose memory is a planned arena.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{Gathered, Work, count};
use crate::error::{ErrorKind, Fault};
use crate::graph::{NodeId, Operator, Placement, TensorId};
use crate::plan::results::ResultPort;
use crate::program::{Program, is_loop};
use crate::run::call::Place;
use crate::run::executor::{Executor, Memory, Source, node_error};
use crate::run::loops::{Counts, LoopStack};
use crate::run::place::rows_first;
use crate::run::room::Room;
use crate::run::scratch::Scratch;
use crate::tensor::Tensor;
use crate::tensor::memory::Arena;

/// One piece in flight.
pub(super) struct Lane {
    executor: Executor<Planned>,
    /// What the piece before handed on.
    carried: Vec<Tensor>,
    pub(super) times: Vec<Duration>,
}

/// Planned places for everything that a piece computes.
struct Planned {
    work: Arc<Work>,
    arena: Arc<Arena>,
    /// The most bytes that a node took beside the arena.
    heap: Arc<AtomicUsize>,
    piece: Option<Piece>,
}

/// A piece: its number, first row and rows.
#[derive(Clone, Copy)]
struct Piece {
    number: u64,
    first: u64,
    rows: u64,
}

impl Piece {
    /// Where the loop over pieces is.
    fn counts(self, work: &Work) -> Counts {
        let Self { number, first, rows } = self;
        Counts { iteration: number, previous: first, current: rows, total: work.plan.rows, previous_outer: 0 }
    }
}

impl Memory for Planned {
    fn begin(&mut self, program: &Program, node: NodeId, scratch: &mut Scratch) -> Vec<Place> {
        let outputs = &program.graph.nodes[node.index()].outputs;
        let places: Vec<Place> = outputs.iter().map(|output| self.place(*output)).collect();
        let layout = &self.work.plan.layout;
        let (offset, bytes) = layout.scratch[node.index()];
        // A graph inside of a node computes elsewhere, with as much as the node was seen to take.
        let room = layout.heap[node.index()] + places.iter().map(|place| place.bytes).sum::<usize>();
        scratch.ready(Room::new(room), Some(Place { arena: Arc::clone(&self.arena), offset, bytes }));
        places
    }

    fn end(&mut self, program: &Program, node: NodeId, _: &[Tensor], scratch: &Scratch) -> Result<(), Fault> {
        let heap = self.work.plan.layout.heap[node.index()];
        // What reading rows takes is known, and not counted.
        let taken = if is_loop(&program.graph.nodes[node.index()].operator) { heap } else { scratch.need().heap };
        self.heap.fetch_max(taken, Ordering::Relaxed);
        if taken > heap {
            let message = format!("it took {taken} bytes beside what it asked for, and {heap} were planned");
            return Err(Fault::of(ErrorKind::Memory, message));
        }
        Ok(())
    }
}

impl Planned {
    /// Where a tensor of this piece belongs.
    fn place(&self, tensor: TensorId) -> Place {
        let in_place = |result: &&ResultPort| result.in_place && result.tensor == tensor;
        let result = self.work.plan.results.iter().zip(&self.work.gathered).find(|(result, _)| in_place(result));
        if let (Some((result, Gathered::Rows(arena))), Some(piece)) = (result, self.piece) {
            let (offset, bytes) = (count(piece.first) * result.row_bytes(), count(piece.rows) * result.row_bytes());
            return Place { arena: Arc::clone(arena), offset, bytes };
        }
        let (offset, bytes) = self.work.plan.layout.tensors[tensor.index()].unwrap_or((0, 0));
        Place { arena: Arc::clone(&self.arena), offset, bytes }
    }
}

impl Lane {
    pub(super) fn new(work: &Arc<Work>) -> Result<Self, Fault> {
        let program = &work.plan.program;
        let arena = Arena::new(work.plan.layout.bytes)?;
        let memory = Planned { work: Arc::clone(work), arena, heap: Arc::default(), piece: None };
        let times = vec![Duration::ZERO; program.graph.nodes.len()];
        Ok(Self { executor: Executor::new(program, memory), carried: Vec::new(), times })
    }

    /// How many bytes it took at most so far, also while it runs.
    pub(super) fn most_bytes(&self) -> impl Fn() -> usize + use<> {
        let Planned { arena, heap, .. } = &self.executor.memory;
        let (arena, heap) = (Arc::clone(arena), Arc::clone(heap));
        move || arena.high() + heap.load(Ordering::Relaxed)
    }

    /// Takes the next piece, if there is one.
    pub(super) fn begin(&mut self) {
        let work = &self.executor.memory.work;
        if work.stop.load(Ordering::Relaxed) {
            return;
        }
        let number = work.next.fetch_add(1, Ordering::Relaxed);
        let piece = work.plan.cut.piece(number).map(|(first, rows)| Piece { number, first, rows });
        if let Some(piece) = piece {
            self.executor.stack = LoopStack::at(piece.counts(work));
        }
        let states: Vec<TensorId> = work.plan.carries.iter().map(|(state, _)| *state).collect();
        for (state, value) in states.into_iter().zip(self.carried.drain(..)) {
            self.executor.set(state, value);
        }
        self.executor.memory.piece = piece;
    }

    /// Runs one node for the piece.
    pub(super) fn step(&mut self, place: usize) {
        let Some(piece) = self.executor.memory.piece else { return };
        let work = Arc::clone(&self.executor.memory.work);
        if work.stop.load(Ordering::Relaxed) {
            self.executor.memory.piece = None;
            return;
        }
        let source = Source { program: &work.plan.program, tensors: work.as_ref() };
        let id = source.program.order()[place];
        let begin = Instant::now();
        // A kernel is the user's: what it leaves half done in this lane is thrown away with the piece.
        let done = drawloom_runtime::panic::catch(|| match source.program.graph.nodes[id.index()].operator {
            Operator::Output => self.gather(source, &work, piece),
            Operator::Kernel(_) | Operator::Loop(_) => self.executor.run(source, id),
        });
        let done = done.unwrap_or_else(|text| Err(Fault::new(format!("it panicked: {text}"))));
        self.times[id.index()] += begin.elapsed();
        match done {
            Ok(()) => self.executor.release_ends(source.program, place),
            Err(fault) => {
                self.executor.memory.piece = None;
                let Piece { number, first, rows } = piece;
                let error = node_error(source.program, id, &fault, &[piece.counts(&work)]);
                work.fail(number, error.in_piece(number, first..first + rows));
            }
        }
    }

    pub(super) fn finish(&mut self) {
        self.clear();
        let memory = &mut self.executor.memory;
        if let Some(Piece { number, rows, .. }) = memory.piece.take() {
            let mut state = memory.work.state();
            state.finished[count(number)] = true;
            state.finished_rows += rows;
        }
    }

    /// Drops all tensors of the piece.
    pub(super) fn clear(&mut self) {
        self.executor.tensors.iter_mut().for_each(|tensor| *tensor = None);
    }

    /// Puts results of the piece where they belong, unless they are there already.
    fn gather(&mut self, source: Source<'_>, work: &Work, piece: Piece) -> Result<(), Fault> {
        let Piece { number, first, rows } = piece;
        let first = count(first);
        for (result, gathered) in work.plan.results.iter().zip(&work.gathered) {
            let view = self.executor.view(source, result.tensor);
            let view = view.ok_or_else(|| Fault::new("an output was not computed"))?;
            result.check(source.program, view, rows)?;
            match (gathered, result.placement) {
                (Gathered::Rows(arena), Placement::Rows { axis }) if !result.in_place => {
                    let shape = rows_first(view.shape(), axis);
                    let mut tensor = Tensor::in_arena(view.element(), &shape, arena, first * result.row_bytes())?;
                    crate::run::place::copy_rows_first(&mut tensor, view, axis)?;
                }
                (Gathered::Given(sink), _) => sink.write(first, view)?,
                (Gathered::Fixed(value), _) if number + 1 == work.plan.cut.pieces() => {
                    *value.lock() = Some(view.to_tensor());
                }
                _ => {}
            }
        }
        for (_, next) in &work.plan.carries {
            let value = self.executor.view(source, *next);
            self.carried.push(value.ok_or_else(|| Fault::new("a state was not computed"))?.to_tensor());
        }
        Ok(())
    }
}
