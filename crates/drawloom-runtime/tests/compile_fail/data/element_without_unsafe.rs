//! Saying that a type is an element is a promise, and visibly `unsafe`.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    #[derive(Clone, Copy)]
    struct Word(u64);
    impl drawloom_runtime::element::Element for Word {}
}
