//! Running a batch in pieces: how large they are, how many are in flight, and which memory each of them uses.
//!
//! Everything that a piece computes goes to a place in one arena that was planned before. There is an arena for each piece
//! in flight, and beside them only the results, and what is the same for all rows. So the most bytes that a run uses are
//! known before it begins.

mod check;
mod choose;
mod layout;
mod learn;
pub(crate) mod pack;
pub(crate) mod results;
mod settings;
pub(crate) mod sizes;
mod trial;

use std::fmt;
use std::sync::Arc;

use crate::batch::MOST_VALUES;
use crate::error::{Error, ErrorKind, Fault};
use crate::graph::{Graph, Placement, TensorId};
use crate::model::{Model, Port};
use crate::program::{Program, is_loop};
use crate::slice::{Cut, Rows, Slicing};
use crate::tensor::Tensor;
use crate::tensor::element::ElementType;
use layout::{Layout, kept_bytes, layout};
use learn::{Given, Learnt, carries_of, learn, reading, rows_of, trial_memory, whole};
use results::{ResultPort, give_away, results};
pub use settings::Pieces;
use trial::Trial;

/// A run in pieces, planned: what it will use is known, and it can be run.
pub struct PiecePlan {
    /// The graph without a loop, and its inputs.
    graph: Graph,
    inputs: Vec<Given>,
    /// What its tasks need.
    pub(crate) planned: Arc<Planned>,
    pub(crate) in_flight: usize,
    /// The results that are the same for all rows, from a run with one: what they are when there are no rows.
    pub(crate) fixed: Vec<Option<Tensor>>,
    result_bytes: usize,
    kept_bytes: usize,
    memory: Option<usize>,
}

/// The parts of a plan that tasks need.
pub(crate) struct Planned {
    pub(crate) program: Program,
    /// The inputs that have no rows.
    pub(crate) given: Vec<(TensorId, Tensor)>,
    pub(crate) results: Vec<ResultPort>,
    pub(crate) layout: Layout,
    pub(crate) cut: Cut,
    pub(crate) rows: u64,
    /// States that are handed on from piece to piece, and what they are afterwards.
    pub(crate) carries: Vec<(TensorId, TensorId)>,
}

/// What is known about the inputs and outputs of a model before it is tried.
struct BatchPorts {
    /// The axis that counts the rows of each input.
    axes: Vec<Option<usize>>,
    /// Where the rows of each output are.
    placements: Vec<Placement>,
    /// The types and shapes of tensors with one row, as far as they are known.
    known: Vec<Option<(ElementType, Vec<usize>)>>,
}

impl Model {
    /// Where the rows of each output will be, in the order of the outputs.
    pub fn placements(&self, inputs: &[(&str, Arc<dyn Rows>)], pieces: &Pieces) -> Result<Vec<Placement>, Error> {
        self.batch_ports(inputs, pieces).map(|ports| ports.placements)
    }

    fn batch_ports(&self, inputs: &[(&str, Arc<dyn Rows>)], pieces: &Pieces) -> Result<BatchPorts, Error> {
        let mut axes: Vec<(&str, Option<usize>)> =
            pieces.axes.iter().map(|(name, axis)| (name.as_str(), *axis)).collect();
        axes.extend(pieces.carries.iter().map(|(input, _)| (input.as_str(), None)));
        if pieces.carries.is_empty() {
            let shapes: Vec<(&str, &[usize])> = inputs.iter().map(|(name, rows)| (*name, rows.shape())).collect();
            let small = inputs.iter().filter(|(_, rows)| rows.shape().iter().product::<usize>() <= MOST_VALUES);
            let values =
                small.map(|(name, rows)| Ok((*name, whole(rows.as_ref())?))).collect::<Result<Vec<_>, Fault>>()?;
            let batch = self.batch_with(&axes, &shapes, &values, pieces.memory)?;
            Ok(BatchPorts {
                axes: self.inputs().iter().map(|port| batch.axis(self, &port.name)).collect(),
                placements: batch.outputs().to_vec(),
                known: batch.with_one_row(),
            })
        } else {
            let carried = |name: &str| pieces.carries.iter().any(|(_, output)| output == name);
            let placement = |name: &str| if carried(name) { Placement::Fixed } else { Placement::Rows { axis: 0 } };
            Ok(BatchPorts {
                axes: self.input_axes(&axes)?,
                placements: self.outputs().iter().map(|port| placement(&port.name)).collect(),
                known: Vec::new(),
            })
        }
    }

