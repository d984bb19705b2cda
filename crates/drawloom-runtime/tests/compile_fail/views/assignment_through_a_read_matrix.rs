//! The same for a matrix, whose view is a type of its own.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
    loom.task("t").read(&m).run(|m| m[[0, 0]] = 1.0);
}
