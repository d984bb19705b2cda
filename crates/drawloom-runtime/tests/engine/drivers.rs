//! Workers that the application drives, and the phases of their cycle.

use std::sync::{Arc, Mutex, mpsc};

use drawloom_runtime::{Driver, ErrorKind, Loom};
use drawloom_trace::{EventKind, Phase};

/// A runtime whose only worker is driven by the test.
fn undriven() -> (Loom, Driver) {
    let loom = Loom::builder().workers(1).undriven([0]).build().unwrap();
    let driver = loom.driver(loom.worker(0).unwrap()).unwrap();
    (loom, driver)
}

#[test]
fn a_turn_of_the_cycle_has_its_phases_in_order() {
    let (loom, mut driver) = undriven();
    driver.init().unwrap();
    let phases = |driver: &mut Driver, works: bool| {
        loom.trace_start();
        assert_eq!(driver.run_once().unwrap(), works);
        let trace = loom.trace_stop();
        let phases = trace.events.iter().filter(|event| event.kind == EventKind::Phase);
        phases.map(|event| Phase::ALL[event.value as usize]).collect::<Vec<_>>()
    };
    assert_eq!(phases(&mut driver, false), [Phase::Schedule, Phase::Team, Phase::Input, Phase::Transfers]);
    let future = loom.task("t").run(|| ());
    assert_eq!(phases(&mut driver, true), Phase::ALL);
    assert!(future.is_complete());
}

#[test]
fn a_driver_refuses_what_it_cannot_do() {
    let loom = Loom::builder().workers(2).undriven([1]).build().unwrap();
    let (launched, own) = (loom.worker(0).unwrap(), loom.worker(1).unwrap());
    assert!(loom.driver(launched).err().unwrap().to_string().contains("worker 0 is driven already"));
    let mut driver = loom.driver(own).unwrap();
    assert!(loom.driver(own).is_err());
    assert!(driver.run_once().unwrap_err().to_string().contains("`init`"));
    driver.init().unwrap();
    assert!(driver.init().is_err());
    drop(driver);
    assert!(loom.driver(own).is_ok());
    assert!(loom.worker(2).is_err());
    assert_eq!(Loom::builder().workers(1).undriven([1]).build().err().unwrap().kind(), ErrorKind::Setting);
    assert_eq!(Loom::builder().workers(0).build().err().unwrap().kind(), ErrorKind::Setting);
}

#[test]
fn a_driver_runs_until_the_runtime_ends() {
    let loom = Loom::builder().workers(1).undriven([0]).build().unwrap();
    let driver = loom.driver(loom.worker(0).unwrap()).unwrap();
    let thread = std::thread::spawn(move || driver.run());
    let x = loom.value("x", 0);
    for _ in 0..100 {
        loom.task("count").update(&x).run(|x| *x += 1);
    }
    assert_eq!(x.get().unwrap(), 100);
    drop((x, loom));
    thread.join().unwrap().unwrap();
}

#[test]
fn a_driver_that_was_moved_is_driven_by_nobody_until_it_is_initialised_again() {
    let (loom, mut driver) = undriven();
    driver.init().unwrap();
    let future = loom.task("t").returns(|| 1);
    let mut driver = std::thread::spawn(move || {
        let error = driver.run_once().unwrap_err();
        assert!(error.to_string().contains("worker 0 must be driven by the thread that called `init`"), "{error}");
        let error = driver.init().unwrap_err();
        assert!(error.to_string().contains("worker 0 was initialised already"), "{error}");
        driver.deinit();
        driver.init().unwrap();
        assert!(driver.run_once().unwrap());
        driver
    })
    .join()
    .unwrap();
    assert_eq!(future.wait().unwrap(), 1);
    // This thread does not drive the worker any more, whatever it did before.
    assert!(driver.run_once().is_err());
    driver.deinit();
    driver.init().unwrap();
    assert!(!driver.run_once().unwrap());
}

