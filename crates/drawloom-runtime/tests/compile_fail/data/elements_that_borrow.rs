//! The runtime keeps data for as long as tasks need it, so elements cannot borrow from a function.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let text = String::from("short-lived");
    let v = loom.host_vector("v", vec![text.as_str()]);
}
