//! The topology: which processors there are, how far from each other, where to put workers and whom to steal from.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use super::cpus::{CpuId, CpuSet};
use super::sysfs::Sysfs;
use super::{Text, binding};

/// The machine as this process may use it.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    cpus: Vec<Cpu>,
    allowed: CpuSet,
    nodes: Vec<MemoryNode>,
    bindable: bool,
}

/// A processor, and what it shares with others. Groups are named by their first processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub id: CpuId,
    /// The core that it is a hardware thread of.
    pub core: CpuId,
    /// The processors with which it shares the cache of the second level, when that is known.
    pub level_2: Option<CpuId>,
    /// The processors with which it shares the cache of the third level, when that is known.
    pub level_3: Option<CpuId>,
    /// The number of its memory node.
    pub node: u32,
    /// The number of its package, which is what goes into one socket.
    pub package: u32,
}

/// A memory node: memory that is equally near to some processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemoryNode {
    pub(super) number: u32,
    pub(super) cpus: CpuSet,
    /// How far nodes are, by their numbers, as the firmware says: 10 is its own memory, 20 takes twice as long.
    pub(super) distances: Vec<(u32, u32)>,
}

/// How far two processors are from each other, nearest first: by the nearest thing that they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Distance {
    /// They are the same.
    Same,
    /// They are hardware threads of one core.
    Core,
    /// They share the cache of the second level.
    Level2,
    /// They share the cache of the third level.
    Level3,
    /// They have the same memory node, in the same package.
    Node,
    /// They are in the same package.
    Package,
    /// They share the machine, or it is not known what they share.
    Machine,
}

impl Topology {
    /// The machine as the calling thread may use it.
    ///
    /// The affinity mask is that of the calling thread, which it inherited unless someone bound it since. Create the
    /// topology on a thread that nobody bound.
    pub fn detect() -> Self {
        let text = |path: &str| std::fs::read_to_string(Path::new("/").join(path)).ok();
        match binding::current_mask() {
            Ok(allowed) if !allowed.is_empty() => {
                let topology = Self::read(&text, allowed, true);
                #[cfg(feature = "hwloc")]
                let topology = topology.ask_hwloc();
                topology
            }
            // Not Linux, or a sandbox that does not let us ask.
            _ => {
                let count = std::thread::available_parallelism().map_or(1, |count| count.get());
                let count = u32::try_from(count).unwrap_or(1);
                Self::read(&text, (0..count).map(CpuId).collect(), false)
            }
        }
    }

    /// The machine that files describe, of which a process may use these processors.
    fn read(text: Text<'_>, allowed: CpuSet, bindable: bool) -> Self {
        let devices = Sysfs(text);
        let nodes = devices.nodes();
        let cpus = devices.cpus(&allowed, &nodes);
        Self { cpus, allowed, nodes, bindable }
    }

    /// What hwloc says of this machine, with the distances of the files, which come from the same firmware table.
    #[cfg(feature = "hwloc")]
    fn ask_hwloc(self) -> Self {
        let Some((cpus, mut nodes)) = super::hwloc::describe_here(&self.allowed) else { return self };
        for node in &mut nodes {
            let same = self.nodes.iter().find(|same| same.number == node.number);
            node.distances = same.map_or_else(Vec::new, |same| same.distances.clone());
        }
        Self { cpus, nodes, ..self }
    }

    /// The processors that this process may use, ascending. There is at least one.
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// What a processor shares, when this process may use it.
    pub fn cpu(&self, cpu: CpuId) -> Option<&Cpu> {
        self.cpus.binary_search_by_key(&cpu, |cpu| cpu.id).ok().map(|place| &self.cpus[place])
    }

    /// Whether threads can be bound to processors.
    pub fn is_bindable(&self) -> bool {
        self.bindable
    }

    /// How far two processors are from each other. Those that this process may not use are far from everything else.
    pub(super) fn distance(&self, one: CpuId, two: CpuId) -> Distance {
        if one == two {
            return Distance::Same;
        }
        let (Some(one), Some(two)) = (self.cpu(one), self.cpu(two)) else { return Distance::Machine };
        let shared = |one: Option<CpuId>, two: Option<CpuId>| one.is_some() && one == two;
        if one.core == two.core {
            Distance::Core
        } else if shared(one.level_2, two.level_2) {
            Distance::Level2
        } else if shared(one.level_3, two.level_3) {
            Distance::Level3
        } else if one.package != two.package {
            Distance::Machine
        } else if one.node == two.node {
            Distance::Node
        } else {
            Distance::Package
        }
    }

    /// Where to put so many workers: on cores of their own as long as there are any, then on the other hardware threads.
    ///
    /// Neighbours in the list are neighbours on the machine. Workers beyond the number of processors get no place.
    pub(crate) fn placement(&self, workers: usize) -> Vec<Option<CpuId>> {
        let mut threads: HashMap<CpuId, u32> = HashMap::new();
        let mut order: Vec<(u32, u32, u32, Option<CpuId>, CpuId)> = Vec::with_capacity(self.cpus.len());
        for cpu in &self.cpus {
            // The rank among those threads of the core that the process may use, not among all.
            let threads = threads.entry(cpu.core).or_default();
            order.push((*threads, cpu.package, cpu.node, cpu.level_3, cpu.id));
            *threads += 1;
        }
        order.sort_unstable();
        let places = order.into_iter().map(|(.., cpu)| Some(cpu));
        places.chain(std::iter::repeat(None)).take(workers).collect()
    }

    /// For each worker, all others, nearest first: the order in which to look for work to steal.
    ///
    /// Among equally near ones, each worker begins with those that follow it, so that not all go to the same victim. A
    /// worker without a place is far from everyone.
    pub(crate) fn victims(&self, places: &[Option<CpuId>]) -> Vec<Vec<usize>> {
        let count = places.len();
        let far = |one: usize, two: usize| match (places[one], places[two]) {
            (Some(one), Some(two)) => (self.distance(one, two), self.node_distance(one, two)),
            _ => (Distance::Machine, u32::MAX),
        };
        let others = |worker: usize| {
            let mut others: Vec<usize> = (1..count).map(|step| (worker + step) % count).collect();
            // Stable, so that equally near ones stay in the order in which they follow.
            others.sort_by_cached_key(|&other| far(worker, other));
            others
        };
        (0..count).map(others).collect()
    }

    fn node_distance(&self, one: CpuId, two: CpuId) -> u32 {
        let (Some(one), Some(two)) = (self.cpu(one), self.cpu(two)) else { return u32::MAX };
        let node = self.nodes.iter().find(|node| node.number == one.node);
        let distance = node.and_then(|node| node.distances.iter().find(|&&(other, _)| other == two.node));
        distance.map_or(u32::MAX, |&(_, distance)| distance)
    }

    /// Binds the calling thread to a processor. One that the process may not use is refused.
    pub fn bind_current_thread(&self, cpu: CpuId) -> io::Result<()> {
        if !self.bindable {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "threads cannot be bound to processors here"));
        }
        if !self.allowed.contains(cpu) {
            let message = format!("{cpu} is not among the processors that this process may use: {}", self.allowed);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        binding::set_current_mask(&CpuSet::from_iter([cpu]))
    }

    /// Lets the calling thread run on every processor that the process may use.
    pub fn unbind_current_thread(&self) -> io::Result<()> {
        if self.bindable { binding::set_current_mask(&self.allowed) } else { Ok(()) }
    }
}

#[cfg(test)]
pub(super) mod tests;
