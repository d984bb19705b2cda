//! Models in ONNX files: what operators compute, how files are read, and what is said about those that cannot be.

mod batch;
mod bodies;
mod build;
mod directories;
mod fuzz;
mod operators;
mod optimise;
mod pieces;
mod refused;
mod registry;
