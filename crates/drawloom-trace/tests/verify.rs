//! The verifier against a brute-force twin, on random traces, and against traces that are wrong on purpose.

use std::collections::{BTreeMap, BTreeSet};

use drawloom_trace::verify::{Report, Rule, verify};
use drawloom_trace::{AccessMode, AccessRecord, Event, EventKind, RegionRecord, TaskRecord, Trace, WorkerRecord};

const REGIONS: u64 = 2;
const LEN: u64 = 12;

/// When, where and how a task runs.
#[derive(Clone, Copy)]
struct Slot {
    worker: u32,
    start: u64,
    end: u64,
}

fn regions() -> Vec<RegionRecord> {
    ["u", "v"].map(|name| RegionRecord { name: name.into(), len: LEN }).to_vec()
}

fn random_mode(random: &mut fastrand::Rng) -> AccessMode {
    match random.u8(0..10) {
        0..4 => AccessMode::Read,
        4 => AccessMode::Write,
        5 => AccessMode::Update,
        6 => AccessMode::Reduce("sum".into()),
        7 => AccessMode::Reduce("max".into()),
        _ => AccessMode::Commute,
    }
}

fn random_runs(random: &mut fastrand::Rng) -> Vec<(u64, u64)> {
    let mut runs = Vec::new();
    let mut from = random.u64(0..LEN);
    while from < LEN {
        let to = random.u64(from + 1..=(from + 4).min(LEN));
        runs.push((from, to));
        if random.bool() {
            break;
        }
        from = to + random.u64(1..6);
    }
    runs
}

fn random_tasks(random: &mut fastrand::Rng, count: u64) -> Vec<TaskRecord> {
    let mut tasks: Vec<TaskRecord> = Vec::new();
    for place in 0..count {
        // Gaps in the numbers, as tasks of another kind would leave them.
        let number = 3 * place + 5;
        let mut earlier = |chance: u8| (place > 0 && random.u8(0..chance) == 0).then(|| 3 * random.u64(0..place) + 5);
        let (parent, after, ends_with) = (earlier(3), earlier(8), earlier(12));
        let accesses = (0..random.u32(0..4))
            .map(|_| AccessRecord {
                region: random.u32(0..REGIONS as u32),
                mode: random_mode(random),
                runs: random_runs(random),
            })
            .collect();
        tasks.push(TaskRecord {
            parent,
            // To wait for the end of an ancestor inside of it would be a deadlock, which no engine schedules.
            after: after.filter(|&after| !is_ancestor(&tasks, after, parent)).into_iter().collect(),
            ends_with: ends_with.filter(|&other| !is_ancestor(&tasks, other, parent)).into_iter().collect(),
            accesses,
            file: "model.rs".into(),
            line: place as u32,
            ..TaskRecord::new(number, format!("task{place}"))
        });
    }
    tasks
}

fn is_ancestor(tasks: &[TaskRecord], candidate: u64, mut from: Option<u64>) -> bool {
    while let Some(number) = from {
        if number == candidate {
            return true;
        }
        from = tasks.iter().find(|task| task.number == number).and_then(|task| task.parent);
    }
    false
}

/// A trace in which the tasks run in their slots. Ends come before starts at the same time, except a task's own.
fn trace(tasks: Vec<TaskRecord>, slots: &[Option<Slot>]) -> Trace {
    let mut events = Vec::new();
    for (place, (task, slot)) in tasks.iter().zip(slots).enumerate() {
        let Some(Slot { worker, start, end }) = *slot else {
            events.push((0, 0, place, Event::of_task(0, EventKind::Cancelled, task.number, 0)));
            continue;
        };
        events.push((start, 1, place, Event::of_task(start, EventKind::Start, task.number, worker)));
        let kind = if task.number % 7 == 0 { EventKind::Failed } else { EventKind::End };
        events.push((end, if end == start { 2 } else { 0 }, place, Event::of_task(end, kind, task.number, worker)));
    }
    events.sort_by_key(|&(time, rank, place, _)| (time, rank, place));
    let workers = slots.iter().flatten().map(|slot| slot.worker + 1).max().unwrap_or(0);
    Trace {
        workers: (0..workers)
            .map(|index| WorkerRecord {
                name: format!("cpu {index}").into(),
                kind: "cpu".into(),
                cpu: None,
                memory_node: 0,
            })
            .collect(),
        regions: regions(),
        tasks,
        events: events.into_iter().map(|(.., event)| event).collect(),
        ..Trace::default()
    }
}

