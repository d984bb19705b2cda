//! `drawloom-bench onnx-test`: tests of operators in the form of the ONNX project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use drawloom_cli::exit::Exit;
use drawloom_cli::output::{Output, complain};
use serde::Serialize;

#[path = "../../drawloom-onnx/tests/support/node_tests.rs"]
mod node_tests;

/// Run a directory of tests of ONNX operators
///
/// Each folder in it has a model.onnx, and folders test_data_set_* with input_*.pb and output_*.pb. The last line is JSON:
/// how many passed, how many were skipped for which reason, and the names of those that failed. Folders without a model.onnx
/// are counted on standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pip install --target wheel onnx==1.17.0
  drawloom-bench onnx-test wheel/onnx/backend/test/data/node

Exit codes: 0 none failed, 1 some failed, 2 an unusable directory.")]
pub(crate) struct Arguments {
    /// A directory of tests, or one test
    directory: PathBuf,
}

/// The last line. Its keys are stable.
#[derive(Serialize)]
struct Summary<'a> {
    passed: usize,
    skipped: BTreeMap<&'a str, usize>,
    failed: Vec<&'a str>,
}

/// Runs the tests.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let report = match node_tests::run(&arguments.directory) {
        Ok(report) => report,
        Err(error) => {
            complain(format_args!("{} cannot be read: {error}", arguments.directory.display()));
            return Exit::Unusable;
        }
    };
    match folders_without_model(&arguments.directory) {
        0 => {}
        1 => complain("one folder has no model.onnx, and is no test"),
        count => complain(format_args!("{count} folders have no model.onnx, and are no tests")),
    }
    if report.passed + report.skipped.len() + report.failed.len() == 0 {
        complain(format_args!("there are no tests in {}", arguments.directory.display()));
        return Exit::Unusable;
    }
    for (name, why) in &report.failed {
        complain(format_args!("{name}: {why}"));
    }
    output.json(&Summary {
        passed: report.passed,
        skipped: report.skipped.iter().map(|(reason, names)| (reason.as_str(), names.len())).collect(),
        failed: report.failed.iter().map(|(name, _)| name.as_str()).collect(),
    });
    if report.failed.is_empty() { Exit::Valid } else { Exit::Invalid }
}

/// How many folders beside the tests are none. A directory that is a test itself has folders of data.
fn folders_without_model(directory: &Path) -> usize {
    let is_test = |folder: &Path| folder.join("model.onnx").is_file();
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir());
    if is_test(directory) { 0 } else { folders.filter(|folder| !is_test(folder)).count() }
}
