//! Whether bytes that come from another memory are values.
//!
//! A device may be written in safe code, and its memory may hold any bytes. Some of them are no value of an element type: a
//! `bool` is 0 or 1. What comes back is checked before a view of it is made, and what is no value becomes zero, as a task
//! that writes the elements anew gets a view of what was there before.

use drawloom_graph::IndexSet;

use crate::data::piece::Piece;
use crate::data::tree::ElementType;

/// The first element in a memory that is no value of its type, with its bytes.
///
/// # Safety
/// The region starts at `base`, its elements at these indices can be read, and nobody changes them meanwhile.
pub(crate) unsafe fn first_invalid(
    element: &ElementType,
    base: *const u8,
    indices: &IndexSet,
) -> Option<(u64, Vec<u8>)> {
    let first_invalid = element.first_invalid?;
    indices.runs().iter().find_map(|run| {
        let (start, len) = (run.start as usize * element.size, (run.end - run.start) as usize * element.size);
        // SAFETY: promised by the caller.
        let bytes = unsafe { std::slice::from_raw_parts(base.add(start), len) };
        let at = first_invalid(bytes)?;
        Some((run.start + at as u64, bytes[at * element.size..][..element.size].to_vec()))
    })
}

/// Makes elements zero that are no values of their type, and returns the first of them, with its bytes.
///
/// # Safety
/// As for [`first_invalid`], and the caller alone may use these elements.
pub(crate) unsafe fn clear_invalid(element: &ElementType, base: *mut u8, indices: &IndexSet) -> Option<(u64, Vec<u8>)> {
    // SAFETY: promised by the caller.
    let first = unsafe { first_invalid(element, base, indices) }?;
    for run in indices.runs() {
        for at in run.start..run.end {
            let one = IndexSet::range(at, at + 1);
            // SAFETY: promised by the caller.
            if unsafe { first_invalid(element, base, &one) }.is_some() {
                // SAFETY: promised by the caller; all bytes zero are a value.
                unsafe { std::ptr::write_bytes(base.add(at as usize * element.size), 0, element.size) };
            }
        }
    }
    Some(first)
}

/// What is wrong with an element that is no value of its type.
pub(crate) fn complaint(piece: &Piece, (at, bytes): &(u64, Vec<u8>), memory: &str) -> String {
    let tree = piece.tree();
    let (region, name) = (&tree.name, tree.element.name);
    format!("element {at} of region `{region}` in memory `{memory}` is not a valid `{name}`: its bytes are {bytes:?}")
}
