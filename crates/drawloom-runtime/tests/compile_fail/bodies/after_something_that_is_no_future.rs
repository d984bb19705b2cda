//! A task comes after other tasks, which their futures stand for.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    loom.task("t").after(&42).run(|| ());
}
