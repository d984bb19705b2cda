//! What each member may do with the team's data.
//!
//! All members run one body at the same time, so none of them can have `&mut` of a whole argument. What is read is shared.
//! For what is written, each member has a [`TeamMut`]: its own share at any time, and the whole only while all others wait.
//!
//! # Why this is sound
//!
//! Shares of different ranks are disjoint, and a member has only the share of its own rank. The whole is given out between
//! two meetings of all members, to which each of them comes with its own `TeamMut` of the same argument borrowed mutably:
//! nobody has a view of its share then. A member that comes with another argument breaks the barrier before anything is
//! given out. When the second meeting breaks, because a member panicked inside, others may still be looking at the whole;
//! so the members that notice can make no views of that argument any more.

use std::marker::PhantomData;

use super::member::{Member, share_of};
use crate::access::frame::{Frame, Place};
use crate::access::{Access, ByValue, Commute, Lend, Read, ReadAll, Scratch, Update, UpdateAll, Write};
use crate::data::array::Array;
use crate::data::element::Element;
use crate::data::matrix::Matrix;
use crate::data::region::Region;
use crate::data::vector::Vector;

/// An argument that a team writes, as one member sees it.
pub struct TeamMut<'v, R> {
    place: Place<'v>,
    rank: usize,
    size: usize,
    /// Whether the team broke while someone may have had the whole.
    lost: bool,
    region: PhantomData<R>,
}

/// Kinds of regions that can be shared out among the members of a team.
pub trait Share: Region {
    /// # Safety
    /// The place is that of a piece of this kind, nobody outside of the team has access to it while the view lives, and no
    /// other view of the share of this rank does.
    #[doc(hidden)]
    unsafe fn share<'v>(place: Place<'v>, rank: usize, size: usize) -> Self::Mut<'v>;
}

impl<T: Send + Sync + 'static> Share for Vector<T> {
    unsafe fn share<'v>(place: Place<'v>, rank: usize, size: usize) -> &'v mut [T] {
        let (start, len) = crate::data::vector::line::<T>(place);
        let share = share_of(len, rank, size);
        // SAFETY: the share lies within the piece, is disjoint from all others, and the caller promises the rest.
        unsafe { std::slice::from_raw_parts_mut(start.wrapping_add(share.start), share.len()) }
    }
}

impl<T: Send + Sync + 'static> Share for Matrix<T> {
    unsafe fn share<'v>(place: Place<'v>, rank: usize, size: usize) -> Self::Mut<'v> {
        // SAFETY: promised by the caller. Ranges of columns are disjoint.
        unsafe { crate::data::strided::StridedMut::part(place, 0, 1, |len| share_of(len, rank, size)) }
    }
}

impl<T: Send + Sync + 'static, const N: usize> Share for Array<T, N> {
    unsafe fn share<'v>(place: Place<'v>, rank: usize, size: usize) -> Self::Mut<'v> {
        const { assert!(N > 0, "an array without dimensions has nothing to share out") };
        // SAFETY: promised by the caller. Ranges along the first dimension are disjoint.
        unsafe { crate::data::strided::StridedMut::part(place, N - 1, 0, |len| share_of(len, rank, size)) }
    }
}

