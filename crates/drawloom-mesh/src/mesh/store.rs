//! The values of a dat or a global, without their type.

use std::any::{Any, TypeId};

use drawloom_runtime::element::bytes_of;
use drawloom_runtime::{Element, Erased, Loom, Region, Vector};

use crate::element::Kind;
use crate::error::{Error, ErrorKind};
use crate::raw::Values;

/// How the components of the elements of a dat lie in memory. Kernels do not see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// The components of an element lie side by side: an array of elements.
    #[default]
    ByElement,
    /// Equal components of all elements lie side by side: one array for each component.
    ByComponent,
}

/// Values, element after element.
pub(crate) trait Store: Any + Send + Sync {
    fn kind(&self) -> Kind;
    fn dim(&self) -> usize;
    fn len(&self) -> usize;
    /// The bytes of one element.
    fn bytes_each(&self) -> usize;
    /// The alignment of an element.
    #[cfg(feature = "messages")]
    fn align(&self) -> usize;
    /// The bytes of an element.
    fn element(&self, number: usize) -> &[u8];
    fn as_any(&self) -> &dyn Any;
    fn duplicate(&self) -> Box<dyn Store>;
    /// The values as plain data, if their type is one of those that files hold.
    fn values(&self) -> Option<Values>;
    /// Plain data as values of the type and number of these, if it is that.
    fn like(&self, values: &Values) -> Option<Box<dyn Store>>;
    /// A copy in memory of this process, laid out.
    fn in_memory(&self, layout: Layout) -> Box<dyn Memory>;
    /// A copy in a region of a runtime, laid out, and cut at the given elements.
    fn in_region(&self, loom: &Loom, name: &str, layout: Layout, starts: &[usize]) -> Result<Box<dyn Pieces>, Error>;
    /// A copy of as many values as these, of the same type, from an address where they lie element after element.
    ///
    /// # Safety
    /// They are there, and nobody changes them meanwhile.
    #[allow(unsafe_code)]
    unsafe fn read_at(&self, base: *const u8) -> Box<dyn Store>;
    /// The first element that is not a finite number, and its component.
    fn first_not_finite(&self) -> Option<(usize, usize)>;
}

/// Values in memory, laid out.
pub(crate) trait Memory: Send {
    fn base(&mut self) -> *mut u8;
    /// The distance between components, in numbers; zero when those of an element lie side by side.
    fn distance(&self) -> usize;
    fn fetch(&self) -> Box<dyn Store>;
}

/// Values in a region, cut into blocks.
pub(crate) trait Pieces: Send + Sync {
    /// The pieces that hold the elements of a block.
    fn block(&self, number: usize) -> &[Erased];
    fn distance(&self) -> usize;
    /// Waits for those who change the values, and copies them.
    fn fetch(&self) -> Result<Box<dyn Store>, Error>;
}

/// Values of a type, element after element.
pub(crate) struct Typed<T, const N: usize>(pub(crate) Vec<[T; N]>);

impl<T: Element, const N: usize> Typed<T, N> {
    fn by_component(&self) -> Vec<T> {
        (0..N).flat_map(|c| self.0.iter().map(move |element| element[c])).collect()
    }

    fn from_components(values: &[T], len: usize) -> Self {
        Self((0..len).map(|e| std::array::from_fn(|c| values[c * len + e])).collect())
    }
}

impl<T: Element, const N: usize> Store for Typed<T, N> {
    fn kind(&self) -> Kind {
        Kind::of::<T>()
    }

