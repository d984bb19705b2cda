//! Tasks run on other threads, so what they share must be able to go there.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    loom.host_value("x", std::rc::Rc::new(1));
}
