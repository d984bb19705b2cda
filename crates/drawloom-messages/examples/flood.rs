//! How many deliveries a second the machine makes, on two graphs.
//!
//! ```sh
//! cargo run --release -p drawloom-messages --example flood -- [NODES [DEGREE [WAVES]]] [EXECUTOR]
//! ```
//!
//! *Storm*: waves flood a random graph, each after the one before has calmed down; `DEGREE` + 1 deliveries for a send, and
//! an idle round for each wave. *Relay*: every node of a ring passes tokens on, one delivery for each send. Prints a line of
//! JSON for each executor, the best of many short runs, as the machine may be busy with other things.

use std::sync::Arc;
use std::time::Instant;

use drawloom_apps::messages;
use drawloom_messages::data::Record;
use drawloom_messages::{Executor, InputId, Instance, InstanceBuilder, Machine, OutputId, Result, Settings};

fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<u32>().ok());
    let mut next = |default| numbers.next().unwrap_or(default);
    let (nodes, degree, waves) = (next(1_000), next(1), next(10));
    let only = std::env::args().skip(1).find(|word| word.parse::<u32>().is_err());
    let storm = messages::storm::instance(nodes, degree, waves, 1)?;
    let relay = relay(nodes, 20)?;
    for (name, executor) in [
        ("fifo", Executor::Fifo),
        ("lifo", Executor::Lifo),
        ("random", Executor::Random { seed: 1 }),
        ("delay", Executor::Delay { probability: 0.5, seed: 1 }),
        ("parallel-1", Executor::Parallel { workers: 1 }),
        ("parallel-2", Executor::Parallel { workers: 2 }),
    ]
    .into_iter()
    .filter(|(name, _)| only.as_ref().is_none_or(|only| only == name))
    {
        measure("storm", name, &storm, executor)?;
        measure("relay", name, &relay, executor)?;
    }
    Ok(())
}

/// A ring in which every node has a token at first, which makes so many hops.
fn relay(nodes: u32, hops: u32) -> Result<Arc<Instance>> {
    let ring = messages::ring::graph_type();
    let node = ring.device("node").expect("a ring has nodes");
    let starts = Record::new(ring.devices()[node.index()].properties()).with("starts", 1_u8)?;
    let mut builder = InstanceBuilder::new(&ring, "relay");
    builder.properties(Record::new(ring.properties()).with("total", hops)?.bytes())?;
    let devices = (0..nodes)
        .map(|number| builder.device_with(&format!("node_{number}"), node, Some(starts.bytes()), None))
        .collect::<Result<Vec<_>>>()?;
    for (number, device) in devices.iter().enumerate() {
        builder.edge(*device, OutputId(0), devices[(number + 1) % devices.len()], InputId(0))?;
    }
    builder.build()
}

fn measure(graph: &str, name: &str, instance: &Arc<Instance>, executor: Executor) -> Result<()> {
    let workers = if let Executor::Parallel { workers } = executor { workers } else { 1 };
    // Starting threads is not measured.
    let loom = drawloom_runtime::Loom::builder().workers(workers).build().expect("workers can be started");
    let settings = Settings::new(executor).loom(&loom);
    let mut best = f64::INFINITY;
    let mut counts = Default::default();
    // Long ones are repeated less often.
    let begin = Instant::now();
    for number in 0..200 {
        if number >= 5 && begin.elapsed().as_secs() >= 3 {
            break;
        }
        let mut machine = Machine::new(instance);
        let start = Instant::now();
        counts = machine.run(&settings)?.counts;
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!(
        r#"{{"graph":"{graph}","executor":"{name}","devices":{},"edges":{},"sends":{},"deliveries":{},"seconds":{best:.5},"deliveries_per_s":{:.0},"ns_per_delivery":{:.1}}}"#,
        instance.devices(),
        instance.edges(),
        counts.sends,
        counts.deliveries,
        counts.deliveries as f64 / best,
        best / counts.deliveries as f64 * 1e9
    );
    Ok(())
}
