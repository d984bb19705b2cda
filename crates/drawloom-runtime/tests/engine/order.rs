//! What tasks do to each other's data, on every engine.

use drawloom_runtime::{ErrorKind, Loom, Max, Region, Sum};

/// The serial engine, and engines with more and fewer workers than there are processors.
fn looms() -> Vec<Loom> {
    let mut looms = vec![Loom::serial()];
    looms.extend([1, 2, 3, 8].map(|workers| Loom::builder().workers(workers).build().unwrap()));
    looms
}

#[test]
fn a_chain_of_updates_runs_in_program_order() {
    for loom in looms() {
        let x = loom.value("x", 1_u64);
        for i in 0..1000_u64 {
            loom.task("step").update(&x).run(move |x| *x = x.wrapping_mul(31).wrapping_add(i));
        }
        let expected = (0..1000_u64).fold(1_u64, |x, i| x.wrapping_mul(31).wrapping_add(i));
        assert_eq!(x.get().unwrap(), expected);
    }
}

#[test]
fn readers_see_the_last_write_and_writers_wait_for_readers() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        let mut futures = Vec::new();
        for round in 1..=50_u64 {
            loom.task("write").write(&x).run(move |x| *x = round);
            for _ in 0..20 {
                futures.push((round, loom.task("read").read(&x).returns(|x| *x)));
            }
        }
        for (round, future) in futures {
            assert_eq!(future.wait().unwrap(), round);
        }
    }
}

#[test]
fn blocks_halos_and_the_whole_are_ordered_by_what_they_share() {
    for loom in looms() {
        let n = 64;
        let a = loom.vector("a", (0..n as u64).collect());
        let b = loom.vector("b", vec![0_u64; n]);
        let mut expected: Vec<u64> = (0..n as u64).collect();
        for _ in 0..20 {
            for ((halo, block), i) in a.halos(8, 1).unwrap().zip(b.blocks(8).unwrap()).zip(0..) {
                loom.task("smooth").read(&halo).write(&block).run(move |halo, block| {
                    let first = usize::from(i > 0);
                    for (k, out) in block.iter_mut().enumerate() {
                        let left = if k + first == 0 { 0 } else { halo[k + first - 1] };
                        let right = halo.get(k + first + 1).copied().unwrap_or(0);
                        *out = left.wrapping_add(right).wrapping_add(1);
                    }
                });
            }
            for (a, b) in a.blocks(8).unwrap().zip(b.blocks(8).unwrap()) {
                loom.task("copy").read(&b).write(&a).run(|b, a| a.copy_from_slice(b));
            }
            loom.task("whole").update(&a).run(|a| a.rotate_left(3));
            let old = expected.clone();
            for (i, out) in expected.iter_mut().enumerate() {
                let left = if i == 0 { 0 } else { old[i - 1] };
                *out = left.wrapping_add(old.get(i + 1).copied().unwrap_or(0)).wrapping_add(1);
            }
            expected.rotate_left(3);
        }
        assert_eq!(a.to_vec().unwrap(), expected);
    }
}

#[test]
fn reductions_have_the_same_bits_on_every_engine() {
    let mut results = Vec::new();
    for loom in looms() {
        let sum = loom.value("sum", 0.1_f64);
        let most = loom.value("most", 0_i64);
        for i in 0..137 {
            loom.task("add").reduce(&sum, Sum).reduce(&most, Max).run(move |sum, most| {
                *sum += 1.0 / f64::from(i + 1);
                *most = (*most).max(i64::from(i * 7 % 100));
            });
        }
        assert_eq!(most.get().unwrap(), 99);
        results.push(sum.get().unwrap().to_bits());
    }
    assert!(results.iter().all(|&r| r == results[0]), "{results:?}");
}

#[test]
fn commuting_tasks_exclude_each_other_and_lose_nothing() {
    for loom in looms() {
        let x = loom.vector("x", vec![0_u64; 8]);
        let y = loom.value("y", 0_u64);
        let blocks: Vec<_> = x.blocks(4).unwrap().collect();
        for i in 0..400_usize {
            loom.task("one").commute(&blocks[i % 4]).run(|x| x.iter_mut().for_each(|x| *x += 1));
            loom.task("both").commute(&y).commute(&x).run(|y, x| {
                *y += 1;
                x.iter_mut().for_each(|x| *x += 1);
            });
        }
        assert_eq!(x.to_vec().unwrap(), [500; 8]);
        assert_eq!(y.get().unwrap(), 400);
    }
}

