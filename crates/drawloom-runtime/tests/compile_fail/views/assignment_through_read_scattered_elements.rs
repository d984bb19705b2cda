//! The same for scattered elements.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let odd = v.subsets(&[vec![1, 3]]).unwrap().next().unwrap();
    loom.task("t").read(&odd).run(|odd| odd[1] = 1.0);
}
