//! Programs that are graphs of tasks over shared data, and that are refused when they have a race.
//!
//! This is the crate to add to a program. Today it holds the region graph: describe data and tasks, and learn whether the
//! program has a race, in which orders it may run, and why.
//!
//! ```
//! use drawloom::prelude::*;
//!
//! let mut regions = Regions::new();
//! let cells = regions.space("cells", 1000)?;
//! let (u, v) = (regions.field("u", cells)?, regions.field("v", cells)?);
//! let (u, v) = (regions.whole(u), regions.whole(v));
//! let mut program = Builder::new(regions);
//! program.call("smooth", &[(u, Access::Read), (v, Access::Write)])?;
//! program.call("clear", &[(u, Access::Write)])?;
//! assert!(program.finish().check().is_valid());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`graph`] | the crate `drawloom-graph`: regions, graphs, checks, orders, passes, formats |
//! | [`prelude`] | the names most programs need |
#![forbid(unsafe_code)]

pub use drawloom_graph as graph;

/// The names most programs need: `use drawloom::prelude::*;`.
pub mod prelude {
    pub use drawloom_graph::format::sentence;
    pub use drawloom_graph::{
        Access, Builder, Control, Diagnostic, Explanation, Graph, IndexMap, IndexSet, Label, NodeId, NodeKind, Order,
        PartitionId, Pieces, RegionId, Regions, Report, Rule, SpaceId,
    };
}
