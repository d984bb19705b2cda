//! What is lent belongs to the children; the parent has no view of it.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").lend(&v).returns(|v| v[0]);
}
