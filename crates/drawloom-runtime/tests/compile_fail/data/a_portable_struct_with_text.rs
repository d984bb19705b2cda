//! Every field of a portable struct is plain.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    drawloom_runtime::portable! {
        struct Named { name: &'static str, number: u64 }
    }
}