    fn dim(&self) -> usize {
        N
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn bytes_each(&self) -> usize {
        size_of::<[T; N]>()
    }

    #[cfg(feature = "messages")]
    fn align(&self) -> usize {
        align_of::<[T; N]>()
    }

    fn element(&self, number: usize) -> &[u8] {
        bytes_of(std::slice::from_ref(&self.0[number]))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn duplicate(&self) -> Box<dyn Store> {
        Box::new(Self(self.0.clone()))
    }

    fn values(&self) -> Option<Values> {
        let flat: Box<dyn Any> = Box::new(self.0.as_flattened().to_vec());
        Some(match self.kind() {
            Kind::F32 => Values::F32(*flat.downcast().ok()?),
            Kind::F64 => Values::F64(*flat.downcast().ok()?),
            Kind::I32 => Values::I32(*flat.downcast().ok()?),
            Kind::U32 => Values::U32(*flat.downcast().ok()?),
            Kind::I64 => Values::I64(*flat.downcast().ok()?),
            Kind::Bool => Values::Bool(*flat.downcast().ok()?),
            Kind::Plain { .. } => return None,
        })
    }

    fn like(&self, values: &Values) -> Option<Box<dyn Store>> {
        let values: &dyn Any = match values {
            Values::F32(values) => values,
            Values::F64(values) => values,
            Values::I32(values) => values,
            Values::U32(values) => values,
            Values::I64(values) => values,
            Values::Bool(values) => values,
        };
        let (elements, rest) = values.downcast_ref::<Vec<T>>()?.as_chunks::<N>();
        let fits = rest.is_empty() && elements.len() == self.0.len();
        fits.then(|| Box::new(Self(elements.to_vec())) as Box<dyn Store>)
    }

    fn in_memory(&self, layout: Layout) -> Box<dyn Memory> {
        match layout {
            Layout::ByElement => Box::new(Typed(self.0.clone())),
            Layout::ByComponent => Box::new(Components::<T, N> { values: self.by_component(), len: self.0.len() }),
        }
    }

    fn in_region(&self, loom: &Loom, name: &str, layout: Layout, starts: &[usize]) -> Result<Box<dyn Pieces>, Error> {
        Ok(match layout {
            Layout::ByElement => {
                let whole = loom.vector(name, self.0.clone());
                let blocks = whole.runs(starts).map_err(of_engine)?.map(|run| vec![run.erased()]).collect();
                Box::new(InRegion { whole, blocks, len: self.0.len(), distance: 0, fetch: |values, _| Self(values) })
            }
            Layout::ByComponent => {
                let whole = loom.vector(name, self.by_component());
                let len = self.0.len();
                let firsts = || std::iter::once(0).chain(starts.iter().copied());
                let cuts: Vec<usize> = (0..N).flat_map(|c| firsts().map(move |s| c * len + s)).skip(1).collect();
                let runs: Vec<Erased> = whole.runs(&cuts).map_err(of_engine)?.map(|run| run.erased()).collect();
                let count = starts.len() + 1;
                let blocks = (0..count).map(|b| (0..N).map(|c| runs[c * count + b].clone()).collect()).collect();
                Box::new(InRegion {
                    whole,
                    blocks,
                    len,
                    distance: len,
                    fetch: |values, len| Self::from_components(&values, len),
                })
            }
        })
    }

    #[allow(unsafe_code)]
    unsafe fn read_at(&self, base: *const u8) -> Box<dyn Store> {
        // SAFETY: promised by the caller.
        Box::new(Self(unsafe { std::slice::from_raw_parts(base.cast::<[T; N]>(), self.0.len()) }.to_vec()))
    }

    fn first_not_finite(&self) -> Option<(usize, usize)> {
        let flat = self.0.as_flattened();
        let position = if TypeId::of::<T>() == TypeId::of::<f64>() {
            flat.iter().position(|v| (v as &dyn Any).downcast_ref::<f64>().is_some_and(|v| !v.is_finite()))
        } else {
            flat.iter().position(|v| (v as &dyn Any).downcast_ref::<f32>().is_some_and(|v| !v.is_finite()))
        };
        position.map(|p| (p / N, p % N))
    }
}

impl<T: Element, const N: usize> Memory for Typed<T, N> {
    fn base(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    fn distance(&self) -> usize {
        0
    }

    fn fetch(&self) -> Box<dyn Store> {
        self.duplicate()
    }
}

/// Values component after component.
struct Components<T, const N: usize> {
    values: Vec<T>,
    len: usize,
}

impl<T: Element, const N: usize> Memory for Components<T, N> {
    fn base(&mut self) -> *mut u8 {
        self.values.as_mut_ptr().cast()
    }

    fn distance(&self) -> usize {
        self.len
    }

    fn fetch(&self) -> Box<dyn Store> {
        Box::new(Typed::<T, N>::from_components(&self.values, self.len))
    }
}

/// A vector of a runtime, and what it is cut into.
struct InRegion<V: Element, S> {
    whole: Vector<V>,
    blocks: Vec<Vec<Erased>>,
    len: usize,
    distance: usize,
    fetch: fn(Vec<V>, usize) -> S,
}

impl<V: Element, S: Store> Pieces for InRegion<V, S> {
    fn block(&self, number: usize) -> &[Erased] {
        &self.blocks[number]
    }

    fn distance(&self) -> usize {
        self.distance
    }

    fn fetch(&self) -> Result<Box<dyn Store>, Error> {
        let values = self.whole.read().map_err(of_engine)?.to_vec();
        Ok(Box::new((self.fetch)(values, self.len)))
    }
}

/// What the engine says, as an error of a mesh program.
pub(crate) fn of_engine(error: drawloom_runtime::Error) -> Error {
    Error::new(ErrorKind::Failed, error.to_string())
}
