//! Single values.

use crate::access::frame::Place;
use crate::error::Result;

use super::region::{Handle, Region, kind_of_region};

kind_of_region! {
    /// One value of any type. Tasks see it as a reference.
    Value
}

impl<T: Send + Sync + 'static> Region for Value<T> {
    type Ref<'v> = &'v T;
    type Mut<'v> = &'v mut T;

    fn handle(&self) -> &Handle {
        &self.handle
    }

    unsafe fn from_handle(handle: Handle) -> Self {
        Self { handle, element: std::marker::PhantomData }
    }

    #[inline]
    unsafe fn view<'v>(place: Place<'v>) -> &'v T {
        // SAFETY: a value region has one element, at its start, which the caller may read.
        unsafe { &*place.base.cast::<T>() }
    }

    #[inline]
    unsafe fn view_mut<'v>(place: Place<'v>) -> &'v mut T {
        // SAFETY: a value region has one element, at its start, which the caller has for itself.
        unsafe { &mut *place.base.cast::<T>() }
    }
}

impl<T: Send + Sync + 'static> Value<T> {
    /// Waits for the tasks that were submitted before, and copies the value out.
    ///
    /// # Errors
    /// As [`Region::read`].
    #[track_caller]
    pub fn get(&self) -> Result<T>
    where
        T: Clone,
    {
        Ok((*self.read()?).clone())
    }

    /// Waits for the tasks that were submitted before, and puts another value in, whether or not there was one.
    ///
    /// # Errors
    /// As [`Region::overwrite`].
    #[track_caller]
    pub fn set(&self, value: T) -> Result<()> {
        *self.overwrite()? = value;
        Ok(())
    }
}
