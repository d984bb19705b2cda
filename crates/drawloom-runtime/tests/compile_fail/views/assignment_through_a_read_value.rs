//! The same for a single value.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let x = loom.value("x", 0_u64);
    loom.task("t").read(&x).run(|x| *x += 1);
}
