//! What is wrong, or extreme, and comes from outside: each gets a clear error, or simply works.

use drawloom_runtime::topology::Topology;
use drawloom_runtime::{ErrorKind, Loom, Operator, Region, Sum};

#[test]
fn an_affinity_mask_of_one_processor_is_kept_to_by_every_worker() {
    // On a thread of its own, because the affinity of a test's thread outlives the test.
    std::thread::spawn(|| {
        let machine = Topology::detect();
        if !machine.is_bindable() {
            return;
        }
        let only = machine.cpus()[machine.cpus().len() - 1].id;
        machine.bind_current_thread(only).unwrap();
        let loom = Loom::new().unwrap();
        assert_eq!(loom.workers(), 1);
        // More workers than processors is no reason to go anywhere else.
        for loom in [loom, Loom::builder().workers(5).build().unwrap()] {
            let sum = loom.value("sum", 0_u64);
            let seen: Vec<_> = (0..50)
                .map(|_| {
                    loom.task("look").reduce(&sum, Sum).returns(|sum| {
                        *sum += 1;
                        Topology::detect().cpus().iter().map(|cpu| cpu.id).collect::<Vec<_>>()
                    })
                })
                .collect();
            for cpus in seen {
                assert_eq!(cpus.wait().unwrap(), [only]);
            }
            assert_eq!(sum.get().unwrap(), 50);
        }
    })
    .join()
    .unwrap();
}

#[test]
fn more_than_two_to_the_thirty_one_elements_are_cut_and_used_like_few() {
    const LEN: usize = (1 << 32) + 7;
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        // Elements of no size take no memory.
        let many = loom.host_vector("many", vec![(); LEN]);
        let lens: Vec<_> = many
            .blocks(3)
            .unwrap()
            .map(|block| loom.task("count").update(&block).returns(|block| block.len()))
            .collect();
        let lens: Vec<usize> = lens.into_iter().map(|len| len.wait().unwrap()).collect();
        assert_eq!(lens.iter().sum::<usize>(), LEN);
        assert_eq!(loom.task("all").read(&many).returns(|many| many.len()).wait().unwrap(), LEN);
        let halo = many.halos(2, 5).unwrap().nth(1).unwrap();
        let overlap = loom.task("twice").read(&many).update(&halo).run(|_, _| ()).wait().unwrap_err();
        assert_eq!(overlap.kind(), ErrorKind::Overlap);
        let _ = loom.wait_all();
    }
}

#[test]
fn an_element_beyond_two_to_the_thirty_one_is_the_one_that_was_meant() {
    const LEN: usize = (1 << 31) + 100;
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        // Memory that is never touched costs nothing.
        let bytes = loom.vector_without_contents::<u8>("bytes", LEN).unwrap();
        let chosen: Vec<_> = bytes.subsets(&[vec![9], vec![LEN - 1], vec![LEN - 1 - (1 << 31)]]).unwrap().collect();
        for (i, one) in chosen.iter().enumerate() {
            let place = [9, LEN - 1, LEN - 1 - (1 << 31)][i];
            loom.task("write").write(one).run(move |mut one| one[place] = i as u8 + 1);
        }
        for (i, one) in chosen.iter().enumerate() {
            let place = [9, LEN - 1, LEN - 1 - (1 << 31)][i];
            assert_eq!(loom.task("read").read(one).returns(move |one| one[place]).wait().unwrap(), i as u8 + 1);
        }
        let error = loom.task("early").read(&bytes).run(|_| ()).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Uninitialised);
        assert!(bytes.subsets(&[vec![LEN]]).is_err());
        let _ = loom.wait_all();
    }
}

#[test]
fn a_region_of_another_runtime_is_refused_with_both_names() {
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let theirs = Loom::serial().value("theirs", 1);
        let error = loom.task("mine").read(&theirs).run(|_| ()).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Foreign);
        assert!(error.to_string().contains("`mine`") && error.to_string().contains("`theirs`"), "{error}");
        let _ = loom.wait_all();
    }
}

#[test]
fn what_is_submitted_after_the_end_is_refused() {
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let x = loom.value("x", 1);
        loom.task("in time").update(&x).run(|x| *x += 1);
        loom.shutdown().unwrap();
        assert_eq!(x.get().unwrap(), 2);
        let error = loom.task("late").update(&x).run(|x| *x += 1).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ShutDown);
        assert!(error.to_string().contains("`late`"), "{error}");
    }
}

#[test]
fn a_partition_that_misses_indices_is_refused_where_it_must_not() {
    let loom = Loom::serial();
    let x = loom.vector("x", vec![0; 4]);
    let error = x.pieces(&[vec![0, 1], vec![3]]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Partition);
    assert!(error.to_string().contains("`x`") && error.to_string().contains('2'), "{error}");
    assert!(x.subsets(&[vec![0, 1], vec![3]]).is_ok());
}

