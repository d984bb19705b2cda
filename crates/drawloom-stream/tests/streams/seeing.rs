//! What a run says about itself.

use std::time::Duration;

use drawloom_stream::{Plan, Report, Settings, Stream, source};
use drawloom_trace::EventKind;

use crate::{loom, munge};

/// A stream with a region, a loop and a name that needs care, and two runs of it: timed and not.
fn runs() -> (Plan, Report, Report) {
    // Each node by itself: those that run as one have no figures of their own.
    let mut stream = Stream::new("seen \"twice\"").fuse(false);
    let items = stream.source("numbers", source::range(0..3000));
    let node = stream.node("a<b>&\"c\"", items);
    let again = node.input();
    let (back, done) = node
        .channel::<u64>("again", 1)
        .channel::<u64>("done", 1)
        .each(|n, (back, done)| if munge(*n as u32).is_multiple_of(3) { back.push(n + 1) } else { done.push(*n) });
    stream.back_edge(back, again, 1);
    let (_, elements) = stream.enumerate("elements", done, |n| 0..n % 5);
    let sums = stream.node("sum", elements).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
    stream.discard("sink", sums);
    let plan = stream.plan().unwrap();
    let loom = loom(2);
    let run = |settings: &Settings| plan.start(&loom, settings).unwrap().wait().unwrap();
    let (untimed, timed) = (run(&Settings::new()), run(&Settings::new().timed()));
    (plan, untimed, timed)
}

#[test]
fn time_is_measured_on_request_only() {
    let (_, untimed, timed) = runs();
    let zero = Duration::ZERO;
    assert!(untimed.nodes.iter().all(|node| (node.user, node.pushing, node.overhead) == (zero, zero, zero)));
    assert!(untimed.edges.iter().all(|edge| edge.blocked == zero));
    assert!(timed.nodes.iter().all(|node| node.user > zero && node.overhead > zero), "{timed:?}");
    let looping = &timed.nodes[1];
    assert!(looping.pushing > zero, "{looping:?}");
    let edge = timed.edges.iter().find(|edge| edge.to == "sum").unwrap();
    assert!(edge.blocked > zero, "{edge:?}");
}

#[test]
fn the_table_has_all_nodes_and_edges() {
    let (_, untimed, timed) = runs();
    let table = untimed.table();
    for text in ["node ", "mean lanes", "numbers", "sum", "edge ", "high water", "elements.elements -> sum", "firings"]
    {
        assert!(table.contains(text), "{text}: {table}");
    }
    assert!(!table.contains("blocked ms"), "{table}");
    let table = timed.table();
    for text in ["user ms", "pushing ms", "overhead ms", "blocked ms"] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let lengths: Vec<usize> = table.lines().take(6).map(|line| line.chars().count()).collect();
    assert!(lengths.iter().all(|length| *length == lengths[0]), "columns are under each other: {table}");
}

#[test]
fn the_trace_has_every_firing_for_which_there_is_room() {
    let (plan, untimed, _) = runs();
    assert!(untimed.trace().events.is_empty());
    let loom = loom(2);
    let run = |most: usize| plan.start(&loom, &Settings::new().traced(most)).unwrap().wait().unwrap();
    let report = run(1_000_000);
    let trace = report.trace();
    trace.check().unwrap();
    assert_eq!((trace.tasks.len() as u64, trace.dropped), (report.trips, 0));
    assert!(report.nodes.iter().all(|node| trace.tasks.iter().any(|task| task.name == node.name)));
    let mut text = Vec::new();
    drawloom_trace::chrome::write(&trace, &mut text).unwrap();
    serde_json::from_slice::<serde_json::Value>(&text).unwrap();
    let report = run(3);
    let trace = report.trace();
    assert!(trace.tasks.len() <= 6);
    assert_eq!(trace.tasks.len() as u64 + trace.dropped / 2, report.trips);
}

