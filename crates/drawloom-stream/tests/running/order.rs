//! Streams that keep the order of their source, whatever their sinks, joins and loops are.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use drawloom_stream::{Code, ErrorKind, Output, Settings, Sink, Stream, sink, source};

use crate::{in_time, loom, munge};

/// A sink that calls a function, and what it was called with.
fn called() -> (Sink<u64>, Arc<Mutex<Vec<u64>>>) {
    let kept: Arc<Mutex<Vec<u64>>> = Arc::default();
    let theirs = Arc::clone(&kept);
    (sink::callback(move |items: &[u64]| theirs.lock().unwrap().extend_from_slice(items)), kept)
}

/// Runs an ordered stream of numbers, whose result goes to a callback, on one worker and on several.
fn run(numbers: u64, describe: impl Fn(&mut Stream, Output<u64>) -> Output<u64>) -> Vec<u64> {
    let mut results = Vec::new();
    for (workers, width, scale) in [(1, 128, None), (3, 128, None), (1, 1, Some(1)), (3, 5, Some(1))] {
        let mut stream = Stream::new("ordered").ordered().width(width);
        if let Some(scale) = scale {
            stream = stream.queue_scale(scale);
        }
        let items = stream.source("numbers", source::range(0..numbers));
        let result = describe(&mut stream, items);
        let (to, kept) = called();
        stream.sink("result", result, to);
        let report = stream.run(&loom(workers)).unwrap();
        for edge in &report.edges {
            assert!(edge.high_water <= edge.capacity, "{edge:?}");
        }
        results.push(std::mem::take(&mut *kept.lock().unwrap()));
    }
    let first = results.remove(0);
    for other in results {
        assert!(other == first, "the order depends on the workers, the width or the room in queues");
    }
    first
}

#[test]
fn callbacks_get_items_in_order() {
    // The first numbers take long: those behind them are early.
    let result = run(20_000, |stream, items| {
        stream.node("some", items).filter_map(|n| {
            (0..if *n < 1000 { 2000 } else { 1 }).for_each(|_| _ = std::hint::black_box(munge(*n as u32)));
            (n % 3 > 0).then_some(*n)
        })
    });
    assert!(result.into_iter().eq((0..20_000).filter(|n| n % 3 > 0)));
    let result = run(500, |stream, items| stream.node("many", items).expand(|n| n * 1000..n * 1000 + n % 200));
    assert!(result.into_iter().eq((0..500).flat_map(|n| n * 1000..n * 1000 + n % 200)));
}

#[test]
fn lines_and_buffers_get_items_in_order() {
    for workers in [1, 3] {
        let path = std::env::temp_dir().join(format!("drawloom-stream-order-{workers}-{}", std::process::id()));
        let mut stream = Stream::new("lines").ordered();
        let items = stream.source("numbers", source::range(0..30_000));
        let node = stream.node("both", items).channel::<u64>("file", 1).channel::<u64>("buffer", 1);
        let (to_file, to_buffer) = node.each(|n, (file, buffer)| {
            file.push(*n);
            buffer.push(n + 1);
        });
        stream.sink("file", to_file, sink::lines(std::fs::File::create(&path).unwrap()));
        let (to, drain) = sink::buffer(10);
        stream.sink("buffer", to_buffer, to);
        let running = stream.plan().unwrap().start(&loom(workers), &Settings::new()).unwrap();
        assert!(drain.eq(1..30_001));
        running.wait().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(text.lines().map(|line| line.parse::<u64>().unwrap()).eq(0..30_000), "{workers} workers");
    }
}

#[test]
fn what_an_iterator_or_a_channel_gives_stays_in_order() {
    for workers in [1, 3] {
        let (to, from) = mpsc::channel();
        (0..5000).for_each(|n| to.send(n).unwrap());
        drop(to);
        let (giver, live) = source::buffer(7, Duration::from_millis(1));
        let giving = std::thread::spawn(move || (0..5000).for_each(|n| giver.give(n).unwrap()));
        for numbers in [source::iter(0..5000), source::receiver(from, Duration::from_millis(1)), live] {
            let mut stream = Stream::new("iterator").ordered();
            let items = stream.source("numbers", numbers);
            let odd = stream.node("odd", items).filter(|n| n % 2 == 1);
            let (odd, collected) = stream.node("same", odd).split(|n| (n, n % 4 == 1));
            let (to, kept) = called();
            stream.sink("called", odd, to);
            let collected = stream.collect("collected", collected);
            stream.run(&loom(workers)).unwrap();
            assert!(kept.lock().unwrap().iter().copied().eq((0..5000).filter(|n| n % 4 == 1)), "{workers} workers");
            assert!(collected.take().into_iter().eq((0..5000).filter(|n| n % 4 == 3)), "{workers} workers");
        }
        giving.join().unwrap();
    }
}

