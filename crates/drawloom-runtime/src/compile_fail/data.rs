//! Mistakes with data: what may be stored, and who may reach it.

/// Elements of ordinary regions may move between memories, which text with an address cannot.
///
/// ```compile_fail,E0277
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// loom.vector("v", vec![String::new()]);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// loom.host_vector("v", vec![String::new()]);
/// ```
const TEXT_AS_PLAIN_BYTES: () = ();

/// The runtime takes a struct for plain bytes only when its fields were looked at.
///
/// ```compile_fail,E0277
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// #[derive(Clone, Copy)]
/// struct Point { x: f64, y: f64 }
/// loom.vector("v", vec![Point { x: 0.0, y: 0.0 }]);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// drawloom_runtime::portable! {
///     struct Point { x: f64, y: f64 }
/// }
/// loom.vector("v", vec![Point { x: 0.0, y: 0.0 }]);
/// ```
const A_STRUCT_OF_UNKNOWN_CONTENTS: () = ();

/// Every field of a portable struct is plain.
///
/// ```compile_fail,E0277
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// drawloom_runtime::portable! {
///     struct Named { name: &'static str, number: u64 }
/// }
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// drawloom_runtime::portable! {
///     struct Named { name: [u8; 16], number: u64 }
/// }
/// ```
const A_PORTABLE_STRUCT_WITH_TEXT: () = ();

/// Saying that a type is portable is a promise, and visibly `unsafe`.
///
/// ```compile_fail,E0200
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// #[derive(Clone, Copy)]
/// struct Word(u64);
/// impl drawloom_runtime::Portable for Word {}
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// drawloom_runtime::portable! {
///     struct Word { word: u64 }
/// }
/// ```
const PORTABLE_BY_WORD_ALONE: () = ();

/// Tasks run on other threads, so what they share must be able to go there.
///
/// ```compile_fail,E0277
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// loom.host_value("x", std::rc::Rc::new(1));
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// loom.host_value("x", std::sync::Arc::new(1));
/// ```
const A_VALUE_OF_ONE_THREAD: () = ();

/// Readers run at the same time, so a cell that changes behind a shared reference is no value to share.
///
/// ```compile_fail,E0277
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// loom.host_value("x", std::cell::Cell::new(1));
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// loom.host_value("x", std::sync::atomic::AtomicU32::new(1));
/// ```
const A_VALUE_THAT_CHANGES_WHILE_SHARED: () = ();

/// The runtime keeps data for as long as tasks need it, so elements cannot borrow from a function.
///
/// ```compile_fail,E0597
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let text = String::from("short-lived");
/// let v = loom.host_vector("v", vec![text.as_str()]);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let text = String::from("owned");
/// let v = loom.host_vector("v", vec![text]);
/// ```
const ELEMENTS_THAT_BORROW: () = ();

/// Tasks share what the runtime stores, not the caller's own memory.
///
/// ```compile_fail,E0277
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = vec![0.0; 8];
/// let task = loom.task("t").read(&v);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0; 8]);
/// loom.task("t").read(&v).run(|v| ());
/// ```
const A_PLAIN_VECTOR_AS_REGION: () = ();

/// A region lives until the tasks that use it are submitted.
///
/// ```compile_fail,E0716
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let task = loom.task("t").read(&loom.value("x", 1_u64));
/// task.run(|x| ());
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let x = loom.value("x", 1_u64);
/// let task = loom.task("t").read(&x);
/// task.run(|x| ());
/// ```
const A_REGION_THAT_IS_GONE: () = ();

/// An operator folds the element types that it knows.
///
/// ```compile_fail,E0277
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let x = loom.value("x", false);
/// loom.task("t").reduce(&x, Sum).run(|x| *x = true);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// #[derive(Clone)]
/// struct Or;
/// impl Operator<bool> for Or {
///     fn name(&self) -> &'static str { "or" }
///     fn identity(&self) -> bool { false }
///     fn fold(&self, into: &mut bool, from: &bool) { *into |= *from }
/// }
/// let x = loom.value("x", false);
/// loom.task("t").reduce(&x, Or).run(|x| *x = true);
/// ```
const A_SUM_OF_TRUTHS: () = ();

/// An operator has a name and an identity, which a closure does not.
///
/// ```compile_fail,E0277
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let x = loom.value("x", 0_u64);
/// loom.task("t").reduce(&x, |a: u64, b: u64| a + b).run(|x| *x += 1);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let x = loom.value("x", 0_u64);
/// loom.task("t").reduce(&x, Sum).run(|x| *x += 1);
/// ```
const A_CLOSURE_AS_OPERATOR: () = ();

/// A scratch buffer starts with zeros, which must be values of its elements.
///
/// ```compile_fail,E0277
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let task = loom.task("t").scratch::<String>(4);
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// loom.task("t").scratch::<u8>(4).run(|buffer| ());
/// ```
const A_SCRATCH_BUFFER_OF_TEXT: () = ();

/// Leaving a region out of the order of tasks is visibly `unsafe`.
///
/// ```compile_fail,E0133
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// let v = v.unordered();
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let v = loom.vector("v", vec![0.0_f64; 8]);
/// // SAFETY: no other task uses the region.
/// let v = unsafe { v.unordered() };
/// ```
const LEFT_OUT_OF_THE_ORDER_IN_PASSING: () = ();

/// Views are made from the layout of a region, so a handle cannot be given another kind or element type.
///
/// ```compile_fail,E0133
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// let x = loom.value("x", 0_u64);
/// let wrong: Vector<f64> = Region::from_handle(x.handle().clone());
/// ```
const ONE_KIND_OF_REGION_TAKEN_FOR_ANOTHER: () = ();

/// Kinds of regions are those of this crate, whose views were looked at one by one.
///
/// ```compile_fail,E0277
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// #[derive(Clone)]
/// struct Own(Vector<u8>);
/// impl Region for Own {
///     type Ref<'v> = ();
///     type Mut<'v> = ();
///     fn handle(&self) -> &drawloom_runtime::data::region::Handle { self.0.handle() }
///     unsafe fn from_handle(handle: drawloom_runtime::data::region::Handle) -> Self { todo!() }
///     unsafe fn view<'v>(place: drawloom_runtime::data::region::Place<'v>) {}
///     unsafe fn view_mut<'v>(place: drawloom_runtime::data::region::Place<'v>) {}
/// }
/// ```
const A_KIND_OF_REGION_OF_ONE_S_OWN: () = ();

/// A region of functions for short borrows is no region of functions for long ones, which would write those into it.
///
/// ```compile_fail,E0308
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// fn any(text: &String) {}
/// let all: Vector<fn(&String)> = loom.host_vector("all", vec![any as fn(&String)]);
/// let lasting: Vector<fn(&'static String)> = all.clone();
/// ```
///
/// Instead:
///
/// ```
/// # #![allow(unused)]
/// # use drawloom_runtime::*;
/// # let loom = Loom::serial();
/// fn any(text: &String) {}
/// let lasting: Vector<fn(&'static String)> = loom.host_vector("lasting", vec![any as fn(&'static String)]);
/// ```
const ANOTHER_LIFETIME: () = ();
