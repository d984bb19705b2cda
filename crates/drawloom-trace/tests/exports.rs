//! Every way out of a trace: Chrome JSON, CSV, JSON lines, DOT, and the page of text.

use std::collections::BTreeMap;

use drawloom_trace::{
    AccessMode, AccessRecord, ErrorKind, Event, EventKind, IdleReason, MachineRecord, NO_TASK, NO_WORKER, Phase,
    RegionRecord, TaskRecord, Trace, WorkerRecord, chrome, csv, dot, native, summary,
};
use serde_json::Value;

/// A small run with everything in it: a parent that waits for a child on its worker, a failure and what it cancels, idle
/// stretches, phases, queue lengths, a transfer, and names that need quoting in every format.
fn sample() -> Trace {
    let access = |mode, run| AccessRecord { region: 0, mode, runs: vec![run] };
    let task = |number, name: &'static str, line, accesses| TaskRecord {
        file: "src/main.rs".into(),
        line,
        sequence: number,
        context: "all".into(),
        accesses,
        ..TaskRecord::new(number, name)
    };
    let mut tasks = vec![
        task(0, "fill, \"all\"\nof it", 10, vec![access(AccessMode::Write, (0, 100))]),
        task(1, "smooth\\", 12, vec![access(AccessMode::Update, (0, 50))]),
        task(2, "half", 30, vec![access(AccessMode::Update, (0, 25))]),
        task(3, "sum", 14, vec![access(AccessMode::Reduce("+".into()), (0, 100))]),
        task(4, "show", 15, vec![access(AccessMode::Read, (0, 100))]),
    ];
    tasks[2].parent = Some(1);
    tasks[3].internal = true;
    tasks[4].after.push(1);
    let moment = Event::of_task;
    let state = Event::of_worker;
    let events = vec![
        moment(0, EventKind::Submit, 0, NO_WORKER),
        state(0, EventKind::Idle, 1, IdleReason::NoWork as u32),
        state(50, EventKind::Phase, 0, Phase::Schedule as u32),
        moment(100, EventKind::Ready, 0, NO_WORKER),
        state(150, EventKind::QueueLength, 0, 3),
        state(200, EventKind::Phase, 0, Phase::Execute as u32),
        moment(1_500, EventKind::Start, 0, 0),
        moment(101_500, EventKind::End, 0, 0),
        moment(102_000, EventKind::Ready, 1, 0),
        state(102_000, EventKind::Idle, 1, IdleReason::Parked as u32),
        moment(103_000, EventKind::Start, 1, 0),
        Event { time: 104_000, task: NO_TASK, value: 7, worker: 1, kind: EventKind::TransferStart },
        Event { time: 105_000, task: NO_TASK, value: 7, worker: 1, kind: EventKind::TransferEnd },
        moment(110_000, EventKind::Start, 2, 0),
        moment(150_000, EventKind::End, 2, 0),
        moment(160_000, EventKind::End, 1, 0),
        state(160_500, EventKind::Busy, 1, 0),
        moment(161_000, EventKind::Start, 3, 1),
        moment(171_000, EventKind::Failed, 3, 1),
        moment(172_000, EventKind::Cancelled, 4, NO_WORKER),
    ];
    Trace {
        machine: MachineRecord { processor: "Loom 9000".into(), system: "Linux".into(), cpus: 2 },
        workers: ["cpu 0", "cpu \"1\""]
            .map(|name| WorkerRecord { name: name.into(), kind: "cpu".into(), cpu: Some(3), memory_node: 0 })
            .to_vec(),
        regions: vec![RegionRecord { name: "u\"v".into(), len: 100, unordered: false }],
        tasks,
        events,
        dropped: 0,
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

#[test]
fn chrome_json_has_a_slice_for_each_execution_with_its_times_and_where_it_came_from() {
    let trace = sample();
    let text = written(|out| chrome::write(&trace, out).unwrap());
    let json: Value = serde_json::from_str(&text).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let slices: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X" && event["pid"] == 1).collect();
    let names: Vec<&str> = slices.iter().map(|slice| slice["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["fill, \"all\"\nof it", "smooth\\", "half", "sum"]);
    let fill = slices[0];
    assert_eq!((fill["ts"].as_f64(), fill["dur"].as_f64()), (Some(1.5), Some(100.0)));
    assert_eq!(fill["args"]["submitted at"], "src/main.rs:10");
    assert_eq!(fill["args"]["ready to start (us)"].as_f64(), Some(1.4));
    assert_eq!((&slices[2]["args"]["parent"], &slices[2]["args"]["inside of"]), (&1.into(), &"smooth\\".into()));
    assert_eq!((&slices[3]["cat"], &slices[3]["args"]["outcome"]), (&"internal".into(), &"failed".into()));

    let names: BTreeMap<u64, &str> = events
        .iter()
        .filter(|event| event["ph"] == "M" && event["name"] == "thread_name" && event["pid"] == 1)
        .map(|event| (event["tid"].as_u64().unwrap(), event["args"]["name"].as_str().unwrap()))
        .collect();
    assert_eq!(names[&fill["tid"].as_u64().unwrap()], "cpu 0");
    assert_eq!(names[&slices[3]["tid"].as_u64().unwrap()], "cpu \"1\"");

    let of = |letter: &str| events.iter().filter(|event| event["ph"] == letter).collect::<Vec<_>>();
    assert_eq!((&of("C")[0]["name"], &of("C")[0]["args"]["tasks"]), (&"queue of cpu 0".into(), &3.into()));
    assert_eq!((of("b")[0]["id"].as_u64(), of("e")[0]["id"].as_u64()), (Some(7), Some(7)));
    let instants: Vec<&Value> = of("i").iter().map(|event| &event["name"]).collect();
    assert_eq!(instants, ["failed", "cancelled"]);
    let group = |pid: u64| of("X").into_iter().filter(move |event| event["pid"] == pid).map(|event| &event["name"]);
    assert_eq!(group(2).collect::<Vec<_>>(), ["no work", "parked"]);
    assert_eq!(group(3).collect::<Vec<_>>(), ["task scheduling", "execution"]);
}

/// What the format asks of each kind of event, as Perfetto's importer reads it.
#[test]
fn every_chrome_event_has_the_fields_that_its_phase_requires() {
    let mut trace = sample();
    // A worker that nobody described, with the greatest number there is.
    trace.events.push(Event::of_worker(180_000, EventKind::Idle, u32::MAX - 1, 77));
    trace.events.push(Event::of_worker(190_000, EventKind::Dropped, u32::MAX - 1, 5));
    let json: Value = serde_json::from_str(&written(|out| chrome::write(&trace, out).unwrap())).unwrap();
    assert!(["ms", "ns"].contains(&json["displayTimeUnit"].as_str().unwrap()));
    let mut letters = BTreeMap::new();
    let mut named = std::collections::BTreeSet::new();
    for event in json["traceEvents"].as_array().unwrap() {
        let letter = event["ph"].as_str().unwrap();
        *letters.entry(letter).or_insert(0) += 1;
        assert!(event["name"].is_string() && event["args"].is_object(), "{event}");
        let small = |field: &str| event[field].as_u64().is_some_and(|number| number <= u64::from(u32::MAX));
        assert!(small("pid"), "{event}");
        let thread = (event["pid"].as_u64(), event["tid"].as_u64());
        if letter == "M" {
            match event["name"].as_str().unwrap() {
                "process_name" => assert!(event["args"]["name"].is_string()),
                "thread_name" => assert!(event["args"]["name"].is_string() && small("tid") && named.insert(thread)),
                "process_sort_index" => assert!(event["args"]["sort_index"].is_u64()),
                "thread_sort_index" => assert!(event["args"]["sort_index"].is_u64() && small("tid")),
                other => panic!("there is no metadata called {other}"),
            }
            continue;
        }
        assert!(small("tid") && event["ts"].as_f64().is_some_and(|time| time >= 0.0), "{event}");
        assert!(named.contains(&thread), "{event} is on a track without a name");
        match letter {
            "X" => assert!(event["dur"].as_f64().is_some_and(|time| time >= 0.0) && event["cat"].is_string()),
            "C" => assert!(event["args"].as_object().unwrap().values().all(Value::is_number)),
            "b" | "e" => assert!(event["id"].is_u64() && event["cat"].is_string()),
            "i" => assert!(["g", "p", "t"].contains(&event["s"].as_str().unwrap())),
            other => panic!("no event of phase {other} is written"),
        }
    }
    assert_eq!(letters.keys().copied().collect::<String>(), "CMXbei");
}

#[test]
fn what_the_application_does_at_the_same_time_is_put_on_several_tracks() {
    let moment = |time, kind, task| Event::of_task(time, kind, task, NO_WORKER);
    use EventKind::{End, Start};
    let trace = Trace {
        tasks: (0..4).map(|number| TaskRecord::new(number, "guard")).collect(),
        events: vec![
            moment(0, Start, 0),
            moment(10, Start, 1),
            moment(15, Start, 2),
            moment(20, End, 0),
            moment(20, Start, 3),
            moment(25, End, 2),
            moment(30, End, 1),
            moment(40, End, 3),
        ],
        ..Trace::default()
    };
    let json: Value = serde_json::from_str(&written(|out| chrome::write(&trace, out).unwrap())).unwrap();
    let slices = json["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    let tracks: Vec<u64> = slices.map(|slice| slice["tid"].as_u64().unwrap()).collect();
    assert_eq!(tracks, [1, 4, 4, 1]);
}

#[test]
fn slices_of_one_chrome_track_lie_inside_of_each_other_or_apart() {
    let text = written(|out| chrome::write(&sample(), out).unwrap());
    let json: Value = serde_json::from_str(&text).unwrap();
    let mut tracks: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    let nanos = |value: &Value| (value.as_f64().unwrap() * 1000.0).round() as u64;
    for event in json["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X") {
        let start = nanos(&event["ts"]);
        let track = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        tracks.entry(track).or_default().push((start, start + nanos(&event["dur"])));
    }
    assert_eq!(tracks.len(), 4);
    let mut nested = 0;
    for slices in tracks.values() {
        for (place, one) in slices.iter().enumerate() {
            for two in &slices[place + 1..] {
                let apart = one.1 <= two.0 || two.1 <= one.0;
                let inside = (one.0 <= two.0 && two.1 <= one.1) || (two.0 <= one.0 && one.1 <= two.1);
                assert!(apart || inside, "{one:?} and {two:?}");
                nested += usize::from(!apart);
            }
        }
    }
    assert_eq!(nested, 1, "the child inside of its parent");
}

/// A reader of RFC 4180, as strict as the text of the RFC.
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut letters = text.chars().peekable();
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        match (quoted, letter) {
            (false, '"') => {
                assert!(field.is_empty(), "a quote inside of a bare field");
                quoted = true;
            }
            (true, '"') if letters.peek() == Some(&'"') => field.extend(letters.next()),
            (true, '"') => quoted = false,
            (false, ',') => row.push(std::mem::take(&mut field)),
            (false, '\r') => {
                assert_eq!(letters.next(), Some('\n'));
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            (false, '\n') => panic!("a bare line feed"),
            (_, letter) => field.push(letter),
        }
    }
    assert!(row.is_empty() && field.is_empty(), "the last line has an end");
    rows
}

#[test]
fn csv_tables_can_be_read_back_whatever_the_names_are() {
    let trace = sample();
    let tasks = parse_csv(&written(|out| csv::write_tasks(&trace, out).unwrap()));
    assert!(tasks.iter().all(|row| row.len() == tasks[0].len()));
    let column = |name: &str| tasks[0].iter().position(|title| title == name).unwrap();
    assert_eq!(tasks[1][column("name")], "fill, \"all\"\nof it");
    let fields = ["submit_ns", "ready_ns", "start_ns", "end_ns", "outcome", "worker", "worker_name"];
    let row = |task: usize| fields.map(|field| tasks[task + 1][column(field)].as_str());
    assert_eq!(row(0), ["0", "100", "1500", "101500", "ended", "0", "cpu 0"]);
    assert_eq!(row(3), ["", "", "161000", "171000", "failed", "1", "cpu \"1\""]);
    assert_eq!(row(4), ["", "", "", "", "cancelled", "", ""]);
    assert_eq!((&*tasks[2][column("busy_ns")], &*tasks[3][column("parent")]), ("17000", "1"));
    assert_eq!((&*tasks[2][column("parent_name")], &*tasks[3][column("parent_name")]), ("", "smooth\\"));

    let events = parse_csv(&written(|out| csv::write_events(&trace, out).unwrap()));
    assert_eq!(events.len(), trace.events.len() + 1);
    assert_eq!(events[2], ["0", "idle", "", "", "1", "cpu \"1\"", "0", "no work"]);
    assert_eq!(events[3].last().unwrap(), "task scheduling");
}

#[test]
fn json_lines_read_back_to_the_same_trace() {
    let mut trace = sample();
    trace.dropped = 4;
    let text = written(|out| native::write(&trace, out).unwrap());
    assert_eq!(native::read(text.as_bytes()).unwrap(), trace);
    assert!(!text.contains("null"), "an absent value is an absent key");
    let empty = written(|out| native::write(&Trace::default(), out).unwrap());
    assert_eq!(native::read(empty.as_bytes()).unwrap(), Trace::default());
}

#[test]
fn a_file_that_is_not_a_whole_trace_of_this_version_is_refused() {
    let text = written(|out| native::write(&sample(), out).unwrap());
    let refused = |text: &str| {
        let error = native::read(text.as_bytes()).unwrap_err();
        (error.kind(), error.to_string())
    };
    let newer = refused(&text.replacen("\"drawloom_trace\":1", "\"drawloom_trace\":2", 1));
    let message = "the trace has version 2 of the format, and this program reads version 1";
    assert_eq!(newer, (ErrorKind::Version, message.to_owned()));
    for other in ["", "\n", "hello", "{}", "{\"drawloom_trace\":\"1\"}", "[1]"] {
        assert_eq!(refused(other).0, ErrorKind::NotATrace, "{other:?}");
    }
    let lines: Vec<&str> = text.lines().collect();
    for count in 1..lines.len() {
        assert_eq!(refused(&lines[..count].join("\n")).0, ErrorKind::Truncated);
        let without: Vec<&str> = [&lines[..count], &lines[count + 1..]].concat();
        let kind = if count == lines.len() - 1 { ErrorKind::Truncated } else { ErrorKind::Malformed };
        assert_eq!(refused(&without.join("\n")).0, kind, "without {}", lines[count]);
    }
    let (kind, message) = refused(&text.replacen("\"kind\":\"start\"", "\"kind\":\"begin\"", 1));
    assert!(kind == ErrorKind::Malformed && message.contains("begin"), "{message}");
    let (kind, message) = refused(&text.replacen("\"parent\":1", "\"parent\":9", 1));
    assert!(kind == ErrorKind::Malformed && message.contains("\"half\" has the parent 9"), "{message}");
}

#[test]
fn random_changes_to_a_file_never_panic_any_reader_or_export() {
    let text = written(|out| native::write(&sample(), out).unwrap()).into_bytes();
    let mut random = fastrand::Rng::with_seed(17);
    let mut read = 0;
    for _ in 0..20_000 {
        let mut changed = text.clone();
        for _ in 0..random.usize(1..4) {
            let place = random.usize(0..changed.len());
            // Mostly digits, because most other changes are refused at once.
            changed[place] = if random.u8(0..4) > 0 { b'0' + random.u8(0..10) } else { random.u8(..) };
        }
        let Ok(trace) = native::read(changed.as_slice()) else { continue };
        read += 1;
        let json = written(|out| chrome::write(&trace, out).unwrap());
        serde_json::from_str::<Value>(&json).unwrap();
        parse_csv(&written(|out| csv::write_tasks(&trace, out).unwrap()));
        summary::text(&trace);
        dot::text(&trace).unwrap();
        drawloom_trace::verify::verify(&trace).unwrap();
    }
    assert!(read > 1000, "only {read} changed files could be read");
}

#[test]
fn the_drawing_has_tasks_frames_and_orders() {
    let expected = r##"digraph "drawloom" {
  graph [fontname="Helvetica", fontsize=12, bgcolor=white, ranksep=0.5, nodesep=0.3];
  node [fontname="Helvetica", fontsize=12, shape=box, style=filled, fillcolor="#fff4d6"];
  edge [fontname="Helvetica", fontsize=11];
  t0 [label="fill, \"all\"\nof it\n#0", tooltip="src/main.rs:10"];
  subgraph cluster_1 {
    graph [label="smooth\\", style=rounded, color="#9aa3b2"];
    t1 [label="smooth\\\n#1", tooltip="src/main.rs:12"];
    t2 [label="half\n#2", tooltip="src/main.rs:30"];
  }
  t3 [label="sum\n#3", style="filled,rounded", fillcolor="#e9e9ef", tooltip="src/main.rs:14"];
  t4 [label="show\n#4", tooltip="src/main.rs:15"];
  t0 -> t1 [label="u\"v"];
  t0 -> t3 [label="u\"v"];
  t1 -> t3 [label="u\"v"];
  t3 -> t4 [label="u\"v"];
  t1 -> t4 [style=dashed];
}
"##;
    assert_eq!(dot::text(&sample()).unwrap(), expected);
}

