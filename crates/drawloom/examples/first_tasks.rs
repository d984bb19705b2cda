//! The README's program: heat along a rod, in blocks, with a mistake that is refused.

use drawloom::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let loom = Loom::new()?; // a worker on every core this process may use
    let mut start = vec![0.0_f64; 1000];
    start[500] = 1000.0;
    let (old, new) = (loom.vector("old", start), loom.vector("new", vec![0.0; 1000]));
    let heat = loom.value("heat", 0.0);

    // Record one time step: 16 blocks there, 16 blocks back, each with the neighbours it needs.
    let step = loom.capture("step");
    for (from, to) in [(&old, &new), (&new, &old)] {
        for (i, (halo, block)) in from.halos(16, 1)?.zip(to.blocks(16)?).enumerate() {
            let before = usize::from(i > 0); // only the first block has no neighbour before it
            step.task("spread").read(&halo).write(&block).run(move |halo, block| {
                for (k, out) in block.iter_mut().enumerate() {
                    let (left, here) = (halo[(k + before).saturating_sub(1)], halo[k + before]);
                    let right = halo.get(k + before + 1).unwrap_or(&here);
                    *out = here + 0.25 * (left - 2.0 * here + right);
                }
            });
        }
    }
    // Checked for races, compiled once, replayed many times.
    let plan = step.plan()?;
    for _ in 0..500 {
        plan.start();
    }

    // A reduction: private sums, folded in the same order on every machine.
    for block in old.blocks(16)? {
        loom.task("measure").read(&block).reduce(&heat, Sum).run(|block, heat| *heat += block.iter().sum::<f64>());
    }
    println!("heat {:.6}, warmest {:.6}", heat.get()?, old.read()?.iter().fold(0.0, |a: f64, b| a.max(*b)));

    // What would race with itself is refused, with the names of what it touches.
    let left = old.blocks(2)?.next().unwrap();
    println!("{}", loom.task("shift").read(&old).update(&left).run(|_, _| ()).wait().unwrap_err().message());
    Ok(())
}
