//! Batches in pieces: a loop-control node that takes some rows of every batch in each iteration.

mod cut;
mod rows;

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Fault};
use crate::graph::{Graph, LoopControl, Node, NodeId, Operator, Source, TensorId};
use crate::run::call::{Inputs, Outputs};
use crate::run::loops::LoopTurn;
pub use cut::{Cut, Slicing};
pub(crate) use rows::read_view;
pub use rows::{RowSink, Rows};

/// The operator of nodes that cut batches.
pub(crate) const SLICE: &str = "SLICE";

/// A batch that is cut, and the axis that counts its rows.
#[derive(Clone)]
struct Port {
    axis: usize,
    /// Where the rows are. Without it, they are the next input of the node.
    rows: Option<Arc<dyn Rows>>,
}

/// Cuts batches into pieces.
struct Slice {
    slicing: Slicing,
    ports: Vec<Port>,
}

/// The number of rows that all batches have.
fn common_rows<'a>(batches: impl Iterator<Item = (&'a [usize], usize)>) -> Result<u64, Fault> {
    let mut common = None;
    for (index, (shape, axis)) in batches.enumerate() {
        let rows = shape.get(axis).copied().ok_or_else(|| {
            Fault::of(ErrorKind::Batch, format!("batch {index} has no axis {axis}: its shape is {shape:?}"))
        })?;
        match common {
            None => common = Some(rows),
            Some(other) if other == rows => {}
            Some(other) => {
                let message = format!("batch {index} has {rows} rows, and those before it have {other}");
                return Err(Fault::of(ErrorKind::Batch, message));
            }
        }
    }
    common.map(|rows| rows as u64).ok_or_else(|| Fault::of(ErrorKind::Batch, "there is no batch to be cut"))
}

impl LoopControl for Slice {
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>) -> Result<(), Fault> {
        let mut next = 0;
        let views = (self.ports.iter())
            .map(|port| {
                if port.rows.is_some() {
                    return Ok(None);
                }
                next += 1;
                inputs.get(next - 1).map(Some)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let shapes = self.ports.iter().zip(&views).map(|(port, view)| match (&port.rows, view) {
            (Some(rows), _) => (rows.shape(), port.axis),
            (None, view) => (view.map_or(&[][..], |view| view.shape()), port.axis),
        });
        let total = common_rows(shapes)?;
        let counts = inputs.counts();
        let cut = self.slicing.cut(total)?;
        let (first, rows) = cut.piece(counts.iteration).ok_or_else(|| {
            Fault::of(ErrorKind::Iteration, format!("there are only {} pieces of {total} rows", cut.pieces()))
        })?;
        for (index, (port, view)) in self.ports.iter().zip(&views).enumerate() {
            let (element, whole) = match (&port.rows, view) {
                (Some(rows), _) => (rows.element(), rows.shape()),
                (None, Some(view)) => (view.element(), view.shape()),
                (None, None) => continue,
            };
            let mut shape = whole.to_vec();
            shape[port.axis] = rows as usize;
            let into = outputs.allocate_unset_of(element, index, &shape)?;
            match (&port.rows, view) {
                (Some(source), _) => source.read(port.axis, first as usize, into)?,
                (None, Some(view)) => read_view(*view, port.axis, first as usize, into)?,
                (None, None) => {}
            }
        }
        turn.push(rows, total);
        Ok(())
    }
}

impl Graph {
    /// A loop over pieces of batches. Each batch is an input with the axis that counts its rows, and the name of its pieces.
    pub fn slice(&mut self, name: &str, slicing: Slicing, batches: &[(&str, usize, &str)]) -> Result<NodeId, Error> {
        let inputs: Vec<&str> = batches.iter().map(|batch| batch.0).collect();
        let outputs: Vec<&str> = batches.iter().map(|batch| batch.2).collect();
        let ports = batches.iter().map(|batch| Port { axis: batch.1, rows: None }).collect();
        self.loop_control(name, SLICE, Slice { slicing, ports }, &inputs, &outputs)
    }

    /// Makes inputs of the graph outputs of a node that takes their rows, piece by piece, from elsewhere. States are other
    /// inputs that may be different in every piece, so nothing that depends on them is computed once for all.
    pub(crate) fn slice_inputs(
        &mut self,
        slicing: Slicing,
        batches: Vec<(TensorId, usize, Arc<dyn Rows>)>,
        states: Vec<TensorId>,
    ) {
        let mut name = SLICE.to_owned();
        while self.find_node(&name).is_some() {
            name.push('_');
        }
        let id = NodeId(self.nodes.len() as u32);
        let outputs: Vec<TensorId> = batches.iter().map(|batch| batch.0).collect();
        for output in outputs.iter().chain(&states) {
            self.tensors[output.index()].source = Source::Node(id);
        }
        self.inputs.retain(|input| !outputs.contains(input) && !states.contains(input));
        let ports = batches.into_iter().map(|(_, axis, rows)| Port { axis, rows: Some(rows) }).collect();
        self.nodes.push(Node {
            name,
            operator_name: SLICE.to_owned(),
            operator: Operator::Loop(Arc::new(Slice { slicing, ports })),
            inputs: Vec::new(),
            outputs,
        });
    }
}
