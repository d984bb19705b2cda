//! Other memories must agree with this one about where fields are.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    #[derive(Clone, Copy, Element)]
    struct Pair {
        one: u32,
        other: u32,
    }
}
