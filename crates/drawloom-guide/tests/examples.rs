//! The graphs in the guide do what the guide says: what is said to fail fails by that rule alone, what is said to pass
//! passes, and every rule has a page with both.

use std::path::Path;

use drawloom_graph::Rule;
use drawloom_guide::{CHAPTERS, CODES, SUMMARY};
use drawloom_lang::load::load;
use drawloom_lang::loom::Code;

/// A graph in a page.
struct Example {
    /// The page, and the line in it.
    at: String,
    /// `loom` or `json`.
    language: String,
    /// The rest of the tag: `fails:RF2`, `passes`, `file:…`.
    tags: Vec<String>,
    text: String,
}

impl Example {
    fn value(&self, key: &str) -> Option<&str> {
        self.tags.iter().find_map(|tag| tag.strip_prefix(key)?.strip_prefix(':'))
    }

    fn passes(&self) -> bool {
        self.tags.iter().any(|tag| tag == "passes")
    }

    /// The codes of everything found: violations and errors, then warnings.
    fn found(&self) -> (Vec<String>, Vec<String>) {
        let name = format!("example.{}", self.language);
        match load(&name, self.text.as_bytes()) {
            Err(error) => {
                let text = error.to_string();
                let codes = Code::ALL.iter().map(|c| c.code()).filter(|c| text.contains(&format!("{c}: ")));
                (codes.map(str::to_owned).collect(), Vec::new())
            }
            Ok(loaded) => {
                let report = loaded.graph.check();
                let violations = loaded.findings.iter().chain(&report.violations);
                let codes = |rule: Rule| rule.code().to_owned();
                (violations.map(|d| codes(d.rule)).collect(), report.warnings.iter().map(|d| codes(d.rule)).collect())
            }
        }
    }
}

fn examples() -> Vec<Example> {
    let mut found = Vec::new();
    for page in CHAPTERS.iter().chain(CODES.iter().map(|(_, page)| page)) {
        let mut open: Option<Example> = None;
        for (number, line) in page.text.lines().enumerate() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(tag)) => {
                    let mut tags = tag.split(',').map(str::to_owned);
                    let language = tags.next().unwrap_or_default();
                    let at = format!("{}:{}", page.path, number + 1);
                    open = Some(Example { at, language, tags: tags.collect(), text: String::new() });
                }
                (Some(_), Some("")) => found.extend(open.take()),
                (Some(example), _) => {
                    example.text.push_str(line);
                    example.text.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a code block is not closed", page.path);
    }
    found.retain(|e| e.language == "loom" || e.language == "json");
    found
}

#[test]
fn an_example_fails_by_the_rule_it_is_said_to_fail_by_and_by_no_other() {
    let mut count = 0;
    for example in examples() {
        if let Some(code) = example.value("fails") {
            let (found, _) = example.found();
            assert!(!found.is_empty(), "{}: nothing was found, and {code} should be", example.at);
            assert!(found.iter().all(|c| c == code), "{}: found {found:?}, and only {code} should be", example.at);
            count += 1;
        }
        if let Some(code) = example.value("warns") {
            let (violations, warnings) = example.found();
            assert_eq!(violations, Vec::<String>::new(), "{}", example.at);
            assert_eq!(warnings, [code], "{}", example.at);
            count += 1;
        }
    }
    assert!(count >= Rule::ALL.len() + Code::ALL.len());
}

#[test]
fn an_example_that_is_said_to_pass_passes_without_warnings() {
    let mut count = 0;
    for example in examples().into_iter().filter(Example::passes) {
        let (violations, warnings) = example.found();
        assert_eq!((violations, warnings), (Vec::new(), Vec::new()), "{}", example.at);
        count += 1;
    }
    assert!(count >= Rule::ALL.len() + Code::ALL.len());
}

