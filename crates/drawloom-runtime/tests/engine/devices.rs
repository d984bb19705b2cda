//! Tasks on devices: who runs them, and what they may do there.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::heap::{Accelerator, Heap, Kernel, with_accelerators, with_accelerators_in};
use drawloom_runtime::device::Progress;
use drawloom_runtime::{Error, ErrorKind, Future, Loom, Region, Sum};

#[test]
fn a_wait_on_a_device_is_an_error_that_names_both_tasks() {
    let (loom, _heaps) = with_accelerators(1);
    let (inner, other_loom) = (loom.clone(), loom.clone());
    let said = loom.task("outer").on_device("accelerator").returns(move || {
        let (go, wait_to_go) = mpsc::channel::<()>();
        let child = inner.task("child").run(move || wait_to_go.recv().unwrap());
        let errors = [child.wait().unwrap_err(), inner.wait_all().unwrap_err()];
        go.send(()).unwrap();
        errors
    });
    for (error, other) in said.wait().unwrap().iter().zip(["`child`", "all tasks"]) {
        assert_eq!(error.kind(), ErrorKind::WaitInTask);
        assert!(error.to_string().contains("`outer`") && error.to_string().contains(other), "{error}");
    }
    // A stranger is not waited for, either.
    let (go, wait_to_go) = mpsc::channel::<()>();
    let stranger = other_loom.task("stranger").run(move || wait_to_go.recv().unwrap());
    let error =
        loom.task("outer").on_device("accelerator").returns(move || stranger.wait().unwrap_err()).wait().unwrap();
    go.send(()).unwrap();
    assert_eq!(error.kind(), ErrorKind::WaitInTask);
    assert!(error.to_string().contains("`outer`") && error.to_string().contains("`stranger`"), "{error}");
    let x = loom.value("x", 1_u64);
    let error = loom.task("outer").on_device("accelerator").returns(move || x.get().unwrap_err()).wait().unwrap();
    assert_eq!(error.kind(), ErrorKind::WaitInTask);
}

#[test]
fn children_of_a_task_on_a_device_are_ordered_and_end_with_it() {
    for (loom, _heaps) in [(Loom::serial(), Vec::new()), with_accelerators(1), with_accelerators(2)] {
        let x = loom.vector("x", vec![1_u64; 100]);
        for _ in 0..20 {
            let (inner, lent) = (loom.clone(), x.clone());
            loom.task("parent").lend(&x).on_device("accelerator").run(move |_| {
                for (block, number) in lent.blocks(10).unwrap().zip(0..) {
                    let child = inner.task("double").update(&block);
                    let child = if number % 2 == 0 { child.on_device("accelerator") } else { child };
                    child.run(|block| block.iter_mut().for_each(|x| *x = x.wrapping_mul(2)));
                }
                inner.task("add").update(&lent).run(|x| x.iter_mut().for_each(|x| *x = x.wrapping_add(1)));
            });
        }
        let expected = (0..20).fold(1_u64, |x, _| x.wrapping_mul(2).wrapping_add(1));
        assert_eq!(x.to_vec().unwrap(), [expected; 100]);
    }
}

#[test]
fn a_child_of_a_task_on_a_device_touches_only_what_was_lent() {
    let (loom, _heaps) = with_accelerators(1);
    let x = loom.value("x", 1_u64);
    let (inner, foreign) = (loom.clone(), x.clone());
    let parent = loom.task("parent").on_device("accelerator").run(move || {
        inner.task("child").update(&foreign).run(|x| *x = 2);
    });
    let error = parent.wait().unwrap_err();
    assert!(error.to_string().contains("`child`") && error.to_string().contains("`x`"), "{error}");
    let _ = loom.wait_all();
    assert_eq!(x.get().unwrap(), 1);
}

