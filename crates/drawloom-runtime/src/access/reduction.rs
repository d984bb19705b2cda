//! Private contributions to a piece, and the order in which they are folded.
//!
//! Each task that reduces into a piece fills an accumulator of its own, so such tasks run at the same time and wait for
//! nothing. The next access of another kind closes the reduction: a task made by the runtime folds what was contributed
//! into the piece.
//!
//! The order of folding depends only on the order of submission. Contributions are numbered; contribution 2k and 2k+1 are
//! folded with each other as soon as both are there, and their sums likewise, as in a tournament. What is left over when
//! the number is no power of two is folded from the last to the first. [`fold_pairwise`] is the same order for contributions
//! that are all there; the loops of mesh programs use it too. So the bits of the result do not depend on the
//! number of workers, and at most a logarithmic number of accumulators waits besides those in use.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::Weak;

use crate::core::Core;
use crate::data::piece::Piece;
use crate::error::{Error, ErrorKind, TaskOrigin};
use crate::panic;
use crate::sync::{Arc, Mutex, lock, thread_local};
use crate::task::name::Name;
use crate::task::spec::Spec;

use super::operator::Operator;

/// A list of elements whose type is not known here.
pub(crate) type Accumulator = Box<dyn std::any::Any + Send>;

/// What a reduction does with accumulators and pieces, for one element type and operator.
pub(crate) trait Folds: Send + Sync {
    fn name(&self) -> &'static str;
    /// Where the task was described that the operator was given to.
    fn location(&self) -> &'static Location<'static>;
    /// Whether contributions for both can be folded together.
    fn mixes_with(&self, other: &dyn Folds) -> bool;
    fn as_any(&self) -> &dyn std::any::Any;
    fn make(&self, len: usize) -> Accumulator;
    /// The address of the elements.
    fn address(&self, accumulator: &mut Accumulator) -> *mut u8;
    fn fold(&self, into: &mut Accumulator, from: &mut Accumulator);
    /// Makes an accumulator start over.
    fn reset(&self, accumulator: &mut Accumulator);
    /// Folds an accumulator into the elements of a piece.
    ///
    /// # Safety
    /// `base` is the start of the region's elements, of this type, and the caller has exclusive access to the piece.
    unsafe fn apply(&self, piece: &Piece, base: *mut u8, from: &Accumulator);
}

thread_local! {
    /// Whether this thread asks an operator of a user whether it mixes with another.
    static ASKS: Cell<bool> = const { Cell::new(false) };
}

/// An operator is asked whether it mixes with another while tasks are ordered, so it must not use the runtime meanwhile.
#[inline]
pub(crate) fn refuse_while_asked() {
    assert!(!ASKS.get(), "an operator uses the runtime while it is asked whether it mixes with another");
}

struct With<T, O> {
    operator: ManuallyDrop<O>,
    name: &'static str,
    /// Where the task was described that it was given to.
    location: &'static Location<'static>,
    /// Whose fault it is when dropping the operator panics, which can happen anywhere.
    owner: Option<Owner>,
    element: std::marker::PhantomData<fn() -> T>,
}

/// The task that an operator was given to.
pub(crate) struct Owner {
    core: Weak<Core>,
    name: Name,
}

/// The folds of an operator that a task was given.
pub(crate) fn folds<T: Send + 'static, O: Operator<T>>(operator: O, core: &Arc<Core>, task: &Spec) -> Arc<dyn Folds> {
    let owner = || Owner { core: Arc::downgrade(core), name: task.name };
    with::<T, O>(operator, task.location, std::mem::needs_drop::<O>().then(owner))
}

fn with<T: Send + 'static, O: Operator<T>>(
    operator: O,
    location: &'static Location<'static>,
    owner: Option<Owner>,
) -> Arc<dyn Folds> {
    Arc::new(With {
        name: operator.name(),
        operator: ManuallyDrop::new(operator),
        location,
        owner,
        element: std::marker::PhantomData::<fn() -> T>,
    })
}

