//! One guard gives one mutable view at a time.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
    let mut guard = m.write().unwrap();
    let (mut a, mut b) = (guard.view_mut(), guard.view_mut());
    a[[0, 0]] = 1.0;
    b[[0, 0]] = 2.0;
}
