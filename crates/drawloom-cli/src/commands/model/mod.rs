//! `drawloom model`: what is in an ONNX file.

mod info;
mod listing;
mod sample;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::output::{Output, complain};

/// Look at models in ONNX files
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom model sample             writes sample.onnx and sample.npy, a small model and a batch to try things with
  drawloom model info sample.onnx   inputs, outputs, operators, and whether a batch can be cut into pieces")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Info(info::Info),
    Sample(sample::Sample),
}

/// Does what was asked for.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let (file, done) = match &arguments.action {
        Action::Info(info) => (&info.file, info.show(output)),
        Action::Sample(sample) => (&sample.folder, sample.write(output).map(|()| Exit::Valid)),
    };
    match done {
        Ok(exit) => exit,
        Err(reason) => {
            complain(format_args!("{}: {reason}", file.display()));
            Exit::Unusable
        }
    }
}
