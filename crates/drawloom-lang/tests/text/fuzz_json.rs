//! Whatever the bytes: a graph or a clear error, never a panic, a hang or exhausted memory.
//!
//! [`target`] is a plain function over bytes. Here it is driven by seeded mutations of a committed corpus, so that a
//! failure repeats; any other fuzzer can call it too.

use std::time::{Duration, Instant};

use drawloom_lang::report::check_json;
use drawloom_lang::{Drawing, dot, json, svg};
use fastrand::Rng;

/// Mutated files, unless `DRAWLOOM_FUZZ_ROUNDS` asks for more.
const ROUNDS: u64 = 12_000;

/// Reads, and does with a graph everything that a user can do with it.
fn target(bytes: &[u8]) {
    let graph = match json::read(bytes) {
        Ok(graph) => graph,
        Err(error) => {
            assert!(error.line() >= 1 && error.column() >= 1, "{error}");
            assert!(!error.message().is_empty() && !error.message().contains(" at line "), "{error}");
            return;
        }
    };
    let report = graph.check();
    let line = check_json("fuzz", &graph, &report);
    assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok(), "{line}");
    assert_eq!(graph.order().is_ok(), report.is_valid());

    let text = json::write(&graph);
    let back = json::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(json::write(&back), text, "writing what was read from a written file changes nothing");
    assert_eq!(back.check().is_valid(), report.is_valid(), "{text}");

    let drawing = Drawing { orders: Vec::new(), report: Some(&report) };
    assert!(dot::write(&graph, &drawing).ends_with("}\n"));
    assert!(svg::write(&graph, &drawing).is_ok_and(|svg| svg.ends_with("</svg>\n")));
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/json");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 10, "the corpus is there");
    files.iter().map(|path| (path.display().to_string(), std::fs::read(path).unwrap())).collect()
}

/// Pieces of the language, so that mutations often stay near a graph.
const WORDS: [&str; 26] = [
    "\"Read\"",
    "\"Write\"",
    "\"Reduce\"",
    "\"Use\"",
    "\"Discard\"",
    "\"HappensBefore\"",
    "\"Task\"",
    "\"Region\"",
    "\"Open\"",
    "\"Close\"",
    "\"A\"",
    "\"R\"",
    "1",
    "-1",
    "1e400",
    "null",
    "{}",
    "[]",
    "[[\"A\",\"B\"]]",
    "\"nodes\":[],",
    "\"op\":\"+\",",
    "\"port\":0,",
    "\"body\":{\"nodes\":[]},",
    "\"control\":{\"while\":\"A\"},",
    "\"\\ud800\"",
    "\u{0}",
];

fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, others: &[(String, Vec<u8>)]) {
    for _ in 0..rng.usize(1..5) {
        let at = rng.usize(..=bytes.len());
        let end = (at + rng.usize(..24)).min(bytes.len());
        match rng.u32(0..8) {
            0 if at < bytes.len() => bytes[at] = rng.u8(..),
            1 if at < bytes.len() => bytes[at] ^= 1 << rng.u32(..8),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let copy = bytes[at..end].to_vec();
                let to = rng.usize(..=bytes.len());
                bytes.splice(to..to, copy);
            }
            4 => drop(bytes.splice(at..end, rng.choice(WORDS).unwrap().bytes())),
            5 => drop(bytes.splice(at..at, rng.choice(WORDS).unwrap().bytes())),
            6 => {
                let other = &others[rng.usize(..others.len())].1;
                let from = rng.usize(..=other.len());
                let to = (from + rng.usize(..80)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            _ => swap_tokens(rng, bytes),
        }
    }
}

/// Exchanges two texts of the file: labels become ids, ids become regions.
fn swap_tokens(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let quotes: Vec<usize> = bytes.iter().enumerate().filter(|(_, b)| **b == b'"').map(|(at, _)| at).collect();
    if quotes.len() < 4 {
        return;
    }
    let pick = |rng: &mut Rng| {
        let at = rng.usize(..quotes.len() / 2) * 2;
        (quotes[at], quotes[at + 1])
    };
    let (a, b) = (pick(rng), pick(rng));
    let token = bytes[b.0..=b.1].to_vec();
    bytes.splice(a.0..=a.1, token);
}

#[test]
fn every_file_of_the_corpus_is_read_or_refused() {
    for (_, bytes) in corpus() {
        target(&bytes);
    }
}

#[test]
fn the_corpus_gives_the_answers_it_was_made_for() {
    let answer = |name: &str| {
        let (_, bytes) = corpus().into_iter().find(|(path, _)| path.ends_with(&format!("/{name}.json"))).expect(name);
        match json::read(&bytes) {
            Ok(graph) => graph.check().violations.first().map_or("valid".to_owned(), |v| v.rule.to_string()),
            Err(error) => format!("{:?}", error.kind()),
        }
    };
    assert_eq!(answer("swap"), "S1");
    assert_eq!(answer("open_close"), "valid");
    assert_eq!(answer("reduce"), "valid");
    assert_eq!(answer("cyclic_subregions"), "RG2");
    assert_eq!(answer("self_loops"), "WF0");
    assert_eq!(answer("undeclared"), "WF0");
    assert_eq!(answer("duplicate_ids"), "Duplicate");
    assert_eq!(answer("unknown_label"), "Label");
    assert_eq!(answer("not_utf8"), "Encoding");
    assert_eq!(answer("large_numbers"), "valid");
    assert_eq!(answer("escapes"), "valid");
}

#[test]
fn mutated_files_never_break_anything() {
    let rounds = std::env::var("DRAWLOOM_FUZZ_ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(ROUNDS);
    let corpus = corpus();
    let mut read = 0;
    for round in 0..rounds {
        // One seed a round, so that a failing round can be run alone.
        let mut rng = Rng::with_seed(round);
        let mut bytes = corpus[rng.usize(..corpus.len())].1.clone();
        mutate(&mut rng, &mut bytes, &corpus);
        read += u64::from(json::read(&bytes).is_ok());
        if let Err(panic) = std::panic::catch_unwind(|| target(&bytes)) {
            eprintln!("round {round}: {}", String::from_utf8_lossy(&bytes));
            std::panic::resume_unwind(panic);
        }
    }
    assert!(read > rounds / 50, "mutations stay near graphs: {read} of {rounds} were read");
}

#[test]
fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
    let deep = 200_000;
    target("[".repeat(deep).as_bytes());
    target("{\"a\":".repeat(deep).as_bytes());
    target(format!("{{\"x\":{}{},\"nodes\":[]}}", "[".repeat(deep), "]".repeat(deep)).as_bytes());
    let body = "{\"nodes\":[{\"id\":1,\"label\":\"Task\",\"body\":";
    let error = json::read(body.repeat(5_000).as_bytes()).unwrap_err();
    assert_eq!(error.kind(), json::JsonErrorKind::Syntax, "{error}");
    let closed = format!("{}{{\"nodes\":[]}}{}", body.repeat(5_000), "}]}".repeat(5_000));
    let error = json::read(closed.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), json::JsonErrorKind::Nesting, "{error}");
}

#[test]
fn huge_counts_cost_no_more_than_their_text() {
    let start = Instant::now();
    for count in ["18446744073709551615", "18446744073709551616", "1e30", "-1"] {
        target(
            format!("{{\"nodes\":[{{\"id\":1,\"label\":\"Task\",\"control\":{{\"repeat\":{count}}},\"body\":{{\"nodes\":[]}}}}]}}")
                .as_bytes(),
        );
        target(
            format!("{{\"nodes\":[],\"edges\":[{{\"from\":1,\"to\":2,\"label\":\"Read\",\"port\":{count}}}]}}")
                .as_bytes(),
        );
    }
    // More operators than a graph can number.
    let mut text = "{\"nodes\":[],\"edges\":[".to_owned();
    for operator in 0..65_600 {
        text.push_str(&format!("{{\"from\":1,\"to\":2,\"label\":\"Reduce\",\"op\":\"o{operator}\"}},"));
    }
    text.pop();
    text.push_str("]}");
    let error = json::read(text.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), json::JsonErrorKind::TooLarge);
    assert_eq!(error.message(), "more than 65535 different reduction operators in one graph");
    assert!(start.elapsed() < Duration::from_secs(60), "bounded by the length of the text");
}
