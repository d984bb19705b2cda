//! What a recording shows, and that it agrees with what the tasks declared.

use std::collections::{HashMap, HashSet};
use std::process::Command;
use std::sync::mpsc;

use drawloom_runtime::{Loom, Max, Plan, Region, Sum};
use drawloom_trace::timeline::{Outcome, Timeline};
use drawloom_trace::verify::{self, Rule};
use drawloom_trace::{Event, EventKind, IdleReason, TaskRecord, Trace};

fn looms() -> Vec<Loom> {
    let mut looms = vec![Loom::serial()];
    looms.extend([1, 2, 3, 8].map(|workers| Loom::builder().workers(workers).build().unwrap()));
    looms
}

/// A program with every kind of access and order.
fn program(loom: &Loom) {
    let x = loom.vector("x", (0..64_u64).collect());
    let y = loom.vector("y", vec![0_u64; 64]);
    let sum = loom.value("sum", 0_u64);
    let most = loom.value("most", 0_u64);
    for round in 0..10 {
        for (x, y) in x.halos(8, 2).unwrap().zip(y.blocks(8).unwrap()) {
            loom.task("smooth").read(&x).write(&y).run(|x, y| y.fill(x.iter().sum()));
        }
        for y in y.blocks(4).unwrap() {
            loom.task("sum").read(&y).reduce(&sum, Sum).reduce(&most, Max).run(|y, sum, most| {
                *sum += y.iter().fold(0_u64, |a, b| a.wrapping_add(*b)) % 7;
                *most = (*most).max(y[0]);
            });
        }
        for (x, y) in x.blocks(8).unwrap().zip(y.blocks(8).unwrap()) {
            loom.task("copy").read(&y).update(&x).run(|y, x| x.copy_from_slice(y));
        }
        for i in 0..6 {
            let blocks: Vec<_> = x.blocks(3).unwrap().collect();
            loom.task("mix").commute(&blocks[i % 3]).commute(&most).run(|x, most| {
                x[0] = x[0].wrapping_add(1);
                *most = (*most).max(1);
            });
        }
        let (inner, lent) = (loom.clone(), x.clone());
        let parent = loom.task("parent").lend(&x).scratch::<u64>(8).run(move |_, _| {
            for block in lent.blocks(4).unwrap() {
                inner.task("child").update(&block).run(|b| b.rotate_left(1));
            }
            inner.task("count").read(&lent).returns(|x| x.len()).wait().unwrap();
        });
        let last = loom.task("last").after(&parent).run(|| ());
        loom.task("end").ends_with(&last).priority(round).run(|| ());
        if round == 5 {
            assert_eq!(x.read().unwrap().len(), 64);
            y.write().unwrap()[0] = 3;
        }
    }
    loom.wait_all().unwrap();
}

fn traced(loom: &Loom, program: impl FnOnce(&Loom)) -> Trace {
    loom.trace_start();
    program(loom);
    // Regions that the program dropped may have left something to fold.
    loom.wait_all().unwrap();
    loom.trace_stop()
}

#[test]
fn an_independent_verifier_finds_every_required_order_in_the_recording() {
    for loom in looms() {
        let trace = traced(&loom, program);
        let report = verify::verify(&trace).unwrap();
        assert!(report.is_clean(), "{report}");
        assert_eq!((report.unverified, trace.dropped), (0, 0));
        assert!(report.verified > 300, "{report}");
        // The same runtime can be recorded again, and nothing of the first recording is left.
        let again = traced(&loom, |loom| {
            loom.task("single").run(|| ()).wait().unwrap();
        });
        assert_eq!(again.tasks.len(), 1);
        assert!(verify::verify(&again).unwrap().is_clean());
    }
}

