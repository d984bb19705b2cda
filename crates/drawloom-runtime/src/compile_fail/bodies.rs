//! Mistakes with bodies: they take what was declared, and own what they capture.

/// A body has one parameter for each access.
///
/// ```compile_fail,E0593
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").read(&v).read(&v).run(|v| ());
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").read(&v).read(&v).run(|v, w| ());
/// ```
const TOO_FEW_PARAMETERS: () = ();

/// And no more than that.
///
/// ```compile_fail,E0593
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").read(&v).run(|v, w| ());
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").read(&v).run(|v| ());
/// ```
const TOO_MANY_PARAMETERS: () = ();

/// The parameter has the element type of the region.
///
/// ```compile_fail,E0631
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").read(&v).run(|v: &[u32]| ());
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").read(&v).run(|v: &[f64]| ());
/// ```
const ANOTHER_ELEMENT_TYPE: () = ();

/// A body cannot ask for a mutable view of what its task reads.
///
/// ```compile_fail,E0631
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").read(&v).run(|v: &mut [f64]| ());
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").update(&v).run(|v: &mut [f64]| ());
/// ```
const A_MUTABLE_PARAMETER_FOR_WHAT_IS_READ: () = ();

/// A region is a handle: without declaring an access, there is no way to its elements.
///
/// ```compile_fail,E0608
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let w = loom.vector("w", vec![0.0_f64; 8]);
/// loom.task("t").update(&v).run(move |v| v[0] = w[0]);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let w = loom.vector("w", vec![0.0_f64; 8]);
/// loom.task("t").update(&v).read(&w).run(|v, w| v[0] = w[0]);
/// ```
const AN_UNDECLARED_REGION: () = ();

/// A task may run after the function that submitted it has returned.
///
/// ```compile_fail,E0373
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let factor = 2.0;
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").update(&v).run(|v| v[0] *= factor);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let factor = 2.0;
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").update(&v).run(move |v| v[0] *= factor);
/// ```
const A_BORROWED_LOCAL: () = ();

/// A body moves to a worker, with everything that it captured.
///
/// ```compile_fail,E0277
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let shared = std::rc::Rc::new(1);
/// loom.task("t").run(move || drop(shared));
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let shared = std::sync::Arc::new(1);
/// loom.task("t").run(move || drop(shared));
/// ```
const A_CAPTURE_THAT_STAYS_ON_ITS_THREAD: () = ();

/// So does its value, on the way back.
///
/// ```compile_fail,E0277
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// loom.task("t").returns(|| std::rc::Rc::new(1));
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// loom.task("t").returns(|| std::sync::Arc::new(1));
/// ```
const A_RESULT_THAT_STAYS_ON_ITS_THREAD: () = ();

/// `run` is for bodies without a value; `returns` gives the value to the future.
///
/// ```compile_fail,E0308
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").read(&v).run(|v| v.len());
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").read(&v).returns(|v| v.len());
/// ```
const A_VALUE_THAT_NOBODY_GETS: () = ();

/// `try_run` is for bodies that return a `Result`.
///
/// ```compile_fail,E0308
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").read(&v).try_run(|v| v.len());
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").read(&v).try_run(|v| v.len().checked_sub(1).ok_or("empty"));
/// ```
const A_FALLIBLE_BODY_WITHOUT_RESULT: () = ();

/// A task that may be tried again cannot give away what it captured.
///
/// ```compile_fail,E0507
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let text = String::from("once");
/// loom.task("t").retry(2).run(move || drop(text));
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let text = String::from("again");
/// loom.task("t").retry(2).run(move || drop(text.clone()));
/// ```
const A_BODY_THAT_CANNOT_RUN_AGAIN: () = ();

/// Nor can a task of a plan, which is replayed.
///
/// ```compile_fail,E0507
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let text = String::from("once");
/// let capture = loom.capture("p");
/// capture.task("t").run(move || drop(text));
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let text = String::from("again");
/// let capture = loom.capture("p");
/// capture.task("t").run(move || drop(text.clone()));
/// ```
const A_RECORDED_BODY_THAT_CANNOT_RUN_AGAIN: () = ();

/// A description becomes one task.
///
/// ```compile_fail,E0382
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let task = loom.task("t");
/// task.run(|| ());
/// task.run(|| ());
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// loom.task("t").run(|| ());
/// loom.task("t").run(|| ());
/// ```
const ONE_TASK_SUBMITTED_TWICE: () = ();

/// A future gives its value away once.
///
/// ```compile_fail,E0382
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let future = loom.task("t").returns(|| 1);
/// future.wait().unwrap();
/// future.wait().unwrap();
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let future = loom.task("t").returns(|| 1);
/// let one = future.wait().unwrap();
/// assert_eq!(one + one, 2);
/// ```
const ONE_VALUE_TAKEN_TWICE: () = ();

/// A task comes after other tasks, which their futures stand for.
///
/// ```compile_fail,E0277
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// loom.task("t").after(&42).run(|| ());
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let first = loom.task("first").run(|| ());
/// loom.task("t").after(&first).run(|| ());
/// ```
const SOMETHING_ELSE_TO_COME_AFTER: () = ();

/// The typed builder ends at twelve accesses; lists have no end.
///
/// ```compile_fail,E0599
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let x = loom.value("x", 1_u64);
/// let x = &x;
/// let twelve = loom.task("t").read(x).read(x).read(x).read(x).read(x).read(x).read(x).read(x).read(x).read(x).read(x).read(x);
/// twelve.read(x).run(|_, _, _, _, _, _, _, _, _, _, _, _, _| ());
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let x = loom.value("x", 1_u64);
/// let all = vec![x; 13];
/// loom.task("t").read_all(&all).run(|all| assert_eq!(all.len(), 13));
/// ```
const MORE_THAN_TWELVE_ACCESSES: () = ();
