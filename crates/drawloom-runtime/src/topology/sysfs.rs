//! What Linux says about processors and memory under `/sys/devices/system`.
//!
//! Groups of processors, such as those that share a cache, have no number of their own that is unique on a machine, so a
//! group is named by its first processor, whether or not this process may use that one.

use super::Text;
use super::cpus::{CpuId, CpuSet};
use super::machine::{Cpu, MemoryNode};

/// The deepest kind of cache that is looked for, and then some: level, kind and size each have an index of their own.
const CACHES: u32 = 10;

/// The files of a machine.
pub(super) struct Sysfs<'a>(pub(super) Text<'a>);

impl Sysfs<'_> {
    fn text(&self, path: &str) -> Option<String> {
        (self.0)(&format!("sys/devices/system/{path}"))
    }

    fn number(&self, path: &str) -> Option<u32> {
        // The kernel writes -1 for what it does not know, which is no number here either.
        self.text(path)?.trim().parse().ok()
    }

    fn set(&self, path: &str) -> Option<CpuSet> {
        CpuSet::parse(&self.text(path)?).filter(|set| !set.is_empty())
    }

    /// The processors that are allowed, each with what it shares with others.
    pub(super) fn cpus(&self, allowed: &CpuSet, nodes: &[MemoryNode]) -> Vec<Cpu> {
        let mut cpus: Vec<Cpu> = Vec::with_capacity(allowed.len());
        for &id in allowed.iter() {
            let folder = format!("cpu/cpu{}", id.0);
            let siblings = self
                .set(&format!("{folder}/topology/core_cpus_list"))
                .or_else(|| self.set(&format!("{folder}/topology/thread_siblings_list")))
                .filter(|siblings| siblings.contains(id))
                .unwrap_or_else(|| CpuSet::from_iter([id]));
            let core = siblings.first().copied().unwrap_or(id);
            // Threads of one core share everything: reading files is most of the time that detection takes.
            let sibling = siblings
                .iter()
                .find_map(|sibling| cpus.binary_search_by_key(sibling, |cpu| cpu.id).ok().map(|place| cpus[place]));
            let cpu = sibling
                .filter(|sibling| sibling.core == core)
                .map_or_else(|| self.cpu(id, core, &folder, nodes), |sibling| Cpu { id, ..sibling });
            cpus.push(cpu);
        }
        cpus
    }

    fn cpu(&self, id: CpuId, core: CpuId, folder: &str, nodes: &[MemoryNode]) -> Cpu {
        let package = self.number(&format!("{folder}/topology/physical_package_id")).unwrap_or(0);
        let node = nodes.iter().find(|node| node.cpus.contains(id)).map_or(0, |node| node.number);
        let mut cpu = Cpu { id, core, level_2: None, level_3: None, node, package };
        for index in 0..CACHES {
            let cache = format!("{folder}/cache/index{index}");
            let Some(level) = self.number(&format!("{cache}/level")) else { break };
            let group = match level {
                2 => &mut cpu.level_2,
                3 => &mut cpu.level_3,
                _ => continue,
            };
            let shared = self.set(&format!("{cache}/shared_cpu_list")).filter(|shared| shared.contains(id));
            *group = group.or(shared.and_then(|shared| shared.first().copied()));
        }
        cpu
    }

    /// The memory nodes with their processors, whether this process may use those or not.
    pub(super) fn nodes(&self) -> Vec<MemoryNode> {
        // A set of nodes is written as a set of processors is.
        let online = self.set("node/online").unwrap_or_default();
        online
            .iter()
            .map(|&CpuId(number)| MemoryNode {
                number,
                cpus: self.set(&format!("node/node{number}/cpulist")).unwrap_or_default(),
                distances: self.distances(number, &online),
            })
            .collect()
    }

    /// How far other nodes are, by their numbers. The kernel writes one number for each node that is online, in order.
    fn distances(&self, number: u32, online: &CpuSet) -> Vec<(u32, u32)> {
        let text = self.text(&format!("node/node{number}/distance")).unwrap_or_default();
        let distances: Vec<u32> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
        if distances.len() != online.len() {
            return Vec::new();
        }
        online.iter().map(|node| node.0).zip(distances).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::cpus::CpuSet;
    use super::super::machine::tests::Tree;
    use super::Sysfs;

    #[test]
    fn without_any_files_every_processor_stands_alone() {
        let tree = Tree::default();
        let text = |path: &str| tree.text(path);
        let files = Sysfs(&text);
        assert!(files.nodes().is_empty());
        let cpus = files.cpus(&CpuSet::parse("2,5").unwrap(), &[]);
        let shared: Vec<_> =
            cpus.iter().map(|cpu| (cpu.core.0, cpu.level_2, cpu.level_3, cpu.node, cpu.package)).collect();
        assert_eq!(shared, [(2, None, None, 0, 0), (5, None, None, 0, 0)]);
    }

    #[test]
    fn files_that_make_no_sense_are_as_if_they_were_missing() {
        let mut tree = Tree::default();
        tree.device("node/online", "0-");
        tree.device("cpu/cpu0/topology/core_cpus_list", "7-9");
        tree.device("cpu/cpu0/topology/physical_package_id", "-1");
        tree.device("cpu/cpu0/cache/index0/level", 2);
        tree.device("cpu/cpu0/cache/index0/shared_cpu_list", "1-3");
        tree.device("cpu/cpu0/cache/index1/level", 3);
        let cpu = Sysfs(&|path| tree.text(path)).cpus(&CpuSet::parse("0").unwrap(), &[])[0];
        assert_eq!((cpu.core.0, cpu.level_2, cpu.level_3, cpu.package), (0, None, None, 0));
    }
}
