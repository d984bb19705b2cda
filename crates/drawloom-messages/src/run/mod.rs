//! Running an instance: one meaning, several executors.
//!
//! | file | concept |
//! |---|---|
//! | [`machine`] | an instance with its states, which can be run |
//! | [`settings`] | which executor, and what is recorded |
//! | [`report`] | what a run did |
//! | [`part`] | devices and their states: every call of a handler is made here |
//! | [`blame`] | why a run ended early, with names |
//! | [`ring`] | messages in flight, as words |
//! | [`rounds`] | executors in rounds: first in first out, and last in first out |
//! | [`scattered`] | executors that choose single deliveries: random, and delayed |
//! | [`split`] | a machine in parts |
//! | [`parallel`] | each worker owns a part |
//! | [`mail`] | messages between parts, and when all of them are quiet |

pub(crate) mod blame;
pub mod machine;
pub(crate) mod mail;
pub(crate) mod parallel;
pub(crate) mod part;
pub mod report;
pub(crate) mod ring;
pub(crate) mod rounds;
pub(crate) mod scattered;
pub mod settings;
pub(crate) mod split;

pub use machine::Machine;
pub use report::{Counts, Report};
pub use settings::{Executor, Settings};
