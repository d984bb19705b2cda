//! How many deliveries a second the machine makes: waves flood a random graph.
//!
//! ```sh
//! cargo run --release -p drawloom-event --example flood -- [NODES [DEGREE [WAVES]]] [EXECUTOR]
//! ```
//!
//! Prints a line of JSON for each executor, the best of many short runs, as the machine may be busy with other things.

use std::time::Instant;

use drawloom_event::{Executor, Machine, Settings, samples};

fn main() -> Result<(), drawloom_event::Error> {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<u32>().ok());
    let mut next = |default| numbers.next().unwrap_or(default);
    let (nodes, degree, waves) = (next(1_000), next(1), next(10));
    let only = std::env::args().skip(1).find(|word| word.parse::<u32>().is_err());
    let instance = samples::storm::instance(nodes, degree, waves, 1)?;
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
        let mut best = f64::INFINITY;
        let mut counts = Default::default();
        for _ in 0..200 {
            let mut machine = Machine::new(&instance);
            let start = Instant::now();
            counts = machine.run(&Settings::new(executor))?.counts;
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!(
            r#"{{"executor":"{name}","nodes":{nodes},"edges":{},"sends":{},"deliveries":{},"seconds":{best:.4},"deliveries_per_s":{:.0},"ns_per_delivery":{:.1}}}"#,
            instance.edges(),
            counts.sends,
            counts.deliveries,
            counts.deliveries as f64 / best,
            best / counts.deliveries as f64 * 1e9
        );
    }
    Ok(())
}
