//! What is learnt about the inputs of a run, and about everything it computes, before it begins.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Fault};
use crate::graph::{Graph, Placement, TensorId};
use crate::operators::number::Number;
use crate::plan::sizes::{Growth, Sizes};
use crate::program::Program;
use crate::run::loops::Counts;
use crate::run::{Outcome, Record, Settings};
use crate::slice::{Rows, place_rows};
use crate::tensor::element::with_type;
use crate::tensor::{Tensor, View};

/// An input of a graph for a run in pieces.
#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) tensor: TensorId,
    /// The axis that counts rows. An input without one is the same for all rows.
    pub(crate) axis: Option<usize>,
    pub(crate) rows: Arc<dyn Rows>,
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

/// The first rows of an input. Where there are fewer, the first is repeated; where there are none, they have a value.
pub(super) fn sample(given: &Given, axis: usize, count: usize, value: u8) -> Result<Tensor, Fault> {
    let mut shape = given.rows.shape().to_vec();
    let there = shape[axis];
    shape[axis] = count;
    let mut tensor = Tensor::zeros(given.rows.element(), &shape)?;
    if there >= count {
        given.rows.read(axis, 0, &mut tensor)?;
    } else if there > 0 {
        shape[axis] = 1;
        let mut row = Tensor::zeros(given.rows.element(), &shape)?;
        given.rows.read(axis, 0, &mut row)?;
        for copy in 0..count {
            place_rows(&mut tensor, row.view(), axis, copy)?;
        }
    } else if value != 0 {
        with_type!(numbers, tensor.element(), T => {
            tensor.values_mut::<T>()?.fill(T::ONE);
            Ok::<(), Fault>(())
        })?;
    }
    Ok(tensor)
}

/// How many bytes may be used to learn what a model needs: far more than a budget, to be able to say how much it misses, and
/// not more than there are.
pub(super) fn trial_memory(budget: Option<usize>) -> usize {
    const LEAST: usize = 256 << 20;
    let there = available_memory().unwrap_or(usize::MAX / 2);
    budget.map_or(there, |budget| budget.saturating_mul(8).max(LEAST).min(there))
}

/// How many bytes the machine has left, where it says so.
fn available_memory() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

/// Runs the graph with one row and with two, in so much memory at most.
pub(super) fn learn(
    graph: &Graph,
    given: &[Given],
    rows: u64,
    memory: usize,
) -> Result<(Sizes, Vec<Option<Tensor>>), Error> {
    let program = graph.clone().check(0)?;
    let mut records = Vec::new();
    let mut fixed = Vec::new();
    for count in [1, 2] {
        let (outcome, record) = try_out(&program, given, count, rows, memory)?;
        if count == 1 && rows == 0 {
            let keep = |(tensor, placement): (Tensor, &Placement)| (*placement == Placement::Fixed).then_some(tensor);
            fixed = outcome.into_outputs().into_iter().zip(&graph.placements).map(keep).collect();
        }
        records.push(record);
    }
    let growths = (given.iter())
        .filter_map(|given| {
            let at = |rows: usize| {
                let mut shape = given.rows.shape().to_vec();
                if let Some(axis) = given.axis {
                    shape[axis] = rows;
                }
                shape
            };
            Growth::new(given.rows.element(), &at(1), &at(2)).map(|growth| (given.tensor, growth))
        })
        .collect();
    Ok((Sizes::new(graph, &records[0], &records[1], growths)?, fixed))
}

/// Runs the graph with more rows.
pub(super) fn learn_again(
    graph: &Graph,
    given: &[Given],
    count: usize,
    rows: u64,
    memory: usize,
) -> Result<Record, Error> {
    let program = graph.clone().check(0)?;
    try_out(&program, given, count, rows, memory).map(|(_, record)| record)
}

/// Runs a program with some rows. Where there are none, they are zero, or one, if zeros do not do.
fn try_out(
    program: &Program,
    given: &[Given],
    count: usize,
    rows: u64,
    memory: usize,
) -> Result<(Outcome, Record), Error> {
    let run = |value: u8| {
        let tensors = (given.iter())
            .map(|given| match given.axis {
                Some(axis) => sample(given, axis, count, value),
                None => whole(given.rows.as_ref()),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let names = given.iter().map(|given| program.graph.tensor_name(given.tensor));
        let inputs: Vec<(&str, View<'_>)> = names.zip(tensors.iter().map(Tensor::view)).collect();
        program.run_recorded(&inputs, &Settings::new().memory(memory))
    };
    run(0).or_else(|error| if rows == 0 { run(1) } else { Err(error) }).map_err(|error| {
        if rows == 0 {
            return error.before("what an empty batch gives cannot be learnt from rows that are made up");
        }
        let there = rows.min(count as u64);
        let counts = Counts { current: there, total: rows, ..Counts::default() };
        error.at("", &[counts]).in_piece(0, 0..there).with_finished(Vec::new(), rows)
    })
}