/// The brute-force twin: every pair of tasks, every index.
struct Twin<'a> {
    tasks: &'a [TaskRecord],
    slots: &'a [Option<Slot>],
    /// What a task and its children do at each index of each region.
    touches: Vec<BTreeSet<(u32, u64, String)>>,
}

impl<'a> Twin<'a> {
    fn new(tasks: &'a [TaskRecord], slots: &'a [Option<Slot>]) -> Self {
        let mut declared = Vec::new();
        for task in tasks {
            let mut touches = BTreeSet::new();
            for access in &task.accesses {
                let class = match &access.mode {
                    AccessMode::Update => "Write".to_owned(),
                    mode => format!("{mode:?}"),
                };
                for index in access.runs.iter().flat_map(|&(start, end)| start..end) {
                    touches.insert((access.region, index, class.clone()));
                }
            }
            declared.push(touches);
        }
        let mut touches = declared.clone();
        for (child, task) in tasks.iter().enumerate().rev() {
            let Some(parent) = place(tasks, task.parent) else { continue };
            let beyond: Vec<_> = touches[child]
                .iter()
                .filter(|(region, index, class)| {
                    let has = |class: &str| declared[parent].contains(&(*region, *index, class.to_owned()));
                    !has("Write") && !has("Commute") && !has(class)
                })
                .cloned()
                .collect();
            touches[parent].extend(beyond);
        }
        Self { tasks, slots, touches }
    }

    fn complete(&self, place: usize) -> Option<u64> {
        self.slots[place]?;
        let mut seen = BTreeSet::from([place]);
        let mut rest = vec![place];
        while let Some(task) = rest.pop() {
            let children =
                (0..self.tasks.len()).filter(|&child| self.tasks[child].parent == Some(self.tasks[task].number));
            let others = self.tasks[task].ends_with.iter().filter_map(|&other| self::place(self.tasks, Some(other)));
            rest.extend(children.chain(others).filter(|&next| seen.insert(next)));
        }
        seen.iter().filter_map(|&place| Some(self.slots[place]?.end)).max()
    }

    /// The indices at which two tasks must not be unordered, or must not overlap.
    fn shared(&self, one: usize, two: usize, wanted: impl Fn(&str, &str) -> bool) -> BTreeSet<(u32, u64)> {
        let mut shared = BTreeSet::new();
        for (region, index, class) in &self.touches[one] {
            for (other_region, other_index, other) in &self.touches[two] {
                if (region, index) == (other_region, other_index) && wanted(class, other) {
                    shared.insert((*region, *index));
                }
            }
        }
        shared
    }

    /// By later task and region: the earlier tasks that contradict, each with the indices.
    fn conflicts(&self) -> BTreeMap<(usize, u32), BTreeSet<(usize, u64)>> {
        let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (second, slot) in self.slots.iter().enumerate() {
            let Some(slot) = slot else { continue };
            for first in (0..second).filter(|&first| self.tasks[first].parent == self.tasks[second].parent) {
                if self.complete(first).is_some_and(|complete| complete > slot.start) {
                    for (region, index) in self.shared(first, second, conflict) {
                        found.entry((second, region)).or_default().insert((first, index));
                    }
                }
            }
        }
        found
    }

