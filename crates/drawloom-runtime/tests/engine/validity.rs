//! Bytes that a device returns need not be values: a `bool` is 0 or 1. No view of others is ever made.

use std::alloc::Layout;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use drawloom_runtime::device::{Device, Launch, Progress};
use drawloom_runtime::memory::{Address, CopyToken, Direction, Memory};
use drawloom_runtime::{Element, ErrorKind, Loom, Region, Result};

use crate::heap::{Kernel, with_accelerators};

/// A memory of plain bytes that safe code may change.
#[derive(Default)]
struct Bytes(Mutex<HashMap<u64, Vec<u8>>>);

impl Bytes {
    fn put(&self, region: Address, at: usize, byte: u8) {
        self.0.lock().unwrap().get_mut(&region.0).unwrap()[at] = byte;
    }
}

/// Addresses of different allocations are that far apart.
const APART: u64 = 1 << 32;

// SAFETY: every allocation is a vector of its own, and copies are done at once.
unsafe impl Memory for Bytes {
    fn name(&self) -> &str {
        "bytes"
    }

    fn allocate(&self, layout: Layout) -> Result<Address> {
        let mut all = self.0.lock().unwrap();
        let address = (all.len() as u64 + 1) * APART;
        all.insert(address, vec![0; layout.size()]);
        Ok(Address(address))
    }

    unsafe fn free(&self, _: Address, _: Layout) {}

    unsafe fn start_copy(&self, direction: Direction, host: *mut u8, here: Address, bytes: usize) -> CopyToken {
        let (base, at) = (here.0 / APART * APART, (here.0 % APART) as usize);
        let mut all = self.0.lock().unwrap();
        let here = &mut all.get_mut(&base).unwrap()[at..at + bytes];
        // SAFETY: promised by the caller.
        let host = unsafe { std::slice::from_raw_parts_mut(host, bytes) };
        match direction {
            Direction::FromHost => here.copy_from_slice(host),
            Direction::ToHost => host.copy_from_slice(here),
        }
        CopyToken(0)
    }

    fn is_done(&self, _: CopyToken) -> bool {
        true
    }
}

/// Writes a byte into the first argument of each task: which byte, and where, are values of the task. All of it is safe code.
struct Writer(Arc<Bytes>);

impl Device for Writer {
    fn kind(&self) -> &str {
        "writer"
    }

    fn memory(&self) -> Arc<dyn Memory> {
        Arc::clone(&self.0) as Arc<dyn Memory>
    }

    fn start(&mut self, launch: &mut Launch<'_>) -> Progress {
        let region = launch.arguments().next().unwrap().region;
        self.0.put(region, launch.value::<u64>(0).unwrap() as usize, launch.value::<u8>(1).unwrap());
        Progress::Done(Ok(()))
    }

    fn poll(&mut self, _: &mut Launch<'_>) -> Progress {
        unreachable!("a task is done when it starts")
    }
}

fn with_writer() -> Loom {
    Loom::builder().workers(2).device(Writer(Arc::default())).build().unwrap()
}

#[test]
fn a_device_that_returns_a_2_for_a_bool_fails_the_task_that_reads_it() {
    let loom = with_writer();
    let mask = loom.vector("mask", vec![true; 4]);
    loom.task("kernel").update(&mask).value(2_u64).value(2_u8).on_device("writer").run(|_, _, _| ());
    let error = loom.task("here").read(&mask).run(|_| ()).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    let text = error.to_string();
    assert!(text.contains("`here`") && text.contains("element 2 of region `mask` in memory `bytes`"), "{text}");
    assert!(text.contains("is not a valid `bool`: its bytes are [2]"), "{text}");
    assert!(mask.read().is_err());
    // A task that writes them anew gets a view before it does so.
    let seen = loom.task("anew").write(&mask).returns(|mask| {
        let seen = mask.iter().filter(|&&is_set| is_set).count();
        mask.fill(true);
        seen
    });
    assert!(seen.wait().unwrap() <= 3);
    assert_eq!(mask.to_vec().unwrap(), [true; 4]);
    // What a device leaves as it should be comes back.
    loom.task("kernel").update(&mask).value(1_u64).value(0_u8).on_device("writer").run(|_, _, _| ());
    assert_eq!(mask.to_vec().unwrap(), [true, false, true, true]);
}

