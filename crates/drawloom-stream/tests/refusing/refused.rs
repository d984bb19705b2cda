//! Streams that cannot be run, and everything that is wrong with them.

use drawloom_stream::{Code, ErrorKind, Output, Settings, Stream, source};

use crate::loom;

fn refused(stream: Stream) -> Vec<(Code, String)> {
    let error = stream.plan().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    let text = error.to_string();
    let found: Vec<_> = error.diagnostics().iter().map(|d| (d.code(), d.message().to_owned())).collect();
    assert!(found.iter().all(|(_, message)| text.contains(message)));
    found
}

fn only(stream: Stream) -> (Code, String) {
    let mut found = refused(stream);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn all_mistakes_are_found_at_once() {
    let mut stream = Stream::new("wrong");
    let items = stream.source("a", source::range(0..1));
    let node = stream.node("a", items).width(0).channel::<u64>("x", 0).channel::<u64>("x", 1);
    let (one, two) = node.each(|_, _| {});
    let sums = stream.node("", one).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
    stream.discard("sink", sums);
    drop(two);
    let codes: Vec<Code> = refused(stream).into_iter().map(|(code, _)| code).collect();
    let expected = [Code::Name, Code::Name, Code::Name, Code::Zero, Code::Zero, Code::Unconnected, Code::Aggregate];
    assert_eq!(codes, expected);
}

#[test]
fn a_channel_that_leads_nowhere_is_refused() {
    let mut stream = Stream::new("open");
    drop(stream.source("numbers", source::range(0..1)));
    let (code, message) = only(stream);
    assert_eq!(code, Code::Unconnected);
    assert_eq!(message, "channel `out` of node `numbers` leads nowhere: connect it, or discard it");
}

#[test]
fn what_is_wrong_is_said_once() {
    let mut stream = Stream::new("again");
    let items = stream.source("numbers", source::range(0..1));
    drop(stream.node("node", items).channel::<u64>("out", 1).channel::<u64>("out", 1).each(|_, _| {}));
    let found = refused(stream);
    let expected = [
        (Code::Name, "two channels of node `node` are called `out`"),
        (Code::Unconnected, "channel `out` of node `node` leads nowhere: connect it, or discard it"),
    ];
    assert_eq!(found, expected.map(|(code, message)| (code, message.to_owned())));
}

#[test]
fn a_stream_without_a_source_is_refused() {
    assert_eq!(only(Stream::new("nothing")), (Code::NoSource, "there is no source".to_owned()));
}

#[test]
fn nodes_that_nothing_leads_to_are_refused() {
    let mut stream = Stream::new("alone");
    let items = stream.source("numbers", source::range(0..1));
    stream.discard("rest", items);
    let none = || Vec::<Output<u64>>::new();
    let items = stream.node("first", none()).map(|n| *n);
    stream.discard("second", items);
    stream.discard("third", none());
    let (_, elements) = stream.enumerate("fourth", none(), |n| 0..*n);
    stream.discard("fifth", elements);
    // What goes around must have come from somewhere.
    let node = stream.node("sixth", none());
    let again = node.input();
    let items = node.channel::<u64>("again", 1).each(|n, out| out.push(*n));
    stream.back_edge(items, again, 1);
    let message =
        |name| (Code::Unconnected, format!("no channel leads to node `{name}`: nothing would ever come to it"));
    assert_eq!(refused(stream), ["first", "third", "fourth", "sixth"].map(message));
}

#[test]
fn a_node_that_does_nothing_is_refused() {
    let mut stream = Stream::new("unfinished");
    let items = stream.source("numbers", source::range(0..1));
    drop(stream.node("node", items));
    assert_eq!(only(stream).0, Code::Unfinished);
}

#[test]
fn edges_from_different_regions_do_not_join() {
    let mut stream = Stream::new("joined");
    let items = stream.source("numbers", source::range(0..9));
    let (left, right) = stream
        .node("split", items)
        .channel::<u64>("left", 1)
        .channel::<u64>("right", 1)
        .each(|n, (left, right)| if n % 2 == 0 { left.push(*n) } else { right.push(*n) });
    let (_, elements) = stream.enumerate("elements", left, |n| 0..*n);
    stream.discard("both", [elements, right]);
    let (code, message) = only(stream);
    assert_eq!(code, Code::Join);
    for name in ["node `both`", "channel `elements` of node `elements`", "channel `right` of node `split`"] {
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn an_aggregation_leaves_a_region_only_once() {
    let mut stream = Stream::new("twice");
    let items = stream.source("numbers", source::range(0..9));
    let (_, elements) = stream.enumerate("elements", items, |n| 0..*n);
    let once = stream.node("once", elements).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
    let twice = stream.node("twice", once).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
    stream.discard("sink", twice);
    let (code, message) = only(stream);
    assert_eq!((code, message.contains("node `twice`")), (Code::Aggregate, true), "{message}");
}

#[test]
fn parts_of_other_streams_are_refused() {
    let mut other = Stream::new("other");
    let foreign = other.source("numbers", source::range(0..9));
    let mut stream = Stream::new("stream");
    let own = stream.source("numbers", source::range(0..9));
    stream.discard("sink", [own, foreign]);
    let message = "node `sink` of stream `stream` takes channel `out` of node `numbers`, which is of stream `other`";
    assert_eq!(only(stream), (Code::Foreign, message.to_owned()));
}

#[test]
fn all_parts_of_other_streams_are_named_with_who_uses_them() {
    let mut other = Stream::new("other");
    let items = other.source("numbers", source::range(0..9));
    let (region, elements) = other.enumerate("elements", items, |n| 0..*n);
    let node = other.node("loop", elements);
    let head = node.input();
    let (back, done) = node.channel::<u64>("back", 1).channel::<u64>("done", 1).each(|_, _| {});
    other.discard("rest", done);
    let mark = other.signal::<u64>();
    let mut stream = Stream::new("own");
    let items = stream.source("numbers", source::range(0..9));
    let node = stream.node("head", items);
    let again = node.input();
    let (items, more) = node.channel::<u64>("items", 1).channel::<u64>("more", 1).each(|_, _| {});
    stream.back_edge(back, again, 1);
    stream.back_edge(more, head, 1);
    let node = stream.node("handles", items).on_end(region, |_, ()| ()).on(mark, |_, (), _| ());
    node.run(|_, ()| ());
    let found: Vec<String> =
        refused(stream).into_iter().filter(|(code, _)| *code == Code::Foreign).map(|(_, message)| message).collect();
    let expected = [
        "channel `back` of node `loop` leads back to node `head` of stream `own`, but is of stream `other`",
        "channel `more` of node `head` leads back to a node of another stream than `own`",
        "node `handles` of stream `own` handles boundaries of a region of another stream",
        "node `handles` of stream `own` handles signals of another stream",
    ];
    assert_eq!(found, expected);
}

#[test]
fn too_little_memory_is_found_with_all_other_mistakes() {
    let mut stream = Stream::new("wrong").memory(10).width(0);
    let items = stream.source("numbers", source::range(0..1));
    let node = stream.node("two", items).channel::<u64>("used", 1).channel::<u64>("unused", 1);
    let (used, unused) = node.each(|_, _| {});
    stream.discard("sink", used);
    drop(unused);
    let found = refused(stream);
    let codes: Vec<Code> = found.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [Code::Zero, Code::Zero, Code::Zero, Code::Unconnected, Code::Memory]);
    let memory = &found[4].1;
    for edge in ["channel `out` of node `numbers` to node `two`", "channel `used` of node `two` to node `sink`"] {
        assert!(memory.contains(edge), "{memory}");
    }
}

#[test]
fn all_that_needs_too_much_memory_is_named_and_the_largest_first() {
    let mut stream = Stream::new("large").memory(10_000);
    let items = stream.source("numbers", source::range(0..9));
    let (_, elements) = stream.enumerate_with("elements", items, 1 << 20, |n| 0..*n);
    let many = stream.node("many", elements).channel::<u64>("out", 1000).each(|_, _| {});
    let node = stream.node("raise", many).signals(1000, 0).channel::<u8>("out", 1);
    let raised = node.each(|_, _| {});
    stream.discard("sink", raised);
    let (code, message) = only(stream);
    assert_eq!(code, Code::Memory);
    let parts: Vec<&str> = message.split(" for ").collect();
    assert!(parts[1].starts_with("the 1048576 parents of node `elements`,"), "{message}");
    assert!(parts[2].starts_with("the edge from channel `out` of node `many` to node `raise`,"), "{message}");
    assert!(parts[3].starts_with("the edge from channel `out` of node `raise` to node `sink`"), "{message}");
    assert!(parts.len() <= 5, "what would fit need not be named: {message}");
}

#[test]
fn mistakes_in_numbers_do_not_look_like_a_lack_of_memory() {
    let mut stream = Stream::new("signals").memory(100_000);
    let items = stream.source("numbers", source::range(0..9));
    let node = stream.node("node", items).signals(usize::MAX, 0).channel::<u64>("out", 1);
    let items = node.each(|_, _| {});
    stream.discard("sink", items);
    let (code, message) = only(stream);
    assert_eq!(code, Code::Memory);
    assert!(message.starts_with("node `node` declares more signals than the"), "{message}");
}

#[test]
fn back_edges_must_close_loops_that_can_be_run() {
    // An edge to a node that does not lead to the channel.
    let mut stream = Stream::new("no loop");
    let items = stream.source("numbers", source::range(0..9));
    let (left, right) =
        stream.node("split", items).channel::<u64>("left", 1).channel::<u64>("right", 1).each(|_, _| {});
    let node = stream.node("aside", left);
    let aside = node.input();
    let out = node.map(|n| *n);
    stream.discard("sink", out);
    stream.back_edge(right, aside, 1);
    assert_eq!(only(stream).0, Code::Loop);

    // A loop inside of a loop.
    let mut stream = Stream::new("two loops");
    let items = stream.source("numbers", source::range(0..9));
    let node = stream.node("outer", items);
    let outer = node.input();
    let items = node.map(|n| *n);
    let node = stream.node("inner", items);
    let inner = node.input();
    let (a, b) = node.channel::<u64>("a", 1).channel::<u64>("b", 1).each(|_, _| {});
    stream.back_edge(a, inner, 1);
    stream.back_edge(b, outer, 1);
    let (code, message) = only(stream);
    assert_eq!(code, Code::Loop);
    assert!(message.contains("node `inner` is in the loop of node `outer` and in that of node `inner`"), "{message}");

    // A loop out of a region, and one without a bound.
    let mut stream = Stream::new("out of region");
    let items = stream.source("numbers", source::range(0..9));
    let node = stream.node("head", items);
    let head = node.input();
    let items = node.map(|n| *n);
    let (_, elements) = stream.enumerate("elements", items, |n| 0..*n);
    let inside = stream.node("inside", elements).map(|n| *n);
    stream.back_edge(inside, head, 0);
    let codes: Vec<Code> = refused(stream).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, [Code::Zero, Code::Loop]);
}

#[test]
fn queues_that_do_not_fit_are_refused() {
    let mut stream = Stream::new("large").memory(1000);
    let items = stream.source("numbers", source::range(0..9));
    let many = stream.node("many", items).channel::<u64>("out", 1000).each(|_, _| {});
    stream.discard("sink", many);
    let (code, message) = only(stream);
    assert_eq!(code, Code::Memory);
    let largest = message.split(" for ").nth(1).unwrap();
    assert!(largest.starts_with("the edge from channel `out` of node `many` to node `sink`,"), "{message}");

    let mut stream = Stream::new("uncountable");
    let items = stream.source("numbers", source::range(0..9));
    let many = stream.node("many", items).channel::<u64>("out", usize::MAX).each(|_, _| {});
    stream.discard("sink", many);
    let (code, message) = only(stream);
    assert_eq!(code, Code::Memory);
    assert!(message.contains("channel `out` of node `many`"), "{message}");
}

#[test]
fn storage_that_does_not_fit_is_refused() {
    for parents in [usize::MAX, 1 << 40, 1 << 24] {
        let mut stream = Stream::new("parents");
        let items = stream.source("numbers", source::range(0..9));
        let (_, elements) = stream.enumerate_with("elements", items, parents, |n| 0..*n);
        stream.discard("sink", elements);
        for (code, message) in refused(stream) {
            assert_eq!(code, Code::Memory);
            assert!(message.contains("node `elements`"), "{message}");
        }
    }
    let mut stream = Stream::new("signals");
    let items = stream.source("numbers", source::range(0..9));
    let node = stream.node("node", items).signals(usize::MAX, usize::MAX);
    node.run(|_, ()| {});
    assert_eq!(only(stream).0, Code::Memory);
}

#[test]
fn a_loop_of_a_node_without_a_function_over_a_slice_is_refused() {
    let mut stream = Stream::new("select");
    let items = stream.source("numbers", source::range(0..9));
    let node = stream.node("node", items);
    let again = node.input();
    let back = node.select(|n: u64| (n, true));
    stream.back_edge(back, again, 1);
    assert_eq!(only(stream).0, Code::Loop);
}

#[test]
fn items_enter_a_loop_at_its_head_only() {
    let mut stream = Stream::new("middle");
    let first = stream.source("first", source::range(0..100));
    let second = stream.source("second", source::range(0..100));
    let head = stream.node("head", first);
    let again = head.input();
    let (back, done) = head
        .channel::<u64>("again", 1)
        .channel::<u64>("done", 1)
        .each(|n, (back, done)| if *n == 0 { done.push(0) } else { back.push(n - 1) });
    let back = stream.node("middle", [back, second]).channel::<u64>("out", 1).each(|n, out| out.push(*n));
    stream.back_edge(back, again, 1);
    stream.discard("done", done);
    let (code, message) = only(stream);
    assert_eq!(code, Code::Loop);
    assert_eq!(
        message,
        "the edge from channel `out` of node `second` to node `middle` leads into the loop of node `head`, where items enter at \
         that node only"
    );
}

#[test]
fn regions_without_places_are_refused_and_so_are_teams_without_workers() {
    let mut stream = Stream::new("places");
    let items = stream.source("numbers", source::range(0..9));
    let (_, elements) = stream.enumerate_with("elements", items, 0, |n| 0..*n);
    stream.discard("sink", elements);
    assert_eq!(only(stream).0, Code::Zero);

    let mut stream = Stream::new("workers");
    let items = stream.source("numbers", source::range(0..9));
    stream.discard("sink", items);
    let plan = stream.plan().unwrap();
    for workers in [0, 2] {
        let error = plan.start(&loom(1), &Settings::new().workers(workers)).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Engine, "{error}");
    }
}

