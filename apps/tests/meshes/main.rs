//! The mesh programs come to the values that are known of them, on every backend.

mod aero;
mod airfoil;
mod c_text;
mod dots;
mod in_c;
mod jacobi;
mod naca;
mod reduction;
mod support;
