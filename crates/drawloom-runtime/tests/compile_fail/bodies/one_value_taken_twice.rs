//! A future gives its value away once.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let future = loom.task("t").returns(|| 1);
    future.wait().unwrap();
    future.wait().unwrap();
}
