//! Brute force: slow and plain second implementations of what the library does fast.
//!
//! | file | concept |
//! |---|---|
//! | `reach` | who reaches whom, by a search from every node |
//! | `rules` | every rule of a check, straight from its sentence, over all pairs |
//! | `memory` | a toy memory in which every order of the tasks is tried |

pub(crate) mod memory;
pub(crate) mod reach;
pub(crate) mod rules;