#[test]
fn truth_values_inside_of_structs_and_arrays_are_looked_at_too() {
    #[derive(Clone, Copy, Debug, PartialEq, Element)]
    #[repr(C)]
    struct Cell {
        level: u16,
        flags: [bool; 2],
    }
    let loom = with_writer();
    let cell = Cell { level: 0x0303, flags: [true, false] };
    let cells = loom.vector("cells", vec![cell; 3]);
    // The level of the second cell may be anything.
    loom.task("kernel").update(&cells).value(4_u64).value(9_u8).on_device("writer").run(|_, _, _| ());
    assert_eq!(cells.to_vec().unwrap()[1].level.to_ne_bytes(), [9, 3]);
    loom.task("kernel").update(&cells).value(11_u64).value(9_u8).on_device("writer").run(|_, _, _| ());
    let text = cells.to_vec().unwrap_err().to_string();
    assert!(text.contains("element 2 of region `cells`") && text.contains("[3, 3, 1, 9]"), "{text}");
    assert!(text.contains("Cell`"), "{text}");
}

/// A body that runs in the memory of a device sees what kernels before it have left there.
#[test]
fn a_body_on_a_device_sees_no_bool_of_2_either() {
    let (loom, _heaps) = with_accelerators(1);
    let mask = loom.vector("mask", vec![true; 4]);
    let spoils: Kernel = Box::new(|launch| {
        let region = launch.arguments().next().unwrap().region;
        // SAFETY: the device has the region for itself, in memory of this process.
        unsafe { *(region.0 as *mut u8).add(1) = 2 };
        Progress::Done(Ok(()))
    });
    loom.task("kernel").update(&mask).implementation("accelerator", spoils).on_device("accelerator").run(|_| ());
    let error = loom.task("body").read(&mask).on_device("accelerator").run(|_| ()).wait().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`body`") && text.contains("element 1 of region `mask` in memory `heap`"), "{text}");
    let anew = loom.task("anew").write(&mask).on_device("accelerator").run(|mask| mask.fill(false));
    anew.wait().unwrap();
    assert_eq!(mask.to_vec().unwrap(), [false; 4]);
}

#[test]
fn elements_of_any_alignment_are_aligned_everywhere() {
    #[derive(Clone, Copy, Element)]
    #[repr(C, align(4096))]
    struct Page([u8; 4096]);
    let (loom, _heaps) = with_accelerators(1);
    let offset = |page: &Page| std::ptr::from_ref(page) as usize % 4096;
    for round in 0..4 {
        let x = loom.vector("x", vec![Page([round; 4096]); 2]);
        let there = loom.task("there").update(&x).on_device("accelerator").returns(move |x| offset(&x[1]));
        assert_eq!(there.wait().unwrap(), 0);
        assert_eq!(loom.task("here").read(&x).returns(move |x| offset(&x[1])).wait().unwrap(), 0);
        let scratch = loom.task("scratch").scratch::<u8>(100).scratch::<Page>(2).scratch::<Page>(1);
        let offsets = scratch.returns(move |_, two, one| {
            two[1].0.fill(1);
            (offset(&two[0]) + offset(&one[0]), one[0].0[0])
        });
        assert_eq!(offsets.wait().unwrap(), (0, 0));
        let value = loom.task("value").value(Page([round; 4096])).returns(move |page| (offset(&page), page.0[4095]));
        assert_eq!(value.wait().unwrap(), (0, round));
    }
}
