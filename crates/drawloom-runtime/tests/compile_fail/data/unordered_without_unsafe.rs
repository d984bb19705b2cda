//! Leaving a region out of the order of tasks is visibly `unsafe`.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let v = v.unordered();
}
