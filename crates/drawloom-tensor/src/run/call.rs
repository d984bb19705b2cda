//! What an operator sees while it runs: its inputs, memory for its outputs, and scratch memory.

use std::any::Any;
use std::sync::Arc;

use crate::error::{ErrorKind, Fault};
use crate::graph::{Node, NodeId, Operator, TensorId};
use crate::run::loops::{Counts, LoopStack, LoopTurn};
use crate::run::room::Room;
use crate::tensor::element::{Element, ElementType, zeros};
use crate::tensor::memory::{ALIGNMENT, Arena, Buffer, Loan};
use crate::tensor::{Tensor, View, count};

/// The inputs of a node, and where its loop is.
pub struct Inputs<'a> {
    pub(crate) views: &'a [Option<View<'a>>],
    pub(crate) counts: Counts,
}

impl<'a> Inputs<'a> {
    /// Inputs for a kernel that is called outside of a run.
    pub fn new(views: &'a [Option<View<'a>>]) -> Self {
        Self { views, counts: Counts::default() }
    }

    /// An input that must be there.
    pub fn get(&self, index: usize) -> Result<View<'a>, Fault> {
        self.optional(index).ok_or_else(|| Fault::new(format!("input {index} is missing")))
    }

    /// An input that may have been left out.
    pub fn optional(&self, index: usize) -> Option<View<'a>> {
        self.views.get(index).copied().flatten()
    }

    /// How many inputs the node has, those that were left out included.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Whether the node has no inputs.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// The top record of the loop stack: that of its own loop for a loop-control node, and zero for all others.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How many iterations of its own loop are behind a loop-control node.
    pub fn itercount(&self) -> u64 {
        self.counts.iteration
    }

    /// How many rows of its own loop are behind a loop-control node.
    pub fn prev_batches(&self) -> u64 {
        self.counts.previous
    }
}

/// One call of the operator of a node.
pub(super) struct Call<'a> {
    pub(super) node: &'a Node,
    pub(super) places: &'a [Place],
    pub(super) scratch: &'a mut Scratch,
}

impl Call<'_> {
    /// Computes the outputs from tensors that are looked up, and checks that all of them are there.
    pub(super) fn run<'v>(
        self,
        look: &dyn Fn(TensorId) -> Option<View<'v>>,
        turn: &mut LoopTurn<'_>,
    ) -> Result<Vec<Tensor>, Fault> {
        let mut results: Vec<Option<Tensor>> = vec![None; self.node.outputs.len()];
        let mut outputs = Outputs { tensors: &mut results, room: self.scratch.room.clone(), places: self.places };
        let views: Vec<Option<View<'_>>> = self.node.inputs.iter().map(|input| input.and_then(look)).collect();
        match &self.node.operator {
            Operator::Kernel(kernel) => {
                let inputs = Inputs { views: &views, counts: Counts::default() };
                kernel.run(&inputs, &mut outputs, self.scratch)?;
            }
            Operator::Loop(control) => {
                let inputs = Inputs { views: &views, counts: turn.stack.top() };
                control.run(&inputs, &mut outputs, turn)?;
                let pushed = turn.pushed;
                if pushed != 1 {
                    let message =
                        format!("a loop-control node must push its loop once, and this one did {pushed} times");
                    return Err(Fault::of(ErrorKind::Iteration, message));
                }
            }
            Operator::Output => {}
        }
        let missing = |index: usize| Fault::new(format!("it did not compute its output {index}"));
        results.into_iter().enumerate().map(|(index, result)| result.ok_or_else(|| missing(index))).collect()
    }
}

/// Computes the outputs of a node that is in no loop, in memory of their own.
pub(crate) fn run_alone<'v>(
    node: &Node,
    id: NodeId,
    scratch: &mut Scratch,
    look: &dyn Fn(TensorId) -> Option<View<'v>>,
) -> Result<Vec<Tensor>, Fault> {
    let mut stack = LoopStack::new(1);
    let mut none: Box<dyn Any + Send> = Box::new(());
    let mut turn = LoopTurn::new(&mut stack, none.as_mut(), id);
    Call { node, places: &[], scratch }.run(look, &mut turn)
}

