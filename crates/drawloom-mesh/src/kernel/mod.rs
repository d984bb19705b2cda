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
//! | `way` | which form of the inner loop is the faster |
//! | `place` | where arguments are while a loop runs |

#![allow(unsafe_code)]

mod accumulate;
pub(crate) mod args;
mod arity;
pub(crate) mod body;
mod lanes;
pub(crate) mod operator;
pub(crate) mod place;
pub(crate) mod site;
mod way;

pub use accumulate::{Acc, Highest, HighestWith, Lowest, LowestWith, Out};
pub use args::LoopArg;
pub(crate) use arity::for_each_arity;
pub use operator::{Adding, Lowering, Operator, Raising};
pub use site::{At, Contributable, Readable, Through, Updatable, Writable};
