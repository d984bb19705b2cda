//! Kernels: what a loop calls for each element, and what it hands over.
//!
//! A kernel is an ordinary function that captures nothing. The access that an argument was declared with decides the type
//! that the kernel sees, so that what an access forbids does not compile:
//!
//! | access | one element | all columns of a map |
//! |---|---|---|
//! | `read` | `&[T; N]` | `[&[T; N]; A]` |
//! | `write` | `&mut Out<T, N>` | `&mut [Out<T, N>; A]` |
//! | `update` | `&mut [T; N]` | `&mut [[T; N]; A]` |
//! | `inc` | `&mut [Acc<T>; N]` | `&mut [[Acc<T>; N]; A]` |
//! | `min`, `max` | `&mut [Lowest<T>; N]`, `&mut [Highest<T>; N]` | arrays of them |
//! | `min_with`, `max_with` | `&mut LowestWith<T, P>`, `&mut HighestWith<T, P>` | |
//! | `index`, `index_at`, `size` | `usize` | |
//!
//! Every optional argument is an `Option` of these.
//!
//! | file | what is in it |
//! |---|---|
//! | `accumulate` | what kernels contribute to |
//! | `operator` | the ways to contribute |
//! | `site` | what a loop can be given as an argument |
//! | `args` | the arguments, one type for each kind |
//! | `body` | the inner loop |
//! | `lanes` | values of several iterations, component by component |
//! | `place` | where arguments are while a loop runs |
//!
//! What kernels contribute to must be aligned to at most 16 bytes:
//!
//! ```
//! # use drawloom_mesh::{Backend, Mesh, Number, Program};
//! # use drawloom_runtime::Element;
//! #[derive(Clone, Copy, Element)]
//! #[repr(C, align(16))]
//! struct Sum { value: f64, count: u64 }
//! impl Number for Sum {
//!     const ZERO: Self = Sum { value: 0.0, count: 0 };
//!     fn plus(self, other: Self) -> Self {
//!         Sum { value: self.value + other.value, count: self.count + other.count }
//!     }
//!     fn minus(self, other: Self) -> Self {
//!         Sum { value: self.value - other.value, count: self.count - other.count }
//!     }
//! }
//! let mut mesh = Mesh::new();
//! let set = mesh.set("set", 3)?;
//! let sum = mesh.global("sum", [Sum::ZERO])?;
//! let mut program = Program::new(mesh);
//! program.each(set, "add").inc(sum).run(|sum| sum[0] += Sum { value: 0.5, count: 1 });
//! let mut run = program.start(Backend::Serial)?;
//! run.run()?;
//! assert_eq!(run.global(sum)?[0].count, 3);
//! # Ok::<(), drawloom_mesh::Error>(())
//! ```
//!
//! ```compile_fail,E0080
//! # use drawloom_mesh::{Backend, Mesh, Number, Program};
//! # use drawloom_runtime::Element;
//! #[derive(Clone, Copy, Element)]
//! #[repr(C, align(64))]
//! struct Sum { value: f64, count: u64, rest: [u64; 6] }
//! impl Number for Sum {
//!     const ZERO: Self = Sum { value: 0.0, count: 0, rest: [0; 6] };
//!     fn plus(self, other: Self) -> Self {
//!         Sum { value: self.value + other.value, count: self.count + other.count, rest: [0; 6] }
//!     }
//!     fn minus(self, other: Self) -> Self {
//!         Sum { value: self.value - other.value, count: self.count - other.count, rest: [0; 6] }
//!     }
//! }
//! let mut mesh = Mesh::new();
//! let set = mesh.set("set", 3)?;
//! let sum = mesh.global("sum", [Sum::ZERO])?;
//! let mut program = Program::new(mesh);
//! program.each(set, "add").inc(sum).run(|sum| sum[0] += Sum { value: 0.5, count: 1, rest: [0; 6] });
//! # Ok::<(), drawloom_mesh::Error>(())
//! ```
//!
//! So with what belongs to the lowest or highest value:
//!
//! ```compile_fail,E0080
//! # use drawloom_mesh::{Mesh, Program};
//! # use drawloom_runtime::Element;
//! #[derive(Clone, Copy, Element)]
//! #[repr(C, align(64))]
//! struct Place([u64; 8]);
//! let mut mesh = Mesh::new();
//! let set = mesh.set("set", 3)?;
//! let (highest, place) = (mesh.global("highest", [0.0])?, mesh.global("place", [Place([0; 8])])?);
//! let mut program = Program::new(mesh);
//! program.each(set, "look").max_with(highest, place).run(|highest| highest.offer(1.0, Place([1; 8])));
//! # Ok::<(), drawloom_mesh::Error>(())
//! ```

#![allow(unsafe_code)]

mod accumulate;
pub(crate) mod args;
mod arity;
pub(crate) mod body;
mod lanes;
pub(crate) mod operator;
pub(crate) mod place;
pub(crate) mod site;

/// What keeps traits whose implementations unsafe code relies on to this crate.
mod sealed {
    pub trait Sealed {}
}

pub use accumulate::{Acc, Highest, HighestWith, Lowest, LowestWith, Out};
pub use args::LoopArg;
pub(crate) use arity::for_each_arity;
pub use operator::{Adding, Lowering, Operator, Raising};
pub use site::{At, Contributable, Readable, Through, Updatable, Writable};
