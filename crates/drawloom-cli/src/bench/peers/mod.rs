//! Other runtimes measured beside ours: StarPU, OpenMP and OpenBLAS, through small C programs of our own.
//!
//! The one idea: the programs travel inside this one as text. Where a compiler and a library are installed, a program is
//! compiled into a folder of its own, run under a time limit, and what it prints becomes lines of the report; where
//! something is missing, a note says what, and the report goes on without it. Our own measurements never depend on a peer.
//!
//! | file | concept |
//! |---|---|
//! | [`measure`] | what is asked of each peer: tasks, Task Bench, Cholesky |
//! | [`programs`] | the C programs, and the libraries they need |
//! | [`workshop`] | a folder that lives as long as the measurement, and compiling and running in it |
//! | [`process`] | running a process under a time limit |
//! | [`command`] | `drawloom bench peers` |

mod command;
mod measure;
mod process;
mod programs;
mod workshop;

pub(crate) use command::{Arguments, run};
pub(crate) use measure::{Metg, Peers, cholesky, metg, tasks};
