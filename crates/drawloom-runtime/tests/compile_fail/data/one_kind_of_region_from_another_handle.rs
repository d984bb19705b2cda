//! Views are made from the layout of a region, so a handle cannot be given another kind or element type.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let x = loom.value("x", 0_u64);
    let wrong: Vector<f64> = Region::from_handle(x.handle().clone());
}
