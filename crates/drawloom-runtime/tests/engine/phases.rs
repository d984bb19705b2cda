//! The phases of a worker's turn, as a recording shows them.

use std::sync::atomic::Ordering;

use crate::heap::with_accelerators_in;
use drawloom_runtime::Loom;
use drawloom_trace::verify;
use drawloom_trace::{Event, EventKind, IdleReason, Trace};

fn traced(loom: &Loom, program: impl FnOnce(&Loom)) -> Trace {
    loom.trace_start();
    program(loom);
    // Regions that the program dropped may have left something to fold.
    loom.wait_all().unwrap();
    loom.trace_stop()
}

/// What the only worker of a runtime entered, as numbers of phases, from one event to another.
fn phases(trace: &Trace) -> Vec<u32> {
    let of_worker = |e: &&Event| e.kind == EventKind::Phase && e.worker() == Some(0);
    trace.events.iter().filter(of_worker).map(|e| e.value).collect()
}

#[test]
fn the_phases_of_a_turn_are_recorded_in_their_order_and_at_their_times() {
    let loom = Loom::builder().workers(1).undriven([0]).trace(true).build().unwrap();
    loom.task("only").run(|| ());
    let mut driver = loom.driver(loom.worker(0).unwrap()).unwrap();
    driver.init().unwrap();
    assert!(driver.run_once().unwrap());
    assert!(!driver.run_once().unwrap());
    driver.deinit();
    let trace = loom.trace_stop();
    assert_eq!(phases(&trace), [0, 1, 2, 3, 4, 0, 1, 2, 3]);
    // The task runs inside of its phase, and each phase has a time of its own.
    let kinds: Vec<EventKind> = trace.events.iter().filter(|e| e.worker() == Some(0)).map(|e| e.kind).collect();
    use EventKind::{End, Phase, Start};
    assert_eq!(kinds, [Phase, Phase, Phase, Phase, Phase, Start, End, Phase, Phase, Phase, Phase]);
    let times: Vec<u64> = trace.events.iter().filter(|e| e.kind == Phase).map(|e| e.time).collect();
    assert!(times[0] < times[4] && times[5] < times[8], "{times:?}");
}

/// A worker that is driven by hand fetches what a device has written. The copy is held back meanwhile.
#[test]
fn transfers_progress_in_turns_that_got_no_task() {
    let builder = Loom::builder().workers(1).undriven([0]);
    let (loom, heaps) = with_accelerators_in(builder, 1);
    let x = loom.vector("x", vec![1_u64; 10]);
    loom.task("there").update(&x).on_device("accelerator").run(|x| x.fill(7)).wait().unwrap();
    loom.trace_start();
    let here = loom.task("here").read(&x).returns(|x| x[0]);
    let mut driver = loom.driver(loom.worker(0).unwrap()).unwrap();
    driver.init().unwrap();
    heaps[0].held.store(true, Ordering::SeqCst);
    for turn in 0..5 {
        assert!(driver.run_once().unwrap(), "there is something to do");
        assert_eq!(heaps[0].in_flight(), 1, "the copy was started, and is not done in turn {turn}");
        assert!(!here.is_complete());
    }
    heaps[0].held.store(false, Ordering::SeqCst);
    assert!(driver.run_once().unwrap());
    assert!(here.is_complete() && heaps[0].in_flight() == 0);
    assert!(!driver.run_once().unwrap());
    driver.deinit();
    assert_eq!(here.wait().unwrap(), 7);
    let trace = loom.trace_stop();
    let mut expected = [0, 1, 2, 3].repeat(5);
    expected.extend([0, 1, 2, 3, 4, 0, 1, 2, 3]);
    assert_eq!(phases(&trace), expected);
    // The copy is started while the input is prepared, and is done while transfers progress, in another turn; until then
    // the worker waits for data.
    let seen: Vec<(EventKind, u32)> =
        trace.events.iter().filter(|e| e.worker() == Some(0)).map(|e| (e.kind, e.value)).collect();
    let place = |what| seen.iter().position(|seen| *seen == what).unwrap_or_else(|| panic!("{what:?} in {seen:?}"));
    let turn = |at: usize| seen[..at].iter().filter(|e| **e == (EventKind::Phase, 0)).count();
    let last_phase = |at: usize| seen[..at].iter().rfind(|e| e.0 == EventKind::Phase).unwrap().1;
    let (start, end) = (place((EventKind::TransferStart, 0)), place((EventKind::TransferEnd, 0)));
    assert_eq!([(turn(start), last_phase(start)), (turn(end), last_phase(end))], [(1, 2), (6, 3)]);
    let waits = place((EventKind::Idle, IdleReason::WaitingForData as u32));
    assert!(start < waits && waits < end && end < place((EventKind::Start, 0)), "{seen:?}");
    assert!(verify::verify(&trace).unwrap().is_clean());
}

#[test]
fn a_device_has_states_and_phases_like_a_worker() {
    let (loom, heaps) = with_accelerators_in(Loom::builder().workers(2), 1);
    let x = loom.vector("x", vec![1_u64; 10]);
    let trace = traced(&loom, |loom| {
        heaps[0].held.store(true, Ordering::SeqCst);
        let there = loom.task("there").update(&x).on_device("accelerator").run(|x| x.fill(7));
        // It waits for its data until that is let go; when it was asked several times, it was seen to wait.
        while heaps[0].in_flight() == 0 {
            std::thread::yield_now();
        }
        heaps[0].wait_for_questions(5);
        heaps[0].held.store(false, Ordering::SeqCst);
        there.wait().unwrap();
        assert_eq!(x.to_vec().unwrap(), [7; 10]);
    });
    let names: Vec<(&str, &str, u32)> = trace.workers.iter().map(|w| (&*w.name, &*w.kind, w.memory_node)).collect();
    assert_eq!(names, [("worker 0", "cpu", 0), ("worker 1", "cpu", 0), ("accelerator 0", "accelerator", 1)]);
    let there = trace.tasks.iter().find(|t| t.name == "there").unwrap().number;
    let start = trace.events.iter().find(|e| e.kind == EventKind::Start && e.task() == Some(there)).unwrap();
    assert_eq!(start.worker(), Some(2));
    let seen = |kind, value| trace.events.iter().any(|e| e.worker() == Some(2) && e.kind == kind && e.value == value);
    assert!(seen(EventKind::Idle, IdleReason::WaitingForData as u32));
    assert!((0..5).all(|phase| seen(EventKind::Phase, phase)));
    // One copy there, one back.
    let count = |kind| trace.events.iter().filter(|e| e.kind == kind).count();
    assert_eq!((count(EventKind::TransferStart), count(EventKind::TransferEnd)), (2, 2));
    assert!(verify::verify(&trace).unwrap().is_clean());
}
