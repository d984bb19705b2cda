//! Readers run at the same time, so a cell that changes behind a shared reference is no value to share.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    loom.host_value("x", std::cell::Cell::new(1));
}
