//! A task may run after the function that submitted it has returned.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let factor = 2.0;
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").update(&v).run(|v| v[0] *= factor);
}
