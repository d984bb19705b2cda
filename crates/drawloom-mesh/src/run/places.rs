//! From what a loop declares to addresses.

use crate::kernel::place::{Place, Route};
use crate::kernel::site::ArgDecl;
use crate::mesh::Mesh;

/// The place of an argument whose values start at an address.
pub(crate) fn place_of(mesh: &Mesh, arg: &ArgDecl, base: *mut u8) -> Place {
    let route_of = |route: Route, place: Place| match route {
        Route::Direct => place,
        Route::Column { map, column } => {
            // Within the table, unless the set is empty and nobody looks.
            Place { table: mesh.maps[map as usize].table.as_ptr().wrapping_add(column as usize), ..place }
        }
        Route::Whole { map } => Place { table: mesh.maps[map as usize].table.as_ptr(), ..place },
    };
    match *arg {
        ArgDecl::Dat { route, present, .. } => route_of(route, Place { base, present, ..Place::NOWHERE }),
        ArgDecl::Global { present, .. } => Place { base, present, ..Place::NOWHERE },
        ArgDecl::Index { route } => route_of(route, Place::NOWHERE),
        ArgDecl::Size { set } => Place { size: mesh.sets[set as usize].size, ..Place::NOWHERE },
    }
}
