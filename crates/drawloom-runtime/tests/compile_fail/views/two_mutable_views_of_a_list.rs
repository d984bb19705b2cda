//! Two mutable views at a time need `iter_mut`, as the same number could be given twice.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let blocks: Vec<_> = v.blocks(2).unwrap().collect();
    loom.task("t").update_all(&blocks).run(|mut all| {
        let (a, b) = (all.get_mut(0), all.get_mut(0));
        a.copy_from_slice(b);
    });
}