#[test]
fn submission_from_a_device_is_never_throttled() {
    let builder = Loom::builder().workers(1).undriven([0]).in_flight(64);
    let (loom, _heaps) = with_accelerators_in(builder, 1);
    let inner = loom.clone();
    let (done, is_done) = mpsc::channel();
    loom.task("parent").on_device("accelerator").run(move || {
        // Nobody runs these yet, so a submission that waited for room would wait for ever.
        for _ in 0..2000 {
            inner.task("child").run(|| ());
        }
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(60)).expect("the body returned");
    let mut driver = loom.driver(loom.worker(0).unwrap()).unwrap();
    driver.init().unwrap();
    while driver.run_once().unwrap() {}
    driver.deinit();
    loom.wait_all().unwrap();
}

#[test]
fn a_task_that_may_be_tried_again_is_left_to_processors() {
    for (loom, heaps) in [(Loom::serial(), Vec::new()), with_accelerators(1)] {
        let x = loom.value("x", 0_u64);
        let tries = Arc::new(AtomicU64::new(0));
        let unlucky = loom.task("unlucky").update(&x).implementation("accelerator", 7_u64).retry(1);
        let result = unlucky.try_run(move |x| {
            *x += 1;
            if tries.fetch_add(1, Ordering::Relaxed) == 0 { Err("at first") } else { Ok(*x) }
        });
        assert_eq!(result.wait().unwrap(), 1);
        let named = loom.task("named").update(&x).on_device("accelerator").retry(1).returns(|x| *x).wait();
        let said = named.map_err(|error| (error.kind(), error.to_string()));
        match said {
            Ok(x) => assert!(heaps.is_empty() && x == 1, "only the serial engine runs the body"),
            Err((kind, text)) => assert!(kind == ErrorKind::Setting && text.contains("it is tried again"), "{text}"),
        }
    }
}

#[test]
fn reductions_and_teams_on_devices_are_refused_by_name() {
    let (loom, _heaps) = with_accelerators(1);
    let sum = loom.value("sum", 0_u64);
    let contribution = loom.task("add").reduce(&sum, Sum).on_device("accelerator").run(|sum| *sum += 1);
    let error = contribution.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setting);
    assert!(error.to_string().contains("`add`") && error.to_string().contains("`sum`"), "{error}");
    let error = loom.task("all").on_device("accelerator").team(2).run(|_| ()).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setting);
    assert!(error.to_string().contains("`all`") && error.to_string().contains("team"), "{error}");
}

#[test]
fn a_device_that_cannot_be_used_fails_its_tasks_with_its_reason() {
    for panics in [false, true] {
        let device =
            Accelerator::with_init(move || if panics { panic!("no power") } else { Err(Error::device("no power")) });
        let loom = Loom::builder().workers(1).device(device).build().unwrap();
        for _ in 0..3 {
            let error = loom.task("there").on_device("accelerator").run(|| ()).wait().unwrap_err();
            let text = error.to_string();
            assert!(text.contains("`there`") && text.contains("`accelerator`") && text.contains("no power"), "{text}");
        }
        // Whoever has another choice takes it.
        let kernel: Kernel = Box::new(|_| panic!("the device is broken"));
        loom.task("anywhere").implementation("accelerator", kernel).run(|| ()).wait().unwrap();
        let _ = loom.wait_all();
    }
}

#[test]
fn a_device_that_works_gets_the_tasks_of_one_that_does_not() {
    for first in [true, false] {
        let broken = || Accelerator::with_init(|| panic!("no power"));
        let heap = Arc::new(Heap::default());
        let builder = Loom::builder().workers(1);
        let builder = if first { builder.device(broken()).device(broken()) } else { builder };
        let builder = builder.device(Accelerator::new(&heap));
        let loom = if first { builder } else { builder.device(broken()) }.build().unwrap();
        let x = loom.vector("x", vec![0_u64; 10]);
        for _ in 0..100 {
            loom.task("there").update(&x).on_device("accelerator").run(|x| x[3] += 1);
        }
        loom.wait_all().unwrap();
        assert_eq!(x.to_vec().unwrap()[3], 100);
    }
}

