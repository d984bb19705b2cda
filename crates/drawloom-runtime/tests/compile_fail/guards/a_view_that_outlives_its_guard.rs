//! Tasks go on when the guard is gone, so its views go with it.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
    let view = {
        let guard = m.read().unwrap();
        guard.view()
    };
    assert_eq!(view[[0, 0]], 0.0);
}
