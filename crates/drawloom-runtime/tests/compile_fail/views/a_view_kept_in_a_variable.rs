//! A view cannot be put away into something that outlives the body.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let mut kept: Vec<&[f64]> = Vec::new();
    loom.task("t").read(&v).run(move |v| kept.push(v));
}
