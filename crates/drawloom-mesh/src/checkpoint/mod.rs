//! The state of a running program in a file, to go on from later.
//!
//! A [`Checkpoint`] holds dats and globals by name, and where in its control flow the program is, as bytes whose meaning
//! the program knows. Nothing in it depends on how many workers there were: values are in the order of the mesh as it was
//! read. Files are replaced as a whole or not at all, and verified by a checksum when they are read.
//!
//! ```
//! use drawloom_mesh::{checkpoint::Checkpoint, naca, raw::Values};
//!
//! let mesh = naca::naca0012(2, 3)?;
//! let mut state = Checkpoint::of(&mesh);
//! state.add_dat("p_q", "cells", 4, Values::F64(vec![1.0; 18 * 4]));
//! state.add_global("rms", Values::F64(vec![0.5]));
//! state.set_position(b"iteration 100".to_vec());
//! let read = Checkpoint::from_bytes(&state.to_bytes())?;
//! read.check_mesh(&mesh)?;
//! assert_eq!(read.dat("p_q")?.values.len(), 72);
//! assert_eq!(read.position(), b"iteration 100");
//! # Ok::<(), drawloom_mesh::Error>(())
//! ```
//!
//! | file | what is in it |
//! |---|---|
//! | `state` | [`Checkpoint`] |
//! | `format` | its bytes |

mod format;
mod state;

pub use state::Checkpoint;
