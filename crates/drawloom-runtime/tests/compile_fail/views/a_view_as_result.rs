//! A view is gone when its task ends, so it cannot be the task's value.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let kept = loom.task("t").read(&v).returns(|v| v).wait();
}
