//! The program `drawloom`: check graphs of tasks over shared data, explain what is wrong with them, order and draw them.
//!
//! | module | what it does |
//! |---|---|
//! | [`arguments`] | the command line |
//! | [`commands`] | one file per sub-command |
//! | [`mod@run`] | programs that come with drawloom |
//! | [`mesh`] | meshes |
//! | [`bench`] | measurements |
//! | [`batch`] | batches for models |
//! | [`input`] | files, folders and standard input |
//! | [`output`] | standard output, colour, closed pipes |
//! | [`exit`] | exit codes |
//! | [`written`] | files to write: which paths lead to the same one |
//! | [`number`] | integers such as `1e9` |
#![forbid(unsafe_code)]

mod arguments;
mod batch;
mod bench;
mod commands;
mod exit;
mod input;
mod mesh;
mod number;
mod output;
mod progress;
mod run;
mod written;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
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
