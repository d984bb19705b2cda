//! A member of a known Rust type, found once and reached by its offset.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;

use super::types::{Scalar, Type};

/// A member of a record, as a Rust type. Made by [`Layout::field`](super::Layout::field); it works on the bytes of every
/// record of that layout.
///
/// ```
/// use drawloom_messages::data::{Layout, Record, Scalar, Tuple, Type};
///
/// let layout = Layout::new(Tuple::new().with("count", Scalar::U32).with("q", Type::array(Scalar::F64, 4)))?;
/// let (count, q) = (layout.field::<u32>("count")?, layout.field::<[f64; 4]>("q")?);
/// let mut record = Record::new(&layout);
/// count.set(record.bytes_mut(), 7);
/// q.at_mut(record.bytes_mut())[2] = 0.5;
/// assert_eq!(record.to_json(), r#"{"count":7,"q":[0.0,0.0,0.5,0.0]}"#);
/// # Ok::<(), drawloom_messages::Error>(())
/// ```
pub struct Field<T> {
    offset: usize,
    ty: PhantomData<fn(T) -> T>,
}

impl<T: Pod> Field<T> {
    pub(crate) fn at(offset: usize) -> Self {
        Self { offset, ty: PhantomData }
    }

    /// How many bytes come before the member.
    pub fn offset(self) -> usize {
        self.offset
    }

    /// The value in the bytes of a record.
    ///
    /// # Panics
    /// When the bytes are those of a shorter record; as all methods of a field.
    #[inline]
    pub fn get(self, bytes: &[u8]) -> T {
        bytemuck::pod_read_unaligned(&bytes[self.offset..][..size_of::<T>()])
    }

    /// Puts a value into the bytes of a record.
    #[inline]
    pub fn set(self, bytes: &mut [u8], value: T) {
        bytes[self.offset..][..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
    }

    /// The member in the bytes of a record, to be changed.
    #[inline]
    pub fn at_mut(self, bytes: &mut [u8]) -> &mut T {
        bytemuck::from_bytes_mut(&mut bytes[self.offset..][..size_of::<T>()])
    }
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Field<T> {}

impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field<{}>({})", std::any::type_name::<T>(), self.offset)
    }
}

/// A Rust type that some declared type is laid out as.
pub trait Plain: Pod {
    /// Whether values of the declared type are laid out as this one.
    fn is_of(ty: &Type) -> bool;
}

macro_rules! plain {
    ($($rust:ty: $($scalar:ident)|+;)*) => { $(
        impl Plain for $rust {
            fn is_of(ty: &Type) -> bool {
                matches!(ty, $(Type::Scalar(Scalar::$scalar))|+)
            }
        }
    )* };
}

// Not every byte is a `bool` of Rust, so truth values are bytes here.
plain! {
    u8: U8 | Bool | Char;
    u16: U16;
    u32: U32;
    u64: U64;
    i8: I8 | Char;
    i16: I16;
    i32: I32;
    i64: I64;
    f32: F32;
    f64: F64;
}

impl<T: Plain, const N: usize> Plain for [T; N] {
    fn is_of(ty: &Type) -> bool {
        matches!(ty, Type::Array(element, length) if *length == N && T::is_of(element))
    }
}
