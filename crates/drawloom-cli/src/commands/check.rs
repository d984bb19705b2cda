//! `drawloom check`: every violation of every rule, in one file or many.

use drawloom_lang::report;

use super::summary;
use super::verdict::{self, Checked, Voice};
use crate::arguments::{Check, ReportFormat};
use crate::exit::Exit;
use crate::input::{self, Input};
use crate::output::Output;

/// The endings of files that hold graphs.
const ENDINGS: [&str; 2] = ["loom", "json"];

/// Checks files and folders.
pub(crate) fn run(arguments: &Check, output: &mut Output) -> Exit {
    let inputs = input::collect(&arguments.files, &ENDINGS);
    match arguments.format {
        ReportFormat::Text => text(&inputs, arguments.quiet, output),
        ReportFormat::Json => json(&inputs, output),
        ReportFormat::Sarif => sarif(&inputs, output),
    }
}

fn text(inputs: &[Input], quiet: bool, output: &mut Output) -> Exit {
    let alone = inputs.len() == 1;
    let mut counts = [0usize; 3];
    let mut worst = Exit::Valid;
    for input in inputs {
        let exit = match Checked::new(input) {
            Err(reason) => verdict::unusable(input, &reason, Voice::Text, output),
            Ok(checked) => {
                output.text(checked.text(output.color()));
                let exit = checked.exit();
                match exit {
                    Exit::Valid if quiet => {}
                    Exit::Valid if alone => summary::describe(input, &checked, output),
                    Exit::Valid => output.line(format_args!("{input}: valid")),
                    _ => output.line(format_args!("{input}: invalid, {}", violations(&checked))),
                }
                exit
            }
        };
        counts[exit as usize] += 1;
        worst = worst.and(exit);
        // What was found in one file is shown before the next, perhaps much larger one, is read.
        output.flush();
    }
    if !alone && !quiet {
        let [valid, invalid, unusable] = counts;
        output.line(format_args!("{} files: {valid} valid, {invalid} invalid, {unusable} unusable", inputs.len()));
    }
    worst
}

fn json(inputs: &[Input], output: &mut Output) -> Exit {
    let mut worst = Exit::Valid;
    for input in inputs {
        worst = worst.and(match Checked::new(input) {
            Err(reason) => verdict::unusable(input, &reason, Voice::Json, output),
            Ok(checked) => {
                output.line(checked.json(input));
                checked.exit()
            }
        });
        output.flush();
    }
    worst
}

/// All files go into one document, so all of them are kept until the end.
fn sarif(inputs: &[Input], output: &mut Output) -> Exit {
    let (mut checked, mut unusable) = (Vec::new(), Vec::new());
    let mut worst = Exit::Valid;
    for input in inputs {
        match Checked::new(input) {
            Ok(graph) => {
                worst = worst.and(graph.exit());
                checked.push((input.given(), graph));
            }
            Err(reason) => {
                worst = worst.and(verdict::unusable(input, &reason, Voice::Text, output));
                unusable.push((input.given(), reason.to_string()));
            }
        }
    }
    let spans: Vec<_> = checked.iter().map(|(_, graph)| graph.places()).collect();
    let files: Vec<report::Checked<'_>> = checked
        .iter()
        .zip(&spans)
        .map(|((file, checked), spans)| report::Checked {
            file,
            source: checked.source().map(|source| source.text.as_str()),
            graph: checked.graph(),
            report: &checked.report,
            spans,
        })
        .collect();
    let unusable: Vec<(&str, &str)> = unusable.iter().map(|(file, why)| (file.as_str(), why.as_str())).collect();
    output.line(report::sarif(&files, &unusable));
    worst
}

/// `2 violations of T1 and RF2`.
fn violations(checked: &Checked) -> String {
    let report = &checked.report;
    let mut rules: Vec<&str> = Vec::new();
    for diagnostic in &report.violations {
        if !rules.contains(&diagnostic.rule.code()) {
            rules.push(diagnostic.rule.code());
        }
    }
    let count = report.violations.len() as u64 + report.unlisted;
    format!("{count} {} of {}", if count == 1 { "violation" } else { "violations" }, rules.join(", "))
}
