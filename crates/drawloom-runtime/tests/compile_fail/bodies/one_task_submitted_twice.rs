//! A description becomes one task.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let task = loom.task("t");
    task.run(|| ());
    task.run(|| ());
}
