//! The outputs of a run in pieces.

use std::sync::Arc;

use super::pack::rounded;
use super::sizes::{Growth, Sizes};
use crate::error::{Error, ErrorKind, Fault};
use crate::graph::{Graph, Placement, Source, TensorId};
use crate::program::Program;
use crate::run::pieces::count;
use crate::slice::RowSink;
use crate::tensor::View;

/// An output of a run in pieces.
pub(crate) struct ResultPort {
    pub(crate) tensor: TensorId,
    pub(crate) placement: Placement,
    pub(crate) growth: Growth,
    /// Whether pieces compute it where it belongs, so that nothing is copied.
    pub(crate) in_place: bool,
    /// Where its rows go, if they are not kept.
    pub(crate) sink: Option<Arc<dyn RowSink>>,
}

impl ResultPort {
    /// How many bytes a row takes, if it has rows.
    pub(crate) fn row_bytes(&self) -> usize {
        if matches!(self.placement, Placement::Rows { .. }) { self.growth.bytes(1) } else { 0 }
    }

    /// Refuses what does not have the type and shape that so many rows should have.
    pub(crate) fn check(&self, program: &Program, view: View<'_>, rows: u64) -> Result<(), Fault> {
        if !matches!(self.placement, Placement::Rows { .. }) {
            return Ok(());
        }
        let (element, shape) = (self.growth.element, self.growth.shape(count(rows)));
        if view.element() == element && view.shape() == shape {
            return Ok(());
        }
        let name = program.graph.tensor_name(self.tensor);
        let message = format!(
            "output `{name}` is {} {:?} for {rows} rows, and {element} {shape:?} was planned",
            view.element(),
            view.shape()
        );
        Err(Fault::of(ErrorKind::Output, message))
    }

    /// How many bytes it takes at most: rows that are not along the first axis are put in their places at the end.
    pub(super) fn bytes(&self, rows: usize) -> usize {
        if self.sink.is_some() { 0 } else { self.bytes_if_kept(rows) }
    }

    /// The same, if its rows do not go elsewhere.
    pub(super) fn bytes_if_kept(&self, rows: usize) -> usize {
        let copies = if matches!(self.placement, Placement::Rows { axis: 1.. }) { 2 } else { 1 };
        rounded(self.growth.bytes(rows)).saturating_mul(copies)
    }
}

/// All outputs, with where they go and how they grow.
pub(super) fn results(program: &Program, sizes: &Sizes) -> Result<Vec<ResultPort>, Error> {
    let graph = &program.graph;
    let Some(output) = graph.output else { return Ok(Vec::new()) };
    let tensors = graph.nodes[output.index()].inputs.iter().flatten();
    let mut results = Vec::new();
    for (tensor, placement) in tensors.zip(&graph.placements) {
        let name = graph.tensor_name(*tensor);
        let constant = || {
            graph.constant_value(*tensor).and_then(|value| Growth::new(value.element(), value.shape(), value.shape()))
        };
        let growth = match placement {
            Placement::Rows { axis } => sizes.with_rows(*tensor, *axis),
            Placement::Fixed => sizes.tensors[tensor.index()].clone(),
        };
        let growth = growth.or_else(constant);
        let growth =
            growth.ok_or_else(|| Error::new(ErrorKind::Output, format!("output `{name}` was not computed")))?;
        if let Placement::Rows { axis } = placement {
            let apart = |rows: usize| {
                let shape = growth.shape(rows);
                shape.get(*axis) == Some(&rows)
                    && (0..shape.len()).all(|a| a == *axis || shape[a] == growth.shape(1)[a])
            };
            if !apart(1) || !apart(2) {
                let message = format!(
                    "output `{name}` does not have its rows along axis {axis}: its shape is {:?} for one row, and {:?} for \
                     two",
                    growth.shape(1),
                    growth.shape(2)
                );
                return Err(Error::new(ErrorKind::Output, message));
            }
        }
        let in_loop =
            matches!(graph.tensors[tensor.index()].source, Source::Node(node) if program.partition(node) == 1);
        let in_place = in_loop && *placement == Placement::Rows { axis: 0 };
        results.push(ResultPort { tensor: *tensor, placement: *placement, growth, in_place, sink: None });
    }
    Ok(results)
}

/// Lets the rows of an output go elsewhere.
pub(super) fn give_away(
    graph: &Graph,
    results: &mut [ResultPort],
    name: &str,
    sink: &Arc<dyn RowSink>,
) -> Result<(), Error> {
    let result = results.iter_mut().find(|result| graph.tensor_name(result.tensor) == name);
    let result = result.ok_or_else(|| Error::new(ErrorKind::Output, format!("there is no output `{name}`")))?;
    if result.placement != (Placement::Rows { axis: 0 }) {
        let message = format!("output `{name}` does not have rows along its first axis that could be given away");
        return Err(Error::new(ErrorKind::Output, message));
    }
    result.in_place = false;
    result.sink = Some(Arc::clone(sink));
    Ok(())
}
