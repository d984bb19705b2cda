//! What is learnt about the inputs of a run, and about everything it computes, before it begins.

use std::sync::Arc;

use super::layout::{kept_bytes, layout};
use super::piece_rows;
use super::results::results;
use super::sizes::{Growth, Sizes};
use super::trial::{Seen, Trial};
use crate::error::{Error, ErrorKind, Fault};
use crate::graph::{Graph, TensorId};
use crate::slice::Rows;
use crate::tensor::Tensor;
use crate::tensor::number::Number;
use crate::with_type;

/// An input of a graph for a run in pieces.
#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) tensor: TensorId,
    /// The axis that counts rows. An input without one is the same for all rows.
    pub(crate) axis: Option<usize>,
    pub(crate) rows: Arc<dyn Rows>,
}

impl Given {
    /// How many bytes so many rows take.
    pub(super) fn bytes(&self, axis: usize, count: usize) -> usize {
        let lengths = self.rows.shape().iter().enumerate();
        let lengths = lengths.map(|(place, length)| if place == axis { count } else { *length });
        lengths.fold(self.rows.element().size(), usize::saturating_mul)
    }
}

/// The inputs and outputs that states are handed on through.
pub(super) fn carries_of(
    graph: &Graph,
    given: &[Given],
    carries: &[(String, String)],
) -> Result<Vec<(TensorId, TensorId)>, Error> {
    let outputs = graph.output.map_or(&[][..], |output| &graph.nodes[output.index()].inputs);
    let mut found = Vec::new();
    for (input, output) in carries {
        let state = graph.find_tensor(input);
        let state = state.filter(|id| given.iter().any(|given| given.tensor == *id && given.axis.is_none()));
        let state = state.ok_or_else(|| {
            Error::new(ErrorKind::Input, format!("`{input}` is no input without rows that could carry `{output}`"))
        })?;
        let next = graph.find_tensor(output).filter(|id| outputs.contains(&Some(*id))).ok_or_else(|| {
            Error::new(ErrorKind::Input, format!("there is no output `{output}` that input `{input}` could carry"))
        })?;
        found.push((state, next));
    }
    Ok(found)
}

/// The number of rows that all inputs have.
pub(super) fn rows_of(graph: &Graph, given: &[Given]) -> Result<u64, Error> {
    let mut common: Option<(&str, usize)> = None;
    for given in given {
        let Some(axis) = given.axis else { continue };
        let name = graph.tensor_name(given.tensor);
        let Some(rows) = given.rows.shape().get(axis).copied() else {
            let message = format!("input `{name}` has no axis {axis}: its shape is {:?}", given.rows.shape());
            return Err(Error::new(ErrorKind::Input, message));
        };
        match common {
            None => common = Some((name, rows)),
            Some((_, other)) if other == rows => {}
            Some((first, other)) => {
                let message = format!("input `{name}` has {rows} rows, and input `{first}` has {other}");
                return Err(Error::new(ErrorKind::Input, message));
            }
        }
    }
    let missing = || Error::new(ErrorKind::Batch, "no input has rows that could be cut into pieces");
    common.map(|(_, rows)| rows as u64).ok_or_else(missing)
}

pub(super) fn whole(rows: &dyn Rows) -> Result<Tensor, Fault> {
    let mut tensor = Tensor::zeros(rows.element(), rows.shape())?;
    rows.read(0, 0, &mut tensor)?;
    Ok(tensor)
}

/// The first rows of an input. Where there are none, they have a value.
pub(super) fn sample(given: &Given, axis: usize, count: usize, value: u8) -> Result<Tensor, Fault> {
    let mut shape = given.rows.shape().to_vec();
    let there = shape[axis];
    shape[axis] = count;
    let mut tensor = Tensor::zeros(given.rows.element(), &shape)?;
    if there > 0 {
        given.rows.read(axis, 0, &mut tensor)?;
    } else if value != 0 {
        with_type!(numbers, tensor.element(), T => {
            tensor.values_mut::<T>()?.fill(T::ONE);
            Ok::<(), Fault>(())
        })?;
    }
    Ok(tensor)
}

/// How many bytes may be used to learn what a model needs: no more than it may use later, and not more than there are.
pub(super) fn trial_memory(budget: Option<usize>) -> usize {
    let there = available_memory().unwrap_or(usize::MAX / 2);
    budget.map_or(there, |budget| budget.min(there))
}

/// How many bytes the machine has left, where it says so.
fn available_memory() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

/// How the inputs grow with the rows.
pub(super) fn input_growths(given: &[Given]) -> Vec<(TensorId, Growth)> {
    let growth = |given: &Given| {
        let at = |rows: usize| {
            let mut shape = given.rows.shape().to_vec();
            if let Some(axis) = given.axis {
                shape[axis] = rows;
            }
            shape
        };
        Growth::new(given.rows.element(), &at(1), &at(2)).map(|growth| (given.tensor, growth))
    };
    given.iter().filter_map(growth).collect()
}

/// What was learnt about a model.
pub(super) struct Learnt {
    pub(super) sizes: Sizes,
    /// Results that are the same for all rows, if there are no rows.
    pub(super) fixed: Vec<Option<Tensor>>,
    /// What did not fit when one row was tried.
    pub(super) refused: Option<Error>,
}

/// Tries the model with one row and with two, and says how large everything is.
pub(super) fn learn(trial: &Trial<'_>, budget: Option<usize>) -> Result<Learnt, Error> {
    let (mut one, done) = trial.run(1);
    done?;
    let refused = one.refused.take();
    if let (Some(refused), None) = (&refused, budget) {
        return Err(refused.clone());
    }
    if let Some(unknown) = one.unknown.take() {
        let needed = one_row_needs(trial, one)?;
        let message = format!("one row does not fit into {} bytes: at least {needed} are needed", trial.memory);
        let node = unknown.node().unwrap_or_default();
        return Err(Error::new(ErrorKind::Memory, unknown.to_string()).before(&message).at(node, &[]));
    }
    // One row needs no second one.
    let two = if trial.rows == 1 || refused.is_some() { None } else { Some(trial.run(2)) };
    let two = two.map(|(seen, done)| done.map(|()| seen.record_if_known())).transpose()?.flatten();
    let sizes = Sizes::new(&trial.program.graph, &one.record, two.as_ref(), input_growths(trial.inputs))?;
    Ok(Learnt { sizes, fixed: one.fixed, refused })
}

/// How many bytes one row needs at least, where not all is known about it.
fn one_row_needs(trial: &Trial<'_>, mut seen: Seen) -> Result<usize, Error> {
    for (tensor, known) in seen.record.tensors.iter_mut().zip(trial.known) {
        if tensor.is_none() {
            tensor.clone_from(known);
        }
    }
    let sizes = Sizes::new(&trial.program.graph, &seen.record, None, input_growths(trial.inputs))?;
    // Results whose size is not known yet are left out.
    let results = results(trial.program, &sizes).unwrap_or_default();
    let rows = piece_rows(trial.rows);
    let results_bytes = results.iter().map(|result| result.bytes(rows)).fold(0, usize::saturating_add);
    let piece = layout(trial.program, (&sizes, reading(trial.inputs)), &results, 1).total();
    let planned = kept_bytes(trial.program, &sizes).saturating_add(results_bytes).saturating_add(piece);
    Ok(planned.max(trial.memory.saturating_add(1)))
}

/// How many bytes reading takes: rows of several inputs are read one after the other.
pub(super) fn reading(inputs: &[Given]) -> usize {
    inputs.iter().map(|given| given.rows.memory()).max().unwrap_or(0)
}
