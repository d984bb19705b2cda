//! The types that dats and globals hold.

use std::any::TypeId;
use std::fmt;

use drawloom_runtime::Element;

/// What the elements of a dat or of a global are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// `i32`
    I32,
    /// `u32`
    U32,
    /// `i64`
    I64,
    /// `bool`
    Bool,
    /// A struct, or another type of plain bytes.
    Plain {
        /// How many bytes it has.
        size: usize,
    },
}

impl Kind {
    /// The kind of a type.
    pub fn of<T: Element>() -> Self {
        let id = TypeId::of::<T>();
        let known = [
            (TypeId::of::<f32>(), Kind::F32),
            (TypeId::of::<f64>(), Kind::F64),
            (TypeId::of::<i32>(), Kind::I32),
            (TypeId::of::<u32>(), Kind::U32),
            (TypeId::of::<i64>(), Kind::I64),
            (TypeId::of::<bool>(), Kind::Bool),
        ];
        known.iter().find(|(known, _)| *known == id).map_or(Kind::Plain { size: size_of::<T>() }, |(_, kind)| *kind)
    }

    /// Whether it is one of the types that files hold.
    pub(crate) fn is_in_files(self) -> bool {
        !matches!(self, Kind::Plain { .. })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::F32 => f.write_str("f32"),
            Kind::F64 => f.write_str("f64"),
            Kind::I32 => f.write_str("i32"),
            Kind::U32 => f.write_str("u32"),
            Kind::I64 => f.write_str("i64"),
            Kind::Bool => f.write_str("bool"),
            Kind::Plain { size } => write!(f, "{size} plain bytes"),
        }
    }
}

/// Numbers that can be incremented.
///
/// Integers wrap: sums are taken modulo two to the number of their bits. So a sum that has room in its type is right, whatever
/// the order of its parts and whether or not they have room, and one that has none is the same on every backend.
pub trait Number: Element {
    /// Where increments start.
    const ZERO: Self;

    /// The sum.
    #[must_use]
    fn plus(self, other: Self) -> Self;

    /// The difference.
    #[must_use]
    fn minus(self, other: Self) -> Self;
}

/// Values that have an order, and a lowest and a highest one of all.
pub trait Ordered: Element + PartialOrd {
    /// No value is lower.
    const LOWEST: Self;
    /// No value is higher.
    const HIGHEST: Self;
}

macro_rules! floats {
    ($($t:ident)*) => { $(
        impl Number for $t {
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }
        }

        impl Ordered for $t {
            const LOWEST: Self = $t::NEG_INFINITY;
            const HIGHEST: Self = $t::INFINITY;
        }
    )* };
}
floats! { f32 f64 }

macro_rules! integers {
    ($($t:ident)*) => { $(
        impl Number for $t {
            const ZERO: Self = 0;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }

        impl Ordered for $t {
            const LOWEST: Self = $t::MIN;
            const HIGHEST: Self = $t::MAX;
        }
    )* };
}
integers! { i8 i16 i32 i64 u8 u16 u32 u64 }