#[test]
fn a_join_keeps_the_order_of_the_node_where_its_edges_part() {
    // One way is long and multiplies, the other is short; the join takes the long one first, or last.
    for long_first in [true, false] {
        let many = |n: u64| 10 * n..10 * n + munge(n as u32) as u64 % 50;
        let result = run(1500, move |stream, items| {
            let node = stream.node("part", items).channel::<u64>("long", 1).channel::<u64>("short", 2);
            let (long, short) = node.each(|n, (long, short)| {
                if n % 4 > 0 {
                    long.push(*n);
                }
                (0..n % 3).for_each(|m| short.push(1_000_000 + n * 3 + m));
            });
            let long = stream.node("some", long).filter(|n| n % 5 > 0);
            let long = stream.node("many", long).expand(many);
            let long = stream.node("same", long).width(3).map(|n| *n);
            let edges = if long_first { [long, short] } else { [short, long] };
            stream.node("join", edges).map(|n| *n)
        });
        let expected = (0..1500).flat_map(|n| {
            let long: Vec<u64> = if n % 4 > 0 && n % 5 > 0 { many(n).collect() } else { Vec::new() };
            let short: Vec<u64> = (0..n % 3).map(|m| 1_000_000 + n * 3 + m).collect();
            if long_first { [long, short].concat() } else { [short, long].concat() }
        });
        assert!(result.into_iter().eq(expected), "long first: {long_first}");
    }
}

#[test]
fn joins_behind_an_expansion_and_around_a_region_keep_the_order() {
    // Of one number of the source more comes than any queue holds, so the order is that of what the expansion makes.
    let result = run(3, |stream, items| {
        let many = stream.node("many", items).expand(|n| 20_000 * n..20_000 * (n + 1));
        let (even, odd) = stream.node("part", many).split(|n: u64| (n, n.is_multiple_of(2)));
        stream.node("join", [odd, even]).map(|n| *n)
    });
    assert!(result.into_iter().eq(0..60_000));
    // The sums of a region on one way, and what leads past it.
    let result = run(700, |stream, items| {
        let node = stream.node("part", items).channel::<u64>("around", 1).channel::<u64>("past", 1);
        let (around, past) = node.each(|n, (around, past)| {
            around.push(*n);
            past.push(*n);
        });
        let (_, elements) = stream.enumerate_with("elements", around, 2, |n| 0..n % 9);
        let (low, high) = stream.node("again", elements).split(|n: u64| (n, n < 4));
        let all = stream.node("inner join", [high, low]).map(|n| *n);
        let sums = stream.node("sum", all).aggregate(|| 0, |sum, n| *sum = *sum * 3 + n, |sum| sum);
        stream.node("join", [sums, past]).map(|n| *n)
    });
    let sum = |n: u64| (0..n % 9).fold(0, |sum, n| sum * 3 + n);
    assert!(result.into_iter().eq((0..700).flat_map(|n| [sum(n), n])));
}

#[test]
fn a_loop_lets_items_out_in_the_order_in_which_they_entered() {
    let result = run(2000, |stream, items| {
        let node = stream.node("halve", items);
        let again = node.input();
        let node = node.channel::<u64>("even", 1).channel::<u64>("odd", 1);
        let (even, odd) =
            node.each(|n, (even, odd)| if *n > 0 && n % 2 == 0 { even.push(n / 2) } else { odd.push(*n) });
        let even = stream.node("on its way", even).map(|n| *n);
        stream.back_edge(even, again, 1);
        odd
    });
    let odd = |n: u64| if n == 0 { 0 } else { n >> n.trailing_zeros() };
    assert!(result.into_iter().eq((0..2000).map(odd)));
    // What one item becomes leaves in the order in which it goes around: here all of one size after the other.
    let result = run(300, |stream, items| {
        let items = stream.node("small", items).map(|n| n % 4);
        let node = stream.node("tree", items);
        let again = node.input();
        let node = node.channel::<u64>("again", 2).channel::<u64>("out", 1);
        let (back, out) = node.each(|n, (back, out)| {
            out.push(*n);
            (0..if *n > 0 { 2 } else { 0 }).for_each(|_| back.push(n - 1));
        });
        stream.back_edge(back, again, 16);
        out
    });
    let tree = |n: u64| (0..=n).rev().flat_map(move |m| std::iter::repeat_n(m, 1 << (n - m)));
    assert!(result.into_iter().eq((0..300).flat_map(|n| tree(n % 4))));
}

