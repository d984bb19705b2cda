//! Mistakes with guards: access from outside of tasks ends with the guard.

/// A guard that was taken to read does not let anything change.
///
/// ```compile_fail,E0594
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let mut guard = v.read().unwrap();
/// guard[0] = 1.0;
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let mut guard = v.write().unwrap();
/// guard[0] = 1.0;
/// ```
const ASSIGNMENT_THROUGH_A_READ_GUARD: () = ();

/// Tasks go on when the guard is gone, so its views go with it.
///
/// ```compile_fail,E0597
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
/// let view = {
///     let guard = m.read().unwrap();
///     guard.view()
/// };
/// assert_eq!(view[[0, 0]], 0.0);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
/// let element = {
///     let guard = m.read().unwrap();
///     guard.view()[[0, 0]]
/// };
/// assert_eq!(element, 0.0);
/// ```
const A_VIEW_THAT_OUTLIVES_ITS_GUARD: () = ();

/// Also when the guard is dropped by hand.
///
/// ```compile_fail,E0505
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let guard = v.read().unwrap();
/// let first = &guard[0];
/// drop(guard);
/// assert_eq!(*first, 0.0);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let guard = v.read().unwrap();
/// let first = guard[0];
/// drop(guard);
/// assert_eq!(first, 0.0);
/// ```
const A_VIEW_USED_AFTER_ITS_GUARD_WAS_DROPPED: () = ();

/// One guard gives one mutable view at a time.
///
/// ```compile_fail,E0499
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
/// let mut guard = m.write().unwrap();
/// let (mut a, mut b) = (guard.view_mut(), guard.view_mut());
/// a[[0, 0]] = 1.0;
/// b[[0, 0]] = 2.0;
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
/// let mut guard = m.write().unwrap();
/// let mut a = guard.view_mut();
/// a[[0, 0]] = 1.0;
/// a[[0, 0]] = 2.0;
/// ```
const TWO_MUTABLE_VIEWS_OF_A_GUARD: () = ();

/// A task cannot take the view of a guard along.
///
/// ```compile_fail,E0597
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let guard = v.read().unwrap();
/// let view: &[f64] = &guard;
/// loom.task("t").run(move || assert_eq!(view[0], 0.0));
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").read(&v).run(|view| assert_eq!(view[0], 0.0));
/// ```
const A_VIEW_OF_A_GUARD_IN_A_TASK: () = ();

/// Outside of tasks, a region is a handle too.
///
/// ```compile_fail,E0608
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// assert_eq!(v[0], 0.0);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// assert_eq!(v.read().unwrap()[0], 0.0);
/// ```
const ELEMENTS_WITHOUT_A_GUARD: () = ();
