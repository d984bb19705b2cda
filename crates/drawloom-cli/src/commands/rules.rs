//! `drawloom rules`: what each rule asks for.

use drawloom_graph::{Rule, Stage};
use drawloom_guide as guide;
use serde::Serialize;

use crate::arguments::{Format, Rules};
use crate::exit::Exit;
use crate::output::{Output, complain};

/// One rule as JSON.
#[derive(Serialize)]
struct Line {
    rule: &'static str,
    stage: &'static str,
    meaning: &'static str,
}

/// Lists the rules, or prints the page of one.
pub(crate) fn run(arguments: &Rules, output: &mut Output) -> Exit {
    match &arguments.code {
        Some(code) => page(code, output),
        None if arguments.format == Format::Json => {
            for rule in Rule::ALL {
                output.json(&Line { rule: rule.code(), stage: stage(rule.stage()), meaning: rule.meaning() });
            }
            Exit::Valid
        }
        None => {
            list(output);
            Exit::Valid
        }
    }
}

fn list(output: &mut Output) {
    let mut last = None;
    for rule in Rule::ALL {
        if last != Some(rule.stage()) {
            let gap = if last.is_some() { "\n" } else { "" };
            output.line(format_args!("{gap}{}", heading(rule.stage())));
            last = Some(rule.stage());
        }
        output.line(format_args!("  {:<5} {}", rule.code(), rule.meaning()));
    }
    output.line("\n`drawloom rules CODE` prints the page of a rule, with examples.");
}

fn page(code: &str, output: &mut Output) -> Exit {
    match guide::code_page(code) {
        Some(page) => {
            output.text(page);
            Exit::Valid
        }
        None => {
            complain(format_args!("there is no rule `{code}`; `drawloom rules` lists them all"));
            Exit::Unusable
        }
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Build => "build",
        Stage::WellFormed => "well-formed",
        Stage::Races => "races",
        Stage::Serial => "serial",
        Stage::Warning => "warning",
    }
}

fn heading(stage: Stage) -> &'static str {
    match stage {
        Stage::Build => "Building in program order",
        Stage::WellFormed => "Is it a graph at all?",
        Stage::Races => "Regions, races, and what each kind of node may do",
        Stage::Serial => "Can it run one task after another?",
        Stage::Warning => "Warnings: legal, and probably not meant",
    }
}
