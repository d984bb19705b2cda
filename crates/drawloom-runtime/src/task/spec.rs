//! A task that is being described.

use std::mem::MaybeUninit;
use std::panic::Location;

use crate::access::{Arg, Mode};
use crate::core::Core;
use crate::data::region::Region;
use crate::error::{Error, ErrorKind, TaskOrigin};
use crate::sync::Arc;

use super::extras::Extras;
use super::name::Name;
use super::record::{ARGS, InPlace};

/// A task that is being described.
pub(crate) struct Spec {
    pub(crate) name: Name,
    pub(crate) location: &'static Location<'static>,
    pub(crate) context: u32,
    pub(crate) priority: i32,
    /// The first `count` of these are there, or all are among the rare parts.
    args: InPlace,
    count: usize,
    pub(crate) extras: Option<Box<Extras>>,
    /// Why the task must be refused, as far as the description shows.
    pub(crate) refused: Option<Error>,
}

impl Spec {
    #[inline]
    pub(crate) fn new(name: Name, location: &'static Location<'static>, context: u32) -> Self {
        Self {
            name,
            location,
            context,
            priority: 0,
            args: [MaybeUninit::uninit(); ARGS],
            count: 0,
            extras: None,
            refused: None,
        }
    }

    pub(crate) fn origin(&self) -> TaskOrigin {
        TaskOrigin { name: self.name.as_str().to_owned(), location: self.location }
    }

    /// Adds an argument.
    #[inline]
    pub(crate) fn add<R: Region>(&mut self, core: &Arc<Core>, region: &R, mode: Mode) {
        let handle = region.handle();
        if !Arc::ptr_eq(&handle.root.core, core) {
            let message = format!("cannot use region `{}`: it belongs to another runtime", region.name());
            return self.refuse(ErrorKind::Foreign, message);
        }
        // SAFETY: the handle is there until the task is submitted; from then on the order of tasks keeps the region.
        let arg = unsafe { Arg::new(handle.piece(), mode) };
        self.push(if region.is_ordered() { arg } else { arg.unordered() });
    }

    #[inline]
    pub(crate) fn push(&mut self, arg: Arg) {
        let at = self.count;
        if at < ARGS {
            self.args[at] = MaybeUninit::new(arg);
        } else {
            if at == ARGS {
                let first = self.args().to_vec();
                self.extras().args = first;
            }
            self.extras().args.push(arg);
        }
        self.count += 1;
    }

    #[cold]
    pub(crate) fn refuse(&mut self, kind: ErrorKind, message: String) {
        let origin = self.origin();
        self.refused.get_or_insert_with(|| Error::of_task(kind, origin, message));
    }

    /// Refuses to retry a task whose changes cannot be undone.
    pub(crate) fn refuse_retry(&mut self) {
        let changed = |a: &&Arg| a.mode().mutates() && a.mode() != Mode::Reduce;
        let wrong = |a: &&Arg| a.mode().lends() || !a.piece().tree().element.portable;
        let Some(arg) = self.args().iter().filter(changed).find(wrong).copied() else { return };
        let why = if arg.mode().lends() { "it is lent to children" } else { "its elements are not plain" };
        let message = format!("cannot be retried: region `{}` cannot be restored, as {why}", arg.piece().name());
        self.refuse(ErrorKind::Retry, message);
    }

    /// All arguments, in the order in which they were declared.
    #[inline]
    pub(crate) fn args(&self) -> &[Arg] {
        match &self.extras {
            Some(extras) if self.count > ARGS => &extras.args,
            // SAFETY: as many were written.
            _ => unsafe { std::slice::from_raw_parts(self.args.as_ptr().cast(), self.count.min(ARGS)) },
        }
    }

    /// Leaves all arguments out, for a task that will not run and has no business with them.
    pub(crate) fn forget_args(&mut self) {
        self.count = 0;
    }

    pub(crate) fn count(&self) -> u32 {
        self.count as u32
    }

    pub(crate) fn in_place(&self) -> InPlace {
        self.args
    }

    pub(crate) fn extras(&mut self) -> &mut Extras {
        self.extras.get_or_insert_with(Box::default)
    }
}
