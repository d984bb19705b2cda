//! Other runtimes measured beside ours: StarPU, OpenMP and OpenBLAS, through small C programs of our own, and ONNX Runtime.
//!
//! The one idea: the programs travel inside this one as text. Where a compiler and a library are installed, a program is
//! compiled into a folder of its own, run under a time limit, and what it prints becomes lines of the report; where
//! something is missing, a note says what, and the report goes on without it. Our own measurements never depend on a peer.
//!
//! | file | concept |
//! |---|---|
//! | [`measure`] | what is asked of each peer: tasks, Task Bench, Cholesky |
//! | [`models`] | ONNX Runtime, through Python |
//! | [`programs`] | the C programs, and the libraries they need |
//! | [`workshop`] | a folder that lives as long as the measurement, and compiling and running in it |
//! | [`process`] | running a process under a time limit |

mod measure;
mod models;
mod process;
mod programs;
mod workshop;

pub(crate) use measure::{Metg, Peers, cholesky, metg, tasks};
pub(crate) use models::{Asked, onnxruntime};

use drawloom_cli::output::{self, Output};

impl Peers {
    /// Prints the lines, and says what is missing from them.
    pub(crate) fn report(&self, output: &mut Output) {
        self.complain();
        for line in &self.lines {
            output.json(line);
        }
        output.flush();
    }

    /// Says what is missing.
    pub(crate) fn complain(&self) {
        for note in &self.notes {
            output::complain(note);
        }
    }
}
