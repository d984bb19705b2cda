//! What lies between fields is never written, and must not leave the process.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Padded {
        number: u64,
        small: u8,
    }
}
