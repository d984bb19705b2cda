//! `drawloom completions`: scripts that let a shell complete the command line.

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions};
use crate::exit::Exit;
use crate::output::Output;

/// Prints the completion script of a shell.
pub(crate) fn run(arguments: &Completions, output: &mut Output) -> Exit {
    // The generator panics when it cannot write, so it writes to memory first.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "drawloom", &mut script);
    output.text(String::from_utf8_lossy(&script));
    Exit::Valid
}
