//! Elements of ordinary regions may move between memories, which text with an address cannot.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    loom.vector("v", vec![String::new()]);
}
