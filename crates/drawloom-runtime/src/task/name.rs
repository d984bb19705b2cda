//! Names of tasks: two words that copy freely.
//!
//! Most names are literals. Names made at run time are interned once in the process, so that a record holds no allocation.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxBuildHasher, FxHashSet};

/// What a task is called. Literals cost nothing. A `String` is stored once for as long as the process runs; when these take more
/// than 128 MiB, new ones are not kept, and such tasks have one name together.
#[derive(Clone, Debug)]
pub struct Label(Cow<'static, str>);

impl From<&'static str> for Label {
    fn from(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }
}

impl From<String> for Label {
    fn from(name: String) -> Self {
        Self(Cow::Owned(name))
    }
}

/// The name of a task.
#[derive(Clone, Copy)]
pub(crate) struct Name(&'static str);

impl Name {
    pub(crate) const fn literal(name: &'static str) -> Self {
        Self(name)
    }

    /// The name that a user gave.
    #[inline]
    pub(crate) fn intern(label: Label) -> Self {
        match label.0 {
            Cow::Borrowed(name) => Self(name),
            Cow::Owned(name) => Self(NAMES.lock().unwrap_or_else(PoisonError::into_inner).intern(name, ROOM)),
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        self.0
    }
}

/// How much memory names made at run time may take.
const ROOM: usize = 128 << 20;
/// About how much one takes besides its text.
const EACH: usize = 48;

/// The names made at run time. The model checkers do not see the lock: no protocol rests on it.
static NAMES: Mutex<Table> = Mutex::new(Table { names: FxHashSet::with_hasher(FxBuildHasher), bytes: 0 });

struct Table {
    names: FxHashSet<&'static str>,
    bytes: usize,
}

impl Table {
    /// Names are never given back, as records, plans and traces may hold them. So that a program which names each task
    /// differently can run for ever, names that come when the room is used up are not kept.
    fn intern(&mut self, name: String, room: usize) -> &'static str {
        if let Some(known) = self.names.get(name.as_str()) {
            return known;
        }
        if self.bytes >= room {
            return "one of very many";
        }
        let name: &'static str = Box::leak(name.into_boxed_str());
        self.bytes += name.len() + EACH;
        self.names.insert(name);
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_names_take_bounded_memory() {
        let mut table = Table { names: FxHashSet::default(), bytes: 0 };
        let first = table.intern("step 1".to_owned(), 10_000);
        for i in 0..1000 {
            table.intern(format!("step {i}"), 10_000);
        }
        assert_eq!(table.intern("step 1".to_owned(), 10_000).as_ptr(), first.as_ptr());
        assert_eq!(table.intern("another".to_owned(), 10_000), "one of very many");
        assert!(table.bytes < 11_000, "{} bytes", table.bytes);
    }
}
