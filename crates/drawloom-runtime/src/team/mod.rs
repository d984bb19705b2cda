//! Tasks that need several workers at once.
//!
//! | file | concept |
//! |---|---|
//! | this one | [`Bounds`]: how many workers a team takes |
//! | [`formation`] | how teams come together without deadlock |
//! | [`run`] | a team that is complete: ranks, barrier, end |
//! | [`barrier`] | a barrier that breaks instead of hanging |
//! | [`member`] | what a body knows about its team |
//! | [`share`] | what each member may do with the team's data |
//! | [`task`] | the builder's last step for team tasks |

pub(crate) mod barrier;
pub(crate) mod formation;
pub mod member;
pub(crate) mod run;
#[allow(unsafe_code)]
pub mod share;
#[allow(unsafe_code)]
pub mod task;

pub use member::{CalledBy, Member};
pub use share::{Share, TeamAccess, TeamMut};

/// How many workers a team task takes, at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub(crate) least: u32,
    pub(crate) most: u32,
}

impl From<u32> for Bounds {
    fn from(size: u32) -> Self {
        Self { least: size, most: size }
    }
}

impl From<std::ops::RangeInclusive<u32>> for Bounds {
    fn from(range: std::ops::RangeInclusive<u32>) -> Self {
        Self { least: *range.start(), most: *range.end() }
    }
}
