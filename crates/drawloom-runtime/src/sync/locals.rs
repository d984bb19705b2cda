//! Variables of which each thread has its own, under shuttle.
//!
//! Shuttle runs all threads of a model on one thread of the system. A variable of the standard library's kind would be
//! shared by all of them, so here is one of shuttle's, with the methods that cells have in the standard library.

use std::cell::Cell;

use shuttle::thread::LocalKey;

/// A cell of which each thread has its own.
pub(crate) struct Local<T: 'static>(pub(crate) &'static LocalKey<Cell<T>>);

impl<T: 'static> Local<T> {
    pub(crate) fn set(&self, value: T) {
        self.0.with(|cell| cell.set(value));
    }

    pub(crate) fn replace(&self, value: T) -> T {
        self.0.with(|cell| cell.replace(value))
    }

    pub(crate) fn take(&self) -> T
    where
        T: Default,
    {
        self.0.with(Cell::take)
    }

    pub(crate) fn try_with<R>(&self, f: impl FnOnce(&Cell<T>) -> R) -> Result<R, shuttle::thread::AccessError> {
        self.0.try_with(f)
    }

    pub(crate) fn get(&self) -> T
    where
        T: Copy,
    {
        self.0.with(Cell::get)
    }
}

/// As in the standard library, for cells.
macro_rules! cells_of_threads {
    ($($(#[$attribute:meta])* $vis:vis static $name:ident: Cell<$type:ty> = const { $value:expr };)*) => {$(
        $(#[$attribute])*
        $vis static $name: $crate::sync::locals::Local<$type> = {
            shuttle::thread_local! { static KEY: std::cell::Cell<$type> = const { $value }; }
            $crate::sync::locals::Local(&KEY)
        };
    )*};
}

pub(crate) use cells_of_threads as thread_local;