#[test]
fn a_task_for_a_device_that_becomes_ready_after_the_end_is_cancelled() {
    let builder = Loom::builder().workers(1).patience(Duration::from_millis(20));
    let (loom, _heaps) = with_accelerators_in(builder, 1);
    let x = loom.value("x", 1_u64);
    let guard = x.write().unwrap();
    let (first, second) = (Arc::new(()), Arc::new(()));
    let (kept, kept_too) = (Arc::clone(&first), Arc::clone(&second));
    let late = loom.task("late").update(&x).on_device("accelerator").run(move |_| drop(kept));
    let kernel: Kernel = Box::new(|launch| Progress::Done(launch.run_body()));
    let later = loom.task("later").update(&x).implementation("accelerator", kernel).run(move |_| drop(kept_too));
    drop(loom);
    assert!(!late.is_complete());
    drop(guard);
    assert!(late.is_complete() && later.is_complete());
    assert_eq!(late.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(later.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 1), "what the bodies captured is dropped");
}

/// A program whose tasks have a body for processors and an implementation for devices.
fn anywhere(loom: &Loom, here: &Arc<AtomicUsize>, there: &Arc<AtomicUsize>) -> Vec<u64> {
    let x = loom.vector("x", (0..240_u64).collect());
    for round in 0..30_u64 {
        let pieces: Vec<_> =
            if round % 2 == 0 { x.blocks(6).unwrap().collect() } else { x.halos(4, 7).unwrap().collect() };
        for piece in &pieces {
            let (count, other) = (Arc::clone(there), Arc::clone(here));
            let kernel: Kernel = Box::new(move |launch| {
                // A device that has not met a processor yet waits for one, and so does a processor: both must get some.
                count.fetch_max(1, Ordering::SeqCst);
                if other.load(Ordering::SeqCst) == 0 {
                    return Progress::Pending;
                }
                count.fetch_add(1, Ordering::SeqCst);
                Progress::Done(launch.run_body())
            });
            let (count, other) = (Arc::clone(here), Arc::clone(there));
            let has_devices = loom.workers() > 0;
            loom.task("step").update(piece).implementation("accelerator", kernel).run(move |piece| {
                let by_device = std::thread::current().name().is_some_and(|name| name.contains("accelerator"));
                if has_devices && !by_device {
                    count.fetch_add(1, Ordering::SeqCst);
                    while other.load(Ordering::SeqCst) == 0 {
                        std::thread::yield_now();
                    }
                }
                for x in piece.iter_mut() {
                    *x = x.wrapping_mul(31).wrapping_add(round);
                }
                piece.rotate_left(1);
            });
        }
    }
    x.to_vec().unwrap()
}

#[test]
fn processors_and_devices_share_tasks_that_both_can_run() {
    let none = || Arc::new(AtomicUsize::new(0));
    let expected = anywhere(&Loom::serial(), &none(), &none());
    for count in 1..=3 {
        let (here, there) = (none(), none());
        let (loom, _heaps) = with_accelerators(count);
        assert_eq!(anywhere(&loom, &here, &there), expected, "{count} accelerators");
        let (here, there) = (here.load(Ordering::SeqCst), there.load(Ordering::SeqCst));
        assert!(here > 0 && there > 1, "{here} here, {there} there");
    }
    // Without a device of the kind, everything runs here.
    let (here, there) = (none(), Arc::new(AtomicUsize::new(1)));
    assert_eq!(anywhere(&Loom::builder().workers(2).build().unwrap(), &here, &there), expected);
    assert_eq!(there.load(Ordering::SeqCst), 1);
}

#[test]
fn what_only_processors_can_do_stays_with_them() {
    let builder = Loom::builder().workers(2);
    let (loom, _heaps) = with_accelerators_in(builder, 1);
    let never = || -> Kernel { Box::new(|_| panic!("not on a device")) };
    let words = loom.host_vector("words", vec![String::from("a")]);
    let sum = loom.value("sum", 0_u64);
    for _ in 0..100 {
        loom.task("word").update(&words).implementation("accelerator", never()).run(|words| words[0].push('b'));
        loom.task("add").reduce(&sum, Sum).implementation("accelerator", never()).run(|sum| *sum += 1);
        loom.task("team").implementation("accelerator", never()).team(2).run(|member| member.barrier());
    }
    loom.wait_all().unwrap();
    assert_eq!((words.read().unwrap()[0].len(), sum.get().unwrap()), (101, 100));
}

