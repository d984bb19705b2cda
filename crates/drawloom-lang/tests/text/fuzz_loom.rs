//! Bounded, seeded mutations of texts: reading never panics, and what parses survives printing.

use crate::support::{examples, files, random_text};
use drawloom_lang::load::{Source, load};
use drawloom_lang::loom::{Limits, lower_within, parse, write_graph};
use drawloom_lang::render::{render, render_errors};

/// The target: any bytes at all.
fn fuzz_loom(bytes: &[u8]) {
    if let Err(error) = load("fuzz.json", bytes) {
        // Most mutants are no JSON; saying so must not fail either.
        assert!(!error.to_string().is_empty());
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        assert!(bytes.first() == Some(&b'{') || load("fuzz.loom", bytes).is_err());
        return;
    };
    let file = match parse(text) {
        Ok(file) => file,
        Err(errors) => {
            assert!(!errors.is_empty() && errors.len() <= 100);
            assert!(render_errors("fuzz.loom", text, &errors, false).contains("error[L"));
            return;
        }
    };
    let printed = file.to_string();
    let again = parse(&printed).unwrap_or_else(|e| panic!("printed text does not parse: {e:?}\n{printed}"));
    assert_eq!(again, file, "printing changed the file\n{printed}");
    assert_eq!(again.to_string(), printed, "printing is not idempotent\n{printed}");
    let limits = Limits { steps: 3_000, pieces: 3_000, facts: 3_000, comparisons: 100_000 };
    match lower_within(&file, limits) {
        Err(errors) => assert!(render_errors("fuzz.loom", text, &errors, true).contains("L")),
        Ok(lowered) => {
            let report = lowered.graph.check();
            let nothing = report.is_valid() && report.warnings.is_empty();
            assert_eq!(render(&report, &lowered.graph, None, false).is_empty(), nothing);
            let (name, text, spans) = ("fuzz.loom".to_owned(), text.to_owned(), lowered.spans);
            let mut all = report;
            all.violations.splice(0..0, lowered.findings.iter().map(|f| f.diagnostic.clone()));
            let source = Source { name, text, spans, findings: lowered.findings };
            let told = render(&all, &lowered.graph, Some(&source), false);
            assert!(told.matches("error[").count() >= all.violations.len());
            let written = write_graph(&lowered.graph);
            parse(&written).unwrap_or_else(|e| panic!("a written graph does not parse: {e:?}\n{written}"));
        }
    }
}

fn corpus() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/loom");
    let mut corpus: Vec<Vec<u8>> = examples().into_iter().map(|(_, text)| text.into_bytes()).collect();
    corpus.extend(files(&folder, "loom").into_iter().map(|p| std::fs::read(p).expect("a case can be read")));
    corpus.extend((0..20).map(|seed| random_text(seed).into_bytes()));
    corpus
}

const WORDS: [&str; 34] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "\n",
    ";",
    "#",
    "\"",
    "..",
    "->",
    "<=",
    ":",
    "@",
    ",",
    "=",
    "for i in 0..3 {",
    "1e18",
    "18446744073709551615",
    "-",
    "%",
    "task",
    "graph {",
    "repeat",
    "if",
    "else",
    "region",
    "partition",
    "\\",
    "cost 1e999",
    "\u{feff}",
    "é",
    "lists",
];

fn mutate(random: &mut fastrand::Rng, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
    let at = random.usize(..=bytes.len());
    let end = (at + random.usize(..20)).min(bytes.len());
    match random.u8(..7) {
        0 => drop(bytes.drain(at..end)),
        1 => {
            let copy = bytes[at..end].to_vec();
            let to = random.usize(..=bytes.len());
            bytes.splice(to..to, copy);
        }
        2 if at < bytes.len() => bytes[at] = random.u8(..),
        3 => {
            let other = &corpus[random.usize(..corpus.len())];
            let from = random.usize(..=other.len());
            let to = (from + random.usize(..60)).min(other.len());
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        _ => {
            let word = WORDS[random.usize(..WORDS.len())];
            bytes.splice(at..at, word.bytes());
        }
    }
}

#[test]
fn mutated_texts_never_panic_and_survive_printing_when_they_parse() {
    let corpus = corpus();
    let runs: u64 = std::env::var("DRAWLOOM_FUZZ_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(6_000);
    for seed in 0..runs {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut bytes = corpus[random.usize(..corpus.len())].clone();
        for _ in 0..random.usize(1..5) {
            mutate(&mut random, &mut bytes, &corpus);
        }
        let result = std::panic::catch_unwind(|| fuzz_loom(&bytes));
        assert!(result.is_ok(), "seed {seed} fails on:\n{}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn deep_huge_and_broken_inputs_give_errors() {
    let deep = |open: &str, count: usize| open.repeat(count);
    let inputs = [
        deep("repeat 1 {", 100_000),
        deep("repeat 1 {", 100_000) + &"}".repeat(100_000),
        format!("graph {{ {} ", deep("task t: call {", 100_000)),
        format!("let x = {}1", deep("(", 100_000)),
        format!("let x = {}1", deep("-", 100_000)),
        format!("let x = 1{}", deep("+1", 100_000)),
        format!("let x = {}1{}", deep("(", 100_000), deep(")", 100_000)),
        format!("region A\n{}", "for i in 0..1000000 {".repeat(10)),
        "region A\nfor i in 0..1e18 { task f(read A) }".to_owned(),
        "for i in 0..1000 { for j in 0..1000 { for k in 0..1000 { for l in 0..1000 { } } } }".to_owned(),
        "space c 18446744073709551615\npartition p of c = equal 4294967295".to_owned(),
        "region A\npartition p of A = declared 4294967295".to_owned(),
        format!("region {0}\ndisjoint {0}", (0..5000).map(|i| format!("r{i}")).collect::<Vec<_>>().join(", ")),
        "let x = 18446744073709551615 * 18446744073709551615 * 18446744073709551615".to_owned(),
        "let x = 1 / 0".to_owned(),
        "space c 10\npartition p of c = colours [4294967295,0,0,0,0,0,0,0,0,0]".to_owned(),
        "region \"no end".to_owned(),
        "}".repeat(100_000),
        "\u{0}\u{1}€".repeat(50_000),
    ];
    for text in inputs {
        let start: String = text.chars().take(60).collect();
        let error = load("deep.loom", text.as_bytes()).err().unwrap_or_else(|| panic!("{start} was read"));
        assert!(error.render(false).contains("error[L"), "{start}");
        assert!(error.to_string().len() < 1000, "{start}: the message is longer than a message should be");
    }
}
