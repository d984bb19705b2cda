//! Names for what was declared in a mesh. They carry the types that kernels see, and no data.

use std::fmt;
use std::marker::PhantomData;

/// A set of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set {
    pub(crate) mesh: u64,
    pub(crate) number: u32,
}

/// A map: for each element of one set, `A` elements of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map<const A: usize> {
    pub(crate) mesh: u64,
    pub(crate) number: u32,
}

macro_rules! typed_handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<T, const N: usize> {
            pub(crate) mesh: u64,
            pub(crate) number: u32,
            values: PhantomData<fn(T) -> T>,
        }

        impl<T, const N: usize> $name<T, N> {
            pub(crate) fn new(mesh: u64, number: u32) -> Self {
                Self { mesh, number, values: PhantomData }
            }
        }

        impl<T, const N: usize> Clone for $name<T, N> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T, const N: usize> Copy for $name<T, N> {}

        impl<T, const N: usize> fmt::Debug for $name<T, N> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.number)
            }
        }
    };
}

typed_handle! {
    /// Values on a set: `N` of type `T` for each element.
    Dat
}
typed_handle! {
    /// `N` values of type `T` that belong to no set, and change while a program runs.
    Global
}
typed_handle! {
    /// `N` values of type `T` that belong to no set, and never change.
    Constant
}
