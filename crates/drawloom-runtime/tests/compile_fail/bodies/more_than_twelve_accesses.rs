//! The typed builder ends at twelve accesses; lists have no end.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let x = loom.value("x", 1_u64);
    let x = &x;
    let twelve =
        loom.task("t").read(x).read(x).read(x).read(x).read(x).read(x).read(x).read(x).read(x).read(x).read(x).read(x);
    twelve.read(x).run(|_, _, _, _, _, _, _, _, _, _, _, _, _| ());
}
