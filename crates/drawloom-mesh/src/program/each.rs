//! Describing a loop: accesses become parameters of its kernel.

use std::marker::PhantomData;
use std::panic::Location;

use drawloom_runtime::Element;

use super::build::Program;
use super::described::Described;
use crate::element::Ordered;
use crate::kernel::args::{Column, ContributeWith, Direct, Index, LoopArg, Optional, Size};
use crate::kernel::body::{Compiled, LoopBody};
use crate::kernel::for_each_arity;
use crate::kernel::operator::{Adding, Lowering, Raising};
use crate::kernel::place::Route;
use crate::kernel::site::{Access, ArgDecl, Contributable, Declared, Readable, Updatable, Writable};
use crate::mesh::{Global, Map, Set};

/// A list of arguments that can be longer by one.
pub trait Append<X> {
    /// The longer list.
    type List;
}

/// Stands in for a list of more than sixteen arguments, which no kernel can have: put several dats of a set into one of more
/// components, or several columns of a map into one argument with [`Dat::through`](crate::Dat::through).
pub struct AtMostSixteenArguments;

impl<X> Append<X> for AtMostSixteenArguments {
    type List = Self;
}

macro_rules! append {
    ($($a:ident)*;) => {
        impl<$($a,)* X> Append<X> for ($($a,)*) {
            type List = AtMostSixteenArguments;
        }
    };
    ($($a:ident)*; $next:ident $($rest:ident)*) => {
        impl<$($a,)* X> Append<X> for ($($a,)*) {
            type List = ($($a,)* X,);
        }
        append! { $($a)* $next; $($rest)* }
    };
}
append! { ; A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 }

/// A loop over a set that is being described. Nothing happens until `run` is called with its kernel.
#[must_use = "a loop becomes part of the program by `run`"]
pub struct Each<'p, A = ()> {
    described: Described<'p>,
    set: Set,
    list: PhantomData<fn() -> A>,
}

impl<'p> Each<'p> {
    pub(super) fn new(program: &'p mut Program, set: Set, name: String, location: &'static Location<'static>) -> Self {
        let foreign = program.mesh().own("set", set.mesh).err();
        let mut described = Described::new(program, "loop", name, location);
        if let Some(error) = foreign {
            described.refuse(error);
        }
        Self { described, set, list: PhantomData }
    }
}

impl<'p, A> Each<'p, A> {
    fn add<X>(self, declared: Declared) -> Each<'p, A::List>
    where
        A: Append<X>,
    {
        Each { described: self.described.add(declared), set: self.set, list: PhantomData }
    }

    /// The kernel reads.
    pub fn read<S: Readable>(self, site: S) -> Each<'p, A::List>
    where
        A: Append<S::Arg>,
    {
        self.add::<S::Arg>(site.declare(Access::Read))
    }

    /// The kernel writes all components, and does not see what was there.
    pub fn write<S: Writable>(self, site: S) -> Each<'p, A::List>
    where
        A: Append<S::Arg>,
    {
        self.add::<S::Arg>(site.declare(Access::Write))
    }

    /// The kernel reads and writes.
    pub fn update<S: Updatable>(self, site: S) -> Each<'p, A::List>
    where
        A: Append<S::Arg>,
    {
        self.add::<S::Arg>(site.declare(Access::Update))
    }

    /// The kernel adds.
    pub fn inc<S: Contributable<Adding>>(self, site: S) -> Each<'p, A::List>
    where
        A: Append<S::Arg>,
    {
        self.add::<S::Arg>(site.declare(Access::Inc))
    }

    /// The kernel offers values, of which the lowest is kept.
    pub fn min<S: Contributable<Lowering>>(self, site: S) -> Each<'p, A::List>
    where
        A: Append<S::Arg>,
    {
        self.add::<S::Arg>(site.declare(Access::Min))
    }

    /// The kernel offers values, of which the highest is kept.
    pub fn max<S: Contributable<Raising>>(self, site: S) -> Each<'p, A::List>
    where
        A: Append<S::Arg>,
    {
        self.add::<S::Arg>(site.declare(Access::Max))
    }

    /// As [`Each::min`], and what comes with the lowest value is kept too.
    pub fn min_with<T: Ordered, P: Element>(self, value: Global<T, 1>, with: Global<P, 1>) -> Each<'p, A::List>
    where
        A: Append<ContributeWith<Lowering, T, P>>,
    {
        self.with_payload::<ContributeWith<Lowering, T, P>, T, P>(value, with, Access::Min)
    }

    /// As [`Each::max`], and what comes with the highest value is kept too.
    pub fn max_with<T: Ordered, P: Element>(self, value: Global<T, 1>, with: Global<P, 1>) -> Each<'p, A::List>
    where
        A: Append<ContributeWith<Raising, T, P>>,
    {
        self.with_payload::<ContributeWith<Raising, T, P>, T, P>(value, with, Access::Max)
    }