#[test]
fn an_implementation_knows_its_arguments_and_leaves_no_value() {
    let (loom, _heaps) = with_accelerators(1);
    let x = loom.vector("x", (0..10_u32).collect());
    let block = x.blocks(2).unwrap().nth(1).unwrap();
    let kernel: Kernel = Box::new(|launch| {
        let arguments: Vec<_> = launch.arguments().collect();
        assert_eq!((launch.name(), arguments.len()), ("double", 1));
        let argument = arguments[0];
        assert_eq!((argument.element_bytes, argument.elements, argument.first, argument.changes), (4, 5, 5, true));
        let start = argument.region.0 as *mut u32;
        for at in argument.first..argument.first + argument.elements {
            // SAFETY: the heap is memory of this process, and the task was granted these elements.
            unsafe { *start.add(at) *= 2 };
        }
        Progress::Done(Ok(()))
    });
    let task = loom.task("double").update(&block).on_device("accelerator").implementation("accelerator", kernel);
    let value = task.returns(|_| unreachable!("the kernel runs in the place of the body"));
    let value: Future<()> = value;
    let error = value.wait().unwrap_err();
    assert!(error.to_string().contains("no value"), "{error}");
    assert_eq!(x.to_vec().unwrap(), [0, 1, 2, 3, 4, 10, 12, 14, 16, 18]);
}

#[test]
fn a_device_that_panics_fails_its_task_and_goes_on() {
    let (loom, _heaps) = with_accelerators(1);
    let x = loom.value("x", 1_u64);
    let kernel: Kernel = Box::new(|_| panic!("a fuse blew"));
    let task = loom.task("bad").update(&x).on_device("accelerator").implementation("accelerator", kernel);
    let error = task.run(|_| ()).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert!(error.to_string().contains("`bad`") && error.to_string().contains("a fuse blew"), "{error}");
    loom.task("heal").write(&x).on_device("accelerator").run(|x| *x = 3);
    assert_eq!(x.get().unwrap(), 3);
}

#[test]
fn recorded_tasks_have_implementations_for_devices_in_every_run() {
    let replay = |loom: &Loom, counts: &[Arc<AtomicUsize>; 3]| {
        let (x, other) = (loom.vector("x", (0..64_u64).collect()), loom.vector("other", (64..128_u64).collect()));
        let capture = loom.capture("rounds");
        let [only, either, here] = counts.each_ref().map(Arc::clone);
        for block in x.blocks(4).unwrap() {
            let (only, either, here) = (Arc::clone(&only), Arc::clone(&either), Arc::clone(&here));
            capture.task("there").update(&block).on_device("accelerator").run(move |block| {
                only.fetch_add(1, Ordering::SeqCst);
                block.iter_mut().for_each(|x| *x = x.wrapping_mul(3));
            });
            let kernel: Kernel = Box::new(move |launch| {
                either.fetch_add(1, Ordering::SeqCst);
                Progress::Done(launch.run_body())
            });
            capture.task("anywhere").update(&block).implementation("accelerator", kernel).run(move |block| {
                here.fetch_add(1, Ordering::SeqCst);
                block.iter_mut().for_each(|x| *x = x.wrapping_add(7));
            });
        }
        capture.task("here").update(&x).run(|x| x.rotate_left(5));
        let plan = capture.plan().unwrap();
        let rebound = plan.rebind(&x, &other).unwrap();
        for _ in 0..10 {
            plan.run().unwrap();
            rebound.run().unwrap();
        }
        [x.to_vec().unwrap(), other.to_vec().unwrap()]
    };
    let none = || [0; 3].map(|_| Arc::new(AtomicUsize::new(0)));
    let expected = replay(&Loom::serial(), &none());
    for count in 1..=2 {
        let (loom, heaps) = with_accelerators(count);
        let counts = none();
        assert_eq!(replay(&loom, &counts), expected, "{count} accelerators");
        let [only, either, here] = counts.map(|count| count.load(Ordering::SeqCst));
        // Two plans of four blocks, ten times each; the kernel runs the body, too.
        assert_eq!((only, here), (80, 80));
        assert!(either <= 80);
        let copied: usize = heaps.iter().map(|heap| heap.copied.load(Ordering::SeqCst)).sum();
        assert!(copied > 0, "nothing ever was on a device");
    }
}

