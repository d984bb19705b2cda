//! Mistakes with guards: access from outside of tasks ends with the guard. What is right instead.

use drawloom_runtime::*;

#[test]
fn assignment_through_a_read_guard() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let mut guard = v.write().unwrap();
    guard[0] = 1.0;
}

#[test]
fn a_view_that_outlives_its_guard() {
    let loom = Loom::serial();
    let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
    let element = {
        let guard = m.read().unwrap();
        guard.view()[[0, 0]]
    };
    assert_eq!(element, 0.0);
}

#[test]
fn a_view_used_after_its_guard_was_dropped() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let guard = v.read().unwrap();
    let first = guard[0];
    drop(guard);
    assert_eq!(first, 0.0);
}

#[test]
fn two_mutable_views_of_a_guard() {
    let loom = Loom::serial();
    let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
    let mut guard = m.write().unwrap();
    let mut a = guard.view_mut();
    a[[0, 0]] = 1.0;
    a[[0, 0]] = 2.0;
}

#[test]
fn a_view_of_a_guard_in_a_task() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").read(&v).run(|view| assert_eq!(view[0], 0.0));
}

#[test]
fn elements_without_a_guard() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    assert_eq!(v.read().unwrap()[0], 0.0);
}
