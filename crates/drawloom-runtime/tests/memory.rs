//! A second memory in this process: tasks run there on copies, and everyone sees the right values.

use std::alloc::Layout;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use drawloom_runtime::device::{Device, Launch, Progress};
use drawloom_runtime::memory::{Address, CopyToken, Direction, Memory};
use drawloom_runtime::{ErrorKind, Loom, Region, Result, Sum};

/// A heap of its own. Copies are done a few questions after they were started, so nobody may rely on them before.
#[derive(Default)]
struct Heap {
    copies: Mutex<HashMap<u64, Pending>>,
    next: AtomicU64,
    allocated: AtomicUsize,
    copied: AtomicUsize,
}

struct Pending {
    direction: Direction,
    host: usize,
    here: u64,
    bytes: usize,
    questions: u32,
}

// SAFETY: allocations come from the global allocator; copies are done before they are reported as done.
unsafe impl Memory for Heap {
    fn name(&self) -> &str {
        "heap"
    }

    fn allocate(&self, layout: Layout) -> Result<Address> {
        self.allocated.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the runtime never asks for no bytes.
        let memory = unsafe { std::alloc::alloc(layout) };
        // Poison, so that reading what was never copied is seen.
        // SAFETY: just allocated.
        unsafe { memory.write_bytes(0xAB, layout.size()) };
        Ok(Address(memory as u64))
    }

    unsafe fn free(&self, address: Address, layout: Layout) {
        self.allocated.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: allocated above with the same layout.
        unsafe { std::alloc::dealloc(address.0 as *mut u8, layout) };
    }