impl<T, O> Drop for With<T, O> {
    fn drop(&mut self) {
        // SAFETY: nobody uses the operator after this.
        let Err(said) = panic::catch(|| unsafe { ManuallyDrop::drop(&mut self.operator) }) else { return };
        if let Some((owner, core)) = self.owner.as_ref().and_then(|owner| Some((owner, owner.core.upgrade()?))) {
            let origin = TaskOrigin { name: owner.name.as_str().to_owned(), location: self.location };
            let message = format!("while its operator was dropped: {said}");
            core.failures.note_other(Error::of_task(ErrorKind::Panicked, origin, message));
        }
    }
}

impl<T: Send + 'static, O: Operator<T>> With<T, O> {
    fn elements<'a>(&self, accumulator: &'a mut Accumulator) -> &'a mut Vec<T> {
        accumulator.downcast_mut().expect("accumulators of one reduction have one type")
    }
}

impl<T: Send + 'static, O: Operator<T>> Folds for With<T, O> {
    fn location(&self) -> &'static Location<'static> {
        self.location
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn mixes_with(&self, other: &dyn Folds) -> bool {
        let Some(other) = other.as_any().downcast_ref::<Self>().filter(|other| other.name == self.name) else {
            return false;
        };
        // Operators are the user's, and this is asked in the middle of a submission.
        ASKS.set(true);
        let mixes = panic::catch(|| self.operator.mixes_with(&other.operator)).unwrap_or(false);
        ASKS.set(false);
        mixes
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn make(&self, len: usize) -> Accumulator {
        Box::new((0..len).map(|_| self.operator.identity()).collect::<Vec<T>>())
    }

    fn address(&self, accumulator: &mut Accumulator) -> *mut u8 {
        self.elements(accumulator).as_mut_ptr().cast()
    }

    fn fold(&self, into: &mut Accumulator, from: &mut Accumulator) {
        for (into, from) in self.elements(into).iter_mut().zip(self.elements(from)) {
            self.operator.fold(into, from);
        }
    }

    fn reset(&self, accumulator: &mut Accumulator) {
        self.elements(accumulator).iter_mut().for_each(|element| *element = self.operator.identity());
    }

    unsafe fn apply(&self, piece: &Piece, base: *mut u8, from: &Accumulator) {
        let from: &Vec<T> = from.downcast_ref().expect("accumulators of one reduction have one type");
        let base = base.cast::<T>();
        let mut from = from.iter();
        crate::data::region::for_each_run(piece, |start, len| {
            // SAFETY: runs lie within the region, and the caller has exclusive access to them.
            let into = unsafe { std::slice::from_raw_parts_mut(base.add(start), len) };
            for (into, from) in into.iter_mut().zip(&mut from) {
                self.operator.fold(into, from);
            }
        });
    }
}

/// One reduction into one piece, from its first contribution until it is folded.
pub(crate) struct Reduction {
    pub(crate) folds: Arc<dyn Folds>,
    /// Whether contributions are folded in the canonical order.
    pub(crate) ordered: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Sums of contributions by level and number.
    waiting: BTreeMap<(u32, u32), Accumulator>,
    /// Why a contribution is missing.
    spoiled: Option<Error>,
}

impl Reduction {
    pub(crate) fn new(folds: Arc<dyn Folds>, ordered: bool) -> Self {
        Self { folds, ordered, state: Mutex::new(State::default()) }
    }

    /// Hands in contribution `number`.
    pub(crate) fn contribute(&self, number: u32, contribution: Accumulator) {
        let (mut level, mut number, mut sum) = (0, number, contribution);
        if !self.ordered {
            (level, number) = (31, 0);
        }
        loop {
            let key = if self.ordered { (level, number ^ 1) } else { (level, number) };
            let Some(other) = lock(&self.state).take_or_wait(key, (level, number), &mut sum) else { return };
            // Folding happens outside of the lock.
            let mine = std::mem::replace(&mut sum, Box::new(()));
            let (mut first, mut second) = if number & 1 == 0 && self.ordered { (mine, other) } else { (other, mine) };
            self.folds.fold(&mut first, &mut second);
            sum = first;
            if self.ordered {
                (level, number) = (level + 1, number / 2);
            }
        }
    }

    /// A contribution will be missing.
    pub(crate) fn spoil(&self, error: &Error) {
        lock(&self.state).spoiled.get_or_insert_with(|| error.clone());
    }

    /// Why a contribution is missing, once all were handed in.
    pub(crate) fn spoiled(&self) -> Option<Error> {
        lock(&self.state).spoiled.clone()
    }

    /// The sum of all contributions, once all were handed in.
    pub(crate) fn finish(&self) -> Option<Accumulator> {
        let mut waiting = std::mem::take(&mut lock(&self.state).waiting);
        // Higher levels hold earlier contributions, so this goes from the last to the first.
        let mut sum: Option<Accumulator> = None;
        while let Some((_, mut first)) = waiting.pop_first() {
            if let Some(mut second) = sum.take() {
                self.folds.fold(&mut first, &mut second);
            }
            sum = Some(first);
        }
        sum
    }
}

impl State {
    /// Takes the partner out if it is there; leaves the sum to wait for it if not.
    fn take_or_wait(&mut self, partner: (u32, u32), own: (u32, u32), sum: &mut Accumulator) -> Option<Accumulator> {
        let found = self.waiting.remove(&partner);
        if found.is_none() {
            self.waiting.insert(own, std::mem::replace(sum, Box::new(())));
        }
        found
    }
}

/// Folds numbered contributions into the first one, in the one order that all reductions have: 0 with 1, 2 with 3 and so on,
/// then the results likewise, as in a tournament; one without a partner waits for the next round. `fold` folds the contribution
/// of its second number, which comes later, into that of its first.
///
/// ```
/// use drawloom_runtime::access::fold_pairwise;
///
/// let mut parts = [1e16, 1.0, -1e16, 1.0, 3.0];
/// fold_pairwise(parts.len(), |into, from| parts[into] += parts[from]);
/// assert_eq!(parts[0], ((1e16 + 1.0) + (-1e16 + 1.0)) + 3.0);
/// ```
pub fn fold_pairwise(count: usize, mut fold: impl FnMut(usize, usize)) {
    let mut width = 1;
    while width < count {
        for first in (0..count - width).step_by(2 * width) {
            fold(first, first + width);
        }
        width *= 2;
    }
}

/// Folds contributions that are all there into the first one, in the same order as [`Reduction`] does.
pub(crate) fn fold_all(folds: &dyn Folds, contributions: &mut [Accumulator]) {
    fold_pairwise(contributions.len(), |into, from| {
        let (left, right) = contributions.split_at_mut(from);
        folds.fold(&mut left[into], &mut right[0]);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Sum;

    fn total(order: &[u32], ordered: bool) -> f64 {
        let reduction = Reduction::new(with::<f64, _>(Sum, Location::caller(), None), ordered);
        for &number in order {
            let mut accumulator = reduction.folds.make(1);
            accumulator.downcast_mut::<Vec<f64>>().unwrap()[0] = 1.0 / f64::from(number * number + 1);
            reduction.contribute(number, accumulator);
        }
        reduction.finish().unwrap().downcast::<Vec<f64>>().unwrap()[0]
    }

    fn all_at_once(count: u32) -> f64 {
        let folds = with::<f64, _>(Sum, Location::caller(), None);
        let mut list: Vec<Accumulator> = (0..count)
            .map(|number| {
                let mut accumulator = folds.make(1);
                accumulator.downcast_mut::<Vec<f64>>().unwrap()[0] = 1.0 / f64::from(number * number + 1);
                accumulator
            })
            .collect();
        fold_all(&*folds, &mut list);
        list[0].downcast_ref::<Vec<f64>>().unwrap()[0]
    }

    #[test]
    fn the_order_of_arrival_does_not_change_a_bit_of_an_ordered_reduction() {
        let mut rng = fastrand::Rng::with_seed(7);
        for count in 1..70u32 {
            let mut order: Vec<u32> = (0..count).collect();
            let expected = total(&order, true);
            for _ in 0..20 {
                rng.shuffle(&mut order);
                assert_eq!(total(&order, true).to_bits(), expected.to_bits(), "{order:?}");
            }
            assert!((total(&order, false) - expected).abs() < 1e-12);
            assert_eq!(all_at_once(count).to_bits(), expected.to_bits(), "{count} contributions");
        }
    }
}
