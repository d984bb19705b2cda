//! Exit codes.

use std::process::ExitCode;

/// How a command ended. The worse of two ends is the greater one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything is as it should be: exit code 0.
    Valid,
    /// The input was understood and something is wrong with it: exit code 1.
    Invalid,
    /// The input could not be used: exit code 2.
    Unusable,
}

impl Exit {
    /// The worse of two ends.
    pub fn and(self, other: Exit) -> Exit {
        self.max(other)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Valid => 0,
            Exit::Invalid => 1,
            Exit::Unusable => 2,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn the_worse_end_wins_in_either_order() {
        assert_eq!(Exit::Valid.and(Exit::Invalid), Exit::Invalid);
        assert_eq!(Exit::Unusable.and(Exit::Invalid), Exit::Unusable);
        assert_eq!(Exit::Valid.and(Exit::Valid), Exit::Valid);
    }
}
