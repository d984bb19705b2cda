//! `drawloom run`: programs that come with drawloom.

mod bad_meshes;
mod checkpoints;
mod cholesky;
mod filters;
mod mesh_files;
mod meshes;
mod model;
mod model_files;
mod model_options;
#[path = "../support/mod.rs"]
mod support;

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_drawloom");

use support::drawloom;

#[test]
fn programs_are_listed() {
    let ran = drawloom(&["run"]).exits(2);
    let help = drawloom(&["run", "--help"]).exits(0).out;
    for program in ["aero", "airfoil", "cholesky", "dots", "filters", "jacobi", "reduction"] {
        assert!(ran.err.contains(program), "{}", ran.err);
        assert!(help.contains(&format!("\n  {program} ")), "{help}");
    }
    drawloom(&["run", "doom"]).exits(2);
}
