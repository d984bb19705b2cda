//! Two mutable elements of one view could be the same element.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
    loom.task("t").update(&m).run(|mut m| {
        let (a, b) = (m.get_mut([0, 0]).unwrap(), m.get_mut([0, 0]).unwrap());
        std::mem::swap(a, b);
    });
}
