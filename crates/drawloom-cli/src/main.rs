//! The program `drawloom`.
#![forbid(unsafe_code)]

fn main() {}
