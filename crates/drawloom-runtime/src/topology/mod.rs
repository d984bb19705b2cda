//! The machine, as this process may use it: processors, what they share, memory nodes, and binding threads to processors.
//!
//! | file | what is in it |
//! |---|---|
//! | [`cpus`] | processors by number, and sets of them as the system writes them |
//! | [`machine`] | the topology itself: detection, placing workers, distances, whom to steal from |
//! | [`sysfs`] | what Linux says under `/sys/devices/system` |
//! | `hwloc` | the same from hwloc, with the cargo feature `hwloc` |
//! | [`quota`] | how much of the processors the control group lets the process have |
//! | [`files`] | where those texts come from |
//! | [`binding`] | the calls that read and set the affinity of a thread; the only `unsafe` code here |
//!
//! Everything that reads files asks for their texts by path, so that machines of any size can be described in a test.
//! Whatever is missing or makes no sense falls back to the plainest assumption: every processor is a core of its own, they
//! share nothing, and there is one memory node.

mod binding;
mod cpus;
mod files;
#[cfg(feature = "hwloc")]
mod hwloc;
mod machine;
mod quota;
mod sysfs;

pub use cpus::{CpuId, CpuSet};
pub use machine::{Cpu, Distance, MemoryNode, Topology};
pub use quota::Quota;