#[test]
fn children_work_on_what_was_lent_and_their_parent_is_complete_after_them() {
    for loom in looms() {
        let x = loom.vector("x", vec![1_u64; 100]);
        let handle = x.clone();
        let inner = loom.clone();
        loom.task("parent").lend(&x).run(move |_| {
            for block in handle.blocks(10).unwrap() {
                inner.task("child").update(&block).run(|b| b.iter_mut().for_each(|b| *b += 1));
            }
            let sum = inner.task("sum").read(&handle).returns(|x| x.iter().sum::<u64>()).wait().unwrap();
            assert_eq!(sum, 200);
            inner.task("last").update(&handle).run(|x| x[0] = 7);
        });
        let seen = loom.task("after").read(&x).returns(|x| (x[0], x[1])).wait().unwrap();
        assert_eq!(seen, (7, 2));
        loom.wait_all().unwrap();
    }
}

#[test]
fn a_child_that_touches_what_was_not_lent_is_refused_by_name() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        let (inner, handle) = (loom.clone(), x.clone());
        let kind = loom
            .task("parent")
            .returns(move || inner.task("child").update(&handle).run(|x| *x = 1).wait().unwrap_err().to_string())
            .wait()
            .unwrap();
        assert!(kind.contains("task `child`") && kind.contains("`x`") && kind.contains("task `parent`"), "{kind}");
        assert_eq!(x.get().unwrap(), 0);
    }
}

#[test]
fn a_failed_task_cancels_what_reads_its_output_and_nothing_else() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        let y = loom.value("y", 0_u64);
        let z = loom.value("z", 0_u64);
        let bad = loom.task("bad").write(&x).run(|_| panic!("no luck"));
        let next = loom.task("next").read(&x).write(&y).run(|x, y| *y = *x);
        let other = loom.task("other").write(&z).returns(|z| *z = 3);
        let error = next.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(error.to_string().contains("no luck"), "{error}");
        assert_eq!(bad.wait().unwrap_err().kind(), ErrorKind::Panicked);
        other.wait().unwrap();
        assert!(y.get().is_err());
        loom.task("heal").write(&x).run(|x| *x = 5);
        assert_eq!(x.get().unwrap(), 5);
        assert_eq!(z.get().unwrap(), 3);
    }
}

#[test]
fn overlapping_arguments_are_refused_when_one_of_them_changes() {
    for loom in looms() {
        let x = loom.vector("x", vec![0_u64; 10]);
        let block = x.blocks(2).unwrap().next().unwrap();
        let error = loom.task("t").read(&x).update(&block).run(|_, _| ()).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Overlap);
        assert!(error.to_string().contains("x.blocks2[0]"), "{error}");
    }
}

#[test]
fn after_and_ends_with_order_tasks_without_data() {
    for loom in looms() {
        let log = loom.host_value("log", Vec::new());
        let first = loom.task("first").commute(&log).run(|log| log.push(1));
        let second = loom.task("second").after(&first).commute(&log).run(|log| log.push(2));
        let third = loom.task("third").ends_with(&second).run(|| ());
        loom.task("fourth").after(&third).commute(&log).run(|log| log.push(4));
        assert_eq!(log.get().unwrap(), [1, 2, 4]);
    }
}

#[test]
fn a_region_of_an_unfinished_task_cannot_be_used_outside_of_it() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let inner = loom.clone();
    let parent = loom.task("parent").run(move || {
        let own = inner.vector("own", vec![0_u64; 10]);
        inner.task("child").update(&own).run(move |own| {
            wait.recv().unwrap();
            own.fill(1);
        });
        send.send(own).unwrap();
    });
    let own = receive.recv().unwrap();
    let error = loom.task("thief").update(&own).run(|own| own.fill(2)).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotLent);
    assert!(error.to_string().contains("`own`") && error.to_string().contains("`parent`"), "{error}");
    assert!(own.read().is_err());
    done.send(()).unwrap();
    parent.wait().unwrap();
    assert_eq!(own.to_vec().unwrap(), [1; 10], "now it belongs to everyone");
}
