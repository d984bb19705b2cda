//! Events, what they refer to, and how they are put together again.

use drawloom_trace::timeline::{Outcome, Timeline};
use drawloom_trace::{AccessMode, AccessRecord, Event, EventKind, IdleReason, Phase, RegionRecord, TaskRecord, Trace};

#[test]
fn numbers_and_kinds_correspond() {
    for (number, kind) in (0_u8..).zip(EventKind::ALL) {
        assert_eq!(kind as u8, number);
        assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", kind.name()));
    }
    for (number, reason) in (0_u32..).zip(IdleReason::ALL) {
        assert_eq!((reason as u32, IdleReason::from_value(number)), (number, Some(reason)));
    }
    for (number, phase) in (0_u32..).zip(Phase::ALL) {
        assert_eq!((phase as u32, Phase::from_value(number)), (number, Some(phase)));
    }
    assert_eq!((IdleReason::from_value(6), Phase::from_value(u32::MAX)), (None, None));
}

fn trace(change: impl FnOnce(&mut Trace)) -> Trace {
    let mut trace = Trace {
        regions: vec![RegionRecord { name: "u".into(), len: 10, unordered: false }],
        tasks: vec![TaskRecord::new(3, "a"), TaskRecord { parent: Some(3), ..TaskRecord::new(7, "b") }],
        ..Trace::default()
    };
    change(&mut trace);
    trace
}

fn access(region: u32, runs: &[(u64, u64)]) -> AccessRecord {
    AccessRecord { region, mode: AccessMode::Read, runs: runs.to_vec() }
}

#[test]
fn tasks_are_found_by_number_over_gaps() {
    let trace = trace(|_| ());
    assert_eq!(trace.position(3), Some(0));
    assert_eq!(trace.position(7), Some(1));
    assert_eq!([0, 4, 8, u64::MAX].map(|number| trace.position(number)), [None; 4]);
}

#[test]
fn a_trace_whose_references_do_not_hold_is_refused_with_names() {
    trace(|trace| trace.tasks[0].accesses.push(access(0, &[(0, 2), (2, 3), (9, 10)]))).check().unwrap();
    let refused = |change: fn(&mut Trace)| trace(change).check().unwrap_err().to_string();
    assert!(refused(|trace| trace.tasks.swap(0, 1)).contains("task 3 stands after task 7"));
    assert!(refused(|trace| trace.tasks[1].parent = Some(4)).contains("\"b\" has the parent 4"));
    assert!(refused(|trace| trace.tasks[0].parent = Some(3)).contains("no earlier task"));
    assert!(refused(|trace| trace.tasks[0].accesses.push(access(1, &[]))).contains("unknown region 1"));
    for runs in [[(0, 11), (12, 13)], [(0, 0), (1, 2)], [(5, 6), (4, 7)], [(0, 3), (2, 4)]] {
        let mut trace = trace(|_| ());
        trace.tasks[0].accesses.push(access(0, &runs));
        assert!(trace.check().unwrap_err().to_string().contains("region \"u\""));
    }
    let late = refused(|trace| {
        trace.events = [2, 1].map(|time| Event::of_task(time, EventKind::Ready, 3, 0)).to_vec();
    });
    assert!(late.contains("1 ns stands after one at 2 ns"));
}

fn of_tasks(tasks: u64, events: &[(u64, EventKind, u64, u32)]) -> Trace {
    Trace {
        tasks: (0..tasks).map(|number| TaskRecord::new(number, "t")).collect(),
        events: events.iter().map(|&(time, kind, task, worker)| Event::of_task(time, kind, task, worker)).collect(),
        ..Trace::default()
    }
}

#[test]
fn a_child_inside_its_parent_is_not_the_parents_own_time() {
    use EventKind::{End, Ready, Start, Submit};
    let timeline = Timeline::new(&of_tasks(
        2,
        &[(1, Submit, 0, 9), (2, Ready, 0, 9), (10, Start, 0, 0), (20, Start, 1, 0), (50, End, 1, 0), (60, End, 0, 0)],
    ));
    let [parent, child] = [timeline.tasks[0], timeline.tasks[1]];
    assert_eq!((parent.submit, parent.ready, parent.delay()), (Some(1), Some(2), Some(8)));
    assert_eq!((parent.start, parent.end, parent.busy), (Some(10), Some(60), 20));
    assert_eq!((child.start, child.end, child.busy, child.worker), (Some(20), Some(50), 30, Some(0)));
    assert_eq!((timeline.begin, timeline.end), (1, 60));
}

#[test]
fn a_team_task_and_a_retried_task_span_all_their_executions() {
    use EventKind::{End, Failed, Start};
    let timeline = Timeline::new(&of_tasks(
        2,
        &[(1, Start, 0, 0), (2, Start, 0, 1), (5, End, 0, 0), (9, End, 0, 1), (10, Start, 1, 0), (11, Failed, 1, 0)]
            .into_iter()
            .chain([(20, Start, 1, 1), (24, End, 1, 1)])
            .collect::<Vec<_>>(),
    ));
    let [team, retried] = [timeline.tasks[0], timeline.tasks[1]];
    assert_eq!((team.start, team.end, team.busy, team.executions), (Some(1), Some(9), 11, 2));
    assert_eq!((retried.start, retried.end, retried.outcome), (Some(10), Some(24), Some(Outcome::Ended)));
}

#[test]
fn lost_events_leave_executions_open_and_ends_unmatched() {
    use EventKind::{Cancelled, End, Start};
    let timeline = Timeline::new(&of_tasks(
        3,
        &[(1, Start, 0, 0), (2, End, 1, 0), (3, Cancelled, 2, 0), (4, Start, 7, 0), (6, End, 7, 0)],
    ));
    assert_eq!((timeline.tasks[0].end, timeline.tasks[0].outcome), (None, Some(Outcome::Unknown)));
    assert_eq!(timeline.unmatched.iter().map(|event| event.task).collect::<Vec<_>>(), [1]);
    assert_eq!(timeline.tasks[2].outcome, Some(Outcome::Cancelled));
    assert_eq!(timeline.undescribed, [7]);
}

#[test]
fn a_new_reason_ends_the_old_one_and_a_start_ends_any() {
    let mut trace = of_tasks(1, &[]);
    let idle = |time, reason: IdleReason| Event::of_worker(time, EventKind::Idle, 0, reason as u32);
    trace.events = vec![
        idle(0, IdleReason::NoWork),
        idle(5, IdleReason::Parked),
        Event::of_worker(9, EventKind::Busy, 0, 0),
        idle(10, IdleReason::WaitingForData),
        Event::of_task(12, EventKind::Start, 0, 0),
        Event::of_task(13, EventKind::End, 0, 0),
        Event::of_worker(14, EventKind::Idle, 0, 99),
        Event::of_task(20, EventKind::Submit, 0, 1),
    ];
    let found: Vec<_> = Timeline::new(&trace).idles.iter().map(|idle| (idle.reason, idle.start, idle.end)).collect();
    let expected = [
        (Some(IdleReason::NoWork), 0, 5),
        (Some(IdleReason::Parked), 5, 9),
        (Some(IdleReason::WaitingForData), 10, 12),
        (None, 14, 20),
    ];
    assert_eq!(found, expected);
}
