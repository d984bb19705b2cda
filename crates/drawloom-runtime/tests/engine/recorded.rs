//! Whether a recording has everything, however many threads submit, and passes the verifier.

use std::collections::HashMap;
use std::thread;

use drawloom_runtime::Loom;
use drawloom_trace::{EventKind, verify};

#[test]
fn the_same_program_with_its_edge_is_clean() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let x = loom.vector("x", vec![0_u64; 10]);
    let (first, second) = (x.blocks(2).unwrap().next().unwrap(), x.halos(2, 1).unwrap().nth(1).unwrap());
    loom.trace_start();
    loom.task("writer").write(&first).run(|x| x.fill(1));
    loom.task("reader").read(&second).run(|_| ());
    loom.wait_all().unwrap();
    assert!(verify::verify(&loom.trace_stop()).unwrap().is_clean());
}

/// The tasks here fill several chunks.
#[test]
fn every_task_has_all_its_events_over_many_chunks() {
    const EACH: u64 = 4000;
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let cells: Vec<_> = (0..7).map(|cell| loom.value(format!("cell{cell}"), 0_u64)).collect();
        loom.trace_start();
        thread::scope(|scope| {
            for kind in ["add", "sum"] {
                let (loom, cells) = (&loom, &cells);
                scope.spawn(move || {
                    for cell in cells.iter().cycle().take(EACH as usize) {
                        loom.task(kind).update(cell).run(|cell| *cell += 1);
                    }
                });
            }
        });
        loom.wait_all().unwrap();
        let trace = loom.trace_stop();
        assert_eq!((trace.dropped, trace.tasks.len() as u64), (0, 2 * EACH));
        let mut events: HashMap<u64, Vec<EventKind>> = HashMap::new();
        for event in &trace.events {
            if let Some(task) = event.task() {
                events.entry(task).or_default().push(event.kind);
            }
        }
        for task in &trace.tasks {
            use EventKind::{End, Ready, Start, Submit};
            assert_eq!(events[&task.number], [Submit, Ready, Start, End], "{task:?}");
            assert_eq!(task.accesses.len(), 1);
        }
        for kind in ["add", "sum"] {
            assert_eq!(trace.tasks.iter().filter(|task| &*task.name == kind).count() as u64, EACH);
        }
        assert!(verify::verify(&trace).unwrap().is_clean());
    }
}

#[test]
fn submissions_of_several_threads_have_the_order_in_which_their_tasks_must_run() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let x = loom.value("x", 0_u64);
    loom.trace_start();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..500 {
                    loom.task("add").update(&x).run(|x| *x += 1);
                }
            });
        }
    });
    loom.wait_all().unwrap();
    let trace = loom.trace_stop();
    let mut starts: Vec<(u64, u64)> = Vec::new();
    for event in trace.events.iter().filter(|event| event.kind == EventKind::Start) {
        starts.push((event.task, event.time));
    }
    starts.sort_unstable();
    assert_eq!(starts.len(), 1500);
    assert!(starts.is_sorted_by_key(|(_, time)| *time), "every task waits for all before it");
    assert!(verify::verify(&trace).unwrap().is_clean());
}
