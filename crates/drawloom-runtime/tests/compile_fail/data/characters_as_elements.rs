//! Not every number is a character, and a device may return any.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    loom.vector("v", vec!['a']);
}
