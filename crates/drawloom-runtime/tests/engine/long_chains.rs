//! Long chains: tasks that wait inside of each other, and reductions that overlap one after the other.

use drawloom_runtime::{Loom, Operator, Sum};

/// Tasks inside of tasks, each of which waits for the next one; the innermost fails if it should.
fn nest(loom: &Loom, depth: usize, fails: bool) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
    if depth == 0 {
        return if fails { Err("the innermost".into()) } else { Ok(0) };
    }
    let inner = loom.clone();
    Ok(1 + loom.task("nested").try_run(move || nest(&inner, depth - 1, fails)).wait()?)
}

#[test]
fn tasks_may_wait_inside_of_each_other_as_deep_as_they_like() {
    const DEEP: usize = 20_000;
    for loom in
        [Loom::serial(), Loom::builder().workers(1).build().unwrap(), Loom::builder().workers(3).build().unwrap()]
    {
        assert_eq!(nest(&loom, DEEP, false).unwrap(), DEEP);
        let text = nest(&loom, DEEP, true).unwrap_err().to_string();
        assert!(text.contains("more that failed for each other") && text.contains("the innermost"), "{text}");
        assert!(text.len() < 10_000, "{} characters", text.len());
    }
}

#[test]
fn reductions_that_overlap_are_folded_in_one_order_whoever_asks() {
    for (piece, by_plan) in [(None, false), (None, true), (Some(0), false), (Some(0), true), (Some(2), false)] {
        let loom = Loom::serial();
        let x = loom.vector("x", vec![1_u64; 8]);
        let blocks: Vec<_> = x.blocks(4).unwrap().collect();
        let _ = loom.task("bad").reduce(&blocks[2], Sum).try_run(|_| Err::<(), _>("broken")).wait();
        loom.task("all").reduce(&x, Sum).run(|x| x.iter_mut().for_each(|x| *x += 1)).wait().unwrap();
        let asked = piece.map_or(&x, |piece| &blocks[piece]);
        if by_plan {
            let capture = loom.capture("ask");
            capture.task("reads").read(asked).run(|_| ());
            capture.plan().unwrap().run().unwrap_err();
        } else {
            loom.task("reads").read(asked).run(|_| ()).wait().unwrap_err();
        }
        // The whole was folded after the piece, into which nothing could be folded.
        assert!(blocks.iter().all(|block| block.to_vec().is_err()), "{piece:?} {by_plan}");
        let _ = loom.wait_all();
    }
}

#[test]
fn any_number_of_reductions_that_overlap_can_be_folded() {
    const COUNT: usize = 20_000;
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let x = loom.vector("x", vec![0_u64; COUNT]);
        let halos: Vec<_> = x.halos(COUNT, 1).unwrap().collect();
        for halo in &halos {
            loom.task("add").reduce(halo, Sum).run(|x| x.iter_mut().for_each(|x| *x += 1));
        }
        // Each overlaps the one before, so all of them are folded for the last one.
        assert_eq!(halos[COUNT - 1].to_vec().unwrap(), [3, 2]);
        assert_eq!(x.to_vec().unwrap().iter().sum::<u64>(), 3 * COUNT as u64 - 2);
    }
}

#[test]
fn an_operator_that_panics_when_contributions_are_folded_is_found_where_it_was_given() {
    #[derive(Clone, Copy)]
    struct Broken;
    impl Operator<u64> for Broken {
        fn name(&self) -> &'static str {
            "broken"
        }
        fn identity(&self) -> u64 {
            0
        }
        fn fold(&self, _: &mut u64, _: &u64) {
            panic!("cannot add");
        }
    }
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let x = loom.value("x", 0_u64);
        let line = line!() + 1;
        loom.task("contributes").reduce(&x, Broken).run(|x| *x = 1);
        let text = x.get().unwrap_err().to_string();
        assert!(text.contains(&format!("long_chains.rs:{line}")) && text.contains("cannot add"), "{text}");
        let _ = loom.wait_all();
    }
}
