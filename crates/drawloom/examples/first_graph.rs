//! The README's program: a stencil in two steps, its order, and a mistake that is refused.

use drawloom::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Two fields over a hundred cells. The cells are cut into blocks; the halo of a block is the cells next to it.
    let mut regions = Regions::new();
    let cells = regions.space("cells", 100)?;
    let (u, v) = (regions.field("u", cells)?, regions.field("v", cells)?);
    let blocks = regions.partition("blocks", cells, Pieces::equal(2))?;
    let halos = regions.partition("halos", cells, Pieces::halo(blocks, 1))?;
    let mut on = |field, partition, i| {
        let piece = regions.piece(partition, i);
        regions.region(field, piece)
    };

    // Each call says what it does with each region. The graph is derived from the order of the calls.
    let mut calls = Vec::new();
    for (name, from, to) in [("smooth", u, v), ("relax", v, u)] {
        for i in 0..2 {
            let reads = [(on(from, blocks, i)?, Access::Read), (on(from, halos, i)?, Access::Read)];
            calls.push((format!("{name}[{i}]"), [reads[0], reads[1], (on(to, blocks, i)?, Access::Write)]));
        }
    }
    let (left, all) = (on(u, blocks, 0)?, regions.whole(u));
    let mut program = Builder::new(regions);
    for (name, arguments) in &calls {
        program.call(name, arguments)?;
    }

    // A call that would race with itself is refused, with the reason.
    let refused = program.call("spread", &[(all, Access::Read), (left, Access::Write)]).unwrap_err();
    println!("{}: {}", refused.rule, refused.message);

    // The rest is valid by construction: in which order may it run, and why?
    let graph = program.finish();
    let order = graph.order()?;
    for task in &order.tasks {
        println!("run {}", graph.name(*task));
    }
    let (first, last) = (order.tasks[0], order.tasks[3]);
    if let Explanation::Before(steps) = graph.explain(first, last)? {
        for step in &steps {
            println!("{}", sentence(&graph, step));
        }
    }
    Ok(())
}
