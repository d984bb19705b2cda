//! What an operator sees while it runs: its inputs, memory for its outputs, and scratch memory.

use crate::error::{ErrorKind, Fault};
use crate::run::loops::Counts;
use crate::tensor::element::{Data, Element, ElementType};
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

/// Where a node puts its results.
pub struct Outputs<'a> {
    pub(crate) tensors: &'a mut [Option<Tensor>],
    /// How many bytes may still be allocated.
    pub(crate) room: usize,
}

impl<'a> Outputs<'a> {
    /// Outputs for a kernel that is called outside of a run.
    pub fn new(tensors: &'a mut [Option<Tensor>], room: usize) -> Self {
        Self { tensors, room }
    }

    /// Memory for the elements of an output, all zero.
    pub fn allocate<T: Element>(&mut self, index: usize, shape: &[usize]) -> Result<&mut [T], Fault> {
        self.allocate_of(T::TYPE, index, shape)?.values_mut()
    }

    /// Memory for the elements of an output, with whatever is in it: for kernels that write every element.
    pub fn allocate_unset<T: Element>(&mut self, index: usize, shape: &[usize]) -> Result<&mut [T], Fault> {
        self.allocate(index, shape)
    }

    /// Memory for an output of a type that is known only now.
    pub fn allocate_of(&mut self, element: ElementType, index: usize, shape: &[usize]) -> Result<&mut Tensor, Fault> {
        self.reserve(element, shape)?;
        self.put(index, Tensor::zeros(element, shape)?)
    }

    /// A copy of a view.
    pub fn copy(&mut self, index: usize, view: View<'_>, shape: &[usize]) -> Result<(), Fault> {
        self.reserve(view.element(), shape)?;
        self.put(index, view.with_shape(shape)?.to_tensor())?;
        Ok(())
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

    pub(crate) fn put(&mut self, index: usize, tensor: Tensor) -> Result<&mut Tensor, Fault> {
        let count = self.tensors.len();
        let slot = self
            .tensors
            .get_mut(index)
            .ok_or_else(|| Fault::new(format!("output {index} is not there: the node has {count}")))?;
        Ok(slot.insert(tensor))
    }

    /// Refuses results that are larger than the run may hold, before there is memory for them.
    fn reserve(&mut self, element: ElementType, shape: &[usize]) -> Result<(), Fault> {
        let bytes = count(shape)?.saturating_mul(element.size());
        if bytes > self.room {
            return Err(Fault::of(
                ErrorKind::Memory,
                format!("a result of shape {shape:?} needs {bytes} bytes, and {} are left", self.room),
            ));
        }
        self.room -= bytes;
        Ok(())
    }
}

/// Memory that a kernel uses while it runs. Its contents are not defined.
#[derive(Default)]
pub struct Scratch {
    data: Option<Data>,
}

impl Scratch {
    /// The first `count` elements of the scratch memory, as elements of one type.
    pub fn of<T: Element>(&mut self, count: usize) -> Result<&mut [T], Fault> {
        let fits = self.data.as_ref().is_some_and(|data| data.slice().element() == T::TYPE);
        if !fits {
            self.data = Some(T::wrap(Vec::new()));
        }
        let missing = || Fault::new("the scratch memory has another type");
        let values = self.data.as_mut().and_then(T::data_mut).ok_or_else(missing)?;
        if values.len() < count {
            *values = crate::tensor::element::zeros(count)?;
        }
        Ok(&mut values[..count])
    }
}
