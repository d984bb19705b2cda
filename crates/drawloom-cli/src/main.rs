//! The program `drawloom`; everything is in the library.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    drawloom_cli::main()
}
