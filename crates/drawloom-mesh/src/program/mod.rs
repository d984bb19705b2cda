//! Programs: loops over sets, scalar code on globals, and the control flow around them.
//!
//! | file | what is in it |
//! |---|---|
//! | `build` | [`Program`]: putting statements together |
//! | `statement` | the statements |
//! | `steps` | the program as a flat list of steps, which backends run |
//! | `described` | a loop or scalar code while it is being described |
//! | `each` | describing a loop: accesses become parameters of its kernel |
//! | `scalar` | describing scalar code |

mod build;
mod described;
mod each;
mod scalar;
pub(crate) mod statement;
pub(crate) mod steps;

pub use build::{Program, Truth};
pub use each::{Append, AtMostSixteenArguments, Each};
pub use scalar::Scalar;