#[test]
fn every_task_has_a_submission_a_start_and_an_end_in_this_order() {
    for loom in looms() {
        let trace = traced(&loom, program);
        let mut seen: HashMap<u64, Vec<EventKind>> = HashMap::new();
        for event in &trace.events {
            if let Some(task) = event.task() {
                seen.entry(task).or_default().push(event.kind);
            }
        }
        for task in &trace.tasks {
            let kinds = &seen[&task.number];
            let place = |kind| kinds.iter().position(|k| *k == kind);
            let order = [EventKind::Submit, EventKind::Ready, EventKind::Start, EventKind::End].map(place);
            assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{task:?}: {kinds:?}");
        }
        let named = |name: &str| trace.tasks.iter().filter(|t| t.name == name).count();
        assert_eq!([named("smooth"), named("child"), named("guard")], [80, 40, 2]);
        assert!(trace.tasks.iter().any(|t| t.name == "fold" && t.internal));
        let child = trace.tasks.iter().find(|t| t.name == "child").unwrap();
        assert_eq!(trace.task(child.parent.unwrap()).unwrap().name, "parent");
        assert!(child.file.ends_with("trace.rs") && child.context == "main");
        let end = trace.tasks.iter().find(|t| t.name == "end").unwrap();
        assert_eq!(trace.task(end.ends_with[0]).unwrap().after.len(), 1);
    }
}

#[test]
fn failures_are_recorded_as_such() {
    for loom in looms() {
        let trace = traced(&loom, |loom| {
            let x = loom.value("x", 0_u64);
            loom.task("bad").write(&x).try_run(|_| Err::<(), _>("no"));
            loom.task("next").read(&x).run(|_| ());
            loom.wait_all().unwrap_err();
        });
        let kinds: Vec<EventKind> = trace.events.iter().filter(|e| e.task().is_some()).map(|e| e.kind).collect();
        for kind in [EventKind::Failed, EventKind::Cancelled] {
            assert_eq!(kinds.iter().filter(|k| **k == kind).count(), 1, "{kinds:?}");
        }
        assert!(verify::verify(&trace).unwrap().is_clean());
    }
}

#[test]
fn nothing_is_recorded_unless_asked_for() {
    let loom = Loom::builder().workers(2).build().unwrap();
    program(&loom);
    let trace = loom.trace_stop();
    assert!(trace.tasks.is_empty() && trace.events.is_empty());
    let loom = Loom::builder().workers(2).trace(true).build().unwrap();
    program(&loom);
    // Sooner or later a worker has nothing to do.
    while loom.stats().workers.iter().all(|w| w.parked == 0) {
        std::thread::yield_now();
    }
    let trace = loom.trace_stop();
    assert!(trace.tasks.len() > 300);
    assert!(trace.events.iter().any(|e| e.kind == EventKind::Idle));
    assert!(trace.events.iter().any(|e| e.kind == EventKind::QueueLength));
}

#[test]
fn a_task_that_is_refused_is_recorded() {
    for loom in looms() {
        let trace = traced(&loom, |loom| {
            let x = loom.value("x", 0_u64);
            let (inner, foreign) = (loom.clone(), x.clone());
            loom.task("parent").run(move || {
                inner.task("child").update(&foreign).run(|x| *x = 1).wait().unwrap_err();
            });
            let _ = loom.wait_all();
        });
        let child = trace.tasks.iter().find(|t| t.name == "child").expect("the refused task is there");
        assert_eq!(trace.task(child.parent.unwrap()).unwrap().name, "parent");
        let kinds: Vec<EventKind> =
            trace.events.iter().filter(|e| e.task() == Some(child.number)).map(|e| e.kind).collect();
        assert_eq!(kinds, [EventKind::Submit, EventKind::Ready, EventKind::Cancelled]);
        assert!(verify::verify(&trace).unwrap().is_clean());
    }
}

#[test]
fn teams_and_changes_of_contexts_are_recorded() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let trace = traced(&loom, |loom| {
        loom.task("pair").team(2).run(|member| member.barrier()).wait().unwrap();
        let context = loom.context("half").workers([loom.worker(0).unwrap()]).create().unwrap();
        context.delete().unwrap();
    });
    let formed: Vec<_> =
        trace.events.iter().filter(|e| e.kind == EventKind::TeamFormed).map(|e| (e.task(), e.value)).collect();
    assert_eq!(formed, [(Some(0), 2)]);
    let changed: Vec<u32> =
        trace.events.iter().filter(|e| e.kind == EventKind::ContextChanged).map(|e| e.value).collect();
    assert_eq!(changed, [1, 1]);
}

