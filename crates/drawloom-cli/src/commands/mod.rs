//! The sub-commands, one file each.

mod check;
mod completions;
mod convert;
pub(crate) mod event;
mod explain;
mod fmt;
pub(crate) mod model;
mod order;
pub(crate) mod plot;
mod reason;
mod rules;
mod show;
mod stats;
mod summary;
mod verdict;

use crate::arguments::Command;
use crate::exit::Exit;
use crate::mesh;
use crate::output::Output;
use crate::run as programs;

/// Runs a sub-command.
pub(crate) fn run(command: Command, output: &mut Output) -> Exit {
    match command {
        Command::Check(arguments) => check::run(&arguments, output),
        Command::Order(arguments) => order::run(&arguments, output),
        Command::Explain(arguments) => explain::run(&arguments, output),
        Command::Show(arguments) => show::run(&arguments, output),
        Command::Fmt(arguments) => fmt::run(&arguments, output),
        Command::Stats(arguments) => stats::run(&arguments, output),
        Command::Convert(arguments) => convert::run(&arguments, output),
        Command::Rules(arguments) => rules::run(&arguments, output),
        Command::Event(arguments) => event::run(&arguments, output),
        Command::Run(arguments) => programs::run(&arguments, output),
        Command::Mesh(arguments) => mesh::run(&arguments, output),
        Command::Model(arguments) => model::run(&arguments, output),
        Command::Plot(arguments) => plot::run(&arguments, output),
        Command::Completions(arguments) => completions::run(&arguments, output),
    }
}
