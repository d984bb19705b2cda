//! A region lives until the tasks that use it are submitted.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let task = loom.task("t").read(&loom.value("x", 1_u64));
    task.run(|x| ());
}