/// The child goes on at about the time when its parent begins to wait for it; sooner or later it is after that.
#[test]
fn a_task_that_waits_for_its_children_says_so() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let waits = |e: &Event| e.kind == EventKind::Idle && e.value == IdleReason::WaitingForChildren as u32;
    let is_seen = |_| {
        let trace = traced(&loom, |loom| {
            let inner = loom.clone();
            loom.task("parent").run(move || {
                let (start, started) = mpsc::channel();
                let (go, wait_to_go) = mpsc::channel::<()>();
                let child = inner.task("child").run(move || {
                    start.send(()).unwrap();
                    wait_to_go.recv().unwrap();
                });
                // The other worker has the child, so that there is nothing to run here.
                started.recv().unwrap();
                std::thread::spawn(move || go.send(()).unwrap());
                child.wait().unwrap();
            });
        });
        trace.events.iter().any(waits)
    };
    assert!((0..10_000).any(is_seen));
}

#[test]
fn what_was_submitted_can_be_drawn() {
    let loom = Loom::serial();
    loom.trace_start();
    let x = loom.value("x", 0_u64);
    loom.task("first").write(&x).run(|x| *x = 1);
    loom.task("second").read(&x).run(|_| ());
    let dot = drawloom_trace::dot::text(&loom.trace_stop()).unwrap();
    assert!(dot.starts_with("digraph") && dot.contains("first") && dot.contains("t0 -> t1"), "{dot}");
}

#[test]
fn figures_add_up() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        for i in 0..1000 {
            loom.task("add").update(&x).try_run(move |x| {
                *x += 1;
                if i == 999 { Err("the last one") } else { Ok(()) }
            });
        }
        loom.wait_all().unwrap_err();
        let stats = loom.stats();
        assert_eq!((stats.submitted, stats.completed, stats.failed, stats.cancelled), (1000, 1000, 1, 0));
        assert_eq!(stats.queued, 0);
        assert!(stats.bytes_per_record <= 200 && stats.records >= stats.in_flight);
        let executed: u64 = stats.workers.iter().map(|w| w.executed).sum();
        assert_eq!(executed, if loom.workers() == 0 { 0 } else { 1000 });
    }
}

/// Run by the test below in a process of its own.
#[test]
fn program_for_the_environment() {
    let loom = Loom::builder().workers(2).build().unwrap();
    program(&loom);
}

/// Run by the tests below in a process of its own.
#[test]
fn two_runtimes_for_the_environment() {
    for name in ["first", "second"] {
        let loom = Loom::serial();
        loom.task(name).run(|| ());
    }
}

fn run_with(variable: &str) -> std::process::Output {
    run(variable, "program_for_the_environment")
}

fn run(variable: &str, test: &str) -> std::process::Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("DRAWLOOM_TRACE", variable)
        .output()
        .unwrap()
}