    fn commutes(&self) -> BTreeMap<(usize, u32), BTreeSet<(usize, u64)>> {
        let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let key = |place: usize| self.slots[place].as_ref().map(|slot| (slot.start, slot.end, place));
        for second in 0..self.tasks.len() {
            for first in 0..self.tasks.len() {
                let (Some(early), Some(late)) = (key(first), key(second)) else { continue };
                if self.tasks[first].parent == self.tasks[second].parent && early < late && early.1 > late.0 {
                    for (region, index) in self.shared(first, second, |one, two| (one, two) == ("Commute", "Commute")) {
                        found.entry((second, region)).or_default().insert((first, index));
                    }
                }
            }
        }
        found
    }

    fn overlapping_workers(&self) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        for (second, inner) in self.slots.iter().enumerate() {
            for (first, outer) in self.slots.iter().enumerate() {
                let (Some(outer), Some(inner)) = (outer, inner) else { continue };
                let order = (outer.start, first) < (inner.start, second) && outer.end > inner.start;
                let nested = is_ancestor(self.tasks, self.tasks[first].number, self.tasks[second].parent)
                    && inner.end <= outer.end;
                if outer.worker == inner.worker && order && !nested {
                    found.insert(inner.worker);
                }
            }
        }
        found
    }

    fn early(&self) -> (BTreeSet<(usize, usize)>, BTreeSet<usize>) {
        let (mut after, mut parents) = (BTreeSet::new(), BTreeSet::new());
        for (task, slot) in self.slots.iter().enumerate() {
            let Some(slot) = slot else { continue };
            for other in self.tasks[task].after.iter().filter_map(|&other| place(self.tasks, Some(other))) {
                if self.complete(other).is_some_and(|complete| complete > slot.start) {
                    after.insert((task, other));
                }
            }
            if let Some(parent) = place(self.tasks, self.tasks[task].parent)
                && self.slots[parent].is_none_or(|parent| parent.start > slot.start)
            {
                parents.insert(task);
            }
        }
        (after, parents)
    }

    /// Whether a task must wait for an earlier one to be complete, or exclude it.
    fn must_wait(&self, first: usize, second: usize) -> bool {
        let same = self.tasks[first].parent == self.tasks[second].parent;
        let excluded = |one: &str, two: &str| conflict(one, two) || (one, two) == ("Commute", "Commute");
        let told = self.tasks[second].after.contains(&self.tasks[first].number);
        told || (same && !self.shared(first, second, excluded).is_empty())
    }

    /// When a later task that must wait for an earlier one may start: tasks that only commute wait for no children.
    fn gone(&self, first: usize, second: usize) -> Option<u64> {
        let ordered = !self.shared(first, second, conflict).is_empty();
        if ordered { self.complete(first) } else { self.slots[first].map(|slot| slot.end) }
    }
}

fn place(tasks: &[TaskRecord], number: Option<u64>) -> Option<usize> {
    tasks.iter().position(|task| Some(task.number) == number)
}

/// Whether an earlier access of the first kind and a later one of the second must happen in order. A contribution to a
/// reduction is private, so it waits for nothing.
fn conflict(one: &str, two: &str) -> bool {
    !two.starts_with("Reduce") && (one != two || one == "Write")
}

fn reported(trace: &Trace, report: &Report, rule: Rule) -> BTreeMap<(usize, u32), BTreeSet<(usize, u64)>> {
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for violation in report.violations.iter().filter(|violation| violation.rule == rule) {
        let (region, index) = violation.place.as_ref().expect("a conflict has a place");
        let region = trace.regions.iter().position(|record| record.name == *region).unwrap() as u32;
        let [task, other] =
            [&violation.task, violation.other.as_ref().unwrap()].map(|task| trace.position(task.number).unwrap());
        found.entry((task, region)).or_default().insert((other, *index));
    }
    found
}

