//! Names of tasks: two words that copy freely.
//!
//! Most names are literals. Names made at run time are interned once in the runtime, so that a record holds no allocation.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use crate::sync::{Mutex, lock};

/// What a task is called. Literals cost nothing; a `String` is stored once per runtime.
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

    pub(crate) fn as_str(&self) -> &str {
        // SAFETY: literals live for ever, and interned text as long as the runtime, which outlives every record, plan and
        // region that holds a name.
        unsafe { &*self.0 }
    }
}

/// The names made at run time.
#[derive(Default)]
pub(crate) struct Names(Mutex<FxHashSet<Box<str>>>);

impl Names {
    #[inline]
    pub(crate) fn intern(&self, label: Label) -> Name {
        match label.0 {
            Cow::Borrowed(name) => Name::literal(name),
            Cow::Owned(name) => {
                let mut names = lock(&self.0);
                if let Some(name) = names.get(name.as_str()) {
                    return Name(&raw const **name);
                }
                let name: Box<str> = name.into();
                let pointer = Name(&raw const *name);
                names.insert(name);
                pointer
            }
        }
    }
}
