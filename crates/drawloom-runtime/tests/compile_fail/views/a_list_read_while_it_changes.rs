//! A list cannot be read while one of its mutable views is in use.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let blocks: Vec<_> = v.blocks(2).unwrap().collect();
    loom.task("t").update_all(&blocks).run(|mut all| {
        let first = all.iter_mut().next().unwrap();
        first[0] = all.get(1)[0];
    });
}