#[test]
fn a_cleanup_that_would_never_be_called_is_refused() {
    let mut stream = Stream::new("cleanup");
    let items = stream.source("numbers", source::range(0..9));
    let items = stream.node("map", items).cleanup(|()| unreachable!()).map(|n| *n);
    let items = stream.node("select", items).cleanup(|()| unreachable!()).select(|n| (n, true));
    let node = stream.node("before", items).cleanup(|()| unreachable!()).state(|| 1).channel::<u64>("out", 1);
    let items = node.each(|n, out| out.push(*n));
    let node = stream.node("twice", items).state(|| 1).cleanup(|_| unreachable!()).cleanup(|_| {});
    node.run(|_, ()| {});
    let found = refused(stream);
    assert_eq!(found.len(), 4, "{found:?}");
    for ((code, message), name) in found.iter().zip(["`map`", "`select`", "`before`", "`twice`"]) {
        assert!(*code == Code::Setting && message.contains(name), "{message}");
    }
}

#[test]
fn queues_that_no_memory_has_room_for_are_an_error_and_not_the_end() {
    let wide = 10_000_000_000_000;
    let many = |stream: Stream, most| {
        let mut stream = stream;
        let items = stream.source("numbers", source::range(0..9));
        let many = stream.node("many", items).channel::<u64>("out", most).each(|n, out| out.push(*n));
        stream.discard("sink", many);
        stream.run(&loom(2)).unwrap_err()
    };
    let error = many(Stream::new("channel").memory(usize::MAX), wide);
    assert_eq!((error.kind(), error.node()), (ErrorKind::Engine, Some("many")), "{error}");
    assert!(error.to_string().contains("the edge from channel `out` of node `many` to node `sink`"), "{error}");
    let error = many(Stream::new("width").memory(usize::MAX).width(1 << 50), 1);
    assert_eq!((error.kind(), error.node()), (ErrorKind::Engine, Some("numbers")), "{error}");
    let error = many(Stream::new("scale").memory(usize::MAX).queue_scale(usize::MAX), 1);
    assert_eq!((error.kind(), error.node()), (ErrorKind::Engine, Some("numbers")), "{error}");

    let mut stream = Stream::new("parents").memory(usize::MAX);
    let items = stream.source("numbers", source::slice(vec![[0_u64; 8192]]));
    let (_, elements) = stream.enumerate_with("elements", items, u32::MAX as usize, |_| 0..1);
    stream.discard("sink", elements);
    let error = stream.run(&loom(1)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Engine, Some("elements")), "{error}");
}
