//! So does its value, on the way back.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    loom.task("t").returns(|| std::rc::Rc::new(1));
}
