//! Where records live: chunks that double in size and never move, and a pool of the free ones.
//!
//! The pool is also the throttle. A runtime may have a bounded number of tasks in flight; a thread that submits when all
//! records are taken waits until some come back. A task that submits never waits: for it, the slab grows.

use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::time::wait_at_most;
use crate::sync::{Condvar, MODELLED, Mutex, Padded, lock};

use super::record::{Record, TaskId};

/// Few under the model checkers, to whom every atomic is dear.
const FIRST: u32 = if MODELLED { 8 } else { 256 };
const CHUNKS: usize = 21;
/// How many free records a thread keeps before it gives them back.
const KEEP: usize = 64;

/// All records of a runtime.
pub(crate) struct Slab {
    chunks: [AtomicPtr<Record>; CHUNKS],
    pool: Padded<Mutex<Pool>>,
    returned: Condvar,
    /// How many free records a thread may keep for itself.
    pub(crate) keep: usize,
}

struct Pool {
    free: Vec<u32>,
    /// How many records exist.
    made: u32,
    /// How many chunks exist.
    chunks: usize,
    /// How many may be in use before submitters wait.
    limit: u32,
    /// How many submitters wait.
    waiting: u32,
}

impl Pool {
    /// How many records a patient submitter could get.
    fn room(&self) -> u32 {
        self.limit.saturating_sub(self.made - self.free.len() as u32)
    }
}

impl Slab {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            chunks: std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut())),
            pool: Padded::new(Mutex::new(Pool { free: Vec::new(), made: 0, chunks: 0, limit, waiting: 0 })),
            returned: Condvar::new(),
            // What is kept is not there for others, so it must be little when there is little.
            keep: (limit as usize / 16).min(KEEP),
        }
    }

    /// The record with a number.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> &Record {
        let (chunk, offset) = place(index);
        // Acquire: pairs with `grow`.
        let chunk = self.chunks[chunk].load(Ordering::Acquire);
        assert!(!chunk.is_null(), "there is no record with this number");
        // SAFETY: the chunk was published by `grow`, and lives as long as the slab; `place` stays within its length.
        unsafe { &*chunk.add(offset) }
    }

    /// Whether a task is complete.
    pub(crate) fn is_complete(&self, id: TaskId) -> bool {
        self.get(id.index()).generation() != id.generation()
    }

    /// A free record, or none when the limit is reached and `patient` is true.
    #[inline]
    pub(crate) fn take(&self, patient: bool) -> Option<u32> {
        let mut pool = lock(&self.pool);
        if patient && pool.room() == 0 {
            return None;
        }
        if let Some(index) = pool.free.pop() {
            return Some(index);
        }
        self.grow(&mut pool);
        pool.free.pop()
    }

    /// Waits until records came back, or for some time.
    pub(crate) fn wait_for_room(&self, most: std::time::Duration) {
        let mut pool = lock(&self.pool);
        pool.waiting += 1;
        if pool.room() == 0 {
            pool = wait_at_most(&self.returned, pool, most);
        }
        pool.waiting -= 1;
    }

    /// Takes records back. Submitters that wait are woken once many have come back, so that they do not sleep again at once;
    /// or if `idle`: then no more will come soon.
    pub(crate) fn give_back(&self, indices: &mut Vec<u32>, idle: bool) {
        if indices.is_empty() && !idle {
            return;
        }
        // A record whose generations are used up is left out: its ids must stay past for ever.
        indices.retain(|&i| self.get(i).generation() != u32::MAX);
        let mut pool = lock(&self.pool);
        pool.free.append(indices);
        if pool.waiting > 0 && pool.room() > 0 && (idle || pool.room() >= pool.limit / 4) {
            self.returned.notify_all();
        }
    }

    /// Whether a patient submitter would get a record.
    pub(crate) fn has_room(&self) -> bool {
        lock(&self.pool).room() > 0
    }

    /// Allows twice as many records as are in use.
    pub(crate) fn exceed(&self) {
        let mut pool = lock(&self.pool);
        let used = pool.made - pool.free.len() as u32;
        pool.limit = pool.limit.max(used.saturating_mul(2));
    }

    /// The numbers of the records that are not in the pool, in order.
    pub(crate) fn in_use(&self) -> Vec<u32> {
        let pool = lock(&self.pool);
        let mut free = vec![false; pool.made as usize];
        for &index in &pool.free {
            free[index as usize] = true;
        }
        (0..pool.made).filter(|&index| !free[index as usize]).collect()
    }

    /// The number of all records so far.
    pub(crate) fn all(&self) -> std::ops::Range<u32> {
        0..lock(&self.pool).made
    }

    /// How many records exist, and how many of them are free.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let pool = lock(&self.pool);
        (pool.made as usize, pool.free.len())
    }

    #[cold]
    fn grow(&self, pool: &mut Pool) {
        let chunk = pool.chunks;
        assert!(chunk < CHUNKS, "more than {} tasks in flight", u32::MAX / 8);
        let len = FIRST << chunk;
        let records: Box<[Record]> = (0..len).map(|_| Record::new()).collect();
        // Release: pairs with `get`.
        self.chunks[chunk].store(Box::into_raw(records).cast(), Ordering::Release);
        pool.free.extend((pool.made..pool.made + len).rev());
        pool.made += len;
        pool.chunks += 1;
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        for (chunk, pointer) in self.chunks.iter_mut().enumerate() {
            let pointer = *atomic_mut(pointer);
            if !pointer.is_null() {
                let records = std::ptr::slice_from_raw_parts_mut(pointer, (FIRST << chunk) as usize);
                // SAFETY: the pointer and length are those of the box made in `grow`, and nobody else has access.
                drop(unsafe { Box::from_raw(records) });
            }
        }
    }
}

