//! Whether the verifier of traces would find a mistake of the engine: one is made on purpose. And whether a recording has
//! everything, as far as there is room.

use std::sync::mpsc;
use std::time::Duration;

use drawloom_trace::EventKind;
use drawloom_trace::verify::{self, Rule};

use crate::Loom;

/// Runs two tasks that conflict, on two workers, with the edge between them left out. The first goes on only when the
/// second has started, so the mistake shows for certain.
#[test]
fn an_edge_that_is_left_out_on_purpose_is_found() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let x = loom.vector("x", vec![0_u64; 10]);
    let (first, second) = (x.blocks(2).unwrap().next().unwrap(), x.halos(2, 1).unwrap().nth(1).unwrap());
    let (send, receive) = mpsc::channel();
    loom.trace_start();
    loom.task("writer").write(&first).run(move |_| {
        // An end to a test that fails otherwise.
        receive.recv_timeout(Duration::from_secs(60)).expect("the edge was left out");
    });
    loom.core().leave_out_edge();
    loom.task("reader").read(&second).run(move |_| send.send(()).unwrap());
    loom.wait_all().unwrap();
    let trace = loom.trace_stop();
    let report = verify::verify(&trace).unwrap();
    let [violation] = &report.violations[..] else { panic!("{report}") };
    assert_eq!(violation.rule, Rule::Conflict);
    let text = violation.to_string();
    assert!(text.contains("\"reader\"") && text.contains("\"writer\"") && text.contains("region \"x\""), "{text}");
}

/// Each task takes eight records at most, and a recording has room for some twenty thousand tasks here.
#[test]
fn a_recording_that_is_too_long_says_how_much_it_lost() {
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let x = loom.value("x", 0_u64);
        loom.trace_start();
        for _ in 0..40_000 {
            loom.task("add").update(&x).run(|x| *x += 1);
        }
        loom.wait_all().unwrap();
        let trace = loom.trace_stop();
        assert_eq!(x.get().unwrap(), 40_000);
        assert!(trace.dropped > 10_000 && trace.tasks.len() > 1000 && trace.tasks.len() < 40_000, "{}", trace.dropped);
        assert!(trace.events.iter().any(|e| e.kind == EventKind::Dropped));
        assert!(verify::verify(&trace).unwrap().is_clean());
        // The next one has all the room again.
        loom.trace_start();
        loom.task("add").update(&x).run(|x| *x += 1);
        loom.wait_all().unwrap();
        let trace = loom.trace_stop();
        assert_eq!((trace.tasks.len(), trace.dropped), (1, 0));
    }
}

/// A million failures are kept in as little memory as a few.
#[test]
fn failures_that_nobody_can_ask_for_are_forgotten() {
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let x = loom.value("x", 0_u64);
        for round in 0..20 {
            for _ in 0..2000 {
                loom.task("bad").update(&x).try_run(|_| Err::<(), _>("no"));
                loom.task("next").read(&x).run(|_| ());
                loom.task("heal").write(&x).run(|x| *x = 1);
            }
            if round % 4 == 0 {
                loom.wait_all().unwrap_err();
            }
        }
        loom.wait_all().unwrap_err();
        // Those whose futures were dropped before anything had failed may be left: as many as can be in flight.
        let kept = loom.core().failures.kept();
        assert!(kept <= 2 * 16_384, "{kept}");
        let before = kept;
        for _ in 0..40_000 {
            loom.task("bad").try_run(|| Err::<(), _>("no"));
        }
        loom.wait_all().unwrap_err();
        assert!(loom.core().failures.kept() <= before, "{} after {before}", loom.core().failures.kept());
    }
}
