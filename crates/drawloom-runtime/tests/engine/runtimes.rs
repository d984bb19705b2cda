//! Tasks that use a runtime other than the one that runs them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};

use drawloom_runtime::{ErrorKind, Loom, Region};

use crate::inside::{FOR_EVER, context, patient};

#[test]
fn a_task_of_one_runtime_inside_of_a_task_of_another_is_still_inside_of_that() {
    for outer in [Loom::serial(), Loom::builder().workers(1).patience(FOR_EVER).build().unwrap()] {
        let is_serial = outer.workers() == 0;
        let inner = Loom::serial();
        let (first, second) = (outer.clone(), inner.clone());
        let told = outer
            .task("outer")
            .returns(move || {
                let handle = first.clone();
                second
                    .task("inner")
                    .returns(move || {
                        // A child of the outer task, which runs right here, or when that one is over.
                        let child = handle.task("child").returns(|| 5).wait();
                        (child, handle.wait_all().unwrap_err())
                    })
                    .wait()
                    .unwrap()
            })
            .wait()
            .unwrap();
        if is_serial {
            assert_eq!(told.0.unwrap(), 5);
        } else {
            // The thread is in the middle of the inner task, whose child it is not.
            let error = told.0.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WaitInTask);
            assert_eq!(error.task().unwrap().name, "inner");
            assert!(error.to_string().contains("waits for task `child`"), "{error}");
        }
        assert_eq!(told.1.kind(), ErrorKind::WaitInTask);
        assert_eq!(told.1.task().unwrap().name, "inner");
        inner.wait_all().unwrap();
        outer.wait_all().unwrap();
    }
}

#[test]
fn a_task_waits_for_nothing_of_another_runtime() {
    for here in [Loom::serial(), Loom::builder().workers(2).patience(FOR_EVER).build().unwrap()] {
        let there = Loom::builder().workers(1).patience(FOR_EVER).build().unwrap();
        let x = there.value("x", 0_u64);
        let side = context(&there, "side", &[0]);
        let capture = there.capture("round");
        capture.task("step").update(&x).run(|x| *x += 1);
        let plan = capture.plan().unwrap();
        let guard = x.write().unwrap();
        let waits = {
            let (there, x) = (there.clone(), x.clone());
            move || {
                let errors = [
                    there.task("other").read(&x).run(|_| ()).wait().unwrap_err(),
                    x.read().err().unwrap(),
                    x.write().err().unwrap(),
                    x.wait().unwrap_err(),
                    side.wait().unwrap_err(),
                    plan.run().unwrap_err(),
                    plan.run_in(&side).unwrap_err(),
                    plan.start().wait().unwrap_err(),
                    there.wait_all().unwrap_err(),
                    there.shutdown().unwrap_err(),
                ];
                errors.map(|error| {
                    assert_eq!(error.kind(), ErrorKind::WaitInTask);
                    (error.task().unwrap().name.clone(), error.message().to_owned())
                })
            }
        };
        let own = waits.clone();
        let mut told = vec![("alone", here.task("alone").returns(own).wait().unwrap())];
        let (tell, heard) = mpsc::channel();
        here.task("member").team(2).run(move |member| {
            if member.rank() == 1 {
                tell.send(waits()).unwrap();
            }
        });
        told.push(("member", heard.recv().unwrap()));
        here.wait_all().unwrap();
        for (name, errors) in told {
            let what = ["task `other`", "`x`", "`x`", "`x`", "`side`", "`round`", "`round`", "`round`", "all", "down"];
            for ((task, text), what) in errors.iter().zip(what) {
                assert_eq!(task, name);
                assert!(text.contains(what), "{text}");
            }
        }
        drop(guard);
        there.wait_all().unwrap();
        // Those of the two runs that were submitted, and not those of the runs that were refused.
        assert_eq!(x.get().unwrap(), 2);
    }
}

