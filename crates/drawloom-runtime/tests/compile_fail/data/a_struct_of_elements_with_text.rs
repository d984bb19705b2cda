//! Every field of an element is one.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Named {
        name: &'static str,
        number: u64,
    }
}