#[test]
fn runtimes_of_one_process_write_a_file_each() {
    let directory = std::env::temp_dir().join(format!("drawloom-traces-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("run.json");
    assert!(run(&format!("chrome:{}", file.display()), "two_runtimes_for_the_environment").status.success());
    for (file, name) in [("run.json", "first"), ("run.2.json", "second")] {
        assert!(std::fs::read_to_string(directory.join(file)).unwrap().contains(name), "{file}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_serial_runtime_is_made_whatever_the_environment_says() {
    let output = run("perf", "two_runtimes_for_the_environment");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("DRAWLOOM_TRACE is `perf`"), "{text}");
}

#[test]
fn an_environment_variable_records_without_a_change_to_the_program() {
    let output = run_with("summary");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("smooth") && text.contains("worker 0"), "{text}");
    let directory = std::env::temp_dir().join(format!("drawloom-trace-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("run.json");
    assert!(run_with(&format!("chrome:{}", file.display())).status.success());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"smooth\"") && text.contains("\"ph\""), "{}", &text[..200.min(text.len())]);
    let file = directory.join("run.csv");
    assert!(run_with(&format!("csv:{}", file.display())).status.success());
    assert!(std::fs::read_to_string(&file).unwrap().lines().count() > 300);
    assert!(std::fs::read_to_string(directory.join("run.events.csv")).unwrap().lines().count() > 1000);
    std::fs::remove_dir_all(&directory).unwrap();
    let output = run_with("perf");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("DRAWLOOM_TRACE is `perf`"), "{text}");
}

/// A plan with every kind of order: overlapping reads, a reduction and its fold, commuting tasks, and an order by wish.
fn plan(loom: &Loom) -> Plan {
    let x = loom.vector("x", (0..64_u64).collect());
    let y = loom.vector("y", vec![0_u64; 64]);
    let sum = loom.value("sum", 0_u64);
    let step = loom.capture("step");
    for (x, y) in x.halos(8, 2).unwrap().zip(y.blocks(8).unwrap()) {
        step.task("smooth").read(&x).write(&y).run(|x, y| y.fill(x.iter().fold(0, |a, b| a ^ b)));
    }
    for y in y.blocks(4).unwrap() {
        step.task("sum").read(&y).reduce(&sum, Sum).run(|y, sum| *sum += y[0] % 7);
    }
    for (x, y) in x.blocks(8).unwrap().zip(y.blocks(8).unwrap()) {
        step.task("copy").read(&y).update(&x).run(|y, x| x.copy_from_slice(y));
    }
    for y in y.blocks(2).unwrap() {
        step.task("mix").commute(&y).commute(&sum).run(|y, sum| *sum += y[1] % 3);
    }
    let first = step.task("first").run(|| ());
    step.task("second").after(first).run(|| ());
    step.plan().unwrap()
}

#[test]
fn nodes_of_plans_are_children_of_their_run_and_keep_every_required_order() {
    for loom in looms() {
        let plan = plan(&loom);
        let trace = traced(&loom, |_| {
            for _ in 0..3 {
                plan.run().unwrap();
            }
        });
        let report = verify::verify(&trace).unwrap();
        assert!(report.is_clean() && report.unverified == 0 && trace.dropped == 0, "{report}");
        let runs: Vec<u64> = trace.tasks.iter().filter(|t| t.name == "step").map(|t| t.number).collect();
        assert_eq!(runs.len(), 3);
        for run in runs {
            let nodes: Vec<&TaskRecord> = trace.tasks.iter().filter(|t| t.parent == Some(run)).collect();
            let named = |name: &str| nodes.iter().filter(|t| t.name == name).count();
            assert_eq!([named("smooth"), named("sum"), named("copy"), named("mix")], [8, 4, 8, 2]);
            let fold = nodes.iter().find(|t| t.name == "fold").unwrap();
            assert!(fold.internal && fold.accesses.len() == 1);
            let copy = nodes.iter().find(|t| t.name == "copy").unwrap();
            assert!(copy.file.ends_with("trace.rs") && copy.line > 0 && copy.accesses.len() == 2);
            let second = nodes.iter().find(|t| t.name == "second").unwrap();
            assert_eq!(trace.task(second.after[0]).unwrap().name, "first");
            let sum = nodes.iter().find(|t| t.name == "sum").unwrap();
            let modes: Vec<String> = sum.accesses.iter().map(|a| a.mode.verb()).collect();
            assert_eq!(modes, ["reads", "reduces (sum)"]);
        }
        let timeline = Timeline::new(&trace);
        for (task, times) in trace.tasks.iter().zip(&timeline.tasks).filter(|(t, _)| t.parent.is_some()) {
            assert!(
                times.ready.is_some() && times.ready <= times.start && times.start <= times.end,
                "{task:?} {times:?}"
            );
            assert_eq!(times.outcome, Some(Outcome::Ended));
        }
    }
}

/// The recording says enough about nodes that a mistake in their order would be found.
#[test]
fn a_node_that_had_started_too_early_would_be_found() {
    let loom = Loom::serial();
    let plan = plan(&loom);
    let trace = traced(&loom, |_| plan.run().unwrap());
    for (name, earlier, rule) in [("copy", "smooth", Rule::Conflict), ("second", "first", Rule::After)] {
        let mut wrong = trace.clone();
        let last = trace.tasks.iter().rfind(|t| t.name == name).unwrap();
        let run = last.parent;
        let began = trace.events.iter().find(|e| e.kind == EventKind::Start && e.task() == run).unwrap().time;
        for event in wrong.events.iter_mut().filter(|e| e.task() == Some(last.number) && e.kind == EventKind::Start) {
            event.time = began;
        }
        wrong.sort();
        let report = verify::verify(&wrong).unwrap();
        let found = report.violations.iter().find(|v| v.rule == rule).unwrap_or_else(|| panic!("{report}")).to_string();
        assert!(found.contains(&format!("\"{name}\"")) && found.contains(&format!("\"{earlier}\"")), "{found}");
    }
}

#[test]
fn nodes_of_plans_are_in_every_export_with_the_name_of_their_plan() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let plan = plan(&loom);
    let trace = traced(&loom, |_| plan.run().unwrap());
    let summary = drawloom_trace::summary::text(&trace);
    assert!(summary.contains("smooth") && summary.contains("step"), "{summary}");
    let text = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        write(&mut bytes);
        String::from_utf8(bytes).unwrap()
    };
    let chrome = text(&|out| drawloom_trace::chrome::write(&trace, out).unwrap());
    let csv = text(&|out| drawloom_trace::csv::write_tasks(&trace, out).unwrap());
    let slices = chrome.lines().filter(|line| line.contains("\"name\":\"copy\"") && line.contains("\"step\"")).count();
    let rows = csv.lines().filter(|line| line.contains(",copy,") && line.contains(",step,")).count();
    assert_eq!((slices, rows), (8, 8), "{chrome}\n{csv}");
}

