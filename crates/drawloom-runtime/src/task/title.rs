//! What other threads may read of a task while its record is described anew: its name, its place and its scope.
//!
//! Reports look at tasks of other threads. The words are atomics, so that reading them while they are written is no data race;
//! and a reader compares the record's generation before and after, so that words of two tasks are never taken for those of one.
//! They are atomics of the standard library, which the model checkers do not see: no protocol rests on them.

use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::name::Name;
use crate::order::scope::Scope;

/// The name, place and scope of a task, word by word.
pub(crate) struct Title {
    name: AtomicPtr<u8>,
    name_len: AtomicUsize,
    location: AtomicPtr<Location<'static>>,
    scope: AtomicPtr<Scope>,
}

/// Words that were read one by one, and may belong to different tasks.
#[derive(Clone, Copy)]
pub(crate) struct TitleWords {
    name: *const str,
    location: *const Location<'static>,
    /// The scope in which the task was submitted, or null for the outermost.
    pub(crate) scope: *const Scope,
}

impl Title {
    pub(crate) fn new() -> Self {
        Self {
            name: AtomicPtr::new(ptr::null_mut()),
            name_len: AtomicUsize::new(0),
            location: AtomicPtr::new(ptr::null_mut()),
            scope: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Sets all of it. Only for the thread that has the record.
    #[inline]
    pub(crate) fn set(&self, name: Name, location: &'static Location<'static>, scope: *const Scope) {
        let name: *const str = name.as_str();
        // Release: pairs with the fence in `Core::peek`. Who reads a word of a later task sees the later generation.
        self.name.store(name.cast_mut().cast(), Ordering::Release);
        self.name_len.store((name as *const [u8]).len(), Ordering::Release);
        self.location.store(ptr::from_ref(location).cast_mut(), Ordering::Release);
        self.scope.store(scope.cast_mut(), Ordering::Release);
    }

    /// The scope in which the task was submitted, or null for the outermost.
    #[inline]
    pub(crate) fn scope(&self) -> *const Scope {
        self.scope.load(Ordering::Relaxed)
    }

    /// The words as they are now.
    pub(crate) fn words(&self) -> TitleWords {
        let name = ptr::slice_from_raw_parts(self.name.load(Ordering::Relaxed), self.name_len.load(Ordering::Relaxed));
        TitleWords { name: name as *const str, location: self.location.load(Ordering::Relaxed), scope: self.scope() }
    }
}

impl TitleWords {
    /// The name and the place.
    ///
    /// # Safety
    /// The words are those of one task: the calling thread has its record, or the record's generation was the same before and
    /// after they were read, and it had a kind.
    #[inline]
    pub(crate) unsafe fn whole(self) -> (Name, &'static Location<'static>) {
        // SAFETY: promised by the caller; both were written by `Title::set` together.
        unsafe { (Name::literal(&*self.name), &*self.location) }
    }
}
