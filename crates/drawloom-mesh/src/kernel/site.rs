//! What a loop can be given as an argument: a dat, a dat through a map, a global.

use std::marker::PhantomData;

use drawloom_runtime::Element;

use super::args::{All, Column, Contribute, Direct, Fixed, LoopArg, Read, ReadGlobal, Update, Write};
use super::operator::Operator;
use super::place::Route;
use crate::mesh::{Constant, Dat, Global, Map};

/// What a loop does with an argument.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads.
    Read,
    /// Writes without having looked.
    Write,
    /// Reads and writes.
    Update,
    /// Adds.
    Inc,
    /// Keeps the lowest.
    Min,
    /// Keeps the highest.
    Max,
}

impl Access {
    /// The word used in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Update => "update",
            Access::Inc => "inc",
            Access::Min => "min",
            Access::Max => "max",
        }
    }

    /// Whether the order of iterations plays no part, except for rounding.
    pub(crate) fn contributes(self) -> bool {
        matches!(self, Access::Inc | Access::Min | Access::Max)
    }
}

/// One argument as declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgDecl {
    /// A dat.
    Dat { dat: u32, route: Route, access: Access, present: bool },
    /// A global or a constant, with another global for what belongs to its value.
    Global { global: u32, access: Access, payload: Option<u32>, present: bool },
    /// The number of an element.
    Index { route: Route },
    /// The number of elements of a set.
    Size { set: u32 },
}

impl ArgDecl {
    /// What it is called in messages.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            ArgDecl::Dat { .. } => "dat",
            ArgDecl::Global { .. } => "global",
            ArgDecl::Index { .. } | ArgDecl::Size { .. } => "set",
        }
    }

    /// The map that it goes through.
    pub(crate) fn map(&self) -> Option<u32> {
        match *self {
            ArgDecl::Dat { route, .. } | ArgDecl::Index { route } => match route {
                Route::Column { map, .. } | Route::Whole { map } => Some(map),
                Route::Direct => None,
            },
            ArgDecl::Global { .. } | ArgDecl::Size { .. } => None,
        }
    }
}

/// An argument as declared, with the meshes that its handles belong to.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    pub(crate) mesh: u64,
    pub(crate) map_mesh: Option<u64>,
    /// The column in use and how many there are.
    pub(crate) column: Option<(usize, usize)>,
    pub(crate) arg: ArgDecl,
}

/// The elements of a dat that a column of a map leads to. Made by [`Dat::at`].
#[derive(Clone, Copy, Debug)]
pub struct At<T, const N: usize, const A: usize> {
    dat: Dat<T, N>,
    map: Map<A>,
    column: usize,
}

/// The elements of a dat that all columns of a map lead to. Made by [`Dat::through`].
#[derive(Clone, Copy, Debug)]
pub struct Through<T, const N: usize, const A: usize> {
    dat: Dat<T, N>,
    map: Map<A>,
    values: PhantomData<fn() -> T>,
}

impl<T, const N: usize> Dat<T, N> {
    /// The elements that a column of a map leads to.
    pub fn at<const A: usize>(self, map: Map<A>, column: usize) -> At<T, N, A> {
        At { dat: self, map, column }
    }

    /// The elements that all columns of a map lead to.
    pub fn through<const A: usize>(self, map: Map<A>) -> Through<T, N, A> {
        Through { dat: self, map, values: PhantomData }
    }
}

/// What a loop can be given.
#[doc(hidden)]
pub trait Site {
    fn declare(&self, access: Access) -> Declared;
}

impl<T, const N: usize> Site for Dat<T, N> {
    fn declare(&self, access: Access) -> Declared {
        let arg = ArgDecl::Dat { dat: self.number, route: Route::Direct, access, present: true };
        Declared { mesh: self.mesh, map_mesh: None, column: None, arg }
    }
}

impl<T, const N: usize, const A: usize> Site for At<T, N, A> {
    fn declare(&self, access: Access) -> Declared {
        let route = Route::Column { map: self.map.number, column: self.column as u32 };
        let arg = ArgDecl::Dat { dat: self.dat.number, route, access, present: true };
        let column = Some((self.column, A));
        Declared { mesh: self.dat.mesh, map_mesh: Some(self.map.mesh), column, arg }
    }
}

