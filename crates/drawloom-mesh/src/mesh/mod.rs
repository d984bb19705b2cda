//! What a mesh is made of: sets, maps between them, and dats and globals that hold values.
//!
//! | file | what is in it |
//! |---|---|
//! | `declare` | [`Mesh`], in which everything is declared, by name |
//! | `handles` | what declaring returns: small names for things, which carry types |
//! | `store` | values without their type |

pub(crate) mod declare;
mod handles;
pub(crate) mod store;

pub use declare::Mesh;
pub use handles::{Constant, Dat, Global, Map, Set};
