//! A guard that was taken to read does not let anything change.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let mut guard = v.read().unwrap();
    guard[0] = 1.0;
}
