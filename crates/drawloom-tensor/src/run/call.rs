//! What an operator sees while it runs: its inputs, memory for its outputs, and scratch memory.

use std::sync::Arc;

use crate::error::{ErrorKind, Fault};
use crate::graph::{Node, Operator, TensorId};
use crate::run::loops::{Counts, LoopTurn};
use crate::tensor::element::{Data, Element, ElementType};
use crate::tensor::memory::{Arena, Loan};
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
    pub(super) room: usize,
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
        let mut outputs = Outputs { tensors: &mut results, room: self.room, places: self.places };
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
    pub(crate) room: usize,
    /// Where each output belongs, if that was planned.
    pub(crate) places: &'a [Place],
}

impl<'a> Outputs<'a> {
    /// Outputs for a kernel that is called outside of a run.
    pub fn new(tensors: &'a mut [Option<Tensor>], room: usize) -> Self {
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
        let (room, what) = match self.places.get(index) {
            Some(place) => (place.bytes, "were planned"),
            None => (self.room, "are left"),
        };
        if bytes > room {
            let message = format!("a result of shape {shape:?} needs {bytes} bytes, and {room} {what}");
            return Err(Fault::of(ErrorKind::Memory, message));
        }
        if index >= self.places.len() {
            self.room -= bytes;
        }
        Ok(())
    }
}

/// Memory that a kernel uses while it runs. Its contents are not defined.
#[derive(Default)]
pub struct Scratch {
    data: Option<Data>,
    /// Where it is, if that was planned.
    place: Option<Place>,
    /// The most bytes that were asked for since it was last made ready.
    most: usize,
}

impl Scratch {
    /// The first `count` elements of the scratch memory, as elements of one type.
    pub fn of<T: Element>(&mut self, count: usize) -> Result<&mut [T], Fault> {
        let bytes = count.saturating_mul(T::TYPE.size());
        self.most = self.most.max(bytes);
        if let Some(place) = &self.place {
            if bytes > place.bytes {
                let message = format!("it needs {bytes} bytes while it runs, and {} were planned", place.bytes);
                return Err(Fault::of(ErrorKind::Memory, message));
            }
            // The old loan must be back before the same bytes are lent again.
            self.data = None;
            self.data = Some(T::wrap_loan(Loan::new(&place.arena, place.offset, count)?));
        } else {
            let fits = self.data.as_ref().is_some_and(|data| data.slice().element() == T::TYPE);
            if !fits || self.data.as_ref().is_some_and(|data| data.slice().len() < count) {
                self.data = Some(T::wrap(crate::tensor::element::zeros(count)?));
            }
        }
        let missing = || Fault::new("the scratch memory has another type");
        let values = self.data.as_mut().and_then(T::data_mut).ok_or_else(missing)?;
        Ok(&mut values[..count])
    }

    /// Says that the kernel took so many bytes of other memory while it ran, so that a plan counts them.
    pub fn count(&mut self, bytes: usize) {
        self.most = self.most.max(bytes);
    }

    /// Makes it ready for a node, with or without a planned place.
    pub(crate) fn ready(&mut self, place: Option<Place>) {
        if place.is_some() || self.place.is_some() {
            self.data = None;
        }
        self.place = place;
        self.most = 0;
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }
}