#[test]
fn what_is_complete_already_can_be_had_in_a_task_of_another_runtime() {
    let (here, there) = (patient(2), Loom::serial());
    let x = there.value("x", 1_u64);
    let capture = there.capture("round");
    capture.task("step").update(&x).run(|x| *x += 1);
    let plan = capture.plan().unwrap();
    let inner = there.clone();
    let told = here.task("asks").returns(move || {
        plan.run().unwrap();
        inner.task("other").read(&x).returns(|x| *x).wait().unwrap()
    });
    assert_eq!(told.wait().unwrap(), 2);
}

#[test]
fn submitting_to_another_runtime_does_not_block_a_task() {
    let here = Loom::builder().workers(1).patience(FOR_EVER).build().unwrap();
    let there = Loom::builder().workers(1).in_flight(4).patience(FOR_EVER).build().unwrap();
    let x = there.value("x", 0_u64);
    let guard = x.write().unwrap();
    let (inner, handle) = (there.clone(), x.clone());
    let submits = here.task("submits").run(move || {
        for _ in 0..100 {
            inner.task("add").update(&handle).run(|x| *x += 1);
        }
    });
    submits.wait().unwrap();
    drop(guard);
    assert_eq!(x.get().unwrap(), 100);
}

#[test]
fn what_ends_with_one_runtime_is_completed_by_the_end_of_another() {
    use drawloom_runtime::{Value, WriteGuard};
    thread_local! {
        static GUARD: std::cell::Cell<Option<WriteGuard<Value<u64>>>> = const { std::cell::Cell::new(None) };
    }
    /// Lets go of the guard when it is dropped.
    struct LetsGo;

    impl Drop for LetsGo {
        fn drop(&mut self) {
            GUARD.take();
        }
    }

    let [one, other] = [patient(1), patient(1)];
    let (x, y) = (one.value("x", 0_u64), other.value("y", 0_u64));
    let guard = x.write().unwrap();
    GUARD.set(Some(y.write().unwrap()));
    let lets_go = LetsGo;
    one.task("one").update(&x).run(move |_| drop(lets_go));
    let left = other.task("other").update(&y).run(|_| ());
    // Both end with a task that waits for a guard, and is completed by whoever drops it.
    drop((one, other));
    assert!(!left.is_complete());
    drop(guard);
    assert!(left.is_complete());
    assert_eq!(left.wait().unwrap_err().kind(), ErrorKind::Cancelled);
}

/// Each has the turn of its runtime, and submits to that of the other: neither waits for the other's turn.
#[test]
fn tasks_of_two_serial_runtimes_submit_to_each_other() {
    let (a, b) = (Loom::serial(), Loom::serial());
    let both = Arc::new(Barrier::new(2));
    let ran = Arc::new(AtomicUsize::new(0));
    let cross = |from: &Loom, to: &Loom| {
        let (from, to, both, ran) = (from.clone(), to.clone(), Arc::clone(&both), Arc::clone(&ran));
        std::thread::spawn(move || {
            let task = from.task("crosses").run(move || {
                both.wait();
                for _ in 0..3 {
                    let ran = Arc::clone(&ran);
                    to.task("crossed").run(move || {
                        ran.fetch_add(1, Ordering::SeqCst);
                    });
                }
            });
            task.wait().unwrap();
        })
    };
    let threads = [cross(&a, &b), cross(&b, &a)];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    a.wait_all().unwrap();
    b.wait_all().unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 6);
}

/// On one thread, through another runtime and back: it is a child of the first one, and runs at once.
#[test]
fn a_task_submits_to_its_own_serial_runtime_through_another() {
    let (a, b) = (Loom::serial(), Loom::serial());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (first, second, third) = (Arc::clone(&seen), Arc::clone(&seen), Arc::clone(&seen));
    let (inner_a, inner_b) = (a.clone(), b.clone());
    a.task("outer").run(move || {
        inner_b.task("middle").run(move || {
            inner_a.task("inner").run(move || third.lock().unwrap().push("inner"));
            second.lock().unwrap().push("middle");
        });
        first.lock().unwrap().push("outer");
    });
    a.wait_all().unwrap();
    b.wait_all().unwrap();
    assert_eq!(*seen.lock().unwrap(), ["inner", "middle", "outer"]);
}
