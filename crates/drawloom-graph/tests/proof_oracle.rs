//! The check and the order against brute force, on random graphs.

mod support;

use drawloom_graph::Rule;
use support::oracle::memory::Memory;
use support::oracle::rules;
use support::random::{self, sketch::Sketch};

#[test]
fn the_naive_rule_e_agrees_with_the_toy_memory() {
    let mut count = [0usize; 8];
    for case in 0..random::cases(4000) {
        let graph = random::graph(&mut random::seeded("oracle", case));
        let found = rules::findings(&graph);
        count[0] += 1;
        if found.iter().any(|(r, _)| r.stage() < drawloom_graph::Stage::Serial) {
            continue;
        }
        count[1] += 1;
        let memory = Memory::new(&graph);
        let serial = !found.iter().any(|(r, _)| *r == Rule::S1);
        let agreement = memory.try_all();
        if serial {
            count[2] += 1
        };
        if memory.compares_sets() {
            count[3] += 1;
        }
        if memory.has_stale_close() {
            count[4] += 1;
        }
        if agreement.is_some() != serial {
            println!("{}", Sketch::from_graph(&graph).describe());
            panic!("case {case}: {found:?} sets={} stale={}", memory.compares_sets(), memory.has_stale_close());
        }
        if let Some(a) = agreement {
            let orders = rules::exact_orders(&graph);
            let reach = support::oracle::reach::Reach::new(&graph, |_| true, &orders);
            let mut req = Vec::new();
            for x in graph.tasks() {
                for y in graph.tasks() {
                    if x != y && reach.reaches(x, y) {
                        req.push((x, y));
                    }
                }
            }
            assert_eq!(req, a.required, "case {case}\n{}", Sketch::from_graph(&graph).describe());
            if graph.tasks().count() <= 6 {
                assert_eq!(Some(a), memory.try_each());
                count[5] += 1;
            }
        }
    }
    println!("{count:?}");
}