    /// Plans a run in pieces over a batch: an input of every name, whose rows may be anywhere.
    pub fn plan(&self, inputs: &[(&str, Arc<dyn Rows>)], pieces: &Pieces) -> Result<PiecePlan, Error> {
        let BatchPorts { axes, placements, known } = self.batch_ports(inputs, pieces)?;
        self.check_inputs(inputs.iter().map(|(name, rows)| (*name, rows.element(), rows.shape())))?;
        let is_given = |port: &&Port| inputs.iter().any(|(name, _)| *name == port.name);
        let missing = self.inputs().iter().find(|port| !is_given(port));
        if let Some(port) = missing.filter(|_| inputs.len() == self.inputs().iter().filter(is_given).count()) {
            return Err(Error::new(ErrorKind::Input, format!("input `{}` is missing", port.name)));
        }
        let axis = |name: &str| self.inputs().iter().position(|port| port.name == name).and_then(|port| axes[port]);
        let inputs: Vec<_> = inputs.iter().map(|(name, rows)| (*name, axis(name), Arc::clone(rows))).collect();
        PiecePlan::new(self.program().graph(), &placements, &inputs, pieces, &known)
    }
}

impl Graph {
    /// Plans a run in pieces of a graph of the user's own operators. Inputs come with the axis that counts their rows, or
    /// none if they are the same for all rows, and outputs are placed as the graph says. That each row of the results
    /// depends on one row of the inputs alone is for the user to know: [`PiecePlan::check`] tries it out.
    pub fn plan(&self, inputs: &[(&str, Option<usize>, Arc<dyn Rows>)], pieces: &Pieces) -> Result<PiecePlan, Error> {
        PiecePlan::new(self, &self.placements, inputs, pieces, &[])
    }
}

impl PiecePlan {
    /// Plans it. The types and shapes that tensors have with one row are given where they are known.
    fn new(
        graph: &Graph,
        placements: &[Placement],
        inputs: &[(&str, Option<usize>, Arc<dyn Rows>)],
        pieces: &Pieces,
        known: &[Option<(ElementType, Vec<usize>)>],
    ) -> Result<Self, Error> {
        if let Some(node) = graph.nodes.iter().find(|node| is_loop(&node.operator)) {
            let message = format!(
                "graph `{}` has a loop of its own, at node `{}`: make it a node of another graph with `Graph::program`, which \
                 can be planned, or put the loop over pieces into it with `Graph::slice`",
                graph.name, node.name
            );
            return Err(Error::new(ErrorKind::Loop, message).at(&node.name, &[]));
        }
        let given = graph.find_inputs(inputs.iter().map(|(name, ..)| *name))?.into_iter().zip(inputs);
        let given: Vec<Given> =
            given.map(|(tensor, (_, axis, rows))| Given { tensor, axis: *axis, rows: Arc::clone(rows) }).collect();
        let rows = rows_of(graph, &given)?;
        let carries = carries_of(graph, &given, &pieces.carries)?;
        if !placements.iter().any(|placement| matches!(placement, Placement::Rows { .. })) {
            return Err(Error::new(ErrorKind::Batch, format!("no output of graph `{}` has rows", graph.name)));
        }
        let mut graph = graph.clone();
        graph.placements = placements.to_vec();
        // The loop is put in with some size first: where things are in the list does not depend on it.
        let inputs = given;
        let given = (inputs.iter().filter(|given| given.axis.is_none()))
            .map(|given| Ok((given.tensor, whole(given.rows.as_ref())?)))
            .collect::<Result<Vec<_>, Fault>>()?;
        let with_slices = |slicing: Slicing| {
            let mut graph = graph.clone();
            let batches = inputs.iter().filter_map(|given| Some((given.tensor, given.axis?, Arc::clone(&given.rows))));
            let states = carries.iter().map(|(state, _)| *state);
            graph.slice_inputs(slicing, batches.collect(), states.collect());
            graph.check(1)
        };
        let draft = with_slices(Slicing::new(1))?;
        let memory = trial_memory(pieces.memory);
        let trial = Trial { program: &draft, inputs: &inputs, given: &given, rows, memory, known };
        let Learnt { mut sizes, mut fixed, refused } = learn(&trial, pieces.memory)?;
        if rows == 0 {
            keep_states(&graph, &inputs, &carries, &mut fixed)?;
        }
        let mut results = results(&draft, &sizes)?;
        for (name, sink) in &pieces.sinks {
            give_away(&graph, &mut results, name, sink)?;
        }
        let total = usize::try_from(rows).unwrap_or(usize::MAX);
        let result_bytes = results.iter().map(|result| result.bytes(total)).fold(0, usize::saturating_add);
        // A state is there twice while it is handed on.
        let carried = carries.iter().map(|(_, next)| 2 * sizes.bytes(*next, 1));
        let kept_bytes = kept_bytes(&draft, &sizes) + carried.sum::<usize>();
        let fixed_bytes = result_bytes.saturating_add(kept_bytes);
        let reading = reading(&inputs);
        let mut limits = pieces.clone();
        if !carries.is_empty() {
            limits.in_flight = Some(1);
        }
        // More rows than these did not fit when they were tried.
        let mut most_rows = if sizes.is_one_row() { 1 } else { usize::MAX };
        let choice = loop {
            let need = |piece: u64| {
                let rows = piece_rows(piece);
                let bytes = |rows: usize| layout(&draft, (&sizes, reading), &results, rows).total();
                // It is not known how much they would take, but each row takes no more than the first.
                if rows <= most_rows { bytes(rows) } else { bytes(1).saturating_mul(rows).max(memory + 1) }
            };
            if most_rows < usize::MAX {
                limits.memory = Some(memory);
            }
            let choice = choose::choose(&limits, rows, fixed_bytes, &need).map_err(|error| match &refused {
                Some(refused) => refused.clone().before(&error.to_string()),
                None => error,
            })?;
            let tried = piece_rows(choice.slicing.cut(rows)?.most());
            // What is taken elsewhere need not grow evenly, so it is tried with the pieces that there would be.
            if !sizes.is_uncertain(tried) {
                break choice;
            }
            let (seen, done) = trial.run(tried);
            done?;
            match seen.record_if_known() {
                Some(record) => sizes.add(tried, record),
                None => most_rows = (tried / 2).max(2),
            }
        };
        if let Some(refused) = refused {
            // A piece needs no less than its trial, so this is not reached.
            return Err(refused);
        }
        let cut = choice.slicing.cut(rows)?;
        let layout = layout(&draft, (&sizes, reading), &results, piece_rows(cut.most()));
        let program = with_slices(choice.slicing)?;
        Ok(Self {
            graph,
            inputs,
            planned: Arc::new(Planned { program, given, results, layout, cut, rows, carries }),
            in_flight: choice.in_flight,
            fixed,
            result_bytes,
            kept_bytes,
            memory: pieces.memory,
        })
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.planned.rows
    }