#[test]
fn every_example_says_what_becomes_of_it() {
    for example in examples() {
        let said = example.passes() || example.value("fails").is_some() || example.value("warns").is_some();
        let shown_only = example.tags.iter().any(|tag| tag == "part");
        assert!(said || shown_only, "{}: tag the block `passes`, `fails:CODE`, `warns:CODE` or `part`", example.at);
    }
}

#[test]
fn every_code_has_a_page_with_its_meaning_a_failing_and_a_corrected_example() {
    let rules = Rule::ALL.iter().map(|r| (r.code(), r.meaning()));
    let codes = Code::ALL.iter().map(|c| (c.code(), c.meaning()));
    let wanted: Vec<(&str, &str)> = rules.chain(codes).collect();
    let pages: Vec<&str> = CODES.iter().map(|(code, _)| *code).collect();
    assert_eq!(pages, wanted.iter().map(|(code, _)| *code).collect::<Vec<_>>());
    let examples = examples();
    for ((code, meaning), (_, page)) in wanted.iter().zip(CODES) {
        assert!(page.text.starts_with(&format!("# {code}: ")), "{code}: the page does not start with its code");
        assert!(page.text.contains(&format!("\n> {meaning}\n")), "{code}: the page does not quote its rule: {meaning}");
        let mine = || examples.iter().filter(|e| e.at.starts_with(&format!("{}:", page.path)));
        let shows = |key| mine().any(|e| e.value(key) == Some(code));
        assert!(shows("fails") || shows("warns"), "{code}: no failing example");
        assert!(mine().any(Example::passes), "{code}: no corrected example");
    }
}

#[test]
fn every_page_is_in_the_table_of_contents_and_every_file_is_a_page() {
    let pages: Vec<&str> = CHAPTERS.iter().chain(CODES.iter().map(|(_, page)| page)).map(|page| page.path).collect();
    let mut at = 0;
    for path in &pages {
        let link = SUMMARY[at..].find(&format!("]({path})"));
        at += link.unwrap_or_else(|| panic!("{path} is not in SUMMARY.md, or not in the same order as here"));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src");
    let mut files = Vec::new();
    for (folder, prefix) in [(root.clone(), ""), (root.join("rules"), "rules/")] {
        for entry in std::fs::read_dir(folder).expect("the pages are there") {
            let name = entry.expect("the pages can be listed").file_name().into_string().expect("names are text");
            if name.ends_with(".md") && name != "SUMMARY.md" {
                files.push(format!("{prefix}{name}"));
            }
        }
    }
    for file in files {
        assert!(pages.contains(&file.as_str()), "{file} is not included in the crate drawloom-guide");
    }
}

/// A document without its code, in which brackets are no links.
fn prose(document: &str) -> String {
    let mut text = String::new();
    let mut code = false;
    for line in document.lines() {
        if line.starts_with("```") {
            code = !code;
        } else if !code {
            text.extend(line.split('`').step_by(2));
            text.push('\n');
        }
    }
    text
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut documents: Vec<String> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "book/src/SUMMARY.md"]
            .map(str::to_owned)
            .into();
    documents.extend(
        CHAPTERS.iter().chain(CODES.iter().map(|(_, page)| page)).map(|page| format!("book/src/{}", page.path)),
    );
    let mut links = 0;
    for document in documents {
        let path = root.join(&document);
        let text = std::fs::read_to_string(&path).expect("the document is there");
        for rest in prose(&text).split("](").skip(1) {
            let target = rest.split([')', '#']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.contains(char::is_whitespace) {
                continue;
            }
            assert!(path.with_file_name(target).exists(), "{document} links to {target}, which is not there");
            links += 1;
        }
    }
    assert!(links > 100, "{links} links were found");
}

#[test]
fn the_readme_shows_the_example_program_as_it_is() {
    let program = include_str!("../../drawloom/examples/first_tasks.rs");
    let code = program.split_once("\n\n").map_or(program, |(_, code)| code);
    assert!(include_str!("../../../README.md").contains(&format!("```rust\n{code}```\n")));
}
