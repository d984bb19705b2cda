//! The mesh programs come to the values that are known of them, on every backend.

mod aero;
mod airfoil;
mod c_text;
mod dots;
mod in_c;
mod jacobi;
mod naca;
#[path = "../../../crates/drawloom-mesh/tests/support/protocol.rs"]
mod protocol;
mod reduction;
mod support;