#[test]
fn a_thread_whose_driver_was_dropped_elsewhere_changes_contexts_like_any_other() {
    let (loom, mut driver) = undriven();
    driver.init().unwrap();
    std::thread::spawn(move || drop(driver)).join().unwrap();
    // Another thread drives the worker now, and is in and out of operations while this one changes its contexts.
    let runner = loom.driver(loom.worker(0).unwrap()).unwrap();
    let thread = std::thread::spawn(move || runner.run());
    let x = loom.value("x", 0_u32);
    for i in 0..500 {
        let context = loom.context(format!("c{i}")).create().unwrap();
        loom.task("count").update(&x).in_context(&context).run(|x| *x += 1);
        loom.main_context().resize(loom.worker_ids()).unwrap();
        context.delete().unwrap();
    }
    assert_eq!(x.get().unwrap(), 500);
    drop((x, loom));
    thread.join().unwrap().unwrap();
}

#[test]
fn a_driver_that_is_dropped_without_an_end_gives_its_worker_and_its_next_task_back() {
    let loom = Loom::builder().workers(1).undriven([0]).build().unwrap();
    let x = loom.value("x", 0_u32);
    for _ in 0..3 {
        loom.task("count").update(&x).run(|x| *x += 1);
    }
    // Each is dropped with the next task of the chain in its hands.
    for turn in 0..3 {
        let mut driver = loom.driver(loom.worker(0).unwrap()).unwrap();
        driver.init().unwrap();
        assert!(driver.run_once().unwrap(), "turn {turn}");
    }
    assert_eq!(x.get().unwrap(), 3);
}

#[test]
fn one_thread_drives_workers_of_two_runtimes_in_turn() {
    let (one, mut first) = undriven();
    let (two, mut second) = undriven();
    first.init().unwrap();
    second.init().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    for (number, loom) in [(1, &one), (2, &two)] {
        let x = loom.value("x", 0_u32);
        for _ in 0..3 {
            let (seen, handle) = (Arc::clone(&seen), loom.clone());
            loom.task("note").update(&x).run(move |_| {
                assert_eq!(handle.current_worker().unwrap().index(), 0);
                seen.lock().unwrap().push(number);
            });
        }
    }
    while first.run_once().unwrap() | second.run_once().unwrap() {}
    assert_eq!(*seen.lock().unwrap(), [1, 2, 1, 2, 1, 2]);
    first.deinit();
    assert!(first.run_once().unwrap_err().to_string().contains("worker 0 was not initialised"));
    assert!(!second.run_once().unwrap());
}

#[test]
fn a_worker_is_not_driven_from_inside_of_a_task_of_its_runtime() {
    let loom = Loom::builder().workers(2).undriven([1]).build().unwrap();
    let mut driver = loom.driver(loom.worker(1).unwrap()).unwrap();
    let (tell, told) = mpsc::channel();
    loom.task("impatient").run(move || tell.send(driver.init().unwrap_err()).unwrap());
    let error = told.recv().unwrap();
    assert_eq!(error.kind(), ErrorKind::Setting);
    assert!(error.to_string().contains("task `impatient`") && error.to_string().contains("worker 1"), "{error}");
}

/// A worker that is driven step by step may not come again for long. What its last task made ready is for everyone.
#[test]
fn what_a_step_makes_ready_can_be_run_by_others() {
    let loom = Loom::builder().workers(2).undriven([1]).build().unwrap();
    let x = loom.value("x", 0);
    let (busy, is_busy) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let long = loom.task("long").run(move || {
        busy.send(()).unwrap();
        may_go.recv().unwrap();
    });
    is_busy.recv().unwrap();
    let mut driver = loom.driver(loom.worker(1).unwrap()).unwrap();
    driver.init().unwrap();
    let first = loom.task("first").update(&x).run(|x| *x += 1);
    let second = loom.task("second").update(&x).returns(|x| *x + 1);
    assert!(driver.run_once().unwrap());
    first.wait().unwrap();
    go.send(()).unwrap();
    long.wait().unwrap();
    assert_eq!(second.wait().unwrap(), 2);
}