    unsafe fn start_copy(&self, direction: Direction, host: *mut u8, here: Address, bytes: usize) -> CopyToken {
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
        let pending = copies.get_mut(&copy.0).expect("nobody asks after a copy is done");
        pending.questions += 1;
        if pending.questions < 3 {
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

/// Runs bodies on its heap, some time after they were started.
struct Accelerator {
    heap: Arc<Heap>,
    questions: u32,
}

impl Device for Accelerator {
    fn kind(&self) -> &str {
        "accelerator"
    }

    fn memory(&self) -> Arc<dyn Memory> {
        Arc::clone(&self.heap) as Arc<dyn Memory>
    }

    fn start(&mut self, _: &mut Launch<'_>) -> Progress {
        self.questions = 0;
        Progress::Pending
    }

    fn poll(&mut self, launch: &mut Launch<'_>) -> Progress {
        self.questions += 1;
        if self.questions < 3 { Progress::Pending } else { Progress::Done(launch.run_body()) }
    }
}

fn with_accelerators(count: usize) -> (Loom, Vec<Arc<Heap>>) {
    let heaps: Vec<Arc<Heap>> = (0..count).map(|_| Arc::default()).collect();
    let mut builder = Loom::builder().workers(2);
    for heap in &heaps {
        builder = builder.device(Accelerator { heap: Arc::clone(heap), questions: 0 });
    }
    (builder.build().unwrap(), heaps)
}

#[test]
fn data_follows_tasks_between_two_memories() {
    let (loom, heaps) = with_accelerators(1);
    let x = loom.vector("x", (0..100_u64).collect());
    loom.task("here").update(&x).run(|x| x.iter_mut().for_each(|x| *x += 1));
    loom.task("there").update(&x).on_device("accelerator").run(|x| x.iter_mut().for_each(|x| *x *= 2));
    loom.task("here").update(&x).run(|x| x.iter_mut().for_each(|x| *x += 3));
    let total: u64 = loom.task("sum").read(&x).on_device("accelerator").returns(|x| x.iter().sum()).wait().unwrap();
    assert_eq!(total, (0..100).map(|i| (i + 1) * 2 + 3).sum::<u64>());
    assert_eq!(x.to_vec().unwrap()[7], 19);
    drop(x);
    drop(loom);
    assert_eq!(heaps[0].allocated.load(Ordering::Relaxed), 0, "the replicate was freed with the region");
}

#[test]
fn only_what_is_needed_is_copied_and_only_once() {
    let (loom, heaps) = with_accelerators(1);
    let x = loom.vector("x", vec![1_u8; 1000]);
    let blocks: Vec<_> = x.blocks(10).unwrap().collect();
    let copied = || heaps[0].copied.load(Ordering::Relaxed);
    loom.task("read").read(&blocks[3]).on_device("accelerator").run(|_| ()).wait().unwrap();
    assert_eq!(copied(), 100, "one block went there");
    loom.task("read").read(&blocks[3]).on_device("accelerator").run(|_| ()).wait().unwrap();
    assert_eq!(copied(), 100, "it is there already");
    loom.task("write").write(&blocks[4]).on_device("accelerator").run(|b| b.fill(9)).wait().unwrap();
    assert_eq!(copied(), 100, "what is overwritten need not go there");
    assert_eq!(blocks[3].to_vec().unwrap(), [1; 100]);
    assert_eq!(copied(), 100, "what was only read there is still proper here");
    assert_eq!(blocks[4].to_vec().unwrap(), [9; 100]);
    assert_eq!(copied(), 200, "what was written there comes back when asked for");
}

/// The same program on all engines. Tasks alternate between this memory and others by a fixed pattern.
fn program(loom: &Loom) -> Vec<u64> {
    let x = loom.vector("x", (0..240_u64).collect());
    let total = loom.value("total", 0_u64);
    let mut rng = fastrand::Rng::with_seed(3);
    for round in 0..60_u64 {
        let pieces: Vec<_> = match round % 3 {
            0 => x.blocks(6).unwrap().collect(),
            1 => x.blocks(5).unwrap().collect(),
            _ => x.halos(4, 7).unwrap().collect(),
        };
        for piece in &pieces {
            let task = loom.task("step").update(piece);
            let task = if rng.bool() { task.on_device("accelerator") } else { task };
            task.run(move |piece| {
                for x in piece.iter_mut() {
                    *x = x.wrapping_mul(31).wrapping_add(round);
                }
                piece.rotate_left(1);
            });
        }
        if round % 10 == 9 {
            for piece in &pieces {
                loom.task("sum").read(piece).reduce(&total, Sum).run(|piece, total| {
                    *total = piece.iter().fold(*total, |t, x| t.wrapping_add(*x));
                });
            }
        }
    }
    let mut result = x.to_vec().unwrap();
    result.push(total.get().unwrap());
    result
}

#[test]
fn a_program_over_several_memories_gives_the_serial_result() {
    let expected = program(&Loom::serial());
    for count in 1..=3 {
        assert_eq!(program(&with_accelerators(count).0), expected, "{count} accelerators");
    }
}

#[test]
fn plans_find_data_that_devices_changed() {
    let (loom, _) = with_accelerators(1);
    let x = loom.vector("x", vec![1_u64; 10]);
    let capture = loom.capture("double");
    capture.task("double").update(&x).run(|x| x.iter_mut().for_each(|x| *x *= 2));
    let plan = capture.plan().unwrap();
    for _ in 0..5 {
        loom.task("add").update(&x).on_device("accelerator").run(|x| x.iter_mut().for_each(|x| *x += 1));
        plan.start();
    }
    assert_eq!(x.to_vec().unwrap(), [94; 10]);
}

#[test]
fn what_cannot_leave_this_process_is_refused_by_name() {
    let (loom, _) = with_accelerators(1);
    let words = loom.host_vector("words", vec![String::from("a")]);
    let error = loom.task("t").read(&words).on_device("accelerator").run(|_| ()).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setting);
    assert!(error.to_string().contains("`words`"), "{error}");
    let error = loom.task("t").on_device("quantum").run(|| ()).wait().unwrap_err();
    assert!(error.to_string().contains("`quantum`") && error.to_string().contains("`accelerator`"), "{error}");
}

#[test]
fn a_body_that_panics_on_a_device_fails_its_task_only() {
    let (loom, _) = with_accelerators(1);
    let x = loom.vector("x", vec![1_u64; 10]);
    let error = loom.task("bad").update(&x).on_device("accelerator").run(|_| panic!("oops")).wait().unwrap_err();
    assert!(error.to_string().contains("bad") && error.to_string().contains("oops"), "{error}");
    assert!(x.read().is_err());
    loom.task("heal").write(&x).on_device("accelerator").run(|x| x.fill(2));
    assert_eq!(x.to_vec().unwrap(), [2; 10]);
}

/// Contributions are private: whoever makes one takes nothing away from a device that is still writing.
#[test]
fn a_contribution_leaves_what_it_will_be_folded_into_where_it_is() {
    let (loom, _heaps) = with_accelerators(1);
    let x = loom.value("x", 0_u64);
    let ((go, gone), (start, started)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel());
    let gone = Mutex::new(gone);
    loom.task("write").write(&x).on_device("accelerator").run(move |x| {
        start.send(()).unwrap();
        gone.lock().unwrap().recv().unwrap();
        *x = 10;
    });
    started.recv().unwrap();
    loom.task("add").reduce(&x, Sum).run(|x| *x += 1).wait().unwrap();
    go.send(()).unwrap();
    assert_eq!(x.get().unwrap(), 11);
}

#[test]
fn recorded_tasks_run_on_devices_in_each_replay() {
    let (loom, _) = with_accelerators(1);
    let (x, sum) = (loom.vector("x", vec![1_u64; 10]), loom.value("sum", 0_u64));
    let capture = loom.capture("there and back");
    capture.task("here").update(&x).run(|x| x.iter_mut().for_each(|x| *x += 1));
    capture.task("there").update(&x).on_device("accelerator").run(|x| x.iter_mut().for_each(|x| *x *= 2));
    capture.task("sum").read(&x).update(&sum).run(|x, sum| *sum += x.iter().sum::<u64>());
    let plan = capture.plan().unwrap();
    for _ in 0..3 {
        plan.start();
    }
    assert_eq!(x.to_vec().unwrap(), [22; 10]);
    assert_eq!(sum.get().unwrap(), 40 + 100 + 220);
    let words = loom.host_vector("words", vec![String::from("a")]);
    let capture = loom.capture("stays");
    capture.task("t").read(&words).on_device("accelerator").run(|_| ());
    let error = capture.plan().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setting);
    assert!(error.to_string().contains("`t`") && error.to_string().contains("`words`"), "{error}");
}
