//! The same description of a machine, asked from hwloc. Only with the cargo feature `hwloc`.
//!
//! hwloc knows machines that `/sys` describes badly, and can be given machines that do not exist. Threads are bound by our
//! own calls all the same, which never leave the mask that the process inherited.

use hwlocality::Topology;
use hwlocality::cpu::cpuset::CpuSet as Bits;
use hwlocality::object::TopologyObject;
use hwlocality::object::types::ObjectType;

use super::cpus::{CpuId, CpuSet, GREATEST};
use super::machine::{Cpu, MemoryNode};

/// The processors that are allowed and the memory nodes of this machine; absent when hwloc fails, or does not know a
/// processor that the system allows.
pub(super) fn describe_here(allowed: &CpuSet) -> Option<(Vec<Cpu>, Vec<MemoryNode>)> {
    describe(&Topology::new().ok()?, allowed)
}

fn describe(topology: &Topology, allowed: &CpuSet) -> Option<(Vec<Cpu>, Vec<MemoryNode>)> {
    let mut nodes: Vec<MemoryNode> = topology
        .objects_with_type(ObjectType::NUMANode)
        .map(|node| MemoryNode { number: number(node), cpus: members(node), distances: Vec::new() })
        .collect();
    nodes.sort_by_key(|node| node.number);
    let mut cpus: Vec<Cpu> = topology
        .objects_with_type(ObjectType::PU)
        .filter_map(|unit| cpu(unit, &nodes))
        .filter(|cpu| allowed.contains(cpu.id))
        .collect();
    cpus.sort_by_key(|cpu| cpu.id);
    (cpus.len() == allowed.len()).then_some((cpus, nodes))
}

fn cpu(unit: &TopologyObject, nodes: &[MemoryNode]) -> Option<Cpu> {
    let id = CpuId(u32::try_from(unit.os_index()?).ok().filter(|&cpu| cpu <= GREATEST)?);
    let group = |kind: ObjectType| unit.first_ancestor_with_type(kind).map(members);
    let threads = group(ObjectType::Core);
    Some(Cpu {
        id,
        core: threads.and_then(|threads| threads.first().copied()).unwrap_or(id),
        level_2: group(ObjectType::L2Cache).and_then(|group| group.first().copied()),
        level_3: group(ObjectType::L3Cache).and_then(|group| group.first().copied()),
        node: nodes.iter().find(|node| node.cpus.contains(id)).map_or(0, |node| node.number),
        package: unit.first_ancestor_with_type(ObjectType::Package).map_or(0, number),
    })
}

/// The number that the system gives to an object, or that of hwloc where the system gives none.
fn number(object: &TopologyObject) -> u32 {
    u32::try_from(object.os_index().unwrap_or_else(|| object.logical_index())).unwrap_or(0)
}

/// The processors of an object, also those that this process may not use.
fn members(object: &TopologyObject) -> CpuSet {
    let numbers = |bits: &Bits| bits.iter_set().map(usize::from).take(GREATEST as usize).collect::<Vec<_>>();
    let numbers = object.complete_cpuset().map(|bits| numbers(&bits)).unwrap_or_default();
    numbers.into_iter().filter_map(|cpu| u32::try_from(cpu).ok()).map(CpuId).collect()
}

#[cfg(test)]
mod tests {
    use hwlocality::Topology;

    use super::super::cpus::{CpuId, CpuSet};
    use super::describe;

    fn synthetic(description: &str) -> Topology {
        Topology::builder().from_synthetic(description).unwrap().build().unwrap()
    }

    #[test]
    fn a_synthetic_machine_is_described_with_what_its_processors_share() {
        let machine = synthetic("pack:2 numa:2(memory=4GB) l3:2 l2:2 core:2 pu:2");
        let allowed = CpuSet::parse("0-63").unwrap();
        let (cpus, nodes) = describe(&machine, &allowed).unwrap();
        assert_eq!((cpus.len(), nodes.len()), (64, 4));
        let last = cpus[63];
        assert_eq!((last.id, last.core), (CpuId(63), CpuId(62)));
        assert_eq!((last.level_2, last.level_3), (Some(CpuId(60)), Some(CpuId(56))));
        assert_eq!((last.node, last.package), (3, 1));
        assert_eq!(nodes[3].cpus.to_string(), "48-63");
    }

    #[test]
    fn a_machine_that_lacks_an_allowed_processor_is_not_described() {
        let machine = synthetic("core:4 pu:1");
        assert!(describe(&machine, &CpuSet::parse("0,3").unwrap()).is_some_and(|(cpus, _)| cpus.len() == 2));
        assert_eq!(describe(&machine, &CpuSet::parse("0,4").unwrap()), None);
    }
}
