//! Machines of any size, described by files in memory; and the one that the tests run on.

use std::collections::BTreeMap;

use super::super::cpus::{CpuId, CpuSet};
use super::{Distance, Topology};

/// Files in memory, so that a test can describe a machine with thousands of them.
#[derive(Default)]
pub(in crate::topology) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    pub(in crate::topology) fn write(&mut self, path: &str, text: &str) {
        self.files.insert(path.to_owned(), text.to_owned());
    }

    pub(in crate::topology) fn device(&mut self, path: &str, text: impl ToString) {
        self.write(&format!("sys/devices/system/{path}"), &format!("{}\n", text.to_string()));
    }

    pub(in crate::topology) fn text(&self, path: &str) -> Option<String> {
        self.files.get(path).cloned()
    }

    fn topology(&self, allowed: &str, bindable: bool) -> Topology {
        Topology::read(&|path| self.text(path), CpuSet::parse(allowed).unwrap(), bindable)
    }
}

/// The shape of a machine, each number within one of the one before.
#[derive(Clone, Copy)]
struct Shape {
    packages: u32,
    nodes: u32,
    /// Groups of cores that share a cache of the third level.
    clusters: u32,
    cores: u32,
    threads: u32,
}

impl Shape {
    fn cores(self) -> u32 {
        self.packages * self.nodes * self.clusters * self.cores
    }

    /// The processors of a group: a range of cores, and of each all threads. Linux numbers the first threads of all cores
    /// before the second ones.
    fn list(self, first: u32, count: u32) -> String {
        let runs = (0..self.threads).map(|thread| {
            let start = thread * self.cores() + first;
            format!("{start}-{}", start + count - 1)
        });
        runs.collect::<Vec<_>>().join(",")
    }

    fn write(self, tree: &mut Tree) {
        let (per_node, nodes) = (self.clusters * self.cores, self.packages * self.nodes);
        for cpu in 0..self.cores() * self.threads {
            let core = cpu % self.cores();
            let folder = format!("cpu/cpu{cpu}");
            tree.device(&format!("{folder}/topology/core_cpus_list"), self.list(core, 1));
            tree.device(&format!("{folder}/topology/physical_package_id"), core / (per_node * self.nodes));
            let cluster = core / self.cores * self.cores;
            // Two of the first level: for data, and for instructions.
            let own = [1, 1, 2].map(|level| (level, self.list(core, 1)));
            for (index, (level, list)) in own.into_iter().chain([(3, self.list(cluster, self.cores))]).enumerate() {
                tree.device(&format!("{folder}/cache/index{index}/level"), level);
                tree.device(&format!("{folder}/cache/index{index}/shared_cpu_list"), list);
            }
        }
        tree.device("node/online", format!("0-{}", nodes - 1));
        for node in 0..nodes {
            tree.device(&format!("node/node{node}/cpulist"), self.list(node * per_node, per_node));
            // A ring of nodes: the nearest are the neighbours.
            let steps = |other: u32| node.abs_diff(other).min(nodes - node.abs_diff(other));
            let distances: Vec<String> = (0..nodes).map(|other| (10 + 5 * steps(other)).to_string()).collect();
            tree.device(&format!("node/node{node}/distance"), distances.join(" "));
        }
    }
}

fn machine(shape: Shape, allowed: &str) -> Topology {
    let mut tree = Tree::default();
    shape.write(&mut tree);
    tree.topology(allowed, true)
}

const SERVER: Shape = Shape { packages: 2, nodes: 2, clusters: 2, cores: 4, threads: 2 };

#[test]
fn distances_follow_what_processors_share() {
    let topology = machine(SERVER, "0-63");
    let expected = [
        (0, Distance::Same),
        (32, Distance::Core),
        (3, Distance::Level3),
        (35, Distance::Level3),
        (4, Distance::Node),
        (8, Distance::Package),
        (16, Distance::Machine),
        (63, Distance::Machine),
        (99, Distance::Machine),
    ];
    for (other, distance) in expected {
        assert_eq!(topology.distance(CpuId(0), CpuId(other)), distance, "{other}");
        assert_eq!(topology.distance(CpuId(other), CpuId(0)), distance, "{other}");
    }
    assert!(expected.is_sorted_by_key(|&(_, distance)| distance));
    assert_eq!(topology.cpu(CpuId(40)).map(|cpu| (cpu.core, cpu.node)), Some((CpuId(8), 1)));
}

#[test]
fn a_shared_cache_of_the_second_level_is_nearer_than_one_of_the_third() {
    let mut tree = Tree::default();
    for cpu in 0..4 {
        for (index, level, list) in [(0, 2, if cpu < 2 { "0-1" } else { "2-3" }), (1, 3, "0-3")] {
            tree.device(&format!("cpu/cpu{cpu}/cache/index{index}/level"), level);
            tree.device(&format!("cpu/cpu{cpu}/cache/index{index}/shared_cpu_list"), list);
        }
    }
    let topology = tree.topology("0-3", true);
    let distances = [1, 2, 3].map(|other| topology.distance(CpuId(0), CpuId(other)));
    assert_eq!(distances, [Distance::Level2, Distance::Level3, Distance::Level3]);
}