#[test]
fn a_node_that_fails_and_those_cancelled_for_it_are_recorded_as_such() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        let capture = loom.capture("unlucky");
        capture.task("bad").write(&x).try_run(|_| Err::<(), _>("no"));
        capture.task("next").read(&x).run(|_| ());
        let plan = capture.plan().unwrap();
        let trace = traced(&loom, |_| {
            plan.run().unwrap_err();
        });
        let of = |name: &str| -> Vec<EventKind> {
            let task = trace.tasks.iter().find(|t| t.name == name).unwrap().number;
            trace.events.iter().filter(|e| e.task() == Some(task)).map(|e| e.kind).collect()
        };
        assert_eq!(of("bad"), [EventKind::Ready, EventKind::Start, EventKind::Failed]);
        assert_eq!(of("next"), [EventKind::Ready, EventKind::Cancelled]);
        assert!(verify::verify(&trace).unwrap().is_clean());
    }
}

#[test]
fn a_run_that_was_submitted_before_the_recording_is_left_out() {
    let loom = Loom::builder().workers(1).build().unwrap();
    let (go, wait_to_go) = mpsc::channel::<()>();
    let (started, has_started) = mpsc::channel::<()>();
    let capture = loom.capture("early");
    let wait_to_go = std::sync::Mutex::new(wait_to_go);
    capture.task("first").run(move || {
        started.send(()).unwrap();
        wait_to_go.lock().unwrap().recv().unwrap();
    });
    let plan = capture.plan().unwrap();
    let run = plan.start();
    has_started.recv().unwrap();
    loom.trace_start();
    go.send(()).unwrap();
    run.wait().unwrap();
    loom.task("late").run(|| ()).wait().unwrap();
    let trace = loom.trace_stop();
    let names: Vec<&str> = trace.tasks.iter().map(|t| &*t.name).collect();
    assert_eq!(names, ["late"]);
    assert!(verify::verify(&trace).unwrap().is_clean());
}

