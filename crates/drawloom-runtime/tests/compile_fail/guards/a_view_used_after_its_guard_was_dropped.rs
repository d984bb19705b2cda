//! Also when the guard is dropped by hand.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let guard = v.read().unwrap();
    let first = &guard[0];
    drop(guard);
    assert_eq!(*first, 0.0);
}
