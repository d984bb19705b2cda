//! Access from outside of tasks.
//!
//! A guard is a task that the application runs itself: it is ordered like any other, starts when it is its turn, and ends
//! when the guard is dropped.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use crate::access::frame::Place;
use crate::access::{Arg, Mode};
use crate::core::Hold;
use crate::error::{Error, ErrorKind, Result};

use super::region::{Handle, Region};
use super::value::Value;
use super::vector::Vector;

/// Access to read a region. Tasks that change it wait until the guard is dropped.
pub struct ReadGuard<R: Region>(Held, PhantomData<R>);
/// Access to change a region. Tasks that touch it wait until the guard is dropped.
pub struct WriteGuard<R: Region>(Held, PhantomData<R>);

/// Access to a region of any kind, compiled once for all of them.
struct Held {
    handle: Handle,
    hold: Hold,
    /// Where the guard was made, if everything is to be written anew.
    overwrites: Option<&'static Location<'static>>,
    /// A guard stays on its thread, so that it is known which threads could let go.
    thread: PhantomData<std::sync::MutexGuard<'static, ()>>,
}

impl Held {
    fn take(handle: &Handle, mode: Mode, location: &'static Location<'static>) -> Result<Self> {
        // SAFETY: the region is here until the guard is gone.
        let hold = handle.root.core.hold(unsafe { Arg::new(handle.piece(), mode) }, location)?;
        Ok(Self { handle: handle.clone(), hold, overwrites: None, thread: PhantomData })
    }

    fn overwrite(handle: &Handle, location: &'static Location<'static>) -> Result<Self> {
        // SAFETY: as above.
        let arg = unsafe { Arg::new(handle.piece(), Mode::LendWrite) };
        let hold = handle.root.core.hold_to_overwrite(arg, location)?;
        Ok(Self { handle: handle.clone(), hold, overwrites: Some(location), thread: PhantomData })
    }

    fn place(&self) -> Place<'_> {
        let piece = self.handle.piece();
        Place { piece, base: piece.tree().base(), compact: false }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(location) = self.overwrites
            && std::thread::panicking()
        {
            // What counted as written may be so in part only.
            let piece = self.handle.piece();
            let name = piece.name();
            let message = format!("a thread panicked while it wrote region `{name}` through the guard of {location}");
            piece.tree().spoil(&piece.indices, &Error::new(ErrorKind::Panicked, message));
        }
        self.handle.root.core.let_go(&mut self.hold);
    }
}

impl<R: Region> ReadGuard<R> {
    #[track_caller]
    pub(crate) fn take(region: &R) -> Result<Self> {
        Ok(Self(Held::take(region.handle(), Mode::Read, Location::caller())?, PhantomData))
    }

    /// The data.
    pub fn view(&self) -> R::Ref<'_> {
        // SAFETY: the guard stands for a task that was granted read access, and lives as long as the view.
        unsafe { R::view(self.0.place()) }
    }
}

impl<R: Region> WriteGuard<R> {
    #[track_caller]
    pub(crate) fn take(region: &R) -> Result<Self> {
        Ok(Self(Held::take(region.handle(), Mode::Update, Location::caller())?, PhantomData))
    }

    #[track_caller]
    pub(crate) fn overwrite(region: &R) -> Result<Self> {
        Ok(Self(Held::overwrite(region.handle(), Location::caller())?, PhantomData))
    }

    /// The data, to read.
    pub fn view(&self) -> R::Ref<'_> {
        // SAFETY: the guard stands for a task that has the region for itself, and is borrowed as long as the view lives.
        unsafe { R::view(self.0.place()) }
    }

    /// The data, to change.
    pub fn view_mut(&mut self) -> R::Mut<'_> {
        // SAFETY: the guard stands for a task that has the region for itself, and is borrowed mutably as long as the view
        // lives.
        unsafe { R::view_mut(self.0.place()) }
    }
}

macro_rules! derefs {
    ($kind:ident => $target:ty) => {
        impl<T: Send + Sync + 'static> Deref for ReadGuard<$kind<T>> {
            type Target = $target;
            fn deref(&self) -> &$target {
                self.view()
            }
        }
        impl<T: Send + Sync + 'static> Deref for WriteGuard<$kind<T>> {
            type Target = $target;
            fn deref(&self) -> &$target {
                self.view()
            }
        }
        impl<T: Send + Sync + 'static> DerefMut for WriteGuard<$kind<T>> {
            fn deref_mut(&mut self) -> &mut $target {
                self.view_mut()
            }
        }
    };
}
derefs! { Vector => [T] }
derefs! { Value => T }
