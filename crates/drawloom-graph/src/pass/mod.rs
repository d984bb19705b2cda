//! Passes: graph to graph, with the meaning preserved.
//!
//! Every pass takes a valid graph and gives a valid graph: it checks what it gets and what it gives, and refuses with a
//! [`Refusal`] that says why. None changes what a program leaves in the regions that are observed. All are deterministic,
//! and all leave edges in one order: grouped by compute node, dataflow before HappensBefore.
//!
//! | pass | effect | looks into nested graphs |
//! |---|---|---|
//! | [`eliminate_dead`] | drops tasks that no observed value depends on | yes |
//! | [`fuse`], [`fuse_chains`] | makes one task of two, or of every producer and its only consumer | no |
//! | [`simplify`] | drops Opens and Closes between which nothing happens | yes |
//! | [`reduce_orders`] | drops stated orders that follow from others | yes |
//! | [`summarise`] | not a pass: the accesses of a nested graph, as if it were one call | no |
//!
//! Passes that look into nested graphs follow them 64 levels deep and leave the rest as it is. The other files: `edit` is a
//! graph that is being changed, `accept` chooses the steps that keep a graph valid, `contract` makes one call of several
//! nodes, `walk` has topological orders and nested graphs, `coverage` answers whether some regions hold all of another,
//! `sets` are disjoint sets.
//!
//! ```
//! use drawloom_graph::pass::{Liveness, eliminate_dead, fuse_chains};
//! use drawloom_graph::{Access, Builder, Regions};
//! let mut regions = Regions::new();
//! let [a, b] = ["A", "B"].map(|name| regions.abstract_region(name).unwrap());
//! regions.add_disjoint(a, b);
//! let mut builder = Builder::new(regions);
//! builder.call("guess", &[(b, Access::Write)])?;
//! builder.call("load", &[(a, Access::Write)])?;
//! builder.call("scale", &[(a, Access::Update)])?;
//! builder.call("copy", &[(a, Access::Read), (b, Access::Write)])?;
//! let graph = builder.finish();
//!
//! let useful = eliminate_dead(&graph, &Liveness::all()).unwrap();
//! assert_eq!(useful.tasks().count(), 3, "copy overwrites what guess wrote, and nobody read it");
//! let fused = fuse_chains(&useful).unwrap();
//! let task = fused.tasks().next().unwrap();
//! assert_eq!(fused.name(task), "load+scale+copy");
//! # Ok::<(), Box<drawloom_graph::Diagnostic>>(())
//! ```

mod accept;
mod contract;
mod coverage;
mod dead;
mod edit;
mod fuse;
mod reduce_orders;
mod refusal;
mod sets;
mod simplify;
pub mod summary;
mod walk;

pub(crate) use coverage::covers as covers_whole;
pub use dead::{Liveness, eliminate_dead};
pub use fuse::{fuse, fuse_chains};
pub use reduce_orders::{ImpliedBy, reduce_orders};
pub use refusal::{Refusal, RefusalKind};
pub use simplify::simplify;
pub use summary::{summarise, summarise_body};