#[test]
fn workers_get_cores_of_their_own_before_second_threads() {
    let topology = machine(SERVER, "0-1,33-34,62");
    let numbers = |workers| topology.placement(workers).iter().map(|cpu| cpu.map(|cpu| cpu.0)).collect::<Vec<_>>();
    assert_eq!(numbers(3), [Some(0), Some(1), Some(34)]);
    // 62 is the second thread of a core of which the process may not use the first; 33 shares its core with 1.
    assert_eq!(numbers(7), [Some(0), Some(1), Some(34), Some(62), Some(33), None, None]);
    assert_eq!(numbers(0), []);
}

#[test]
fn victims_are_all_others_nearest_first() {
    let topology = machine(SERVER, "0-63");
    let places = topology.placement(66);
    let victims = topology.victims(&places);
    for (worker, victims) in victims.iter().enumerate() {
        let mut all = victims.clone();
        all.sort_unstable();
        assert!(all.into_iter().eq((0..66).filter(|&other| other != worker)), "worker {worker}");
        let Some(here) = places[worker] else { continue };
        let distance =
            |&victim: &usize| places[victim].map_or(Distance::Machine, |there| topology.distance(here, there));
        assert!(victims.is_sorted_by_key(distance), "worker {worker}");
    }
    // The other thread of the core, the rest of the cluster starting behind the worker, the rest of the node, the other
    // node of the package, the nearer node of the other package, the farther one, workers without a place.
    assert_eq!(victims[1][..8], [33, 2, 3, 32, 34, 35, 0, 4]);
    let node = |victim: usize| places[victim].and_then(|cpu| topology.cpu(cpu)).map(|cpu| cpu.node);
    let mut nodes: Vec<_> = victims[1].iter().map(|&victim| node(victim)).collect();
    nodes.dedup();
    assert_eq!(nodes, [Some(0), Some(1), Some(3), Some(2), None]);
    assert_eq!(topology.victims(&[]), Vec::<Vec<usize>>::new());
    assert_eq!(topology.victims(&[None]), [Vec::<usize>::new()]);
}

#[test]
fn a_machine_with_more_than_a_thousand_processors_is_read() {
    let shape = Shape { packages: 4, nodes: 1, clusters: 16, cores: 20, threads: 2 };
    let topology = machine(shape, "0-2559");
    assert_eq!(topology.cpus().len(), 2560);
    assert_eq!(topology.distance(CpuId(1279), CpuId(2559)), Distance::Core);
    assert_eq!(topology.distance(CpuId(2540), CpuId(1279)), Distance::Level3);
    let places = topology.placement(2560);
    assert_eq!((places[0], places[1279], places[1280]), (Some(CpuId(0)), Some(CpuId(1279)), Some(CpuId(1280))));
}

#[test]
fn only_allowed_processors_appear() {
    let topology = machine(SERVER, "5,37,60");
    assert_eq!(topology.cpus().iter().map(|cpu| cpu.id.0).collect::<Vec<_>>(), [5, 37, 60]);
    assert_eq!(topology.cpus().iter().map(|cpu| cpu.node).collect::<Vec<_>>(), [0, 0, 3]);
    let error = topology.bind_current_thread(CpuId(6)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "cpu 6 is not among the processors that this process may use: 5,37,60");
}

#[test]
fn where_nothing_can_be_bound_that_is_an_error_and_unbinding_is_none() {
    let topology = Tree::default().topology("0", false);
    let error = topology.bind_current_thread(CpuId(0)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
    topology.unbind_current_thread().unwrap();
}

#[test]
fn this_machine_can_be_detected() {
    let topology = Topology::detect();
    assert!(!topology.cpus().is_empty());
    assert!(topology.cpus().is_sorted_by_key(|cpu| cpu.id));
}

#[cfg(target_os = "linux")]
#[test]
fn a_bound_thread_may_run_only_there_until_it_is_unbound() {
    use super::super::binding::current_mask;

    // On a thread of its own, because the affinity of a test's thread outlives the test.
    std::thread::spawn(|| {
        let topology = Topology::detect();
        let inherited = current_mask().unwrap();
        for cpu in topology.cpus() {
            topology.bind_current_thread(cpu.id).unwrap();
            assert_eq!(current_mask().unwrap(), CpuSet::from_iter([cpu.id]));
            topology.unbind_current_thread().unwrap();
            assert_eq!(current_mask().unwrap(), inherited);
        }
        let beyond = CpuId(inherited.last().unwrap().0 + 1);
        topology.bind_current_thread(beyond).unwrap_err();
        assert_eq!(current_mask().unwrap(), inherited, "a refused binding changes nothing");
    })
    .join()
    .unwrap();
}
