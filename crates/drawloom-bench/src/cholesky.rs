//! `drawloom-bench cholesky`: `drawloom run cholesky` with OpenBLAS and StarPU before it.

use clap::Args;
use drawloom_cli::exit::Exit;
use drawloom_cli::output::Output;
use drawloom_cli::run::cholesky;
use serde_json::Value;

use crate::peers;

/// Factor a symmetric positive definite matrix as `drawloom run cholesky` does, after OpenBLAS and StarPU
///
/// A peer that is not installed is named on standard error and left out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom-bench cholesky                           2048 rows in tiles of 64, on every core
  drawloom-bench cholesky --n 4096 --tile 256 --workers 2 --backend replay --json

Exit codes: 0 the factor is right, 1 it is not, 2 an unusable setting.")]
#[group(skip)]
pub(crate) struct Arguments {
    #[command(flatten)]
    ours: cholesky::Arguments,
    /// Leave out OpenBLAS and StarPU
    #[arg(long)]
    no_peers: bool,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let ours = &arguments.ours;
    cholesky::run_after(ours, output, |output| {
        if arguments.no_peers {
            return;
        }
        let measured = peers::cholesky(ours.n, &[ours.tile], ours.workers());
        measured.complain();
        for line in &measured.lines {
            match ours.json {
                true => output.json(line),
                false => output.line(text(line)),
            }
        }
        output.flush();
    })
}

fn text(line: &Value) -> String {
    let number = |key: &str| line[key].as_f64().unwrap_or(f64::NAN);
    let peer = line["peer"].as_str().unwrap_or("peer");
    format!("{peer}: {:.3} ms, {:.1} GFlop/s", number("seconds") * 1e3, number("gflops"))
}