fn refused(stream: Stream) -> String {
    let error = stream.plan().unwrap_err();
    assert_eq!(error.diagnostics().iter().map(|found| found.code()).collect::<Vec<_>>(), [Code::Setting], "{error}");
    error.diagnostics()[0].message().to_owned()
}

#[test]
fn what_has_no_order_is_refused_with_names() {
    let mut stream = Stream::new("sources").ordered();
    let a = stream.source("a", source::range(0..3));
    let b = stream.source("b", source::range(0..3));
    stream.discard("both", [a, b]);
    let message = refused(stream);
    assert!(message.contains("node `both` joins edges from several sources"), "{message}");

    let mut stream = Stream::new("two ways").ordered();
    let items = stream.source("numbers", source::range(0..3));
    let node = stream.node("head", items);
    let again = node.input();
    let (a, b) = node.channel::<u64>("a", 1).channel::<u64>("b", 1).each(|_, _| {});
    let a = stream.node("way", a).map(|n| *n);
    stream.back_edge(a, again, 1);
    stream.back_edge(b, again, 1);
    let message = refused(stream);
    assert!(message.contains("loop of node `head`") && message.contains("`head`, `way`"), "{message}");

    let mut stream = Stream::new("crossing").ordered();
    let items = stream.source("numbers", source::range(0..3));
    let (a, b) = stream.node("one", items).split(|n: u64| (n, true));
    let (c, d) = stream.node("two", b).split(|n: u64| (n, true));
    let first = stream.node("first", [a, c]).map(|n| *n);
    stream.discard("second", [first, d]);
    let message = refused(stream);
    for name in ["node `one`", "node `second`", "at node `two`"] {
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn several_sources_keep_their_orders_on_one_worker() {
    let mut stream = Stream::new("sources").ordered();
    let results = ["a", "b"].map(|name| {
        let items = stream.source(name, source::range(0..1000));
        let (to, kept) = called();
        stream.sink(format!("{name} end"), items, to);
        kept
    });
    let plan = stream.plan().unwrap();
    let error = plan.start(&loom(2), &Settings::new()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Setting);
    assert!(error.to_string().contains("several sources"), "{error}");
    plan.start(&loom(2), &Settings::new().workers(1)).unwrap().wait().unwrap();
    assert!(results.iter().all(|kept| kept.lock().unwrap().iter().copied().eq(0..1000)));
}

#[test]
fn a_run_whose_workers_wait_for_their_turn_can_fail_and_be_cancelled() {
    in_time(|| {
        for fails in [true, false] {
            let (started, has_started) = mpsc::channel();
            let (go, may_go) = mpsc::channel::<()>();
            let may_go = Mutex::new(may_go);
            let mut stream = Stream::new("stuck").ordered().queue_scale(1).width(8);
            let items = stream.source("numbers", source::range(0..50_000));
            let items = stream.node("first waits", items).try_map(move |n| {
                if *n == 0 {
                    started.send(()).unwrap();
                    _ = may_go.lock().unwrap().recv();
                    return if fails { Err("no more") } else { Ok(0) };
                }
                Ok(*n)
            });
            let (to, kept) = called();
            stream.sink("end", items, to);
            let running = stream.plan().unwrap().start(&loom(3), &Settings::new()).unwrap();
            has_started.recv().unwrap();
            // The others do what they can, and wait.
            assert!(kept.lock().unwrap().is_empty(), "nothing comes before the first");
            if !fails {
                running.cancel();
            }
            drop(go);
            let error = running.wait().unwrap_err();
            let expected = if fails { ErrorKind::Failed } else { ErrorKind::Cancelled };
            assert_eq!(error.kind(), expected, "{error}");
        }
    });
}

/// What an ordered stream of 5000 numbers says at a node without channels, with one worker and with several.
fn said(describe: impl Fn(&mut Stream, Output<u64>, Arc<Mutex<Vec<String>>>)) -> Vec<String> {
    let mut results = Vec::new();
    for workers in [1, 2, 3, 3, 5] {
        let mut stream = Stream::new("ordered").ordered().width(8);
        let items = stream.source("numbers", source::range(0..5000));
        // The first numbers take long: those behind them are early.
        let items = stream.node("work", items).map(|n| {
            (0..if *n < 500 { 2000 } else { 1 }).for_each(|_| _ = std::hint::black_box(munge(*n as u32)));
            *n
        });
        let said = Arc::default();
        describe(&mut stream, items, Arc::clone(&said));
        stream.run(&loom(workers)).unwrap();
        results.push(std::mem::take(&mut *said.lock().unwrap()));
    }
    let first = results.remove(0);
    assert!(results.iter().all(|other| *other == first), "the order depends on the workers");
    first
}

#[test]
fn handlers_at_sinks_are_called_in_order_with_the_items() {
    for collects in [false, true] {
        let result = said(|stream, items, said| {
            let (numbers, elements) = stream.enumerate("elements", items, |n| 0..n % 3);
            let [begins, ends, takes] = [0; 3].map(|_| Arc::clone(&said));
            let node = stream.node("sink", elements);
            let node = node.on_begin(numbers, move |run, _| {
                begins.lock().unwrap().push(format!("begin {}", run.parent(numbers)));
            });
            let node = node.on_end(numbers, move |run, _| {
                ends.lock().unwrap().push(format!("end {}", run.parent(numbers)));
            });
            if collects {
                node.sink(sink::collect().0);
            } else {
                node.sink(sink::callback(move |items: &[u64]| {
                    takes.lock().unwrap().extend(items.iter().map(ToString::to_string));
                }));
            }
        });
        let expected = (0..5000_u64).flat_map(|n| {
            let elements = (0..n % 3).map(|element| element.to_string()).take(if collects { 0 } else { 3 });
            std::iter::once(format!("begin {n}")).chain(elements).chain([format!("end {n}")])
        });
        assert!(result.into_iter().eq(expected));
    }
}

#[test]
fn handlers_of_signals_at_sinks_are_called_in_order_with_the_items() {
    let result = said(|stream, items, said| {
        let hundred = stream.signal::<u64>();
        let some = stream.node("some", items).signals(8, 1).channel::<u64>("out", 1).run(move |run, out| {
            for n in run.items() {
                if n % 100 == 0 {
                    out.raise(hundred, *n);
                }
                if n % 100 > 50 {
                    out.push(*n);
                }
            }
        });
        let [hears, takes] = [0; 2].map(|_| Arc::clone(&said));
        let node =
            stream.node("sink", some).on(hundred, move |_, _, n| hears.lock().unwrap().push(format!("signal {n}")));
        node.sink(sink::callback(move |items: &[u64]| {
            takes.lock().unwrap().extend(items.iter().map(ToString::to_string));
        }));
    });
    let expected = (0..5000_u64).filter_map(|n| match n % 100 {
        0 => Some(format!("signal {n}")),
        rest => (rest > 50).then(|| n.to_string()),
    });
    assert!(result.into_iter().eq(expected));
}

#[test]
fn a_node_without_channels_sees_items_in_order() {
    let result = said(|stream, items, said| {
        let node = stream.node("end", items);
        node.run(move |run, _| said.lock().unwrap().extend(run.items().iter().map(ToString::to_string)));
    });
    assert!(result.into_iter().eq((0..5000).map(|n: u64| n.to_string())));
}

/// At the join a boundary waits on the first edge for the same on the others, whose items come behind those of the first as a rule. What
/// the ways to the first are still to bring is behind the boundary, so nobody waits for it, however little room there is.
#[test]
fn a_boundary_at_a_join_does_not_wait_for_signals_behind_it() {
    for workers in [1, 2] {
        let mut stream = Stream::new("behind").ordered().queue_scale(1);
        let kind = stream.signal::<u64>();
        let numbers = stream.source("numbers", source::range(0..3));
        let (_, elements) = stream.enumerate("elements", numbers, |n| 0..*n);
        let fork = stream.node("fork", elements).channel::<u64>("a", 1).channel::<u64>("b", 1).channel::<u64>("c", 1);
        let (a, b, c) = fork.each(|n, (a, b, c)| {
            a.push(*n);
            b.push(*n);
            c.push(*n);
        });
        let raising = stream.node("raise", a).channel::<u64>("out", 1).begin(move |_, out| out.raise(kind, 1));
        let a = raising.run(|run, out| out.extend_from_slice(run.items()));
        let inner = stream.node("inner", a).channel::<u64>("a", 1).channel::<u64>("b", 1);
        let (p, q) = inner.each(|n, (p, q)| {
            p.push(*n);
            q.push(n + 10);
        });
        let a = stream.node("inner join", [p, q]).map(|n| *n);
        let b = stream.node("middle", b).map(|n| *n);
        let all = stream.node("join", [a, b, c]).map(|n| *n);
        let sums = stream.node("sum", all).aggregate_sum(|n| *n, |count, sum| (count, sum));
        let sums = stream.collect("sums", sums);
        let running = stream.plan().unwrap().start(&loom(workers), &Settings::new()).unwrap();
        in_time(|| running.wait()).unwrap();
        assert_eq!(sums.take(), [(0, 0), (4, 10), (8, 4 + 20)]);
    }
}