#[cfg(not(any(loom, feature = "shuttle")))]
fn atomic_mut<T>(pointer: &mut AtomicPtr<T>) -> &mut *mut T {
    pointer.get_mut()
}

#[cfg(any(loom, feature = "shuttle"))]
fn atomic_mut<T>(pointer: &mut AtomicPtr<T>) -> Box<*mut T> {
    Box::new(pointer.load(Ordering::Acquire))
}

/// The chunk of a record, and its place there.
#[inline]
fn place(index: u32) -> (usize, usize) {
    let from_first = index + FIRST;
    let chunk = (FIRST.leading_zeros() - from_first.leading_zeros()) as usize;
    (chunk, (from_first - (FIRST << chunk)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_own_place() {
        let mut expected = (0, 0);
        for index in 0..100_000 {
            assert_eq!(place(index), expected);
            expected.1 += 1;
            if expected.1 == (FIRST as usize) << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }

    #[test]
    fn a_patient_submitter_gets_no_record_beyond_the_limit() {
        for limit in [1, 3, FIRST, FIRST + 1] {
            let slab = Slab::new(limit);
            let mut taken: Vec<u32> = (0..limit).map(|_| slab.take(true).unwrap()).collect();
            assert_eq!(slab.take(true), None);
            assert!(!slab.has_room());
            taken.push(slab.take(false).expect("a task that submits never waits"));
            slab.give_back(&mut vec![taken.pop().unwrap()], false);
            assert_eq!(slab.take(true), None, "what was beyond the limit came back");
            slab.give_back(&mut vec![taken.pop().unwrap()], false);
            assert!(slab.take(true).is_some());
        }
    }

    #[test]
    fn a_limit_that_was_exceeded_is_a_larger_one() {
        let slab = Slab::new(2);
        let taken = [slab.take(true), slab.take(true), slab.take(true)];
        assert!(taken[1].is_some() && taken[2].is_none());
        slab.exceed();
        assert!(slab.take(true).is_some() && slab.take(true).is_some());
        assert_eq!(slab.take(true), None);
    }
}
