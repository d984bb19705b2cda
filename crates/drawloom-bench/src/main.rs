//! The program `drawloom-bench`; everything is in the library.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    drawloom_bench::main()
}
