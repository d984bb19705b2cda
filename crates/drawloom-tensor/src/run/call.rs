//! What an operator sees while it runs: its inputs, memory for its outputs, and scratch memory.

use std::sync::Arc;

use crate::error::{ErrorKind, Fault};
use crate::run::loops::Counts;
use crate::run::room::Room;
pub use crate::run::scratch::Scratch;
use crate::tensor::element::{Element, ElementType};
use crate::tensor::memory::Arena;
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

    /// All inputs, with none for those that were left out.
    pub fn views(&self) -> &'a [Option<View<'a>>] {
        self.views
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

/// A kernel that missed elements has asked for all of its results before: they are known, and absent.
pub fn without_elements(done: Result<(), Fault>, results: &mut [Option<Tensor>]) -> Result<(), Fault> {
    match done {
        Err(fault) if fault.kind() == ErrorKind::Absent && results.iter().all(Option::is_some) => {
            for result in results.iter_mut().flatten() {
                *result = Tensor::absent(result.element(), result.shape())?;
            }
            Ok(())
        }
        done => done,
    }
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
    pub fn within(tensors: &'a mut [Option<Tensor>], room: Room) -> Self {
        Self { tensors, room, places: &[] }
    }

    /// The room that results are taken from.
    pub fn room(&self) -> &Room {
        &self.room
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
        let there = self.reserve(element, index, shape)?;
        let tensor = match self.places.get(index) {
            Some(place) => Tensor::in_arena(element, shape, &place.arena, place.offset)?,
            None if there => Tensor::zeros(element, shape)?,
            None => Tensor::absent(element, shape)?,
        };
        let slot = self.slot(index)?.insert(tensor);
        if there { Ok(slot) } else { Err(Fault::absent()) }
    }

    /// Says which shape an output will have. A kernel with several outputs says so of all before it computes one.
    pub fn announce(&mut self, element: ElementType, index: usize, shape: &[usize]) -> Result<(), Fault> {
        if self.room.counts() && self.wanted(index) {
            *self.slot(index)? = Some(Tensor::absent(element, shape)?);
        }
        Ok(())
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
    pub fn put(&mut self, index: usize, tensor: Tensor) -> Result<(), Fault> {
        if index < self.places.len() {
            return self.copy(index, tensor.view(), tensor.shape());
        }
        self.slot(index)?.replace(tensor);
        Ok(())
    }

    /// A result that there is memory for already.
    pub fn tensor_mut(&mut self, index: usize) -> Result<&mut Tensor, Fault> {
        self.slot(index)?.as_mut().ok_or_else(|| Fault::new(format!("there is no memory for output {index} yet")))
    }

    fn slot(&mut self, index: usize) -> Result<&mut Option<Tensor>, Fault> {
        let count = self.tensors.len();
        let missing = || Fault::new(format!("output {index} is not there: the node has {count}"));
        self.tensors.get_mut(index).ok_or_else(missing)
    }

    /// Refuses results that are larger than the run may hold, before there is memory for them. Whether they can be computed.
    fn reserve(&mut self, element: ElementType, index: usize, shape: &[usize]) -> Result<bool, Fault> {
        let bytes = count(shape)?.saturating_mul(element.size());
        let what = || format!("a result of shape {shape:?}");
        self.room.begin_results();
        match self.places.get(index) {
            None => Ok(self.room.take(bytes, what)? && !self.room.lacks()),
            Some(place) if bytes > place.bytes => {
                let message = format!("{} needs {bytes} bytes, and {} were planned", what(), place.bytes);
                Err(Fault::of(ErrorKind::Memory, message))
            }
            Some(_) => Ok(true),
        }
    }
}