/// A place in an arena that was planned for something.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) arena: Arc<Arena>,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// Where a node puts its results.
pub struct Outputs<'a> {
    pub(crate) tensors: &'a mut [Option<Tensor>],
    /// How many bytes may still be allocated.
    pub(crate) room: Room,
    /// Where each output belongs, if that was planned.
    pub(crate) places: &'a [Place],
}

impl<'a> Outputs<'a> {
    /// Outputs for a kernel that is called outside of a run.
    pub fn new(tensors: &'a mut [Option<Tensor>], room: usize) -> Self {
        Self::within(tensors, Room::new(room))
    }

    /// Outputs that share their room with something else.
    pub(crate) fn within(tensors: &'a mut [Option<Tensor>], room: Room) -> Self {
        Self { tensors, room, places: &[] }
    }

    /// Memory for the elements of an output, all zero.
    pub fn allocate<T: Element>(&mut self, index: usize, shape: &[usize]) -> Result<&mut [T], Fault> {
        self.allocate_of(T::TYPE, index, shape)?.values_mut()
    }

    /// Memory for the elements of an output, with whatever is in it: for kernels that write every element.
    pub fn allocate_unset<T: Element>(&mut self, index: usize, shape: &[usize]) -> Result<&mut [T], Fault> {
        self.allocate_unset_of(T::TYPE, index, shape)?.values_mut()
    }

    /// Memory for an output of a type that is known only now, all zero.
    pub fn allocate_of(&mut self, element: ElementType, index: usize, shape: &[usize]) -> Result<&mut Tensor, Fault> {
        let planned = index < self.places.len();
        let tensor = self.allocate_unset_of(element, index, shape)?;
        if planned {
            tensor.clear()?;
        }
        Ok(tensor)
    }

    /// Memory for an output of a type that is known only now, with whatever is in it.
    pub fn allocate_unset_of(
        &mut self,
        element: ElementType,
        index: usize,
        shape: &[usize],
    ) -> Result<&mut Tensor, Fault> {
        self.reserve(element, index, shape)?;
        let tensor = match self.places.get(index) {
            Some(place) => Tensor::in_arena(element, shape, &place.arena, place.offset)?,
            None => Tensor::zeros(element, shape)?,
        };
        self.slot(index).map(|slot| slot.insert(tensor))
    }

    /// A copy of a view.
    pub fn copy(&mut self, index: usize, view: View<'_>, shape: &[usize]) -> Result<(), Fault> {
        let view = view.with_shape(shape)?;
        self.allocate_unset_of(view.element(), index, shape)?.fill_from(view)
    }

    /// Whether anybody asked for this output.
    pub fn wanted(&self, index: usize) -> bool {
        index < self.tensors.len()
    }

    /// How many outputs were asked for.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether none were asked for.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// A tensor that was made elsewhere.
    pub(crate) fn put(&mut self, index: usize, tensor: Tensor) -> Result<(), Fault> {
        if index < self.places.len() {
            return self.copy(index, tensor.view(), tensor.shape());
        }
        self.slot(index)?.replace(tensor);
        Ok(())
    }

    fn slot(&mut self, index: usize) -> Result<&mut Option<Tensor>, Fault> {
        let count = self.tensors.len();
        let missing = || Fault::new(format!("output {index} is not there: the node has {count}"));
        self.tensors.get_mut(index).ok_or_else(missing)
    }

    /// Refuses results that are larger than the run may hold, before there is memory for them.
    fn reserve(&mut self, element: ElementType, index: usize, shape: &[usize]) -> Result<(), Fault> {
        let bytes = count(shape)?.saturating_mul(element.size());
        let what = || format!("a result of shape {shape:?}");
        match self.places.get(index) {
            None => self.room.take(bytes, what),
            Some(place) if bytes > place.bytes => {
                let message = format!("{} needs {bytes} bytes, and {} were planned", what(), place.bytes);
                Err(Fault::of(ErrorKind::Memory, message))
            }
            Some(_) => Ok(()),
        }
    }
}

