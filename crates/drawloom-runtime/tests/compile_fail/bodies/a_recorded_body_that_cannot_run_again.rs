//! Nor can a task of a plan, which is replayed.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let text = String::from("once");
    let capture = loom.capture("p");
    capture.task("t").run(move || drop(text));
}
