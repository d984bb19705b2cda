//! Describing scalar code: what happens to globals between loops.

use std::any::TypeId;
use std::fmt::Display;
use std::marker::PhantomData;
use std::panic::Location;

use drawloom_runtime::Element;

use super::build::Program;
use super::described::Described;
use super::each::Append;
use super::statement::ScalarBody;
use crate::kernel::args::{Fixed, LoopArg, ReadGlobal, Update};
use crate::kernel::for_each_arity;
use crate::kernel::site::{Access, Declared, Site};
use crate::mesh::{Constant, Global};

/// Scalar code that is being described. Nothing happens until `run` or `try_run` is called.
///
/// Unlike a kernel, it may capture: it is where a program reports, and where it decides.
#[must_use = "scalar code becomes part of the program by `run` or `try_run`"]
pub struct Scalar<'p, A = ()> {
    described: Described<'p>,
    list: PhantomData<fn() -> A>,
}

impl<'p> Scalar<'p> {
    pub(super) fn new(program: &'p mut Program, name: String, location: &'static Location<'static>) -> Self {
        Self { described: Described::new(program, "scalar code", name, location), list: PhantomData }
    }
}

impl<'p, A> Scalar<'p, A> {
    fn add<X>(self, declared: Declared) -> Scalar<'p, A::List>
    where
        A: Append<X>,
    {
        Scalar { described: self.described.add(declared), list: PhantomData }
    }

    /// The code reads a global.
    pub fn read<T: Element, const N: usize>(self, global: Global<T, N>) -> Scalar<'p, A::List>
    where
        A: Append<ReadGlobal<T, N>>,
    {
        self.add::<ReadGlobal<T, N>>(global.declare(Access::Read))
    }

    /// The code reads a constant.
    pub fn constant<T: Element, const N: usize>(self, constant: Constant<T, N>) -> Scalar<'p, A::List>
    where
        A: Append<ReadGlobal<T, N>>,
    {
        self.add::<ReadGlobal<T, N>>(constant.declare(Access::Read))
    }

    /// The code reads and writes a global.
    pub fn update<T: Element, const N: usize>(self, global: Global<T, N>) -> Scalar<'p, A::List>
    where
        A: Append<Update<Fixed, T, N>>,
    {
        self.add::<Update<Fixed, T, N>>(global.declare(Access::Update))
    }

    fn finish(self, body: ScalarBody, code: TypeId) {
        Program::add_scalar(self.described, body, code);
    }
}

impl Scalar<'_> {
    /// The code is complete: it touches no global.
    pub fn run<FN: Fn() + Send + Sync + 'static>(self, code: FN) {
        let body: ScalarBody = Box::new(move |_| {
            code();
            Ok(())
        });
        self.finish(body, TypeId::of::<FN>());
    }
}

macro_rules! run {
    ($(($($a:ident $x:ident $n:tt),*))*) => { $(
        impl<'p, $($a: LoopArg),*> Scalar<'p, ($($a,)*)> {
            /// The code is complete: it has one parameter for each global, in the order in which they were declared.
            pub fn run<FN>(self, code: FN)
            where
                FN: for<'v> Fn($($a::View<'v>),*) + Send + Sync + 'static,
            {
                self.try_run(move |$($x),*| -> Result<(), String> {
                    code($($x),*);
                    Ok(())
                });
            }

            /// The code is complete. An error ends the program.
            pub fn try_run<FN, E: Display>(self, code: FN)
            where
                FN: for<'v> Fn($($a::View<'v>),*) -> Result<(), E> + Send + Sync + 'static,
            {
                let body: ScalarBody = Box::new(move |places| {
                    // SAFETY: whoever runs scalar code gives it a place for each global that it declared, which may be
                    // read, and also changed if that was declared, by the calling thread alone. No global was declared
                    // twice, one of the times to be changed.
                    #[allow(unsafe_code)]
                    unsafe {
                        let mut locals = ($($a::prepare::<true>(&places[$n], 0),)*);
                        code($($a::view::<true>(&places[$n], 0, &mut locals.$n)),*).map_err(|error| error.to_string())
                    }
                });
                self.finish(body, TypeId::of::<FN>());
            }
        }
    )* };
}

for_each_arity!(run);
