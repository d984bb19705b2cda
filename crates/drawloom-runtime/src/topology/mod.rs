//! The machine, as this process may use it: processors, what they share, memory nodes, and binding threads to processors.
//!
//! | file | what is in it |
//! |---|---|
//! | [`cpus`] | processors by number, and sets of them as the system writes them |
//! | [`machine`] | the topology itself: detection, placing workers, distances, whom to steal from |
//! | [`sysfs`] | what Linux says under `/sys/devices/system` |
//! | `hwloc` | the same from hwloc, with the cargo feature `hwloc` |
//! | [`binding`] | the calls that read and set the affinity of a thread; the only `unsafe` code here |
//!
//! What reads files gets their texts from a function of the path, so that a test can describe a machine of any size.
//! What is missing or makes no sense falls back to the plainest assumption: every processor is a core of its own, they
//! share nothing, and there is one memory node.

mod binding;
mod cpus;
#[cfg(feature = "hwloc")]
mod hwloc;
mod machine;
mod sysfs;

/// The text of a file by its path from the root, without a leading slash; absent when it cannot be read.
type Text<'a> = &'a dyn Fn(&str) -> Option<String>;

pub use cpus::{CpuId, CpuSet};
pub use machine::{Cpu, Topology};