#[test]
fn every_member_of_a_team_starts_and_ends() {
    for loom in [Loom::serial(), Loom::builder().workers(3).build().unwrap()] {
        let x = loom.value("x", 0_u64);
        let trace = traced(&loom, |loom| {
            for _ in 0..5 {
                loom.task("before").update(&x).run(|x| *x += 1);
                loom.task("team").read(&x).team(3).run(|member, _| member.barrier());
            }
        });
        let report = verify::verify(&trace).unwrap();
        assert!(report.is_clean() && report.unverified == 0, "{report}");
        let timeline = Timeline::new(&trace);
        let teams = trace.tasks.iter().zip(&timeline.tasks).filter(|(task, _)| task.name == "team");
        let members: Vec<u32> = teams.map(|(_, times)| times.executions).collect();
        assert_eq!(members, [3; 5]);
    }
}

#[test]
fn a_worker_that_waits_for_a_team_and_a_thread_that_waits_for_room_say_so() {
    let loom = Loom::builder().workers(2).in_flight(256).build().unwrap();
    let reasons = |trace: &Trace| -> HashSet<(Option<u32>, Option<IdleReason>)> {
        let idle = trace.events.iter().filter(|e| e.kind == EventKind::Idle);
        idle.map(|e| (e.worker(), IdleReason::from_value(e.value))).collect()
    };
    let trace = traced(&loom, |loom| {
        loom.task("pair").team(2).run(|member| member.barrier());
    });
    for worker in [0, 1] {
        assert!(reasons(&trace).contains(&(Some(worker), Some(IdleReason::WaitingForTeam))));
    }
    let x = loom.value("x", 0_u64);
    let trace = traced(&loom, |loom| {
        // The thread that submits holds what all tasks wait for, so it waits for room in vain, and goes beyond the limit.
        let guard = x.write().unwrap();
        for _ in 0..1000 {
            loom.task("add").update(&x).run(|x| *x += 1);
        }
        drop(guard);
    });
    assert!(reasons(&trace).contains(&(None, Some(IdleReason::Budget))));
    assert!(verify::verify(&trace).unwrap().is_clean());
}

#[test]
fn tasks_that_several_threads_submit_are_numbered_in_their_order() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let x = loom.vector("x", vec![0_u64; 16]);
    let trace = traced(&loom, |loom| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for block in x.blocks(4).unwrap().cycle().take(400) {
                        loom.task("add").update(&block).run(|b| b[0] += 1);
                    }
                });
            }
        });
    });
    let report = verify::verify(&trace).unwrap();
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.verified, trace.tasks.len(), trace.dropped), (1600, 1600, 0));
    assert!(trace.tasks.iter().zip(0..).all(|(task, number)| task.number == number && task.sequence == number));
}

#[test]
fn recordings_of_two_runtimes_by_one_thread_do_not_mix() {
    let looms = [1, 2].map(|workers| Loom::builder().workers(workers).trace(true).build().unwrap());
    for _ in 0..100 {
        looms[0].task("here").run(|| ());
        looms[1].task("there").run(|| ());
    }
    for (loom, name) in looms.iter().zip(["here", "there"]) {
        loom.wait_all().unwrap();
        let trace = loom.trace_stop();
        assert_eq!((trace.tasks.len(), trace.dropped), (100, 0));
        assert!(trace.tasks.iter().all(|task| task.name == name));
        assert!(verify::verify(&trace).unwrap().is_clean());
    }
}

#[test]
fn every_member_of_a_team_is_seen_at_work() {
    for workers in [2, 3, 8] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        let x = loom.vector("x", vec![0_u64; 8]);
        let trace = traced(&loom, |loom| {
            for _ in 0..20 {
                loom.task("all").update(&x).team(2).run(|_, mut x| x.mine().iter_mut().for_each(|x| *x += 1));
            }
            loom.task("bad").team(2).run(|member| assert_eq!(member.rank(), 0));
            loom.wait_all().unwrap_err();
        });
        let report = verify::verify(&trace).unwrap();
        assert!(report.is_clean(), "{workers} workers: {report}");
        let count = |kind| trace.events.iter().filter(|event| event.kind == kind).count();
        assert_eq!(count(EventKind::Start), 42);
        assert_eq!((count(EventKind::End), count(EventKind::Failed)), (41, 1));
    }
}
