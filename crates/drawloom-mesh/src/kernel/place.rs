//! Where the arguments of a loop are while it runs.

use std::ptr;

use crate::mesh::Mesh;

/// How the number of an element is found from the number of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The iteration's own element.
    Direct,
    /// A column of a map.
    Column {
        /// The map's number.
        map: u32,
        /// The column.
        column: u32,
    },
    /// All columns of a map.
    Whole {
        /// The map's number.
        map: u32,
    },
}

impl Route {
    /// The columns of maps that it takes: the number of the map, and of the column.
    pub(crate) fn columns(self, mesh: &Mesh) -> impl Iterator<Item = (u32, usize)> {
        let (map, columns) = match self {
            Route::Direct => (0, 0..0),
            Route::Column { map, column } => (map, column as usize..column as usize + 1),
            Route::Whole { map } => (map, 0..mesh.maps[map as usize].arity),
        };
        columns.map(move |column| (map, column))
    }
}

/// Where one argument of a loop is: plain addresses, made anew for each part of a loop that runs.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Place {
    /// The first element of the dat; for a global, its value or the accumulator in use.
    pub(crate) base: *mut u8,
    /// The table of a map, from the first column in use on, or null.
    pub(crate) table: *const u32,
    /// The number of elements of a set that is an argument.
    pub(crate) size: usize,
    /// Targets outside of this range are left alone: they are someone else's to change.
    pub(crate) own: (usize, usize),
    /// For increments that are not applied at once: where those of the first iteration go. For a global to which elements
    /// contribute in any order: the number of the one whose contribution it has.
    pub(crate) stage: *mut u8,
    /// Whether an optional argument is there.
    pub(crate) present: bool,
    /// Whether the element is at the base, whatever the iteration.
    pub(crate) fixed: bool,
    /// Whether kernels work on copies even where they could work on the data.
    pub(crate) copied: bool,
}

// SAFETY: a place is an address without any right to use it. Whoever runs a loop body with it vouches for that.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

impl Place {
    /// A place that leads nowhere.
    pub(crate) const NOWHERE: Place = Place {
        base: ptr::null_mut(),
        table: ptr::null(),
        size: 0,
        own: (0, usize::MAX),
        stage: ptr::null_mut(),
        present: true,
        fixed: false,
        copied: false,
    };

    /// Whether the short way can be taken: changes applied at once, nothing copied.
    pub(crate) fn is_plain(&self) -> bool {
        self.stage.is_null() && !self.fixed && !self.copied
    }

    /// A plain place, as one that the compiler knows to be plain.
    #[inline(always)]
    pub(crate) fn known_plain(self) -> Self {
        Place { stage: ptr::null_mut(), fixed: false, copied: false, ..self }
    }

    /// Whether a target is this part's to change.
    #[inline(always)]
    pub(crate) fn owns(&self, target: usize) -> bool {
        target.wrapping_sub(self.own.0) < self.own.1
    }
}
