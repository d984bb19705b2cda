//! A body cannot assign to what its task only reads: other readers run at the same time.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").read(&v).run(|v| v[0] = 1.0);
}
