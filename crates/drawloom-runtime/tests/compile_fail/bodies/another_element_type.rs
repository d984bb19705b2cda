//! The parameter has the element type of the region.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").read(&v).run(|v: &[u32]| ());
}
