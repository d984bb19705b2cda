//! `run` is for bodies without a value; `returns` gives the value to the future.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").read(&v).run(|v| v.len());
}
