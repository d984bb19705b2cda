//! The values of a dat or a global, without their type.

use std::any::{Any, TypeId};

use drawloom_runtime::element::{bytes_of, first_invalid};
use drawloom_runtime::{Element, Erased, Loom, Region, Vector};

use crate::element::Kind;
use crate::error::{Error, ErrorKind};
use crate::raw::Values;

/// Whether some bytes, as many as a value has, are one.
pub(crate) type Validity = fn(&[u8]) -> bool;

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
    /// The address of the first element.
    fn base(&mut self) -> *mut u8;
    /// A copy in a region of a runtime, cut at the given elements.
    fn in_region(&self, loom: &Loom, name: &str, starts: &[usize]) -> Result<Box<dyn Pieces>, Error>;
    /// Whether some bytes, as many as an element has, are one; none if all bytes are.
    fn validity(&self) -> Option<Validity>;
    /// As many values as these, of the same type, from their bytes, element after element; none if these are not as many, or
    /// are no values of the type.
    fn like_bytes(&self, bytes: &[u8]) -> Option<Box<dyn Store>>;
    /// The first element that is not a finite number, and its component.
    fn first_not_finite(&self) -> Option<(usize, usize)>;
}

/// Values in a region, cut into blocks.
pub(crate) trait Pieces: Send + Sync {
    /// The piece that holds the elements of a block.
    fn block(&self, number: usize) -> &Erased;
    /// Waits for those who change the values, and copies them.
    fn fetch(&self) -> Result<Box<dyn Store>, Error>;
}

/// Values of a type, element after element.
pub(crate) struct Typed<T, const N: usize>(pub(crate) Vec<[T; N]>);

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
        plain_values(self.0.as_flattened())
    }

    fn like(&self, values: &Values) -> Option<Box<dyn Store>> {
        let (elements, rest) = typed_values::<T>(values)?.as_chunks::<N>();
        let fits = rest.is_empty() && elements.len() == self.0.len();
        fits.then(|| Box::new(Self(elements.to_vec())) as Box<dyn Store>)
    }

    fn base(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    fn in_region(&self, loom: &Loom, name: &str, starts: &[usize]) -> Result<Box<dyn Pieces>, Error> {
        let whole = loom.vector(name, self.0.clone());
        let blocks = whole.runs(starts).map_err(of_engine)?.map(|run| run.erased()).collect();
        Ok(Box::new(InRegion { whole, blocks }))
    }

    fn validity(&self) -> Option<Validity> {
        (!T::ALL_BYTES_VALID).then_some(<[T; N] as Element>::is_valid)
    }

    fn like_bytes(&self, bytes: &[u8]) -> Option<Box<dyn Store>> {
        if bytes.len() != size_of_val(&*self.0) || first_invalid::<[T; N]>(bytes).is_some() {
            return None;
        }
        let mut values = self.0.clone();
        // SAFETY: there are as many bytes on both sides, which are values of the type; the copy was made just now.
        #[allow(unsafe_code)]
        unsafe {
            values.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        Some(Box::new(Self(values)))
    }

    fn first_not_finite(&self) -> Option<(usize, usize)> {
        position_not_finite(self.0.as_flattened()).map(|position| (position / N, position % N))
    }
}

// What does not depend on the number of components is compiled once for each type, and not once for each pair.

/// Values as plain data, if their type is one of those that files hold.
fn plain_values<T: Element>(flat: &[T]) -> Option<Values> {
    let flat: Box<dyn Any> = Box::new(flat.to_vec());
    Some(match Kind::of::<T>() {
        Kind::F32 => Values::F32(*flat.downcast().ok()?),
        Kind::F64 => Values::F64(*flat.downcast().ok()?),
        Kind::I32 => Values::I32(*flat.downcast().ok()?),
        Kind::U32 => Values::U32(*flat.downcast().ok()?),
        Kind::I64 => Values::I64(*flat.downcast().ok()?),
        Kind::Bool => Values::Bool(*flat.downcast().ok()?),
        Kind::Plain { .. } => return None,
    })
}

/// Plain data as values of a type, if it is that.
fn typed_values<T: Element>(values: &Values) -> Option<&Vec<T>> {
    let values: &dyn Any = match values {
        Values::F32(values) => values,
        Values::F64(values) => values,
        Values::I32(values) => values,
        Values::U32(values) => values,
        Values::I64(values) => values,
        Values::Bool(values) => values,
    };
    values.downcast_ref()
}

/// The first component that is not a finite number.
fn position_not_finite<T: Element>(flat: &[T]) -> Option<usize> {
    if TypeId::of::<T>() == TypeId::of::<f64>() {
        flat.iter().position(|v| (v as &dyn Any).downcast_ref::<f64>().is_some_and(|v| !v.is_finite()))
    } else {
        flat.iter().position(|v| (v as &dyn Any).downcast_ref::<f32>().is_some_and(|v| !v.is_finite()))
    }
}

/// A vector of a runtime, and what it is cut into.
struct InRegion<T: Element, const N: usize> {
    whole: Vector<[T; N]>,
    blocks: Vec<Erased>,
}

impl<T: Element, const N: usize> Pieces for InRegion<T, N> {
    fn block(&self, number: usize) -> &Erased {
        &self.blocks[number]
    }

    fn fetch(&self) -> Result<Box<dyn Store>, Error> {
        Ok(Box::new(Typed(self.whole.read().map_err(of_engine)?.to_vec())))
    }
}

/// What the engine says, as an error of a mesh program.
pub(crate) fn of_engine(error: drawloom_runtime::Error) -> Error {
    Error::new(ErrorKind::Failed, error.to_string())
}
