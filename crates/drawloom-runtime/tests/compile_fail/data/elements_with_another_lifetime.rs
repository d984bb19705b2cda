//! A region of functions for short borrows is no region of functions for long ones, which would write those into it.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    fn any(text: &String) {}
    let all: Vector<fn(&String)> = loom.host_vector("all", vec![any as fn(&String)]);
    let lasting: Vector<fn(&'static String)> = all.clone();
}
