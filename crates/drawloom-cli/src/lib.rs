//! The program `drawloom`: check graphs of tasks over shared data, explain what is wrong with them, order and draw them.
//!
//! A library only so that `drawloom-bench` measures with the same command line: nothing here is stable.
//!
//! | module | what it does |
//! |---|---|
//! | `arguments` | the command line |
//! | `commands` | one file per sub-command |
//! | [`mod@run`] | programs that come with drawloom |
//! | `mesh` | meshes |
//! | `plot` | pictures of meshes |
//! | [`batch`] | batches for models |
//! | `input` | files, folders and standard input |
//! | [`output`] | standard output, colour, closed pipes |
//! | [`exit`] | exit codes |
//! | `written` | files to write: which paths lead to the same one |
//! | [`meter`] | time, processor time and memory of a piece of work |
//! | [`number`] | integers such as `1e9` |
#![forbid(unsafe_code)]

mod arguments;
pub mod batch;
mod commands;
pub mod exit;
mod input;
mod mesh;
pub mod meter;
pub mod number;
pub mod output;
mod plot;
mod progress;
pub mod run;
mod written;

use std::process::ExitCode;

use clap::Parser;

/// Runs the program.
pub fn main() -> ExitCode {
    let arguments = arguments::Arguments::parse_from(run::with_names(std::env::args_os().collect()));
    let mut output = output::Output::new(arguments.color);
    let exit = commands::run(arguments.command, &mut output);
    let exit = match output.finish() {
        Ok(()) => exit,
        Err(error) => {
            output::complain(format_args!("cannot write to standard output: {error}"));
            exit.and(exit::Exit::Unusable)
        }
    };
    exit.into()
}
