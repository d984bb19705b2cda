//! Not every number is a character, and a device may return any.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Letter {
        letter: char,
        count: u32,
    }
}
