//! A region is a handle: without declaring an access, there is no way to its elements.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let w = loom.vector("w", vec![0.0_f64; 8]);
    loom.task("t").update(&v).run(move |v| v[0] = w[0]);
}
