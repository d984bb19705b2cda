//! How much memory this thread takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts how many bytes each thread has.
pub(crate) struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// How many bytes this thread allocated and did not free, and the most of that since [`peak`] began.
    static BYTES: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

/// What a function returns, and how many bytes more than before this thread had while it ran, at most.
pub(crate) fn peak<R>(run: impl FnOnce() -> R) -> (R, usize) {
    let (before, _) = BYTES.get();
    BYTES.set((before, before));
    let result = run();
    let (_, most) = BYTES.get();
    (result, (most - before) as usize)
}

fn add(bytes: isize) {
    // A thread that ends has no counter any more.
    let _ = BYTES.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: all is done by the system's allocator; counting allocates nothing, as the counter is initialised by the compiler.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: the caller keeps the rules of `GlobalAlloc`, which are the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are there while the contents move.
        add(size as isize);
        add(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}
