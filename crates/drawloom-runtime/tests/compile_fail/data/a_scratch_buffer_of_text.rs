//! A scratch buffer starts with zeros, which must be values of its elements.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let task = loom.task("t").scratch::<String>(4);
}
