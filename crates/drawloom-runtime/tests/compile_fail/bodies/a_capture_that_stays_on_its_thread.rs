//! A body moves to a worker, with everything that it captured.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let shared = std::rc::Rc::new(1);
    loom.task("t").run(move || drop(shared));
}