/// A value of several fields.
#[derive(Clone, Copy, Debug, PartialEq, drawloom_runtime::Element)]
#[repr(C)]
struct Scale {
    by: f64,
    times: u8,
    reserved: [u8; 7],
}

/// What an accelerator runs in the place of the body: it finds what the task was given.
fn scales() -> Kernel {
    Box::new(|launch| {
        let (Some(scale), Some(offset)) = (launch.value::<Scale>(0), launch.value::<f64>(1)) else {
            return Progress::Done(Err("the values are not there".into()));
        };
        let wrong = launch.value::<f64>(0).is_some() || launch.value::<f64>(2).is_some();
        assert!(!wrong, "there is no such value");
        let Some(argument) = launch.arguments().next() else { return Progress::Done(Err("no argument".into())) };
        let start = argument.region.0 as *mut f64;
        for i in argument.first..argument.first + argument.elements {
            // SAFETY: the device has the region for itself, in memory of this process.
            unsafe { *start.add(i) = scale.by * *start.add(i) * f64::from(scale.times) + offset };
        }
        Progress::Done(Ok(()))
    })
}

#[test]
fn a_task_is_given_values_whoever_runs_it() {
    for (loom, heaps) in [(Loom::serial(), Vec::new()), with_accelerators(0), with_accelerators(2)] {
        let x = loom.vector("x", vec![1.0_f64; 8]);
        let scale = Scale { by: 0.5, times: 3, reserved: [0; 7] };
        for on_device in [false, true] {
            x.overwrite().unwrap().fill(1.0);
            for block in x.blocks(4).unwrap() {
                let task = loom.task("scale").value(scale).update(&block).value(4.0);
                let task = if on_device && !heaps.is_empty() { task.on_device("accelerator") } else { task };
                task.implementation("accelerator", scales()).run(|scale: Scale, block, offset: f64| {
                    block.iter_mut().for_each(|x| *x = scale.by * *x * f64::from(scale.times) + offset);
                });
            }
            assert_eq!(x.to_vec().unwrap(), [5.5; 8]);
        }
        loom.wait_all().unwrap();
    }
}

#[test]
fn values_have_their_place_among_all_other_arguments_also_in_plans_teams_and_other_tries() {
    for loom in [Loom::serial(), Loom::builder().workers(3).build().unwrap()] {
        let (x, sum) = (loom.vector("x", vec![1_u64; 6]), loom.value("sum", 0_u64));
        let blocks: Vec<_> = x.blocks(3).unwrap().collect();
        let capture = loom.capture("plan");
        let tries = AtomicU64::new(0);
        capture
            .task("all")
            .value(7_u64)
            .read_all(&blocks)
            .value([1_u8, 2, 3])
            .scratch::<u64>(2)
            .reduce(&sum, Sum)
            .value(false)
            .run(|seven, blocks, bytes, scratch, sum, no| {
                assert_eq!((bytes, scratch.len(), no), ([1, 2, 3], 2, false));
                *sum += seven * blocks.iter().map(|block| block[0]).sum::<u64>();
            });
        capture.task("team").update_all(&blocks).value(2_u64).team(1..=2).run(|_, mut blocks, two| {
            blocks.iter_mut().for_each(|block| block.mine().iter_mut().for_each(|x| *x *= two));
        });
        capture.task("again").value(1_u64).update(&x).retry(1).try_run(move |one, x| {
            x.iter_mut().for_each(|x| *x += one);
            if tries.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) { Err("not yet") } else { Ok(()) }
        });
        let plan = capture.plan().unwrap();
        plan.run().unwrap();
        plan.run().unwrap();
        assert_eq!(x.to_vec().unwrap(), [7; 6]);
        assert_eq!(sum.get().unwrap(), 7 * 3 + 7 * 9);
    }
}
