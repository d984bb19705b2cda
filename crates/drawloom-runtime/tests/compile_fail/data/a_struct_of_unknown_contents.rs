//! The runtime takes a struct for plain bytes only when its fields were looked at.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    #[derive(Clone, Copy)]
    struct Point {
        x: f64,
        y: f64,
    }
    loom.vector("v", vec![Point { x: 0.0, y: 0.0 }]);
}
