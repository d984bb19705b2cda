//! Text in, text out: every rule on small graphs, in `tests/cases`.
//!
//! `rf2-bad-fork.json` breaks rule RF2, `rf2-good-chain.json` comes close to it and does not. Beside each lies what a check
//! finds: one line for each finding, `RULE node,node | message`, and for a valid graph a last line with the serial order of
//! the tasks and the orders beyond dataflow. `UPDATE_EXPECTED=1` rewrites those files; read the difference before you
//! commit it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{confirm::confirm, proof};
use drawloom_graph::{Diagnostic, Graph, NodeId, Rule, Stage};
use drawloom_lang::load::load;

struct Case {
    /// `rf2-bad-fork`
    name: String,
    path: PathBuf,
    graph: Graph,
    findings: Vec<Diagnostic>,
}

impl Case {
    fn rule(&self) -> Rule {
        let code = self.name.split('-').next().unwrap_or_default();
        let found = Rule::ALL.iter().copied().find(|r| r.code().eq_ignore_ascii_case(code));
        found.unwrap_or_else(|| panic!("the name of {} starts with a rule", self.name))
    }

    fn is_bad(&self) -> bool {
        match self.name.split('-').nth(1) {
            Some("bad") => true,
            Some("good") => false,
            _ => panic!("{} is a bad or a good case", self.name),
        }
    }

    fn text(&self) -> String {
        let mut text: String = self.findings.iter().map(|d| line(&self.graph, d) + "\n").collect();
        if self.findings.iter().all(Diagnostic::is_warning) {
            let order = self.graph.order().expect("a graph without violations has an order");
            text += &format!("valid: {}", names(&self.graph, &order.tasks).join(" "));
            for (before, after) in &order.happens_before {
                text += &format!(" | {} before {}", order.name(&self.graph, *before), order.name(&self.graph, *after));
            }
            text += "\n";
        }
        text
    }
}

/// Every case, by name.
fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let entries = fs::read_dir(&folder).expect("the folder of the cases exists");
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("the folder can be read").path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "json" || e == "loom"));
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let name = path.file_stem().expect("a case has a name").to_string_lossy().into_owned();
            let bytes = fs::read(&path).expect("a case can be read");
            let loaded = load(&path.to_string_lossy(), &bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
            let report = loaded.graph.check();
            let mut findings = loaded.findings;
            findings.extend(report.violations);
            findings.extend(report.warnings);
            Case { name, path, graph: loaded.graph, findings }
        })
        .collect()
}

/// `RULE node,node | message`, with the control nodes around it in front of the nodes.
fn line(graph: &Graph, d: &Diagnostic) -> String {
    let mut at = graph;
    let mut place = String::new();
    for node in &d.scope {
        place += &format!("{}/", at.name(*node));
        at = at.body(*node).expect("a scope names control nodes").graphs().next().expect("a body holds a graph");
    }
    format!("{} {place}{} | {}", d.rule, names(at, &d.nodes).join(","), d.message)
}

fn names(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    nodes.iter().map(|n| graph.name(*n).into_owned()).collect()
}

#[test]
fn every_case_finds_what_is_written_beside_it() {
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let mut wrong = Vec::new();
    for case in cases() {
        let expected = case.path.with_extension("expected");
        let text = case.text();
        if update {
            fs::write(&expected, &text).expect("expected files can be written");
        } else if fs::read_to_string(&expected).ok().as_deref() != Some(&text) {
            wrong.push(format!("{}:\n{text}", case.name));
        }
    }
    assert!(wrong.is_empty(), "found something else than what is expected:\n{}", wrong.join("\n"));
}

#[test]
fn bad_cases_break_their_rule_and_good_ones_break_none() {
    for case in cases() {
        let breaks = case.findings.iter().any(|d| d.rule == case.rule());
        let violates = case.findings.iter().any(|d| !d.is_warning());
        assert_eq!(breaks, case.is_bad(), "{} and its rule", case.name);
        assert_eq!(violates, case.is_bad() && case.rule().stage() != Stage::Warning, "{} is valid or not", case.name);
    }
}

#[test]
fn every_rule_has_two_bad_and_two_good_cases() {
    let cases = cases();
    for rule in Rule::ALL {
        for bad in [true, false] {
            let count = cases.iter().filter(|c| c.rule() == *rule && c.is_bad() == bad).count();
            assert!(count >= 2, "{rule} has {count} {} cases", if bad { "bad" } else { "good" });
        }
    }
}

#[test]
fn every_case_agrees_with_brute_force_and_its_witnesses_are_confirmed() {
    for case in cases() {
        for d in case.findings.iter().filter(|d| d.rule.stage() != Stage::Build) {
            assert!(confirm(&case.graph, d), "{}: {} {:?}", case.name, d.message, d.witness);
        }
        if case.graph.bodies().next().is_none() {
            proof::compare(&case.graph).unwrap_or_else(|why| panic!("{}: {why}", case.name));
        }
    }
}