/// The same later tasks and regions, and every witness among those of the twin.
fn assert_same(
    reported: &BTreeMap<(usize, u32), BTreeSet<(usize, u64)>>,
    expected: &BTreeMap<(usize, u32), BTreeSet<(usize, u64)>>,
) {
    assert!(reported.keys().eq(expected.keys()), "{reported:?} instead of {expected:?}");
    for (key, witnesses) in reported {
        assert!(witnesses.is_subset(&expected[key]), "{key:?}: {witnesses:?} instead of {:?}", expected[key]);
    }
}

#[test]
fn random_traces_get_the_verdict_of_the_brute_force_twin() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut seen = [0; 5];
    for _ in 0..1500 {
        let count = random.u64(1..16);
        let tasks = random_tasks(&mut random, count);
        let span = random.u64(1..60);
        let slots: Vec<Option<Slot>> = (0..count)
            .map(|_| {
                let start = random.u64(0..span);
                let slot = Slot { worker: random.u32(0..8), start, end: start + random.u64(0..6) };
                (random.u8(0..12) > 0).then_some(slot)
            })
            .collect();
        let trace = trace(tasks.clone(), &slots);
        let report = verify(&trace).unwrap();
        let twin = Twin::new(&tasks, &slots);
        let (conflicts, commutes) = (twin.conflicts(), twin.commutes());
        assert_same(&reported(&trace, &report, Rule::Conflict), &conflicts);
        assert_same(&reported(&trace, &report, Rule::Commute), &commutes);

        let of = |rule| report.violations.iter().filter(move |violation| violation.rule == rule);
        let workers: BTreeSet<String> = of(Rule::Worker).filter_map(|violation| violation.worker.clone()).collect();
        let expected_workers: BTreeSet<String> =
            twin.overlapping_workers().iter().map(|worker| format!("cpu {worker}")).collect();
        assert_eq!(workers, expected_workers);
        let place = |number| trace.position(number).unwrap();
        let after: BTreeSet<(usize, usize)> = of(Rule::After)
            .map(|violation| (place(violation.task.number), place(violation.other.as_ref().unwrap().number)))
            .collect();
        let parents: BTreeSet<usize> = of(Rule::Parent).map(|violation| place(violation.task.number)).collect();
        let early = twin.early();
        assert_eq!((&after, &parents), (&early.0, &early.1));
        let found = [conflicts.len(), commutes.len(), workers.len(), after.len(), parents.len()];
        seen.iter_mut().zip(found).for_each(|(seen, found)| *seen += found);
    }
    assert!(seen.iter().all(|&count| count > 100), "the traces must be of every kind: {seen:?}");
}

/// Slots that keep every order except, if given, the one between two tasks. Each task has a worker of its own.
fn schedule(tasks: &[TaskRecord], random: &mut fastrand::Rng, without: Option<(usize, usize)>) -> Vec<Option<Slot>> {
    let mut slots: Vec<Option<Slot>> = vec![None; tasks.len()];
    // A task's children, and what it ends with, are placed before whatever waits for it, by starting over until nothing
    // moves: times only grow, and there is no cycle because the orders between tasks go forward.
    let lengths: Vec<u64> = tasks.iter().map(|_| random.u64(1..20)).collect();
    loop {
        let mut moved = false;
        for task in 0..tasks.len() {
            let twin = Twin::new(tasks, &slots);
            let parent =
                place(tasks, tasks[task].parent).and_then(|parent| slots[parent]).map_or(0, |slot| slot.start + 1);
            let earlier = (0..task)
                .filter(|&first| without != Some((first, task)) && twin.must_wait(first, task))
                .filter_map(|first| twin.complete(first))
                .max()
                .unwrap_or(0);
            let start = parent.max(earlier).max(slots[task].map_or(0, |slot| slot.start));
            if slots[task].is_none_or(|slot| slot.start < start) {
                slots[task] = Some(Slot { worker: task as u32, start, end: start + lengths[task] });
                moved = true;
            }
        }
        if !moved {
            return slots;
        }
    }
}

