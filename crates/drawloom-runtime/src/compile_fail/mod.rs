//! Programs that must not compile: what the types of this crate refuse.
//!
//! Each of them stands for a race, a dangling reference, or a plain mistake. It is a doc test that passes when the compiler
//! refuses the program for the given reason; the corrected program beside it must compile and run, so that none of them is
//! refused for another reason. The exact words of the compiler are compared in `tests/ui`.
//!
//! | file | mistakes with |
//! |---|---|
//! | [`views`] | what a body receives |
//! | [`bodies`] | what a body takes, captures and returns |
//! | [`data`] | what is stored |
//! | [`guards`] | access from outside of tasks |

mod bodies;
mod data;
mod guards;
mod views;
