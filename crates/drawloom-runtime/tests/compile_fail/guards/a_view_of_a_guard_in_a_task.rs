//! A task cannot take the view of a guard along.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let guard = v.read().unwrap();
    let view: &[f64] = &guard;
    loom.task("t").run(move || assert_eq!(view[0], 0.0));
}
