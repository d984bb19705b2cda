//! The state of a running program in a file, to go on from later.
//!
//! A [`Checkpoint`] holds dats and globals by name, and where in its control flow the program is, as bytes whose meaning
//! the program knows. Nothing in it depends on how many workers there were: values are in the order of the mesh as it was
//! read. Files are replaced as a whole or not at all, and verified by a checksum when they are read.
//!
//! ```
//! use drawloom_mesh::{checkpoint::Checkpoint, raw::{RawMesh, Values}};
//!
//! let mut mesh = RawMesh::new();
//! mesh.add_set("cells", 18);
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
//! A program that runs saves its state by itself, and goes on from it on any number of workers, with the same bits as if it
//! had never been stopped:
//!
//! ```
//! use drawloom_mesh::checkpoint::{Checkpoint, Checkpoints};
//! use drawloom_mesh::{Backend, Mesh, Program, Threads};
//!
//! # let file = std::env::temp_dir().join(format!("drawloom-doc-{}.checkpoint", std::process::id()));
//! let mut mesh = Mesh::new();
//! let nodes = mesh.set("nodes", 3)?;
//! let x = mesh.dat_of("x", nodes, [1.0])?;
//! let mut program = Program::new(mesh);
//! program.repeat("time", 10, |program| program.each(nodes, "grow").update(x).run(|x| x[0] *= 1.1));
//!
//! let mut run = program.start(Backend::Serial)?;
//! run.checkpoint(Checkpoints::to(&file).every(4))?;
//! run.run()?;
//!
//! // Later: the file is that of the eighth run, and two are left.
//! let mut again = program.resume(Backend::Threads(Threads::new()), &Checkpoint::load(&file)?)?;
//! again.run()?;
//! assert_eq!(again.dat(x)?, run.dat(x)?);
//! # std::fs::remove_file(file).unwrap();
//! # Ok::<(), drawloom_mesh::Error>(())
//! ```
//!
//! | file | what is in it |
//! |---|---|
//! | `state` | [`Checkpoint`] |
//! | `format` | its bytes |
//! | `keep` | [`Checkpoints`]: saving the state of a run while it runs, and going on from there |
//! | `position` | where in its control flow a program can be stopped |
//! | `identity` | whether a checkpoint is of the same program |

mod format;
mod identity;
mod keep;
mod position;
mod state;

pub use keep::{Checkpoints, Saved};
pub(crate) use keep::{Keeper, restore};
pub(crate) use position::Position;
pub use state::Checkpoint;