#[test]
fn the_summary_is_a_page_of_aligned_text() {
    let expected = "\
drawloom: 4 tasks on 2 workers in 172 µs (Loom 9000)
  1 task failed
  1 task cancelled

task               count    total     mean      max  share
fill, \"all\"\u{fffd}of it      1   100 µs   100 µs   100 µs  59.9%
half                   1  40.0 µs  40.0 µs  40.0 µs  24.0%
smooth\\                1  17.0 µs  17.0 µs  17.0 µs  10.2%
sum                    1  10.0 µs  10.0 µs  10.0 µs   6.0%

worker   tasks   busy  no work  parked  not seen  runtime
cpu 0        3  91.3%     0.0%    0.0%      0.0%     8.7%
cpu \"1\"      1   5.8%    59.3%   34.0%      0.0%     0.9%

1 transfer: mean 1.00 µs, at most 1.00 µs; workers waited 0 ns

ready to start: mean 1.20 µs, median 1.00 µs, 99% within 1.40 µs, at most 1.40 µs (fill, \"all\"\u{fffd}of it #0)
critical path: 150 µs through 3 tasks, 87.2% of the run; work for 1.1 workers

longest tasks            busy   worker    submitted at
fill, \"all\"\u{fffd}of it #0   100 µs    cpu 0  src/main.rs:10
half #2               40.0 µs    cpu 0  src/main.rs:30
smooth\\ #1            17.0 µs    cpu 0  src/main.rs:12
sum #3                10.0 µs  cpu \"1\"  src/main.rs:14
";
    assert_eq!(summary::text(&sample()), expected);
    assert_eq!(summary::text(&Trace::default()), "drawloom: 0 tasks on 0 workers in 0 ns\n");
}
