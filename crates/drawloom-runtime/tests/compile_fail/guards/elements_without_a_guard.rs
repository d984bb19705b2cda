//! Outside of tasks, a region is a handle too.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    assert_eq!(v[0], 0.0);
}
