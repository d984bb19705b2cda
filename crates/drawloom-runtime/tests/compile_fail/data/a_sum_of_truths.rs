//! An operator folds the element types that it knows.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let x = loom.value("x", false);
    loom.task("t").reduce(&x, Sum).run(|x| *x = true);
}
