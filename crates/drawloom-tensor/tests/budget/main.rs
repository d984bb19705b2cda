//! A budget holds for planning and running together: the heap has no more than that at any time.
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

use std::sync::Arc;

use drawloom_runtime::Loom;
use drawloom_tensor::onnx::Model;
use drawloom_tensor::{Error, ErrorKind, PiecePlan, Pieces, Rows, Settings, Tensor, View};

use counting::most_of;

/// A model in a file, and what it is given.
pub(crate) struct Given {
    pub(crate) name: String,
    pub(crate) model: Vec<u8>,
    pub(crate) inputs: Vec<(&'static str, Tensor)>,
}

impl Given {
    fn rows(&self) -> Vec<(&str, Arc<dyn Rows>)> {
        self.inputs.iter().map(|(name, tensor)| (*name, Arc::new(tensor.clone()) as Arc<dyn Rows>)).collect()
    }
}

/// What the plan may take for itself: shapes, names and tasks. The guide says so, too.
const CONSTANT: usize = 12 << 10;
const PER_NODE: usize = 2 << 10;

fn allowed(plan: &PiecePlan) -> usize {
    CONSTANT + plan.program().order().len() * PER_NODE
}

fn all() -> Vec<Given> {
    let cases = cases::all().into_iter();
    let cases = cases.map(|case| Given { name: case.name.clone(), model: case.model(), inputs: case.inputs });
    cases.chain(models::all()).collect()
}

/// What is wrong with the memory of a model.
fn wrong(given: &Given, loom: &Loom) -> Result<Vec<String>, Error> {
    let model = Model::from_bytes(&given.model, None)?;
    let rows = given.rows();
    let one = model.plan(&rows, &Pieces::new().piece(1))?;
    let (need, allowed) = (one.predicted_peak_bytes(), allowed(&one));
    drop(one);
    let views: Vec<(&str, View<'_>)> = given.inputs.iter().map(|(name, tensor)| (*name, tensor.view())).collect();
    let whole = model.run(&views, &Settings::new())?;
    let mut wrong = Vec::new();
    for (budget, workers) in [(need, 1), (need + need / 2, 1), (2 * need, 2), (3 * need, 2)] {
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
    for budget in [need - 1, need / 2, need / 8, 1] {
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
        if enough.is_none_or(|bytes| bytes <= budget || bytes > need) {
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
    before.rsplit(' ').next()?.parse().ok()
}

fn same_bits(one: &Tensor, other: &Tensor) -> bool {
    let bytes = |tensor: &Tensor| build::stored("", tensor).raw_data.map(|bytes| bytes.into_inner());
    one.shape() == other.shape() && bytes(one) == bytes(other)
}

/// One test, because others in the same process would count too.
#[test]
fn planning_and_running_stay_within_the_budget() {
    // Once before, so that the engine has its own lists.
    let loom = Loom::serial();
    let mut found = Vec::new();
    for (index, given) in all().iter().enumerate() {
        if index == 0 {
            let _ = wrong(given, &loom);
        }
        match wrong(given, &loom) {
            Ok(wrong) => found.extend(wrong),
            Err(error) => found.push(format!("{}: {error}", given.name)),
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
