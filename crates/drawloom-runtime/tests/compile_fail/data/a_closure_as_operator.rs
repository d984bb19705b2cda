//! An operator has a name and an identity, which a closure does not.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let x = loom.value("x", 0_u64);
    loom.task("t").reduce(&x, |a: u64, b: u64| a + b).run(|x| *x += 1);
}
