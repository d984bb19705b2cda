//! Which loops may be under way at the same time, and what a step of the program must wait for.
//!
//! Two loops are apart if neither has to do with what the other changes, and if no device keeps a global for both: the place
//! where it does so is one for all loops of a set. A loop is told the values of globals when it begins, so scalar code may
//! change them afterwards; what a loop contributes to must wait for its end.

use super::controller::Step;
use super::involved::Invocation;
use crate::kernel::site::{Access, ArgDecl};
use crate::mesh::Mesh;

/// For each step, the loops that must be at their end before it is taken.
pub(super) fn waits(mesh: &Mesh, steps: &[Step], invocations: &[Invocation]) -> Vec<Vec<usize>> {
    let contributors = |globals: &[u32]| -> Vec<usize> {
        let contributes = |invocation: &&Invocation| globals.iter().any(|global| changes(invocation, *global));
        numbered(invocations).filter(|(_, invocation)| contributes(invocation)).map(|(number, _)| number).collect()
    };
    let of = |step: &Step| match step {
        Step::Loop(number) => {
            let this = &invocations[*number];
            let waits = |other: usize| other == *number || !are_apart(mesh, this, &invocations[other]);
            (0..invocations.len()).filter(|other| waits(*other)).collect()
        }
        Step::Scalar(decl) => {
            let globals: Vec<u32> = decl.args.iter().flat_map(globals_of).collect();
            contributors(&globals)
        }
        Step::Unless(condition, _) => contributors(&[condition.global]),
        // Where the program may stop, all that comes before is done, as on every other backend.
        Step::RequireFinite(..) => (0..invocations.len()).collect(),
        Step::Set { global: Some(global), .. } | Step::Next { global: Some(global), .. } => contributors(&[*global]),
        Step::Set { .. } | Step::Next { .. } | Step::AfterRuns { .. } | Step::Jump(_) | Step::Stop => Vec::new(),
    };
    steps.iter().map(of).collect()
}

fn numbered(invocations: &[Invocation]) -> impl Iterator<Item = (usize, &Invocation)> {
    invocations.iter().enumerate()
}

/// The globals of an argument that is there.
fn globals_of(arg: &ArgDecl) -> Vec<u32> {
    match *arg {
        ArgDecl::Global { global, payload, present: true, .. } => [global].into_iter().chain(payload).collect(),
        _ => Vec::new(),
    }
}

/// Whether a loop contributes to a global.
fn changes(invocation: &Invocation, global: u32) -> bool {
    let contributions = invocation.contributions();
    contributions.iter().any(|arg| globals_of(&invocation.decl.args[*arg]).contains(&global))
}

/// Whether two loops may be under way at the same time.
pub(super) fn are_apart(mesh: &Mesh, one: &Invocation, other: &Invocation) -> bool {
    let pairs = || one.decl.args.iter().flat_map(|a| other.decl.args.iter().map(move |b| (a, b)));
    let shared_dat = |(a, b): (&ArgDecl, &ArgDecl)| match (*a, *b) {
        (
            ArgDecl::Dat { dat, access, present: true, .. },
            ArgDecl::Dat { dat: other, access: also, present: true, .. },
        ) => dat == other && !(access == also && (access == Access::Read || access.contributes())),
        _ => false,
    };
    let is_constant = |global: &u32| mesh.globals[*global as usize].constant;
    let shared_global = |(a, b): (&ArgDecl, &ArgDecl)| {
        let (a, b) = (globals_of(a), globals_of(b));
        let common: Vec<u32> = a.into_iter().filter(|global| b.contains(global) && !is_constant(global)).collect();
        let is_changed = common.iter().any(|global| changes(one, *global) || changes(other, *global));
        is_changed || (!common.is_empty() && one.decl.set == other.decl.set)
    };
    !pairs().any(|pair| shared_dat(pair) || shared_global(pair))
}