/// Temporary memory for a kernel while it runs. It is part of what a plan predicts, so a kernel must take every buffer here
/// that grows with its inputs.
///
/// A kernel asks for buffers, and drops them when it ends. Buffers are laid out one behind the other, and none of them is
/// used again for another before the kernel ends: one that is needed in a loop should be asked for outside of it.
#[derive(Default)]
pub struct Scratch {
    /// Where it is, if that was planned.
    place: Option<Place>,
    /// How many bytes of the place were given out.
    used: usize,
    need: Need,
    /// How many bytes it may have where no place was planned, together with the results.
    pub(crate) room: Room,
}

/// What a kernel needs while it runs, beside its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// How many bytes it asked for, with the most that aligning them can take.
    pub(crate) scratch: usize,
    /// The most bytes that it took elsewhere.
    pub(crate) heap: usize,
}

impl Need {
    pub(crate) fn total(self) -> usize {
        self.scratch.saturating_add(self.heap)
    }

    /// The larger of both, each by itself.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { scratch: self.scratch.max(other.scratch), heap: self.heap.max(other.heap) }
    }
}

impl Scratch {
    /// What a buffer of so many elements takes at most.
    pub fn bytes<T: Element>(count: usize) -> usize {
        // Aligning is counted as a constant, so that the whole grows by the same with each row.
        count.saturating_mul(T::TYPE.size()).saturating_add(ALIGNMENT)
    }

    /// A buffer of elements that are zero.
    pub fn zeros<T: Element>(&mut self, count: usize) -> Result<Buffer<T>, Fault> {
        let planned = self.place.is_some();
        let mut buffer = self.unset(count)?;
        if planned {
            buffer.fill(T::default());
        }
        Ok(buffer)
    }

    /// A buffer of elements that are whatever was there before.
    pub fn unset<T: Element>(&mut self, count: usize) -> Result<Buffer<T>, Fault> {
        self.need.scratch = self.need.scratch.saturating_add(Self::bytes::<T>(count));
        let bytes = count.saturating_mul(T::TYPE.size());
        let Some(place) = &self.place else {
            self.room.take(bytes, || "what it computes with".to_owned())?;
            return Ok(Buffer::Own(zeros(count)?));
        };
        let end = self.used.saturating_add(bytes);
        if end > place.bytes {
            let message = format!("it needs {end} bytes while it runs, and {} were planned", place.bytes);
            return Err(Fault::of(ErrorKind::Memory, message));
        }
        let loan = Loan::new(&place.arena, place.offset + self.used, count)?;
        self.used = end.next_multiple_of(ALIGNMENT);
        Ok(Buffer::Lent(loan))
    }

    /// A buffer with the elements of an iterator that says how many there are.
    pub fn filled<T: Element>(&mut self, values: impl ExactSizeIterator<Item = T>) -> Result<Buffer<T>, Fault> {
        let mut buffer = self.unset(values.len())?;
        buffer.iter_mut().zip(values).for_each(|(into, value)| *into = value);
        Ok(buffer)
    }

    /// Says that the kernel is about to take so many bytes of other memory, so that a plan counts them: what a library
    /// allocates, or lists whose length is not known before. It is refused if there is no room for them.
    pub fn count(&mut self, bytes: usize) -> Result<(), Fault> {
        let more = bytes.saturating_sub(self.need.heap);
        self.need.heap = self.need.heap.max(bytes);
        self.room.take(more, || "what it takes elsewhere".to_owned())
    }

    /// How many bytes of other memory there may be, those that were counted before included.
    pub(crate) fn elsewhere(&self) -> usize {
        self.room.left().saturating_add(self.need.heap)
    }

    /// Makes it ready for a node, with room for what has no planned place, and with or without such a place.
    pub(crate) fn ready(&mut self, room: usize, place: Option<Place>) {
        *self = Self { place, room: Room::new(room), ..Self::default() };
    }

    /// Gives a planned place back.
    pub(crate) fn done(&mut self) {
        (self.place, self.used) = (None, 0);
    }

    pub(crate) fn need(&self) -> Need {
        self.need
    }
}
