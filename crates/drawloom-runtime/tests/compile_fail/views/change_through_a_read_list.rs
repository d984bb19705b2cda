//! A list of regions that is read gives no mutable views.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let blocks: Vec<_> = v.blocks(2).unwrap().collect();
    loom.task("t").read_all(&blocks).run(|mut all| all.get_mut(0)[0] = 1.0);
}
