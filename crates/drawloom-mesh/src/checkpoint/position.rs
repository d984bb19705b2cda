//! Where a running program is: between two runs of a repetition that is in no other.

use super::identity::Identity;

/// A place at which a program can be stopped, and gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The repetition, by its number among the outermost statements.
    pub(crate) statement: usize,
    /// How many of its runs are complete.
    pub(crate) runs: u64,
}

/// A position with the program that it is of, as the first bytes of what a checkpoint says about it. Notes follow.
pub(super) const LENGTH: usize = 4 * 8;

pub(super) fn encode(identity: Identity, position: Position, notes: &[u8]) -> Vec<u8> {
    let numbers = [identity.program, identity.fixed, position.statement as u64, position.runs];
    numbers.iter().flat_map(|number| number.to_le_bytes()).chain(notes.iter().copied()).collect()
}

pub(super) fn decode(bytes: &[u8]) -> Option<(Identity, Position)> {
    let (numbers, _) = bytes.get(..LENGTH)?.as_chunks::<8>();
    let [program, fixed, statement, runs] = [0, 1, 2, 3].map(|n| u64::from_le_bytes(numbers[n]));
    let statement = usize::try_from(statement).ok()?;
    Some((Identity { program, fixed }, Position { statement, runs }))
}