impl<T, const N: usize, const A: usize> Site for Through<T, N, A> {
    fn declare(&self, access: Access) -> Declared {
        let route = Route::Whole { map: self.map.number };
        let arg = ArgDecl::Dat { dat: self.dat.number, route, access, present: true };
        Declared { mesh: self.dat.mesh, map_mesh: Some(self.map.mesh), column: None, arg }
    }
}

impl<T, const N: usize> Site for Global<T, N> {
    fn declare(&self, access: Access) -> Declared {
        let arg = ArgDecl::Global { global: self.number, access, payload: None, present: true };
        Declared { mesh: self.mesh, map_mesh: None, column: None, arg }
    }
}

impl<T, const N: usize> Site for Constant<T, N> {
    fn declare(&self, access: Access) -> Declared {
        let arg = ArgDecl::Global { global: self.number, access, payload: None, present: true };
        Declared { mesh: self.mesh, map_mesh: None, column: None, arg }
    }
}

/// What a kernel can read: a dat, also through a map, a global, a constant.
pub trait Readable: Site {
    /// The argument.
    type Arg: LoopArg;
}

/// What a kernel can write: a dat, also through a map.
#[diagnostic::on_unimplemented(
    message = "a loop cannot write `{Self}`",
    note = "globals are written by scalar code between loops; a loop contributes to them with `inc`, `min` and `max`"
)]
pub trait Writable: Site {
    /// The argument.
    type Arg: LoopArg;
}

/// What a kernel can read and write: a dat, also through a map.
#[diagnostic::on_unimplemented(
    message = "a loop cannot update `{Self}`",
    note = "globals are updated by scalar code between loops; a loop contributes to them with `inc`, `min` and `max`"
)]
pub trait Updatable: Site {
    /// The argument.
    type Arg: LoopArg;
}

/// What a kernel can contribute to: a dat, also through a map, and a global.
#[diagnostic::on_unimplemented(
    message = "a loop cannot contribute to `{Self}`",
    note = "dats and globals of numbers can be incremented; constants never change"
)]
pub trait Contributable<O>: Site {
    /// The argument.
    type Arg: LoopArg;
}

impl<T: Element, const N: usize> Readable for Dat<T, N> {
    type Arg = Read<Direct, T, N>;
}
impl<T: Element, const N: usize> Writable for Dat<T, N> {
    type Arg = Write<Direct, T, N>;
}
impl<T: Element, const N: usize> Updatable for Dat<T, N> {
    type Arg = Update<Direct, T, N>;
}
impl<O: Operator<T>, T: Element, const N: usize> Contributable<O> for Dat<T, N> {
    type Arg = Contribute<O, Direct, T, N>;
}

impl<T: Element, const N: usize, const A: usize> Readable for At<T, N, A> {
    type Arg = Read<Column<A>, T, N>;
}
impl<T: Element, const N: usize, const A: usize> Writable for At<T, N, A> {
    type Arg = Write<Column<A>, T, N>;
}
impl<T: Element, const N: usize, const A: usize> Updatable for At<T, N, A> {
    type Arg = Update<Column<A>, T, N>;
}
impl<O: Operator<T>, T: Element, const N: usize, const A: usize> Contributable<O> for At<T, N, A> {
    type Arg = Contribute<O, Column<A>, T, N>;
}

impl<T: Element, const N: usize, const A: usize> Readable for Through<T, N, A> {
    type Arg = Read<All<A>, T, N>;
}
impl<T: Element, const N: usize, const A: usize> Writable for Through<T, N, A> {
    type Arg = Write<All<A>, T, N>;
}
impl<T: Element, const N: usize, const A: usize> Updatable for Through<T, N, A> {
    type Arg = Update<All<A>, T, N>;
}
impl<O: Operator<T>, T: Element, const N: usize, const A: usize> Contributable<O> for Through<T, N, A> {
    type Arg = Contribute<O, All<A>, T, N>;
}

impl<T: Element, const N: usize> Readable for Global<T, N> {
    type Arg = ReadGlobal<T, N>;
}
impl<O: Operator<T>, T: Element, const N: usize> Contributable<O> for Global<T, N> {
    type Arg = Contribute<O, Fixed, T, N>;
}

impl<T: Element, const N: usize> Readable for Constant<T, N> {
    type Arg = ReadGlobal<T, N>;
}
