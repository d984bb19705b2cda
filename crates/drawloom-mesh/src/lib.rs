//! Unstructured meshes: parallel loops over their elements, checked before they run and fast while they do; and everything
//! that belongs to meshes as data: files, orders, partitions.
//!
//! ```
//! use drawloom_mesh::kernel::Acc;
//! use drawloom_mesh::{Backend, Mesh, Program, Threads};
//!
//! let mut mesh = Mesh::new();
//! let nodes = mesh.set("nodes", 3)?;
//! let edges = mesh.set("edges", 2)?;
//! let ends = mesh.map::<2>("ends", edges, nodes, vec![0, 1, 1, 2])?;
//! let weight = mesh.dat("weight", edges, vec![[1.5], [2.0]])?;
//! let sum = mesh.dat_of("sum", nodes, [0.0])?;
//!
//! let mut program = Program::new(mesh);
//! program.each(edges, "gather").read(weight).inc(sum.through(ends)).run(|weight, sums: &mut [[Acc<f64>; 1]; 2]| {
//!     sums[0][0] += weight[0];
//!     sums[1][0] += weight[0];
//! });
//! let mut run = program.start(Backend::Threads(Threads::new()))?;
//! run.run()?;
//! assert_eq!(run.dat(sum)?, [[1.5], [3.5], [2.0]]);
//! # Ok::<(), drawloom_mesh::Error>(())
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`Mesh`] | sets, maps, dats and globals, declared by name |
//! | [`Program`] | loops over sets, scalar code on globals, and the control flow around them |
//! | [`kernel`] | what kernels receive |
//! | [`Run`], [`Backend`] | a program with its data, and what it runs on |
//! | [`raw`] | the plain data of a mesh, and whether its parts fit together |
//! | [`files`] | readers and writers of mesh files |
//! | [`partition`] | parts of equal size with few connections |
//! | [`checkpoint`] | the state of a running program in a file |
//! | [`renumber`] | orders in which neighbours are near each other |
#![deny(unsafe_code)]
#![deny(missing_docs)]

mod check;
pub mod checkpoint;
mod element;
mod error;
#[cfg(feature = "messages")]
mod event;
pub mod files;
pub mod kernel;
mod mesh;
pub mod partition;
mod program;
pub mod raw;
pub mod renumber;
mod run;

/// Who decides which message arrives next.
#[cfg(feature = "messages")]
pub use drawloom_messages::Executor;
pub use element::{Kind, Number, Ordered};
pub use error::{Error, ErrorKind};
#[cfg(feature = "messages")]
pub use event::{Control, Events, HandlerText};
pub use mesh::{Constant, Dat, Global, Map, Mesh, Set};
pub use program::{Append, AtMostSixteenArguments, Each, Program, Scalar, Truth};
pub use run::{Backend, LoopStats, MessageCounts, Mode, Run, Strategy, Threads};