#[test]
fn a_team_larger_than_the_context_it_is_meant_for_is_refused_whatever_others_have() {
    let loom = Loom::builder().workers(3).build().unwrap();
    let pair = loom.context("pair").workers([loom.worker(0).unwrap(), loom.worker(2).unwrap()]).create().unwrap();
    let error = loom.task("crowd").in_context(&pair).team(3).run(|_| ()).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Team);
    assert!(error.to_string().contains("task `crowd`") && error.to_string().contains("`pair` has 2"), "{error}");
    assert_eq!(loom.task("crowd").team(3).returns(|member| member.size()).wait().unwrap(), 3);
    assert_eq!(loom.task("couple").in_context(&pair).team(2).returns(|member| member.size()).wait().unwrap(), 2);
}

#[test]
fn a_recorded_task_cannot_come_after_one_of_another_recording() {
    let loom = Loom::serial();
    let (one, two) = (loom.capture("one"), loom.capture("two"));
    let first = one.task("first").run(|| ());
    let step = one.task("second").after(first).run(|| ());
    two.task("lost").after(step).run(|| ());
    one.plan().unwrap().run().unwrap();
    let error = two.plan().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Plan);
    assert!(error.to_string().contains("`lost`"), "{error}");
}

#[test]
fn as_many_workers_as_are_refused_is_one_more_than_the_message_says() {
    let error = Loom::builder().workers(65536).build().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Setting);
    assert!(error.to_string().contains("at most 65535 workers, and 65536 were asked for"), "{error}");
}

#[test]
fn a_worker_of_another_runtime_is_refused_wherever_workers_are_named() {
    let loom = Loom::builder().workers(2).undriven([1]).build().unwrap();
    let theirs = Loom::builder().workers(2).build().unwrap();
    let (own, foreign) = (loom.worker(1).unwrap(), theirs.worker(1).unwrap());
    assert_ne!(own, foreign);
    assert_eq!(own, loom.worker_ids()[1]);
    let context = loom.context("mine").workers([own]).create().unwrap();
    let refused = [
        loom.context("mine").workers([own, foreign]).create().err(),
        context.context("mine").workers([foreign]).create().err(),
        context.resize([foreign]).err(),
        context.add_workers([foreign]).err(),
        context.remove_workers([foreign]).err(),
    ];
    for error in refused {
        let error = error.expect("the worker is another runtime's");
        assert_eq!(error.kind(), ErrorKind::Foreign);
        assert_eq!(error.message(), "context `mine` cannot have worker 1, which belongs to another runtime");
    }
    assert_eq!(context.workers().unwrap(), [own]);
    let refused = [loom.driver(foreign).err(), loom.is_blocked_in_team(foreign).err()];
    for error in refused {
        let error = error.expect("the worker is another runtime's");
        assert_eq!(error.kind(), ErrorKind::Foreign);
        assert_eq!(error.message(), "cannot use worker 1, which belongs to another runtime");
    }
    assert_eq!(loom.driver(own).unwrap().worker(), own);
}

#[test]
fn what_belongs_to_another_runtime_is_refused_with_all_names() {
    let theirs = Loom::builder().workers(1).build().unwrap();
    let (context, x) = (theirs.context("far").create().unwrap(), theirs.value("x", 0));
    let guard = x.write().unwrap();
    let open = theirs.task("open").read(&x).run(|_| ());
    let line = line!() - 1;
    let done = theirs.task("done").run(|| ());
    while !done.is_complete() {
        std::thread::yield_now();
    }
    for loom in [Loom::serial(), Loom::builder().workers(1).build().unwrap()] {
        let text = |task: drawloom_runtime::Future<()>| {
            let error = task.wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Foreign);
            assert!(
                error.to_string().starts_with("task `mine` (crates/drawloom-runtime/tests/bad_input.rs:"),
                "{error}"
            );
            error.message().to_owned()
        };
        let far = text(loom.task("mine").in_context(&context).run(|| ()));
        assert_eq!(far, "cannot run in context `far`, which belongs to another runtime");
        let place = format!("task `open` (crates/drawloom-runtime/tests/bad_input.rs:{line})");
        let after = text(loom.task("mine").after(&open).run(|| ()));
        assert_eq!(after, format!("cannot come after {place}, which belongs to another runtime"));
        let with = text(loom.task("mine").ends_with(&open).run(|| ()));
        assert_eq!(with, format!("cannot end with {place}, which belongs to another runtime"));
        let complete = text(loom.task("mine").after(&done).run(|| ()));
        assert_eq!(complete, "cannot come after a task that is complete, which belongs to another runtime");
        let _ = loom.wait_all();
    }
    drop(guard);
    theirs.wait_all().unwrap();
}