impl<R: Region> TeamMut<'_, R> {
    /// How many elements the whole argument has.
    pub fn len(&self) -> usize {
        self.place.piece.shape.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// This member's own share: a run of elements of a vector, columns of a matrix, or a range of an array's first dimension.
    ///
    /// # Panics
    /// When the team broke while someone had the whole.
    pub fn mine(&mut self) -> R::Mut<'_>
    where
        R: Share,
    {
        self.refuse_lost();
        // SAFETY: the task has the argument for itself, this member alone has its rank's share, and `self` is borrowed for
        // as long as the view lives. Nobody has the whole meanwhile: that takes a meeting with this member's `TeamMut`.
        unsafe { R::share(self.place, self.rank, self.size) }
    }

    /// Gives the whole argument to the first member, while all others wait. All members must call this for the same
    /// argument. Returns what the function returned, to the first member only.
    ///
    /// # Panics
    /// As [`Member::barrier`].
    pub fn whole<T>(&mut self, member: &Member<'_>, f: impl FnOnce(R::Mut<'_>) -> T) -> Option<T> {
        self.refuse_lost();
        let purpose = self.purpose(1);
        member.meet(purpose);
        // SAFETY: all other members have come here with the same argument, so they have no view of it, and wait below.
        let result = (self.rank == 0).then(|| f(unsafe { R::view_mut(self.place) }));
        self.meet_again(member, purpose);
        result
    }

    /// Lets every member read the whole argument. All members must call this for the same argument; nobody goes on before
    /// all have finished reading.
    ///
    /// # Panics
    /// As [`Member::barrier`].
    pub fn read_whole<T>(&mut self, member: &Member<'_>, f: impl FnOnce(R::Ref<'_>) -> T) -> T {
        self.refuse_lost();
        let purpose = self.purpose(2);
        member.meet(purpose);
        // SAFETY: all members have come here with the same argument, so nobody has a view to change it, and nobody gets
        // one before all have finished.
        let result = f(unsafe { R::view(self.place) });
        self.meet_again(member, purpose);
        result
    }

    /// Tells arguments, and what is done with them, apart. Pieces are aligned, so the sums differ.
    fn purpose(&self, what: usize) -> usize {
        std::ptr::from_ref(self.place.piece).addr() + what
    }

    fn meet_again(&mut self, member: &Member<'_>, purpose: usize) {
        if member.try_meet(purpose).is_err() {
            self.lost = true;
            std::panic::resume_unwind(Box::new(super::member::TeamBroke));
        }
    }

    fn refuse_lost(&self) {
        assert!(!self.lost, "the team broke while a member had the whole of the argument");
    }
}

/// What each member of a team receives for an access.
pub trait TeamAccess: Access {
    /// What the member receives.
    type TeamView<'v>;

    /// # Safety
    /// As [`Access::view`], for a frame of a member.
    #[doc(hidden)]
    unsafe fn team_view<'v>(frame: &mut Frame<'v>, member: &Member<'_>) -> Self::TeamView<'v>;
}

macro_rules! shared {
    ($($access:ident<$r:ident: $bound:path>)*) => { $(
        impl<$r: $bound> TeamAccess for $access<$r> {
            type TeamView<'v> = <Self as Access>::View<'v>;
            unsafe fn team_view<'v>(frame: &mut Frame<'v>, _: &Member<'_>) -> Self::TeamView<'v> {
                // SAFETY: promised by the caller. The view is one to read, to lend, or the member's own.
                unsafe { Self::view(frame) }
            }
        }
    )* };
}
shared! { Read<R: Region> ReadAll<R: Region> Lend<R: Region> Scratch<T: Element> ByValue<T: Element> }

macro_rules! exclusive {
    ($($access:ident)*) => { $(
        impl<R: Region> TeamAccess for $access<R> {
            type TeamView<'v> = TeamMut<'v, R>;
            unsafe fn team_view<'v>(frame: &mut Frame<'v>, member: &Member<'_>) -> TeamMut<'v, R> {
                let (rank, size) = (member.rank(), member.size());
                TeamMut { place: frame.place(), rank, size, lost: false, region: PhantomData }
            }
        }
    )* };
}
exclusive! { Write Update Commute }

/// Each region of the list is shared out by itself.
impl<R: Region> TeamAccess for UpdateAll<R> {
    type TeamView<'v> = Vec<TeamMut<'v, R>>;
    unsafe fn team_view<'v>(frame: &mut Frame<'v>, member: &Member<'_>) -> Vec<TeamMut<'v, R>> {
        let (rank, size, places) = (member.rank(), member.size(), frame.places());
        let part = |i| TeamMut { place: places.get(i), rank, size, lost: false, region: PhantomData };
        // Allocates, once for each member.
        (0..places.len()).map(part).collect()
    }
}