/// Random tasks of which none ends with another, so that every order goes from an earlier to a later task.
fn orderly_tasks(random: &mut fastrand::Rng) -> Vec<TaskRecord> {
    let count = random.u64(2..12);
    let mut tasks = random_tasks(random, count);
    for task in &mut tasks {
        task.ends_with.clear();
        // An explicit order on another family could close a cycle through a parent.
        task.after.clear();
    }
    tasks
}

#[test]
fn a_schedule_that_keeps_every_order_is_clean_and_one_that_drops_a_single_order_is_not() {
    let mut random = fastrand::Rng::with_seed(8);
    let mut caught = 0;
    for _ in 0..300 {
        let tasks = orderly_tasks(&mut random);
        let seed = random.u64(..);
        let good = schedule(&tasks, &mut fastrand::Rng::with_seed(seed), None);
        let report = verify(&trace(tasks.clone(), &good)).unwrap();
        assert!(report.is_clean(), "{report}");
        assert_eq!((report.verified, report.unverified), (tasks.len() as u64, 0));

        let twin = Twin::new(&tasks, &good);
        let orders: Vec<(usize, usize)> = (0..tasks.len())
            .flat_map(|second| (0..second).map(move |first| (first, second)))
            .filter(|&(first, second)| twin.must_wait(first, second))
            .collect();
        for order in orders {
            let bad = schedule(&tasks, &mut fastrand::Rng::with_seed(seed), Some(order));
            let overlap = Twin::new(&tasks, &bad).gone(order.0, order.1) > bad[order.1].map(|slot| slot.start);
            let report = verify(&trace(tasks.clone(), &bad)).unwrap();
            // Other orders may keep the two apart all the same.
            assert_eq!(report.is_clean(), !overlap, "{report}");
            caught += usize::from(overlap);
        }
    }
    assert!(caught > 300, "only {caught} dropped orders had an effect");
}

#[test]
fn swapping_the_times_of_two_conflicting_tasks_is_found_with_names_and_an_index() {
    let access = |mode, runs: &[(u64, u64)]| vec![AccessRecord { region: 1, mode, runs: runs.to_vec() }];
    let site = |number, name: &'static str, accesses| TaskRecord {
        accesses,
        file: "src/main.rs".into(),
        line: 7 + number as u32,
        ..TaskRecord::new(number, name)
    };
    let tasks = vec![
        site(0, "fill", access(AccessMode::Write, &[(0, 4), (6, 8)])),
        site(1, "smooth", access(AccessMode::Read, &[(4, 7)])),
    ];
    let slots = [Slot { worker: 0, start: 10, end: 20 }, Slot { worker: 1, start: 20, end: 30 }].map(Some);
    assert!(verify(&trace(tasks.clone(), &slots)).unwrap().is_clean());
    let report = verify(&trace(tasks, &[slots[1], slots[0]])).unwrap();
    assert_eq!(
        report.to_string(),
        "2 of 2 tasks verified, 1 violation: task 1 \"smooth\" (src/main.rs:8) started at 10 ns, before task 0 \"fill\" \
         (src/main.rs:7) was complete at 30 ns; at index 6 of region \"v\" task 0 writes and task 1 reads"
    );
}