#[test]
fn a_deleted_context_is_named_with_the_task_that_was_to_run_there() {
    let loom = Loom::builder().workers(1).build().unwrap();
    let gone = loom.context("gone").create().unwrap();
    gone.delete().unwrap();
    let error = loom.task("late").in_context(&gone).run(|| ()).wait().unwrap_err();
    assert_eq!(error.message(), "cannot run in context `gone`, which was deleted");
    assert!(error.to_string().starts_with("task `late` ("), "{error}");
}

/// An operator whose copies panic when they are dropped, on demand.
#[derive(Clone)]
struct Fragile(bool);

impl Operator<u64> for Fragile {
    fn name(&self) -> &'static str {
        "fragile"
    }
    fn identity(&self) -> u64 {
        0
    }
    fn fold(&self, into: &mut u64, from: &u64) {
        *into += from;
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(!self.0 || std::thread::panicking(), "the operator broke");
    }
}

#[test]
fn a_task_whose_operator_panics_when_it_is_dropped_is_named() {
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let x = loom.value("x", 0_u64);
        loom.task("adds").reduce(&x, Fragile(true)).run(|x| *x += 1);
        assert_eq!(x.get().unwrap(), 1);
        let error = loom.wait_all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panicked);
        let text = error.to_string();
        assert!(
            text.contains("task `adds` (") && text.contains("while its operator was dropped: the operator broke"),
            "{text}"
        );
    }
}

/// Two operators that have one name.
#[derive(Clone, Copy)]
struct Adds;
#[derive(Clone, Copy)]
struct Multiplies;
/// And one that has a field.
#[derive(Clone, Copy)]
struct AddsAtMost(u64);

macro_rules! operator {
    ($type:ty, $identity:expr, |$self:ident, $into:ident, $from:ident| $fold:expr) => {
        impl Operator<u64> for $type {
            fn name(&self) -> &'static str {
                "mine"
            }
            fn identity(&self) -> u64 {
                $identity
            }
            fn fold(&$self, $into: &mut u64, $from: &u64) {
                $fold
            }
        }
    };
}
operator!(Adds, 0, |self, into, from| *into += from);
operator!(Multiplies, 1, |self, into, from| *into *= from);
operator!(AddsAtMost, 0, |self, into, from| *into = (*into + from).min(self.0));

#[test]
fn operators_that_only_share_a_name_are_not_mixed() {
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let x = loom.value("x", 1_u64);
        let y = loom.value("y", 0_u64);
        let guard = y.write().unwrap();
        // All wait for the guard, so that all reductions are open at once if they can be.
        for _ in 0..3 {
            loom.task("add").read(&y).reduce(&x, Adds).run(|_, x| *x += 2);
        }
        for _ in 0..3 {
            loom.task("multiply").read(&y).reduce(&x, Multiplies).run(|_, x| *x *= 3);
        }
        for most in [200, 195] {
            loom.task("add some").read(&y).reduce(&x, AddsAtMost(most)).run(|_, x| *x += 8);
        }
        drop(guard);
        // (1 + 2 + 2 + 2) * 3 * 3 * 3 = 189, then at most 200, then at most 195.
        assert_eq!(x.get().unwrap(), 195);
    }
}

#[test]
fn threads_that_the_system_refuses_are_an_error_and_leave_none_behind() {
    const INSIDE: &str = "DRAWLOOM_TEST_WITHOUT_THREADS";
    if std::env::var_os(INSIDE).is_some() {
        for undriven in [0, 1] {
            let error = Loom::builder().workers(2).undriven(0..undriven).build().err().unwrap();
            assert_eq!(error.kind(), ErrorKind::System);
            assert!(error.to_string().contains("cannot start a worker"), "{error}");
        }
        let error = Loom::serial().task("pair").team(2).run(|_| ()).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::System);
        assert!(error.to_string().contains("task `pair`"), "{error}");
        return;
    }
    // A process of its own, in which threads would need a larger stack than there are addresses.
    let name = "threads_that_the_system_refuses_are_an_error_and_leave_none_behind";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--test-threads=1", "--nocapture"])
        .env(INSIDE, "1")
        .env("RUST_MIN_STACK", (1_u64 << 47).to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn more_elements_than_there_is_memory_for_are_an_error_with_the_name() {
    let loom = Loom::serial();
    let texts = [
        loom.vector_without_contents::<u64>("v", usize::MAX).unwrap_err().to_string(),
        loom.matrix_without_contents::<u64>("m", usize::MAX, 2).unwrap_err().to_string(),
        loom.array_without_contents::<u64, 3>("a", [1 << 40, 1 << 40, 2]).unwrap_err().to_string(),
    ];
    for (text, name) in texts.iter().zip(["`v`", "`m`", "`a`"]) {
        assert!(text.contains(name) && text.contains("no memory for"), "{text}");
    }
}
