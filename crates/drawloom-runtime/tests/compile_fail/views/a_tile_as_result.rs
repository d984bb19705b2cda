//! Nor can the view of a tile.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
    let kept = loom.task("t").read(&m).returns(|m| m).wait();
}