    fn with_payload<X, T, P>(self, value: Global<T, 1>, with: Global<P, 1>, access: Access) -> Each<'p, A::List>
    where
        A: Append<X>,
    {
        let arg = ArgDecl::Global { global: value.number, access, payload: Some(with.number), present: true };
        self.add::<X>(Declared { mesh: value.mesh, map_mesh: Some(with.mesh), column: None, arg })
    }

    /// The kernel reads, if the argument is there.
    pub fn read_if<S: Readable>(self, present: bool, site: S) -> Each<'p, A::List>
    where
        A: Append<Optional<S::Arg>>,
    {
        self.add::<Optional<S::Arg>>(optional(site.declare(Access::Read), present))
    }

    /// The kernel writes, if the argument is there.
    pub fn write_if<S: Writable>(self, present: bool, site: S) -> Each<'p, A::List>
    where
        A: Append<Optional<S::Arg>>,
    {
        self.add::<Optional<S::Arg>>(optional(site.declare(Access::Write), present))
    }

    /// The kernel reads and writes, if the argument is there.
    pub fn update_if<S: Updatable>(self, present: bool, site: S) -> Each<'p, A::List>
    where
        A: Append<Optional<S::Arg>>,
    {
        self.add::<Optional<S::Arg>>(optional(site.declare(Access::Update), present))
    }

    /// The kernel adds, if the argument is there.
    pub fn inc_if<S: Contributable<Adding>>(self, present: bool, site: S) -> Each<'p, A::List>
    where
        A: Append<Optional<S::Arg>>,
    {
        self.add::<Optional<S::Arg>>(optional(site.declare(Access::Inc), present))
    }

    /// The kernel offers values, of which the lowest is kept, if the argument is there.
    pub fn min_if<S: Contributable<Lowering>>(self, present: bool, site: S) -> Each<'p, A::List>
    where
        A: Append<Optional<S::Arg>>,
    {
        self.add::<Optional<S::Arg>>(optional(site.declare(Access::Min), present))
    }

    /// The kernel offers values, of which the highest is kept, if the argument is there.
    pub fn max_if<S: Contributable<Raising>>(self, present: bool, site: S) -> Each<'p, A::List>
    where
        A: Append<Optional<S::Arg>>,
    {
        self.add::<Optional<S::Arg>>(optional(site.declare(Access::Max), present))
    }

    /// The kernel receives the number of the element.
    pub fn index(self) -> Each<'p, A::List>
    where
        A: Append<Index<Direct>>,
    {
        let mesh = self.set.mesh;
        let arg = ArgDecl::Index { route: Route::Direct };
        self.add::<Index<Direct>>(Declared { mesh, map_mesh: None, column: None, arg })
    }

    /// The kernel receives the number of the element that a column of a map leads to.
    pub fn index_at<const N: usize>(self, map: Map<N>, column: usize) -> Each<'p, A::List>
    where
        A: Append<Index<Column<N>>>,
    {
        let mesh = self.set.mesh;
        let arg = ArgDecl::Index { route: Route::Column { map: map.number, column: column as u32 } };
        self.add::<Index<Column<N>>>(Declared { mesh, map_mesh: Some(map.mesh), column: Some((column, N)), arg })
    }

    /// The kernel receives the number of elements of a set.
    pub fn size(self, set: Set) -> Each<'p, A::List>
    where
        A: Append<Size>,
    {
        let arg = ArgDecl::Size { set: set.number };
        self.add::<Size>(Declared { mesh: set.mesh, map_mesh: None, column: None, arg })
    }

    fn finish(self, body: Box<dyn LoopBody>) {
        Program::add_loop(self.described, self.set, body);
    }
}

fn optional(mut declared: Declared, present: bool) -> Declared {
    if let ArgDecl::Dat { present: flag, .. } | ArgDecl::Global { present: flag, .. } = &mut declared.arg {
        *flag = present;
    }
    declared
}

macro_rules! run {
    ($(($($a:ident $x:ident $n:tt),*))*) => { $(
        impl<'p, $($a: LoopArg),*> Each<'p, ($($a,)*)> {
            /// The loop is complete: its kernel has one parameter for each argument, in the order in which they were
            /// declared, and captures nothing.
            pub fn run<FN>(self, kernel: FN)
            where
                FN: for<'v> Fn($($a::View<'v>),*) + Send + Sync + 'static,
            {
                self.finish(Box::new(Compiled::<FN, ($($a,)*)>::new(kernel)));
            }
        }
    )* };
}

for_each_arity!(run);
