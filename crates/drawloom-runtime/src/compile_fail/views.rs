//! Mistakes with views: what a body receives is exactly the borrow that its task declared.

/// A body cannot assign to what its task only reads: other readers run at the same time.
///
/// ```compile_fail,E0594
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").read(&v).run(|v| v[0] = 1.0);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").update(&v).run(|v| v[0] = 1.0);
/// ```
const ASSIGNMENT_THROUGH_A_READ_SLICE: () = ();

/// The same for a single value.
///
/// ```compile_fail,E0594
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let x = loom.value("x", 0_u64);
/// loom.task("t").read(&x).run(|x| *x += 1);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let x = loom.value("x", 0_u64);
/// loom.task("t").update(&x).run(|x| *x += 1);
/// ```
const ASSIGNMENT_THROUGH_A_READ_VALUE: () = ();

/// The same for a matrix, whose view is a type of its own.
///
/// ```compile_fail,E0594
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
/// loom.task("t").read(&m).run(|m| m[[0, 0]] = 1.0);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
/// loom.task("t").update(&m).run(|mut m| m[[0, 0]] = 1.0);
/// ```
const ASSIGNMENT_THROUGH_A_READ_MATRIX: () = ();

/// The same for scattered elements.
///
/// ```compile_fail,E0594
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let odd = v.subsets(&[vec![1, 3]]).unwrap().next().unwrap();
/// loom.task("t").read(&odd).run(|odd| odd[1] = 1.0);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let odd = v.subsets(&[vec![1, 3]]).unwrap().next().unwrap();
/// loom.task("t").update(&odd).run(|mut odd| odd[1] = 1.0);
/// ```
const ASSIGNMENT_THROUGH_READ_SCATTERED_ELEMENTS: () = ();

/// The values of a sparse matrix that is read have no mutable rows.
///
/// ```compile_fail,E0599
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let pattern = Pattern::new(2, vec![0, 1, 2], vec![0, 1]).unwrap();
/// let c = loom.csr("c", pattern, vec![1.0, 2.0]).unwrap();
/// loom.task("t").read(&c).run(|mut c| c.row_mut(0).1[0] = 1.0);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let pattern = Pattern::new(2, vec![0, 1, 2], vec![0, 1]).unwrap();
/// let c = loom.csr("c", pattern, vec![1.0, 2.0]).unwrap();
/// loom.task("t").update(&c).run(|mut c| c.row_mut(0).1[0] = 1.0);
/// ```
const ROWS_OF_A_READ_SPARSE_MATRIX: () = ();

/// A list of regions that is read gives no mutable views.
///
/// ```compile_fail,E0599
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let blocks: Vec<_> = v.blocks(2).unwrap().collect();
/// loom.task("t").read_all(&blocks).run(|mut all| all.get_mut(0)[0] = 1.0);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let blocks: Vec<_> = v.blocks(2).unwrap().collect();
/// loom.task("t").update_all(&blocks).run(|mut all| all.get_mut(0)[0] = 1.0);
/// ```
const CHANGE_THROUGH_A_READ_LIST: () = ();

/// Two mutable views at a time need `iter_mut`, as the same number could be given twice.
///
/// ```compile_fail,E0499
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let blocks: Vec<_> = v.blocks(2).unwrap().collect();
/// loom.task("t").update_all(&blocks).run(|mut all| {
///     let (a, b) = (all.get_mut(0), all.get_mut(0));
///     a.copy_from_slice(b);
/// });
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let blocks: Vec<_> = v.blocks(2).unwrap().collect();
/// loom.task("t").update_all(&blocks).run(|mut all| {
///     let [a, b] = all.iter_mut().collect::<Vec<_>>().try_into().unwrap();
///     a.copy_from_slice(b);
/// });
/// ```
const TWO_MUTABLE_VIEWS_OF_A_LIST: () = ();

/// A list cannot be read while one of its mutable views is in use.
///
/// ```compile_fail,E0502
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let blocks: Vec<_> = v.blocks(2).unwrap().collect();
/// loom.task("t").update_all(&blocks).run(|mut all| {
///     let first = all.iter_mut().next().unwrap();
///     first[0] = all.get(1)[0];
/// });
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let blocks: Vec<_> = v.blocks(2).unwrap().collect();
/// loom.task("t").update_all(&blocks).run(|mut all| {
///     let other = all.get(1)[0];
///     all.get_mut(0)[0] = other;
/// });
/// ```
const A_LIST_READ_WHILE_IT_CHANGES: () = ();

/// Two mutable elements of one view could be the same element.
///
/// ```compile_fail,E0499
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
/// loom.task("t").update(&m).run(|mut m| {
///     let (a, b) = (m.get_mut([0, 0]).unwrap(), m.get_mut([0, 0]).unwrap());
///     std::mem::swap(a, b);
/// });
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
/// loom.task("t").update(&m).run(|mut m| {
///     let (a, b) = (m[[0, 0]], m[[1, 1]]);
///     (m[[0, 0]], m[[1, 1]]) = (b, a);
/// });
/// ```
const TWO_ELEMENTS_OF_A_MATRIX_AT_ONCE: () = ();

/// A view is gone when its task ends, so it cannot be the task's value.
///
/// ```compile_fail
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let kept = loom.task("t").read(&v).returns(|v| v).wait();
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let kept = loom.task("t").read(&v).returns(|v| v.to_vec()).wait();
/// ```
const A_VIEW_AS_RESULT: () = ();

/// Nor can the view of a tile.
///
/// ```compile_fail
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
/// let kept = loom.task("t").read(&m).returns(|m| m).wait();
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
/// let kept = loom.task("t").read(&m).returns(|m| m[[0, 0]]).wait();
/// ```
const A_TILE_AS_RESULT: () = ();

/// A view cannot be put away into something that outlives the body.
///
/// ```compile_fail,E0521
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let mut kept: Vec<&[f64]> = Vec::new();
/// loom.task("t").read(&v).run(move |v| kept.push(v));
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let mut kept: Vec<Vec<f64>> = Vec::new();
/// loom.task("t").read(&v).run(move |v| kept.push(v.to_vec()));
/// ```
const A_VIEW_KEPT_IN_A_VARIABLE: () = ();

/// What is lent belongs to the children; the parent has no view of it.
///
/// ```compile_fail,E0608
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// loom.task("t").lend(&v).returns(|v| v[0]);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let (inner, lent) = (loom.clone(), v.clone());
/// loom.task("t").lend(&v).returns(move |_| inner.task("child").read(&lent).returns(|v| v[0]).wait());
/// ```
const A_LENT_REGION_USED_AS_DATA: () = ();
