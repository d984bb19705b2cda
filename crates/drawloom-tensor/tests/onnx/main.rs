//! Models in ONNX files: what operators compute, how files are read, and what is said about those that cannot be.

mod batch;
mod build;
mod directories;
mod operators;
mod optimise;
mod refused;
