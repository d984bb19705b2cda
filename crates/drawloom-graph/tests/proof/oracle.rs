//! The check and the order against brute force, on random graphs of up to seven tasks.
//!
//! A few thousand cases by default; `DRAWLOOM_CASES=100000` runs that many, and so does any other number.

use crate::support::oracle::memory::Memory;
use crate::support::proof;
use crate::support::random;

#[test]
fn check_and_order_agree_with_brute_force() {
    let cases = random::cases(6000);
    let (mut race_free, mut serial, mut unlinked, mut stale) = (0, 0, 0, 0);
    for case in 0..cases {
        let seen = proof::assert_agrees(&random::graph(&mut random::seeded("oracle", case)), case);
        race_free += u64::from(seen.race_free);
        serial += u64::from(seen.serial);
        unlinked += u64::from(seen.unlinked);
        stale += u64::from(seen.stale_close);
    }
    println!(
        "{cases} graphs: {race_free} free of races, {serial} of them serialisable, {unlinked} with reducers nobody \
         orders, {stale} with a Close over an old version"
    );
    // A generator that stops making interesting graphs would make the comparison worthless.
    assert!(race_free * 2 > cases, "most graphs should reach the last stage");
    assert!((race_free - serial) * 20 > race_free, "at least one in twenty of those should fail it");
    assert!(cases < 1000 || unlinked > 0 && stale > 0, "the corners should be met");
}

#[test]
fn sharing_states_between_orders_changes_nothing() {
    let mut compared = 0;
    for case in 0..1500 {
        let graph = random::graph(&mut random::seeded("orders", case));
        let report = graph.check();
        let reached_last_stage = report.violations.iter().all(|d| d.rule == drawloom_graph::Rule::S1);
        if reached_last_stage && graph.tasks().count() <= 6 {
            let memory = Memory::new(&graph);
            assert_eq!(memory.try_all(), memory.try_each(), "case {case}");
            compared += 1;
        }
    }
    assert!(compared > 300, "only {compared} graphs were small enough");
}

#[test]
fn every_explanation_is_a_chain_of_true_steps() {
    for case in 0..1500 {
        let graph = random::graph(&mut random::seeded("explain", case));
        if graph.check().is_valid() {
            let agreement = Memory::new(&graph).try_all().expect("a valid graph has a right order");
            proof::compare_explanations(&graph, &agreement).unwrap_or_else(|why| panic!("case {case}: {why}"));
        }
    }
}
