//! Programs written with drawloom.
#![deny(unsafe_code)]

pub mod cholesky;
