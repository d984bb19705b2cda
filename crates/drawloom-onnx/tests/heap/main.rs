//! What a run takes of the heap is what its plan said: no operator has memory beside it.
//!
//! Each operator that can be run in pieces is a model of its own, with rows of 64 KiB. A kernel that makes a copy of a row without
//! saying so takes more than the bytes that are allowed here for lists of shapes and tasks.

#![allow(missing_docs)]

#[path = "../onnx/build.rs"]
#[allow(dead_code)]
mod build;
mod cases;
mod counting;
mod whole;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drawloom_runtime::Loom;
use drawloom_tensor::{Error, Pieces, Rows, Settings, Tensor, View};

use cases::Case;
use counting::most_of;

/// For lists of shapes, tasks and errors.
const ALLOWED: usize = 12 << 10;

/// Plans and runs a case, and says how many bytes were planned, and how many were taken. Its results are those of all rows
/// at once, bit for bit.
fn measure(case: &Case) -> Result<(usize, usize), Error> {
    let model = drawloom_onnx::from_bytes(&case.model(), None)?;
    let inputs: Vec<(&str, Arc<dyn Rows>)> =
        (case.inputs.iter()).map(|(name, tensor)| (*name, Arc::new(tensor.clone()) as Arc<dyn Rows>)).collect();
    let plan = model.plan(&inputs, &Pieces::new().piece(2))?;
    // Once before, so that the engine has its own lists.
    let loom = Loom::serial();
    plan.run(&loom)?;
    let (outcome, taken) = most_of(|| plan.run(&loom));
    let outcome = outcome?;
    assert!(outcome.peak_bytes() <= plan.predicted_peak_bytes(), "{}", case.name);
    let given: Vec<(&str, View<'_>)> = case.inputs.iter().map(|(name, tensor)| (*name, tensor.view())).collect();
    let whole = model.run(&given, &Settings::new())?;
    for (name, result) in outcome.outputs() {
        let bytes = |tensor: &Tensor| build::stored("", tensor).raw_data.map(|bytes| bytes.into_inner());
        let same =
            whole.output(name).is_some_and(|other| other.shape() == result.shape() && bytes(other) == bytes(result));
        assert!(same, "{}: pieces and all rows at once differ", case.name);
    }
    Ok((plan.predicted_peak_bytes(), taken))
}

/// Others in the same process would count too, so tests run one after the other.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn every_operator_stays_within_its_plan() {
    let _alone = one_at_a_time();
    let mut wrong = Vec::new();
    for case in cases::all() {
        match measure(&case) {
            Ok((planned, taken)) if taken > planned + ALLOWED => {
                wrong.push(format!("{}: {planned} bytes were planned, and {taken} were taken", case.name));
            }
            Ok(_) => {}
            Err(error) => wrong.push(format!("{}: {error}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