#[test]
fn firings_are_parts_of_the_task_in_the_trace_of_the_engine() {
    let loom = loom(2);
    let mut stream = Stream::new("stream");
    let numbers = stream.source("numbers", source::range(0..10_000));
    let odd = stream.node("odd", numbers).filter(|n| n % 2 == 1);
    stream.discard("nowhere", odd);
    let plan = stream.plan().unwrap();
    loom.trace_start();
    let settings = Settings::new().traced(1000);
    let reports: Vec<Report> = (0..2).map(|_| plan.start(&loom, &settings).unwrap().wait().unwrap()).collect();
    loom.wait_all().unwrap();
    let mut trace = loom.trace_stop();
    let before = trace.tasks.len();
    assert!(!reports[0].add_to(&mut trace, "another"));
    assert!(reports.iter().all(|report| report.add_to(&mut trace, "stream")));
    assert!(!reports[0].add_to(&mut trace, "stream"), "both tasks have their parts");
    trace.check().unwrap();
    let firings: u64 = reports.iter().map(|report| report.trips).sum();
    assert_eq!(trace.tasks.len() as u64, before as u64 + firings);
    let time = |task: u64, kind: EventKind| {
        let events = trace.events.iter().filter(move |event| event.task == task && event.kind == kind);
        events.map(|event| event.time).min().unwrap()
    };
    for part in trace.tasks.iter().filter(|task| task.parent.is_some()) {
        assert!(["numbers", "odd", "nowhere"].contains(&&*part.name), "{part:?}");
        assert!(time(part.number, EventKind::Start) >= time(part.parent.unwrap(), EventKind::Start));
    }
}

#[test]
fn the_picture_has_nodes_edges_and_regions() {
    let (plan, _, timed) = runs();
    let plain = plan.to_dot(None);
    assert!(plain.starts_with("digraph \"seen \\\"twice\\\"\" {"), "{plain}");
    for text in
        ["a&lt;b&gt;&amp;&quot;c&quot;", "n1 -> n1 [label=\"again\", style=dashed]", "region of elements", "width 128"]
    {
        assert!(plain.contains(text), "{text}: {plain}");
    }
    let figures = plan.to_dot(Some(&timed));
    assert!(figures.contains("3000 items") && figures.contains(" lanes<") && figures.contains(" ms<"), "{figures}");
    // All that a table says is in the picture too.
    let node = timed.nodes.iter().find(|node| !node.is_source && node.fused_into.is_none()).unwrap();
    assert!(figures.contains(&format!("{} runs, {} full, ", node.runs, node.full_runs)), "{figures}");
    let edge = &timed.edges[0];
    let waited = format!("{}/{}, {:.3} ms\"", edge.high_water, edge.capacity, edge.blocked.as_secs_f64() * 1e3);
    assert!(figures.contains(&waited), "{waited}: {figures}");
    assert!(figures.contains(&format!("label=\"{} firings\"", timed.trips)), "{figures}");
}

/// A stream whose names have what means something to Graphviz, or would end a line.
fn named() -> Plan {
    let mut stream = Stream::new("back\\slash \"&amp;\"\n");
    let items = stream.source("two\nlines", source::range(0..10));
    let (_, elements) = stream.enumerate("a<b>\\N&\u{1}", items, |n| 0..*n);
    let node = stream.node("tab\t", elements).channel::<u64>("one\ntwo\\G&lt;\u{7f}\u{85}", 1);
    let items = node.each(|n, out| out.push(*n));
    stream.discard("sink", items);
    stream.plan().unwrap()
}

#[test]
fn names_in_pictures_are_written_as_graphviz_reads_them() {
    let picture = named().to_dot(None);
    for text in [
        // In quotes a backslash and a quotation mark have a backslash before them, and a line ends with `\n`.
        r#"digraph "back\\slash \"&amp;amp;\"\n" {"#,
        r#"label="region of a<b>\\N&␁","#,
        "label=\"one\\ntwo\\\\G&amp;lt;␡\u{fffd}\"]",
        // And in HTML, elsewhere.
        "<b>two<br/>lines</b>",
        r"<b>a&lt;b&gt;\N&amp;␁</b>",
        "<b>tab␉</b>",
    ] {
        assert!(picture.contains(text), "{text}: {picture}");
    }
    assert!(!picture.contains(|sign: char| sign.is_control() && sign != '\n'), "{picture}");
    assert!(!picture.contains("\\u"), "Graphviz knows no such escapes: {picture}");
}

#[test]
fn each_row_of_a_table_is_one_line_whatever_names_have() {
    let report = named().run(&loom(1)).unwrap();
    let table = report.table();
    assert!(table.contains("two␊lines") && table.contains("tab␉.one␊two\\G&lt;␡\u{fffd} -> sink"), "{table}");
    assert_eq!(table.lines().count(), 2 + report.nodes.len() + report.edges.len() + 1, "{table}");
    assert!(!table.contains(|sign: char| sign.is_control() && sign != '\n'), "{table}");
}
