//! Measurements: `drawloom bench`.

use clap::Args;

use crate::exit::Exit;
use crate::output::Output;

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

/// Measures.
pub(crate) fn run(_arguments: &Arguments, _output: &mut Output) -> Exit {
    Exit::Valid
}
