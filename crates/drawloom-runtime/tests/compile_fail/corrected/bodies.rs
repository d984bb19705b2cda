//! Mistakes with bodies: they take what was declared, and own what they capture. What is right instead.

use drawloom_runtime::*;

#[test]
fn too_few_parameters() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").read(&v).read(&v).run(|v, w| ());
}

#[test]
fn too_many_parameters() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").read(&v).run(|v| ());
}

#[test]
fn another_element_type() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").read(&v).run(|v: &[f64]| ());
}

#[test]
fn a_mutable_parameter_for_what_is_read() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").update(&v).run(|v: &mut [f64]| ());
}

#[test]
fn an_undeclared_region() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let w = loom.vector("w", vec![0.0_f64; 8]);
    loom.task("t").update(&v).read(&w).run(|v, w| v[0] = w[0]);
}

#[test]
fn a_borrowed_local() {
    let loom = Loom::serial();
    let factor = 2.0;
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").update(&v).run(move |v| v[0] *= factor);
}

#[test]
fn a_capture_that_stays_on_its_thread() {
    let loom = Loom::serial();
    let shared = std::sync::Arc::new(1);
    loom.task("t").run(move || drop(shared));
}

#[test]
fn a_result_that_stays_on_its_thread() {
    let loom = Loom::serial();
    loom.task("t").returns(|| std::sync::Arc::new(1));
}

#[test]
fn a_value_that_run_would_drop() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").read(&v).returns(|v| v.len());
}

#[test]
fn a_fallible_body_without_result() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").read(&v).try_run(|v| v.len().checked_sub(1).ok_or("empty"));
}

#[test]
fn a_body_that_cannot_run_again() {
    let loom = Loom::serial();
    let text = String::from("again");
    loom.task("t").retry(2).run(move || drop(text.clone()));
}

#[test]
fn a_recorded_body_that_cannot_run_again() {
    let loom = Loom::serial();
    let text = String::from("again");
    let capture = loom.capture("p");
    capture.task("t").run(move || drop(text.clone()));
}

#[test]
fn one_task_submitted_twice() {
    let loom = Loom::serial();
    loom.task("t").run(|| ());
    loom.task("t").run(|| ());
}

#[test]
fn one_value_taken_twice() {
    let loom = Loom::serial();
    let future = loom.task("t").returns(|| 1);
    let one = future.wait().unwrap();
    assert_eq!(one + one, 2);
}

#[test]
fn after_something_that_is_no_future() {
    let loom = Loom::serial();
    let first = loom.task("first").run(|| ());
    loom.task("t").after(&first).run(|| ());
}

#[test]
fn more_than_twelve_accesses() {
    let loom = Loom::serial();
    let x = loom.value("x", 1_u64);
    let all = vec![x; 13];
    loom.task("t").read_all(&all).run(|all| assert_eq!(all.len(), 13));
}