#[test]
fn each_rule_says_what_happened_in_a_sentence() {
    let commuting = vec![AccessRecord { region: 0, mode: AccessMode::Commute, runs: vec![(2, 5)] }];
    let mut tasks = [0, 1, 2].map(|number| TaskRecord::new(number, format!("t{number}"))).to_vec();
    tasks[0].accesses = commuting.clone();
    tasks[1].accesses = commuting;
    tasks[1].after.push(0);
    tasks[2].parent = Some(1);
    let slots = [(0, 3, 9), (0, 5, 12), (1, 4, 6)].map(|(worker, start, end)| Some(Slot { worker, start, end }));
    let report = verify(&trace(tasks, &slots)).unwrap();
    let sentences: Vec<String> = report.violations.iter().map(ToString::to_string).collect();
    let expected = [
        "task 1 \"t1\" started at 5 ns on cpu 0, which ran task 0 \"t0\" until 9 ns, and is not nested in it",
        "task 1 \"t1\" started at 5 ns, before task 0 \"t0\" was complete at 9 ns, and was told to run after it",
        "task 2 \"t2\" started at 4 ns, before task 1 \"t1\" that spawned it",
        "task 1 \"t1\" started at 5 ns, before task 0 \"t0\" was complete at 9 ns; at index 2 of region \"u\" task 0 \
         commutes and task 1 commutes",
    ];
    assert_eq!(sentences, expected);
}

#[test]
fn a_conflict_of_children_beyond_what_their_parents_declared_is_found() {
    let child = |number, parent, mode| TaskRecord {
        parent: Some(parent),
        accesses: vec![AccessRecord { region: 0, mode, runs: vec![(3, 4)] }],
        ..TaskRecord::new(number, "child")
    };
    let tasks = vec![
        TaskRecord::new(0, "one"),
        TaskRecord::new(1, "two"),
        child(2, 0, AccessMode::Update),
        child(3, 1, AccessMode::Read),
    ];
    let slots =
        [(0, 0, 40), (1, 1, 40), (2, 5, 30), (3, 6, 30)].map(|(worker, start, end)| Some(Slot { worker, start, end }));
    let report = verify(&trace(tasks, &slots)).unwrap();
    assert_eq!(report.violations.len(), 1, "{report}");
    let text = report.violations[0].to_string();
    assert!(text.contains("task 1 \"two\"") && text.contains("through a task that it spawned"), "{text}");
}

#[test]
fn a_task_that_never_ended_is_found_unless_events_were_lost() {
    let tasks = vec![TaskRecord::new(0, "a"), TaskRecord::new(1, "b")];
    let slots = [(0, 0, 10), (1, 2, 10)].map(|(worker, start, end)| Some(Slot { worker, start, end }));
    let mut trace = trace(tasks, &slots);
    trace.events.retain(|event| (event.task, event.kind) != (1, EventKind::End));
    trace.events.push(Event::of_task(11, EventKind::End, 9, 0));
    let rules = |trace: &Trace| verify(trace).unwrap().violations.iter().map(|found| found.rule).collect::<Vec<_>>();
    assert_eq!(rules(&trace), [Rule::Unfinished, Rule::Unstarted, Rule::Undescribed]);
    trace.dropped = 1;
    assert_eq!(rules(&trace), []);
    let report = verify(&trace).unwrap();
    assert_eq!((report.verified, report.unverified), (1, 1));
}

/// The shape that makes a map of disjoint pieces quadratic: whole accesses between accesses to every single block.
#[test]
fn a_hundred_thousand_tasks_on_one_region_are_verified() {
    const TASKS: u64 = 100_000;
    let len = 1 << 20;
    let mut random = fastrand::Rng::with_seed(5);
    let tasks: Vec<TaskRecord> = (0..TASKS)
        .map(|number| {
            let start = random.u64(0..len - 1);
            let (mode, run) = match number % 4 {
                0 => (AccessMode::Read, (0, len)),
                1 => (AccessMode::Reduce("sum".into()), (start / 2, len)),
                _ => (AccessMode::Update, (start, start + 1)),
            };
            let accesses = vec![AccessRecord { region: 0, mode, runs: vec![run] }];
            TaskRecord { accesses, ..TaskRecord::new(number, "t") }
        })
        .collect();
    let slots: Vec<_> =
        (0..TASKS).map(|number| Some(Slot { worker: 0, start: 2 * number, end: 2 * number + 1 })).collect();
    let mut trace = trace(tasks, &slots);
    trace.regions[0].len = len;
    let report = verify(&trace).unwrap();
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.verified, TASKS);
}
