//! A budget holds for planning and running together: the heap has no more than that at any time. One that is too small is
//! refused with exactly the number of bytes that would do.
//!
//! Each model is planned with budgets that are just enough for pieces of one row, and more, and too small ones. What the plan keeps about
//! itself is not part of the budget: shapes and names, for each node and each piece in flight.

#![allow(missing_docs)]

#[path = "../onnx/build.rs"]
#[allow(dead_code)]
mod build;
#[path = "../heap/cases.rs"]
mod cases;
#[path = "../heap/counting.rs"]
mod counting;
mod models;
mod unknown;

use std::sync::{Arc, Mutex};

use drawloom_runtime::Loom;
use drawloom_tensor::{Error, ErrorKind, PiecePlan, Pieces, Rows, Settings, Tensor, View};

use counting::most_of;

/// A model in a file, and what it is given.
pub(crate) struct Given {
    pub(crate) name: String,
    pub(crate) model: Vec<u8>,
    pub(crate) inputs: Vec<(&'static str, Tensor)>,
    /// Whether only some budgets are tried, because there are many like it.
    pub(crate) few: bool,
}

impl Given {
    fn rows(&self) -> Vec<(&str, Arc<dyn Rows>)> {
        self.inputs.iter().map(|(name, tensor)| (*name, Arc::new(tensor.clone()) as Arc<dyn Rows>)).collect()
    }
}

/// What the plan may take for itself: shapes, names and tasks. The guide says so, too.
const CONSTANT: usize = 12 << 10;
const PER_NODE: usize = 2 << 10;
/// What a new runtime takes for its own lists.
const ENGINE: usize = 64 << 10;

fn allowed(plan: &PiecePlan) -> usize {
    CONSTANT + plan.program().order().len() * PER_NODE
}

fn all() -> Vec<Given> {
    let cases = cases::all().into_iter();
    let cases =
        cases.map(|case| Given { name: case.name.clone(), model: case.model(), inputs: case.inputs, few: true });
    cases.chain(models::all()).collect()
}

/// What is wrong with the memory of a model.
fn wrong(given: &Given, loom: &Loom) -> Result<Vec<String>, Error> {
    let model = drawloom_onnx::from_bytes(&given.model, None)?;
    let rows = given.rows();
    let one = model.plan(&rows, &Pieces::new().piece(1))?;
    let (need, allowed) = (one.predicted_peak_bytes(), allowed(&one));
    drop(one);
    let views: Vec<(&str, View<'_>)> = given.inputs.iter().map(|(name, tensor)| (*name, tensor.view())).collect();
    let whole = model.run(&views, &Settings::new())?;
    let mut wrong = Vec::new();
    let budgets = [(need, 1), (2 * need, 2), (need + need / 2, 1), (3 * need, 2)];
    let count = if given.few { 2 } else { 4 };
    for (budget, workers) in budgets.into_iter().take(count) {
        let pieces = Pieces::new().memory(budget).workers(workers);
        let (outcome, taken) = most_of(|| model.plan(&rows, &pieces)?.run(loom));
        let outcome = outcome?;
        if taken > budget + allowed {
            wrong.push(format!("{}: {taken} bytes were taken of {budget}, and {allowed}", given.name));
        }
        for (name, result) in outcome.outputs() {
            let same = whole.output(name).is_some_and(|other| same_bits(other, result));
            assert!(same, "{}: pieces and all rows at once differ", given.name);
        }
    }
    for budget in [need - 1, need / 8, need / 2, 1].into_iter().take(count) {
        let (plan, taken) = most_of(|| model.plan(&rows, &Pieces::new().memory(budget)).map(|plan| plan.to_string()));
        let Err(error) = plan else {
            wrong.push(format!("{}: {budget} bytes should not be enough: {plan:?}", given.name));
            continue;
        };
        let said = format!("one row does not fit into {budget} bytes");
        if error.kind() != ErrorKind::Memory || !error.to_string().contains(&said) {
            wrong.push(format!("{}: {error}", given.name));
        }
        let enough = needed(&error.to_string());
        if enough.is_none_or(|bytes| bytes != need) {
            wrong.push(format!("{}: it needs {need} bytes, and said was {enough:?}: {error}", given.name));
        }
        if taken > budget + allowed {
            wrong.push(format!("{}: {taken} bytes were taken of {budget} that are too few", given.name));
        }
    }
    Ok(wrong)
}

/// How many bytes a message says that are needed.
fn needed(message: &str) -> Option<usize> {
    let (before, _) = message.split_once(" would do").or_else(|| message.split_once(" are needed"))?;
    before.trim_end_matches(" bytes").rsplit(' ').next()?.parse().ok()
}

fn same_bits(one: &Tensor, other: &Tensor) -> bool {
    let bytes = |tensor: &Tensor| build::stored("", tensor).raw_data.map(|bytes| bytes.into_inner());
    one.shape() == other.shape() && bytes(one) == bytes(other)
}

/// Others in the same process would count too, so tests run one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A runtime that has its own lists already.
fn warm() -> Loom {
    let loom = Loom::serial();
    let given = models::products();
    let model = drawloom_onnx::from_bytes(&given.model, None).unwrap();
    model.plan(&given.rows(), &Pieces::new()).unwrap().run(&loom).unwrap();
    loom
}

#[test]
fn planning_and_running_stay_within_the_budget() {
    let _alone = ONE_AT_A_TIME.lock();
    let loom = warm();
    let mut found = Vec::new();
    for given in all() {
        match wrong(&given, &loom) {
            Ok(wrong) => found.extend(wrong),
            Err(error) => found.push(format!("{}: {error}", given.name)),
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Few rows all at once and in pieces, with what both gave, have no more memory than the run.
#[test]
fn a_check_stays_within_the_budget() {
    let _alone = ONE_AT_A_TIME.lock();
    warm();
    for given in models::all() {
        let model = drawloom_onnx::from_bytes(&given.model, None).unwrap();
        let rows = given.rows();
        let one = model.plan(&rows, &Pieces::new().piece(1)).unwrap();
        let (need, allowed) = (one.predicted_peak_bytes(), allowed(&one));
        let mut most = 0;
        for budget in [need, 2 * need, 3 * need, 8 * need] {
            let plan = model.plan(&rows, &Pieces::new().memory(budget)).unwrap();
            let (checked, taken) = most_of(|| plan.check());
            assert!(taken <= budget + allowed + ENGINE, "{}: {taken} bytes of {budget}", given.name);
            match checked {
                Ok(rows) => most = most.max(rows),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Memory, "{}: {error}", given.name);
                    assert!(error.to_string().contains("too large to be tried out"), "{error}");
                    // What it says that would do is enough for the check, too.
                    let enough = needed(&error.to_string()).unwrap_or_else(|| panic!("{}: {error}", given.name));
                    let plan = model.plan(&rows, &Pieces::new().memory(enough)).unwrap();
                    assert!(enough > budget && plan.check().unwrap() >= 2, "{}: {error}", given.name);
                }
            }
        }
        assert_eq!(most, 5, "{}", given.name);
    }
}

/// Pieces of a size that was asked for are refused with a number that would do.
#[test]
fn pieces_that_are_too_large_are_refused_with_numbers() {
    let _alone = ONE_AT_A_TIME.lock();
    warm();
    for given in models::all() {
        let model = drawloom_onnx::from_bytes(&given.model, None).unwrap();
        let rows = given.rows();
        let plan = |piece: u64, memory: usize| model.plan(&rows, &Pieces::new().piece(piece).memory(memory));
        let need = plan(1, usize::MAX / 4).unwrap().predicted_peak_bytes();
        let allowed = allowed(&plan(1, need).unwrap());
        let (error, taken) = most_of(|| plan(4, need).err().unwrap());
        assert!(taken <= need + allowed, "{}: {taken} bytes of {need}", given.name);
        let said = format!("a piece of 4 rows does not fit into {need} bytes");
        assert!(error.to_string().contains(&said), "{}: {error}", given.name);
        let enough = needed(&error.to_string()).unwrap();
        let large = plan(4, enough).unwrap_or_else(|error| panic!("{}: {error}", given.name));
        assert!(large.predicted_peak_bytes() <= enough);
    }
}

/// An input without rows is there once, beside the one that was given, and is not part of the budget.
#[test]
fn an_input_without_rows_is_there_once() {
    let _alone = ONE_AT_A_TIME.lock();
    let loom = warm();
    let given = models::table();
    let model = drawloom_onnx::from_bytes(&given.model, None).unwrap();
    let rows = given.rows();
    let pieces = || Pieces::new().axis("t", None).piece(1);
    let one = model.plan(&rows, &pieces()).unwrap();
    let (need, allowed) = (one.predicted_peak_bytes(), allowed(&one));
    let table = given.inputs[1].1.bytes();
    assert!(need < table / 2, "{one}");
    drop(one);
    let (outcome, taken) = most_of(|| model.plan(&rows, &pieces().memory(need))?.run(&loom));
    assert!(taken <= table + need + allowed, "{taken} bytes of {need}, and {table}");
    outcome.unwrap();
}
