//! The types of elements, and slices of one of them.

use std::fmt;

use crate::error::Fault;
use crate::tensor::memory::{Buffer, Loan};

/// The type of the elements of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ElementType {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    F64,
    /// Signed 64-bit integers.
    I64,
    /// Signed 32-bit integers.
    I32,
    /// Unsigned bytes.
    U8,
    /// Signed bytes.
    I8,
    /// Truth values, one byte each.
    Bool,
}

impl ElementType {
    /// How many bytes one element takes.
    pub fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::U8 | Self::I8 | Self::Bool => 1,
        }
    }

    /// What an operator says that has no kernel for the type.
    #[doc(hidden)]
    #[cold]
    pub fn unsupported(self) -> Fault {
        Fault::unsupported(format!("elements of type {self} are not supported here"))
    }

    /// Whether it is a floating point type.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::Bool => "bool",
        })
    }
}

/// A Rust type that can be the element of a tensor.
pub trait Element:
    sealed::Sealed + Copy + Default + PartialEq + PartialOrd + fmt::Debug + Send + Sync + 'static
{
    /// Its name.
    const TYPE: ElementType;

    #[doc(hidden)]
    fn slice<'a>(slice: &Slice<'a>) -> Option<&'a [Self]>;
    #[doc(hidden)]
    fn data(data: Data) -> Option<Vec<Self>>;
    #[doc(hidden)]
    fn data_mut(data: &mut Data) -> Option<&mut [Self]>;
    #[doc(hidden)]
    fn wrap(values: Vec<Self>) -> Data;
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn wrap_loan(loan: Loan<Self>) -> Data;
    #[doc(hidden)]
    fn wrap_slice(values: &[Self]) -> Slice<'_>;
}

/// Memory of an arena may hold any bytes, so the types of elements are those below, and no others.
mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($variant:ident($type:ty)),*) => {
        /// The elements of a tensor, borrowed.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Slice<'a> {
            $(#[doc = concat!("Elements of type `", stringify!($type), "`.")] $variant(&'a [$type]),)*
        }

        /// The elements of a tensor, owned.
        #[derive(Clone, Debug, PartialEq)]
        #[doc(hidden)]
        pub enum Data {
            $($variant(Buffer<$type>),)*
        }

        impl Slice<'_> {
            /// The type of the elements.
            pub fn element(&self) -> ElementType {
                match self {
                    $(Self::$variant(_) => ElementType::$variant,)*
                }
            }

            /// How many there are.
            pub fn len(&self) -> usize {
                match self {
                    $(Self::$variant(values) => values.len(),)*
                }
            }

            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The same elements, owned.
            #[doc(hidden)]
            pub fn to_data(&self) -> Data {
                match self {
                    $(Self::$variant(values) => Data::$variant(Buffer::Own(values.to_vec())),)*
                }
            }
        }

        impl Data {
            pub(crate) fn slice(&self) -> Slice<'_> {
                match self {
                    $(Self::$variant(values) => Slice::$variant(values),)*
                }
            }

            /// Elements that are all zero, or a fault when the machine has no memory for them.
            pub(crate) fn zeros(element: ElementType, count: usize) -> Result<Self, Fault> {
                Ok(match element {
                    $(ElementType::$variant => Self::$variant(Buffer::Own(zeros(count)?)),)*
                })
            }

            /// Keeps the first elements.
            pub(crate) fn truncate(&mut self, count: usize) {
                match self {
                    $(Self::$variant(buffer) => {
                        let mut values = std::mem::replace(buffer, Buffer::Own(Vec::new())).into_vec();
                        values.truncate(count);
                        *buffer = Buffer::Own(values);
                    })*
                }
            }
        }

        $(impl sealed::Sealed for $type {}

        impl Element for $type {
            const TYPE: ElementType = ElementType::$variant;

            fn slice<'a>(slice: &Slice<'a>) -> Option<&'a [Self]> {
                match slice {
                    Slice::$variant(values) => Some(values),
                    _ => None,
                }
            }

            fn data(data: Data) -> Option<Vec<Self>> {
                match data {
                    Data::$variant(values) => Some(values.into_vec()),
                    _ => None,
                }
            }

            fn data_mut(data: &mut Data) -> Option<&mut [Self]> {
                match data {
                    Data::$variant(values) => Some(values),
                    _ => None,
                }
            }

            fn wrap(values: Vec<Self>) -> Data {
                Data::$variant(Buffer::Own(values))
            }

            #[allow(private_interfaces)]
            fn wrap_loan(loan: Loan<Self>) -> Data {
                Data::$variant(Buffer::Lent(loan))
            }

            fn wrap_slice(values: &[Self]) -> Slice<'_> {
                Slice::$variant(values)
            }
        })*
    };
}

elements!(F32(f32), F64(f64), I64(i64), I32(i32), U8(u8), I8(i8), Bool(bool));

fn no_memory(count: usize) -> Fault {
    Fault::of(crate::error::ErrorKind::Memory, format!("there is no memory for {count} elements"))
}

pub(crate) fn zeros<T: Element>(count: usize) -> Result<Vec<T>, Fault> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| no_memory(count))?;
    values.resize(count, T::default());
    Ok(values)
}

/// Runs a body with `$T` bound to the Rust type of an [`ElementType`], for the types of one group.
#[macro_export]
macro_rules! with_type {
    (@match $element:expr, $T:ident, $body:expr, $($variant:ident = $type:ty),*) => {
        match $element {
            $($crate::ElementType::$variant => {
                type $T = $type;
                $body
            })*
            #[allow(unreachable_patterns)]
            other => Err(other.unsupported()),
        }
    };
    (all, $element:expr, $T:ident => $body:expr) => {
        $crate::with_type!(@match $element, $T, $body, F32 = f32, F64 = f64, I64 = i64, I32 = i32, U8 = u8, I8 = i8, Bool = bool)
    };
    (numbers, $element:expr, $T:ident => $body:expr) => {
        $crate::with_type!(@match $element, $T, $body, F32 = f32, F64 = f64, I64 = i64, I32 = i32, U8 = u8, I8 = i8)
    };
    (floats, $element:expr, $T:ident => $body:expr) => {
        $crate::with_type!(@match $element, $T, $body, F32 = f32, F64 = f64)
    };
    (integers, $element:expr, $T:ident => $body:expr) => {
        $crate::with_type!(@match $element, $T, $body, I64 = i64, I32 = i32, U8 = u8, I8 = i8)
    };
}
