//! Directories of tests in the form of the ONNX project: a model, inputs, and what must come out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use drawloom_tensor::operator::{Number, Room};
use drawloom_tensor::{ElementType, Error, ErrorKind, Fault, Model, Outcome, Settings, Tensor, View, with_type};

/// What came of the tests of a directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// How many gave what they must.
    pub(crate) passed: usize,
    /// Those that were not run, by the reason.
    pub(crate) skipped: BTreeMap<String, Vec<String>>,
    /// Those that did not, with the reason.
    pub(crate) failed: Vec<(String, String)>,
}

/// What came of one test.
enum Verdict {
    Passed,
    Skipped(String),
    Failed(String),
}

/// Runs every test of a directory, or the directory itself if it is one.
pub(crate) fn run(directory: &Path) -> std::io::Result<Report> {
    let mut tests: Vec<PathBuf> = Vec::new();
    if directory.join("model.onnx").is_file() {
        tests.push(directory.to_owned());
    } else {
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.join("model.onnx").is_file() {
                tests.push(path);
            }
        }
    }
    tests.sort();
    let mut report = Report::default();
    for test in tests {
        let name =
            test.file_name().map_or_else(|| test.display().to_string(), |name| name.to_string_lossy().into_owned());
        match one(&test) {
            Verdict::Passed => report.passed += 1,
            Verdict::Skipped(reason) => report.skipped.entry(reason).or_default().push(name),
            Verdict::Failed(why) => report.failed.push((name, why)),
        }
    }
    Ok(report)
}

fn verdict(error: &Error) -> Verdict {
    match error.kind() {
        ErrorKind::Type => Verdict::Skipped("dtype".to_owned()),
        ErrorKind::NonTensor => Verdict::Skipped("non-tensor".to_owned()),
        ErrorKind::Random => Verdict::Skipped("random".to_owned()),
        ErrorKind::UnknownOperator => Verdict::Skipped(format!("operator:{}", error.operator().unwrap_or("?"))),
        _ => Verdict::Failed(error.to_string()),
    }
}

fn one(test: &Path) -> Verdict {
    let model = match drawloom_onnx::read(&test.join("model.onnx")) {
        Ok(model) => model,
        Err(error) => return verdict(&error),
    };
    let mut sets: Vec<PathBuf> = match std::fs::read_dir(test) {
        Ok(entries) => entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect(),
        Err(error) => return Verdict::Failed(error.to_string()),
    };
    sets.retain(|path| {
        path.is_dir() && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("test_data_set_"))
    });
    sets.sort();
    if sets.is_empty() {
        return Verdict::Failed("there are no data to test it with".to_owned());
    }
    for set in sets {
        match data_set(&model, &set) {
            Ok(None) => {}
            Ok(Some(difference)) => return Verdict::Failed(difference),
            Err(error) => return verdict(&error),
        }
    }
    Verdict::Passed
}

/// Reads `input_0.pb`, `input_1.pb` and so on.
fn tensors(set: &Path, kind: &str) -> Result<Vec<Tensor>, Error> {
    let mut tensors = Vec::new();
    loop {
        let path = set.join(format!("{kind}_{}.pb", tensors.len()));
        if !path.exists() {
            return Ok(tensors);
        }
        let bytes = std::fs::read(&path)
            .map_err(|error| Error::new(ErrorKind::Import, format!("{} cannot be read: {error}", path.display())))?;
        tensors.push(drawloom_onnx::read_tensor(&bytes)?);
    }
}

fn data_set(model: &Model, set: &Path) -> Result<Option<String>, Error> {
    let inputs = tensors(set, "input")?;
    let expected = tensors(set, "output")?;
    let named: Vec<(&str, View<'_>)> =
        model.inputs().iter().map(|port| port.name.as_str()).zip(inputs.iter().map(Tensor::view)).collect();
    let outcome = model.run(&named, &Settings::new())?;
    if expected.is_empty() || outcome.outputs().len() < expected.len() {
        return Ok(Some(format!(
            "{} outputs were expected, and {} are there",
            expected.len(),
            outcome.outputs().len()
        )));
    }
    for ((port, found), expected) in model.outputs().iter().zip(outcome.outputs()).zip(&expected) {
        if let Some(difference) = difference(found, expected) {
            return Ok(Some(format!("output `{}`: {difference}", port.name)));
        }
    }
    let absent: [fn(ElementType) -> bool; 3] = [|_| true, ElementType::is_float, |_| false];
    for is_absent in absent {
        if let Some(difference) = difference_without_memory(model, &inputs, is_absent, &outcome)? {
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

/// What a plan would count wrongly: a run without memory, in which some inputs are absent, needs as many bytes as one with
/// all that it takes, and gives the same types and shapes, or it does not know.
fn difference_without_memory(
    model: &Model,
    inputs: &[Tensor],
    is_absent: fn(ElementType) -> bool,
    outcome: &Outcome,
) -> Result<Option<String>, Error> {
    let given = |input: &Tensor| match is_absent(input.element()) {
        true => Tensor::absent(input.element(), input.shape()),
        false => Ok(input.clone()),
    };
    let given = inputs.iter().map(given).collect::<Result<Vec<_>, _>>()?;
    let named: Vec<(&str, View<'_>)> =
        model.inputs().iter().map(|port| port.name.as_str()).zip(given.iter().map(Tensor::view)).collect();
    let counted = match model.program().run(&named, &Settings::inside(&Room::counting(0), 0)) {
        Err(error) if error.kind() == ErrorKind::Absent => return Ok(None),
        counted => counted?,
    };
    let (bytes, taken) = (counted.peak_bytes(), outcome.peak_bytes());
    let same = |(one, other): (&Tensor, &Tensor)| one.element() == other.element() && one.shape() == other.shape();
    let same = counted.outputs().iter().zip(outcome.outputs()).all(same);
    let wrong = !same || bytes != taken;
    Ok(wrong.then(|| format!("it takes {taken} bytes, and a plan would count {bytes}, or other shapes")))
}

/// The first difference of more than a thousandth, or of the type or shape.
fn difference(found: &Tensor, expected: &Tensor) -> Option<String> {
    if found.element() != expected.element() || found.shape() != expected.shape() {
        return Some(format!(
            "expected {}{:?}, found {}{:?}",
            expected.element(),
            expected.shape(),
            found.element(),
            found.shape()
        ));
    }
    if found.element() == ElementType::Bool {
        return (found != expected).then(|| "the truth values differ".to_owned());
    }
    let compare = || with_type!(numbers, found.element(), T => first_difference::<T>(found, expected));
    match compare() {
        Ok(difference) => {
            difference.map(|(index, found, expected)| format!("element {index} is {found}, and should be {expected}"))
        }
        Err(fault) => Some(fault.message().to_owned()),
    }
}

fn first_difference<T: Number>(found: &Tensor, expected: &Tensor) -> Result<Option<(usize, f64, f64)>, Fault> {
    let pairs = found.values::<T>()?.iter().zip(expected.values::<T>()?).enumerate();
    let mut pairs = pairs.map(|(index, (found, expected))| (index, found.to_f64(), expected.to_f64()));
    Ok(pairs.find(|(_, found, expected)| {
        let near = (found - expected).abs() <= 1e-7 + 1e-3 * expected.abs();
        !(near || found == expected || found.is_nan() && expected.is_nan())
    }))
}