    /// The pieces.
    pub fn cut(&self) -> Cut {
        self.planned.cut
    }

    /// How many pieces are in flight at once.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// How many bytes one piece in flight takes.
    pub fn bytes_in_flight(&self) -> usize {
        self.planned.layout.total()
    }

    /// How many bytes all results take.
    pub fn result_bytes(&self) -> usize {
        self.result_bytes
    }

    /// The most bytes that the run will use: its pieces in flight, what is the same for all of them, and its results.
    /// Inputs and constants of the model are not counted.
    pub fn predicted_peak_bytes(&self) -> usize {
        let in_flight = self.in_flight.saturating_mul(self.planned.layout.total());
        self.result_bytes.saturating_add(self.kept_bytes).saturating_add(in_flight)
    }

    /// The program that is run for each piece.
    pub fn program(&self) -> &Program {
        &self.planned.program
    }
}

impl fmt::Display for PiecePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rows in {} pieces of up to {}, {} in flight: {} bytes at most = {} of results + {} of constant parts + {} x {}",
            self.planned.rows,
            self.planned.cut.pieces(),
            self.planned.cut.most(),
            self.in_flight,
            self.predicted_peak_bytes(),
            self.result_bytes,
            self.kept_bytes,
            self.in_flight,
            self.planned.layout.total()
        )?;
        match self.memory {
            Some(memory) => write!(f, ", of {memory} allowed"),
            None => Ok(()),
        }
    }
}

/// Numbers of rows of a piece fit, or the piece does not.
fn piece_rows(piece: u64) -> usize {
    usize::try_from(piece).unwrap_or(usize::MAX)
}

/// Without rows, states are what they were given as.
fn keep_states(
    graph: &Graph,
    inputs: &[Given],
    carries: &[(TensorId, TensorId)],
    fixed: &mut [Option<Tensor>],
) -> Result<(), Error> {
    let outputs = graph.output.map_or(&[][..], |output| &graph.nodes[output.index()].inputs);
    for (state, next) in carries {
        let place = outputs.iter().position(|output| *output == Some(*next));
        let given = inputs.iter().find(|given| given.tensor == *state);
        if let (Some(place), Some(given)) = (place, given) {
            fixed[place] = Some(whole(given.rows.as_ref())?);
        }
    }
    Ok(())
}
