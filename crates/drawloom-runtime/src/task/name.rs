//! Names of tasks: two words that copy freely.
//!
//! Most names are literals. Names made at run time are interned once in the runtime, so that a record holds no allocation.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use crate::sync::{Mutex, lock};

/// What a task is called. Literals cost nothing. A `String` is stored once per runtime, for as long as that lives; when these
/// take more than 64 MiB, the numbers in new ones are written as `#`, and beyond 128 MiB new ones are not kept at all.
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

/// A name that lives as long as its runtime.
#[derive(Clone, Copy)]
pub(crate) struct Name(*const str);

// SAFETY: it points to text that nobody changes, and that lives as long as the runtime.
unsafe impl Send for Name {}
// SAFETY: as above.
unsafe impl Sync for Name {}

impl Name {
    pub(crate) const fn literal(name: &'static str) -> Self {
        Self(name)
    }

    /// Where its text is.
    pub(crate) fn as_ptr(self) -> *const str {
        self.0
    }

    /// The name whose text is there.
    ///
    /// # Safety
    /// The pointer is from [`Name::as_ptr`], of a name of the same runtime.
    pub(crate) unsafe fn from_ptr(text: *const str) -> Self {
        Self(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        // SAFETY: literals live for ever, and interned text as long as the runtime, which outlives every record, plan and
        // region that holds a name.
        unsafe { &*self.0 }
    }
}

/// How much memory names made at run time may take before they are shortened.
const ROOM: usize = 64 << 20;
/// About how much one takes besides its text.
const EACH: usize = 48;

/// The names made at run time.
#[derive(Default)]
pub(crate) struct Names(Mutex<Table>);

#[derive(Default)]
struct Table {
    names: FxHashSet<Box<str>>,
    bytes: usize,
}

impl Names {
    #[inline]
    pub(crate) fn intern(&self, label: Label) -> Name {
        match label.0 {
            Cow::Borrowed(name) => Name::literal(name),
            Cow::Owned(name) => lock(&self.0).intern(name, ROOM),
        }
    }
}

impl Table {
    /// Names are never given back, as records, plans and traces may hold them. So that a program which names each task
    /// differently can run for ever, names that come when the room is used up lose their numbers, and at last all of it.
    fn intern(&mut self, name: String, room: usize) -> Name {
        if let Some(known) = self.names.get(name.as_str()) {
            return Name(&raw const **known);
        }
        if self.bytes >= 2 * room {
            return Name::literal("one of very many");
        }
        let name: Box<str> = if self.bytes < room { name } else { without_numbers(&name) }.into();
        if let Some(known) = self.names.get(&name) {
            return Name(&raw const **known);
        }
        let pointer = Name(&raw const *name);
        self.bytes += name.len() + EACH;
        self.names.insert(name);
        pointer
    }
}

/// A name with `#` in the place of each number.
fn without_numbers(name: &str) -> String {
    let mut short = String::new();
    for c in name.chars() {
        match c {
            '0'..='9' if short.ends_with('#') => {}
            '0'..='9' => short.push('#'),
            c => short.push(c),
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_names_take_bounded_memory() {
        let mut table = Table::default();
        let first = table.intern("step 1".to_owned(), 10_000);
        for i in 0..1000 {
            table.intern(format!("step {i}"), 10_000);
        }
        assert_eq!(table.intern("step 99999 of 7".to_owned(), 10_000).as_str(), "step # of #");
        assert_eq!(table.intern("step 1".to_owned(), 10_000).as_str().as_ptr(), first.as_str().as_ptr());
        for i in 0..1000_u32 {
            table.intern("x".repeat(i as usize), 10_000);
        }
        assert_eq!(table.intern("another".to_owned(), 10_000).as_str(), "one of very many");
        assert!(table.bytes < 22_000, "{} bytes", table.bytes);
    }
}
