//! Whether a loop means something: the same for every order of its iterations.
//!
//! A loop is checked once, when it becomes part of a program. What is costly, that no element is written twice through a
//! map, is kept for all loops that write through the same columns.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::error::{Error, ErrorKind};
use crate::kernel::place::Route;
use crate::kernel::site::{Access, ArgDecl};
use crate::mesh::Mesh;
use crate::program::statement::{LoopDecl, ScalarDecl};

/// Through which columns of which maps elements were found to be reached at most once, or where they are not.
#[derive(Default)]
pub(crate) struct Reached(Mutex<HashMap<Columns, Option<Twice>>>);

/// Maps, and a column of each.
type Columns = Vec<(u32, usize)>;

/// An element that is reached twice: by an iteration through a column of a map, and by another.
#[derive(Clone, Copy)]
struct Twice {
    target: u32,
    first: (u32, usize, usize),
    second: (u32, usize, usize),
}

/// Refuses a loop that depends on the order of its iterations, or whose arguments do not belong together.
pub(crate) fn loop_is_sound(mesh: &Mesh, decl: &LoopDecl) -> Result<(), Error> {
    let refuse = |message: String| {
        let message = format!("loop `{}` at {}: {message}", decl.name, decl.location);
        Err(Error::new(ErrorKind::Refused, message))
    };
    let set = &mesh.sets[decl.set as usize];
    let route_is_sound = |number: usize, route: Route, to: Option<(&str, u32)>| -> Result<(), Error> {
        let set_name = |set: u32| &mesh.sets[set as usize].name;
        match route {
            Route::Direct => match to {
                Some((dat, of)) if of != decl.set => refuse(format!(
                    "argument {number}: dat `{dat}` is on `{}`, and the loop is over `{}`; reach it through a map",
                    set_name(of),
                    set.name
                )),
                _ => Ok(()),
            },
            Route::Column { map, .. } | Route::Whole { map } => {
                let map = &mesh.maps[map as usize];
                if map.from != decl.set {
                    return refuse(format!(
                        "argument {number}: map `{}` leads from `{}`, and the loop is over `{}`",
                        map.name,
                        set_name(map.from),
                        set.name
                    ));
                }
                match to {
                    Some((dat, of)) if of != map.to => refuse(format!(
                        "argument {number}: map `{}` leads to `{}`, and dat `{dat}` is on `{}`",
                        map.name,
                        set_name(map.to),
                        set_name(of)
                    )),
                    _ => Ok(()),
                }
            }
        }
    };
    for (number, arg) in decl.args.iter().enumerate() {
        match *arg {
            ArgDecl::Dat { dat, route, .. } => {
                let dat = &mesh.dats[dat as usize];
                route_is_sound(number, route, Some((&dat.name, dat.set)))?;
            }
            ArgDecl::Index { route } => route_is_sound(number, route, None)?,
            ArgDecl::Global { global, access, .. } => {
                let global = &mesh.globals[global as usize];
                if global.constant && access != Access::Read {
                    return refuse(format!("argument {number}: constant `{}` never changes", global.name));
                }
            }
            ArgDecl::Size { .. } => {}
        }
    }
    globals_are_sound(mesh, &decl.args).or_else(refuse)?;
    for dat in 0..mesh.dats.len() as u32 {
        dat_is_sound(mesh, decl, dat).or_else(refuse)?;
    }
    Ok(())
}

/// Refuses scalar code that uses a global twice and changes it.
pub(crate) fn scalar_is_sound(mesh: &Mesh, decl: &ScalarDecl) -> Result<(), Error> {
    globals_are_sound(mesh, &decl.args).map_err(|message| {
        let message = format!("scalar code `{}` at {}: {message}", decl.name, decl.location);
        Error::new(ErrorKind::Refused, message)
    })
}

