//! Models in ONNX files: what operators compute, how files are read, and what is said about those that cannot be.

mod batch;
mod bodies;
mod build;
mod cut;
mod directories;
mod fuzz;
#[path = "../support/node_tests.rs"]
mod node_tests;
mod operators;
mod optimise;
mod pieces;
mod refused;
mod registry;

use std::path::PathBuf;

/// A directory that is removed when the test ends.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("drawloom-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
