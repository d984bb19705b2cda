//! The engine: tasks over regions on every core, ordered by what they declare.
#![deny(unsafe_code)]

pub mod topology;