/// One access mode for each global, and one argument unless it is only read. Absent arguments are no use.
fn globals_are_sound(mesh: &Mesh, args: &[ArgDecl]) -> Result<(), String> {
    let mut uses: HashMap<u32, (usize, &'static str, bool)> = HashMap::new();
    let mut note = |number: usize, global: u32, word: &'static str, reads: bool| match uses
        .insert(global, (number, word, reads))
    {
        Some((first, other, read_before)) if !(reads && read_before) => Err(format!(
            "global `{}` is argument {first} to {other} and argument {number} to {word}: one access is possible, and \
                 only reading more than once",
            mesh.globals[global as usize].name
        )),
        _ => Ok(()),
    };
    for (number, arg) in args.iter().enumerate() {
        if let ArgDecl::Global { global, access, payload, present: true } = *arg {
            note(number, global, access.name(), access == Access::Read)?;
            if let Some(payload) = payload {
                note(number, payload, access.name(), false)?;
            }
        }
    }
    Ok(())
}

/// One access mode for each dat; one argument if it is written or updated, or one for each target through a map; and no
/// element written twice. Absent arguments are no use.
fn dat_is_sound(mesh: &Mesh, decl: &LoopDecl, dat: u32) -> Result<(), String> {
    let mut uses: Vec<(usize, Route, Access)> = Vec::new();
    for (number, arg) in decl.args.iter().enumerate() {
        if let ArgDecl::Dat { dat: of, route, access, present: true } = *arg
            && of == dat
        {
            uses.push((number, route, access));
        }
    }
    let Some(&(first, route, access)) = uses.first() else { return Ok(()) };
    let name = &mesh.dats[dat as usize].name;
    if let Some((other, _, different)) = uses.iter().find(|(_, _, other)| *other != access) {
        return Err(format!(
            "dat `{name}` is argument {first} to {} and argument {other} to {}: one iteration would see what another one \
             did, or not, depending on their order",
            access.name(),
            different.name()
        ));
    }
    let directly: Vec<usize> = uses.iter().filter(|u| u.1 == Route::Direct).map(|u| u.0).collect();
    match access {
        Access::Read => return Ok(()),
        Access::Inc | Access::Min | Access::Max => {
            return match directly[..] {
                [one, two, ..] => {
                    Err(format!("dat `{name}` is argument {one} and argument {two}, both the same element: use one"))
                }
                _ => Ok(()),
            };
        }
        Access::Write | Access::Update => {}
    }
    if !directly.is_empty() && uses.len() > 1 {
        let other = uses[1].0;
        return Err(format!(
            "dat `{name}` is argument {first} and argument {other}, both to {}: nothing else may touch what is written",
            access.name()
        ));
    }
    if route == Route::Direct {
        return Ok(());
    }
    let columns: Columns = uses.iter().flat_map(|(_, route, _)| route.columns(mesh)).collect();
    let Some(twice) = reached_twice(mesh, &columns) else { return Ok(()) };
    let describe = |(map, column, iteration): (u32, usize, usize)| {
        let map = &mesh.maps[map as usize].name;
        format!("iteration {iteration} through column {column} of `{map}`")
    };
    Err(format!(
        "element {} of dat `{name}` is to {} twice: by {}, and by {}",
        twice.target,
        access.name(),
        describe(twice.first),
        describe(twice.second)
    ))
}

/// The first element that is reached more than once through columns of maps.
fn reached_twice(mesh: &Mesh, columns: &[(u32, usize)]) -> Option<Twice> {
    let lock = || mesh.reached.0.lock();
    if let Some(known) = lock().get(columns) {
        return *known;
    }
    let target_set = columns.first().map(|(map, _)| mesh.maps[*map as usize].to)?;
    // Who reached an element: one more than iteration times columns plus column, so that zero is nobody.
    let mut by = vec![0_u64; mesh.sets[target_set as usize].size];
    let iterations = mesh.sets[mesh.maps[columns[0].0 as usize].from as usize].size;
    let mut found = None;
    'search: for iteration in 0..iterations {
        for (place, &(map, column)) in columns.iter().enumerate() {
            let table = &mesh.maps[map as usize];
            let target = table.table[iteration * table.arity + column];
            let who = &mut by[target as usize];
            if *who != 0 {
                let before = (*who - 1) as usize;
                let (map_before, column_before) = columns[before % columns.len()];
                let first = (map_before, column_before, before / columns.len());
                found = Some(Twice { target, first, second: (map, column, iteration) });
                break 'search;
            }
            *who = (iteration * columns.len() + place) as u64 + 1;
        }
    }
    lock().insert(columns.to_vec(), found);
    found
}
