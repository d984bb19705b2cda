//! A second memory in this process, and a device that computes in it.

#![allow(dead_code, unreachable_pub)]

use std::alloc::Layout;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use drawloom_runtime::device::{Device, Launch, Progress};
use drawloom_runtime::memory::{Address, CopyToken, Direction, Memory};
use drawloom_runtime::{Error, Loom, LoomBuilder, Result};

/// A heap of its own. Copies are done a few questions after they were started, so nobody may rely on them before.
#[derive(Default)]
pub struct Heap {
    copies: Mutex<HashMap<u64, Pending>>,
    next: AtomicU64,
    pub allocated: AtomicUsize,
    pub copied: AtomicUsize,
    /// Copies are not done as long as this is set.
    pub held: AtomicBool,
    /// Regions of at least this many bytes cannot be allocated, unless it is zero.
    pub limit: AtomicUsize,
    /// The next call of a method panics: 1 for `allocate`, 2 for `start_copy`, 3 for `is_done`.
    pub panics: AtomicUsize,
}

struct Pending {
    direction: Direction,
    host: usize,
    here: u64,
    bytes: usize,
    questions: u32,
}

impl Heap {
    /// How many copies were started and are not done.
    pub fn in_flight(&self) -> usize {
        self.copies.lock().unwrap().len()
    }

    /// Waits until the copies that are in flight were asked for so many times.
    pub fn wait_for_questions(&self, count: u32) {
        while !self.copies.lock().unwrap().values().all(|copy| copy.questions >= count) {
            std::thread::yield_now();
        }
    }

    fn panic_in(&self, method: usize) {
        if self.panics.compare_exchange(method, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            panic!("the heap is on fire");
        }
    }
}

// SAFETY: allocations come from the global allocator; copies are done before they are reported as done.
unsafe impl Memory for Heap {
    fn name(&self) -> &str {
        "heap"
    }

    fn allocate(&self, layout: Layout) -> Result<Address> {
        self.panic_in(1);
        let limit = self.limit.load(Ordering::SeqCst);
        if limit != 0 && layout.size() >= limit {
            return Err(Error::device("the heap is full"));
        }
        self.allocated.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the runtime never asks for no bytes.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        Ok(Address(memory as u64))
    }

    unsafe fn free(&self, address: Address, layout: Layout) {
        self.allocated.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: allocated above with the same layout.
        unsafe { std::alloc::dealloc(address.0 as *mut u8, layout) };
    }

    unsafe fn start_copy(&self, direction: Direction, host: *mut u8, here: Address, bytes: usize) -> CopyToken {
        self.panic_in(2);
        let token = self.next.fetch_add(1, Ordering::Relaxed);
        let pending = Pending { direction, host: host as usize, here: here.0, bytes, questions: 0 };
        self.copies.lock().unwrap().insert(token, pending);
        CopyToken(token)
    }

    fn host_pointer(&self, address: Address) -> Option<*mut u8> {
        Some(address.0 as *mut u8)
    }

    fn is_done(&self, copy: CopyToken) -> bool {
        let mut copies = self.copies.lock().unwrap();
        if self.panics.load(Ordering::SeqCst) == 3 {
            copies.remove(&copy.0);
            drop(copies);
            self.panic_in(3);
            return true;
        }
        let pending = copies.get_mut(&copy.0).expect("nobody asks after a copy is done");
        pending.questions += 1;
        if pending.questions < 3 || self.held.load(Ordering::SeqCst) {
            return false;
        }
        let Pending { direction, host, here, bytes, .. } = copies.remove(&copy.0).unwrap();
        let (host, here) = (host as *mut u8, here as *mut u8);
        self.copied.fetch_add(bytes, Ordering::Relaxed);
        // SAFETY: promised by who started the copy.
        unsafe {
            match direction {
                Direction::FromHost => here.copy_from_nonoverlapping(host, bytes),
                Direction::ToHost => host.copy_from_nonoverlapping(here, bytes),
            }
        }
        true
    }
}

/// What an [`Accelerator`] runs in the place of a body: anything, with the launch at hand.
pub type Kernel = Box<dyn Fn(&mut Launch<'_>) -> Progress + Send + Sync>;

/// Runs bodies or kernels on its heap, some time after they were started.
pub struct Accelerator {
    pub heap: Arc<Heap>,
    questions: u32,
    init: Option<Box<dyn FnMut() -> Result<()> + Send>>,
}

impl Accelerator {
    pub fn new(heap: &Arc<Heap>) -> Self {
        Self { heap: Arc::clone(heap), questions: 0, init: None }
    }

    /// One whose `init` does something.
    pub fn with_init(init: impl FnMut() -> Result<()> + Send + 'static) -> Self {
        Self { init: Some(Box::new(init)), ..Self::new(&Arc::default()) }
    }
}

impl Device for Accelerator {
    fn kind(&self) -> &str {
        "accelerator"
    }

    fn memory(&self) -> Arc<dyn Memory> {
        Arc::clone(&self.heap) as Arc<dyn Memory>
    }

    fn init(&mut self) -> Result<()> {
        self.init.as_mut().map_or(Ok(()), |init| init())
    }

    fn start(&mut self, _: &mut Launch<'_>) -> Progress {
        self.questions = 0;
        Progress::Pending
    }

    fn poll(&mut self, launch: &mut Launch<'_>) -> Progress {
        self.questions += 1;
        if self.questions < 3 {
            return Progress::Pending;
        }
        let kernel = launch.implementation().map(|kernel| std::ptr::from_ref(kernel.downcast_ref::<Kernel>().unwrap()));
        match kernel {
            // SAFETY: the kernel lives as long as the task, which runs.
            Some(kernel) => unsafe { (*kernel)(launch) },
            None => Progress::Done(launch.run_body()),
        }
    }
}

/// A runtime with some devices, each with a memory of its own.
pub fn with_accelerators(count: usize) -> (Loom, Vec<Arc<Heap>>) {
    with_accelerators_in(Loom::builder().workers(2), count)
}

pub fn with_accelerators_in(mut builder: LoomBuilder, count: usize) -> (Loom, Vec<Arc<Heap>>) {
    let heaps: Vec<Arc<Heap>> = (0..count).map(|_| Arc::default()).collect();
    for heap in &heaps {
        builder = builder.device(Accelerator::new(heap));
    }
    (builder.build().unwrap(), heaps)
}
