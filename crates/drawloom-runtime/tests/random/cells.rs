//! Views of every kind, seen as elements in the order of the description.

use drawloom_runtime::access::Lent;
use drawloom_runtime::data::indexed::{IndexedMut, IndexedRef};
use drawloom_runtime::data::strided::{StridedMut, StridedRef};

/// Elements to read.
pub(crate) trait Cells {
    fn each(&self, see: &mut dyn FnMut(u64));
}

/// Elements to change, each with its number in the view.
pub(crate) trait CellsMut {
    fn each(&mut self, change: &mut dyn FnMut(usize, &mut u64));
}

/// The view of an argument.
pub(crate) enum Slot<'v> {
    Read(Box<dyn Cells + 'v>),
    Change(Box<dyn CellsMut + 'v>),
    Floats(&'v mut [f64]),
    Lent,
}

/// Views that tasks of random programs have.
pub(crate) trait IntoSlot<'v> {
    fn slot(self) -> Slot<'v>;
}

macro_rules! slots {
    ($($read:ty, $change:ty;)*) => { $(
        impl<'v> IntoSlot<'v> for $read {
            fn slot(self) -> Slot<'v> {
                Slot::Read(Box::new(self))
            }
        }
        impl<'v> IntoSlot<'v> for $change {
            fn slot(self) -> Slot<'v> {
                Slot::Change(Box::new(self))
            }
        }
    )* };
}
slots! {
    &'v [u64], &'v mut [u64];
    &'v u64, &'v mut u64;
    IndexedRef<'v, u64>, IndexedMut<'v, u64>;
    StridedRef<'v, u64, 2>, StridedMut<'v, u64, 2>;
    StridedRef<'v, u64, 3>, StridedMut<'v, u64, 3>;
}

impl<'v> IntoSlot<'v> for &'v mut [f64] {
    fn slot(self) -> Slot<'v> {
        Slot::Floats(self)
    }
}

impl<'v> IntoSlot<'v> for Lent<'v> {
    fn slot(self) -> Slot<'v> {
        Slot::Lent
    }
}

impl Cells for &[u64] {
    fn each(&self, see: &mut dyn FnMut(u64)) {
        self.iter().for_each(|&x| see(x));
    }
}

impl CellsMut for &mut [u64] {
    fn each(&mut self, change: &mut dyn FnMut(usize, &mut u64)) {
        self.iter_mut().enumerate().for_each(|(k, x)| change(k, x));
    }
}

impl Cells for &u64 {
    fn each(&self, see: &mut dyn FnMut(u64)) {
        see(**self);
    }
}

impl CellsMut for &mut u64 {
    fn each(&mut self, change: &mut dyn FnMut(usize, &mut u64)) {
        change(0, self);
    }
}

impl Cells for IndexedRef<'_, u64> {
    fn each(&self, see: &mut dyn FnMut(u64)) {
        self.iter().for_each(|(_, &x)| see(x));
    }
}

impl CellsMut for IndexedMut<'_, u64> {
    fn each(&mut self, change: &mut dyn FnMut(usize, &mut u64)) {
        self.iter_mut().enumerate().for_each(|(k, (_, x))| change(k, x));
    }
}

/// All places of a grid, the first dimension fastest.
fn places<const N: usize>(extents: [usize; N]) -> impl Iterator<Item = [usize; N]> {
    (0..extents.iter().product()).map(move |number: usize| {
        let mut rest = number;
        extents.map(|extent| {
            let at = rest % extent;
            rest /= extent;
            at
        })
    })
}

impl<const N: usize> Cells for StridedRef<'_, u64, N> {
    fn each(&self, see: &mut dyn FnMut(u64)) {
        places(self.extents()).for_each(|at| see(self[at]));
    }
}

impl<const N: usize> CellsMut for StridedMut<'_, u64, N> {
    fn each(&mut self, change: &mut dyn FnMut(usize, &mut u64)) {
        places(self.extents()).enumerate().for_each(|(k, at)| change(k, &mut self[at]));
    }
}
