//! A task that may be tried again cannot give away what it captured.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let text = String::from("once");
    loom.task("t").retry(2).run(move || drop(text));
}
