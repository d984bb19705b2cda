//! Tasks share what the runtime stores, not the caller's own memory.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = vec![0.0; 8];
    let task = loom.task("t").read(&v);
}
