//! The values of a sparse matrix that is read have no mutable rows.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    let pattern = Pattern::new(2, vec![0, 1, 2], vec![0, 1]).unwrap();
    let c = loom.csr("c", pattern, vec![1.0, 2.0]).unwrap();
    loom.task("t").read(&c).run(|mut c| c.row_mut(0).1[0] = 1.0);
}
