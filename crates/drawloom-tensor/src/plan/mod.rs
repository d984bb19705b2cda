//! Running a batch in pieces: how large they are, how many are in flight, and which memory each of them uses.
//!
//! Everything that a piece computes goes to a place in one arena that was planned before. There is an arena for each piece
//! in flight, and beside them only the results, and what is the same for all rows. So the most bytes that a run uses are
//! known before it begins.

mod check;
mod choose;
pub(crate) mod pack;
mod sizes;

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Fault};
use crate::graph::{Graph, Operator, Placement, Source, TensorId};
use crate::onnx::Model;
use crate::program::{Program, is_loop};
use crate::run::Settings;
use crate::slice::{Cut, RowSink, Rows, Slicing, place_rows};
use crate::tensor::{Tensor, View};
use pack::{Item, pack, rounded};
pub(crate) use sizes::{Growth, Sizes};

/// How a batch is cut, and what its run may use.
#[derive(Clone, Default)]
pub struct Pieces {
    axes: Vec<(String, Option<usize>)>,
    carries: Vec<(String, String)>,
    sinks: Vec<(String, Arc<dyn RowSink>)>,
    piece: Option<u64>,
    multiple: Option<u64>,
    in_flight: Option<usize>,
    workers: Option<usize>,
    memory: Option<usize>,
}

impl Pieces {
    /// Everything is chosen by what the model needs: for one worker, in memory that stays in its cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The axis of an input that counts rows, or none for an input that is the same for all rows. See [`Model::batch`] for
    /// what is taken otherwise.
    #[must_use]
    pub fn axis(mut self, input: &str, axis: Option<usize>) -> Self {
        self.axes.push((input.to_owned(), axis));
        self
    }

    /// Hands a state on from piece to piece: an input that has no rows is what was given in the first piece, and in every
    /// other one what an output was in the piece before. Pieces run one after the other then. That rows may be cut apart at
    /// all is no longer checked, because it depends on what the state means: see [`PiecePlan::check`].
    #[must_use]
    pub fn carry(mut self, input: &str, output: &str) -> Self {
        self.carries.push((input.to_owned(), output.to_owned()));
        self
    }

    /// Gives the rows of an output away as they are computed. They are along its first axis, and are not kept in memory.
    #[must_use]
    pub fn sink(mut self, output: &str, sink: Arc<dyn RowSink>) -> Self {
        self.sinks.push((output.to_owned(), sink));
        self
    }

    /// How many rows a piece has at most.
    #[must_use]
    pub fn piece(mut self, rows: u64) -> Self {
        self.piece = Some(rows);
        self
    }

    /// The number of rows of a piece should be a multiple of this.
    #[must_use]
    pub fn multiple(mut self, rows: u64) -> Self {
        self.multiple = Some(rows);
        self
    }

    /// How many pieces may be in flight: as many as there are workers, unless that needs too much memory.
    #[must_use]
    pub fn in_flight(mut self, pieces: usize) -> Self {
        self.in_flight = Some(pieces);
        self
    }

    /// How many workers will run it.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// How many bytes the run may use, its results included.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }
}

/// An input of a graph for a run in pieces.
#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) tensor: TensorId,
    /// The axis that counts rows. An input without one is the same for all rows.
    pub(crate) axis: Option<usize>,
    pub(crate) rows: Arc<dyn Rows>,
}

/// Places of everything that one piece computes.
pub(crate) struct Layout {
    /// Where each tensor is, and how many bytes there are for it. Those that are somewhere else have none.
    pub(crate) tensors: Vec<Option<(usize, usize)>>,
    /// The same for what nodes need while they run.
    pub(crate) scratch: Vec<(usize, usize)>,
    pub(crate) bytes: usize,
}

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

/// A run in pieces, planned: what it will use is known, and it can be run.
pub struct PiecePlan {
    /// The graph without a loop, and its inputs.
    graph: Graph,
    inputs: Vec<Given>,
    pub(crate) program: Arc<Program>,
    pub(crate) given: Vec<(TensorId, Tensor)>,
    pub(crate) results: Vec<ResultPort>,
    pub(crate) layout: Layout,
    pub(crate) cut: Cut,
    pub(crate) rows: u64,
    pub(crate) in_flight: usize,
    /// States that are handed on from piece to piece, and what they are afterwards.
    pub(crate) carries: Vec<(TensorId, TensorId)>,
    /// The results that are the same for all rows, from a run with one: what they are when there are no rows.
    pub(crate) fixed: Vec<Option<Tensor>>,
    result_bytes: usize,
    kept_bytes: usize,
    memory: Option<usize>,
}

impl Model {
    /// Where the rows of each output will be, in the order of the outputs.
    pub fn placements(&self, inputs: &[(&str, Arc<dyn Rows>)], pieces: &Pieces) -> Result<Vec<Placement>, Error> {
        self.axes_and_placements(inputs, pieces).map(|(_, placements)| placements)
    }

    /// The axis that counts the rows of each input, and where those of each output are.
    fn axes_and_placements(
        &self,
        inputs: &[(&str, Arc<dyn Rows>)],
        pieces: &Pieces,
    ) -> Result<(Vec<Option<usize>>, Vec<Placement>), Error> {
        let mut axes: Vec<(&str, Option<usize>)> =
            pieces.axes.iter().map(|(name, axis)| (name.as_str(), *axis)).collect();
        axes.extend(pieces.carries.iter().map(|(input, _)| (input.as_str(), None)));
        if pieces.carries.is_empty() {
            let shapes: Vec<(&str, &[usize])> = inputs.iter().map(|(name, rows)| (*name, rows.shape())).collect();
            let batch = self.batch_of(&axes, &shapes)?;
            Ok((self.inputs().iter().map(|port| batch.axis(self, &port.name)).collect(), batch.outputs().to_vec()))
        } else {
            let carried = |name: &str| pieces.carries.iter().any(|(_, output)| output == name);
            let placement = |name: &str| if carried(name) { Placement::Fixed } else { Placement::Rows { axis: 0 } };
            Ok((self.input_axes(&axes)?, self.outputs().iter().map(|port| placement(&port.name)).collect()))
        }
    }

    /// Plans a run in pieces over a batch: an input of every name, whose rows may be anywhere.
    pub fn plan(&self, inputs: &[(&str, Arc<dyn Rows>)], pieces: &Pieces) -> Result<PiecePlan, Error> {
        let (axes, placements) = self.axes_and_placements(inputs, pieces)?;
        self.check_inputs(inputs.iter().map(|(name, rows)| (*name, rows.element(), rows.shape())))?;
        let mut given = Vec::new();
        for (name, rows) in inputs {
            let graph = self.program().graph();
            let tensor = graph.find_tensor(name).filter(|id| graph.inputs.contains(id));
            let tensor =
                tensor.ok_or_else(|| Error::new(ErrorKind::Input, format!("the model has no input `{name}`")))?;
            if given.iter().any(|other: &Given| other.tensor == tensor) {
                return Err(Error::new(ErrorKind::Input, format!("input `{name}` is given twice")));
            }
            let port = self.inputs().iter().position(|port| port.name == *name);
            given.push(Given { tensor, axis: port.and_then(|port| axes[port]), rows: Arc::clone(rows) });
        }
        if let Some(port) = self.inputs().iter().find(|port| inputs.iter().all(|(name, _)| *name != port.name)) {
            return Err(Error::new(ErrorKind::Input, format!("input `{}` is missing", port.name)));
        }
        PiecePlan::new(self.program().graph(), &placements, given, pieces)
    }
}

impl Graph {
    /// Plans a run in pieces of a graph of the user's own operators. Inputs come with the axis that counts their rows, or
    /// none if they are the same for all rows, and outputs are placed as the graph says. That each row of the results
    /// depends on one row of the inputs alone is for the user to know: [`PiecePlan::check`] tries it out.
    pub fn plan(&self, inputs: &[(&str, Option<usize>, Arc<dyn Rows>)], pieces: &Pieces) -> Result<PiecePlan, Error> {
        let mut given = Vec::new();
        for (name, axis, rows) in inputs {
            let tensor = self
                .find_tensor(name)
                .filter(|id| self.inputs.contains(id))
                .ok_or_else(|| Error::new(ErrorKind::Input, format!("graph `{}` has no input `{name}`", self.name)))?;
            given.push(Given { tensor, axis: *axis, rows: Arc::clone(rows) });
        }
        PiecePlan::new(self, &self.placements, given, pieces)
    }
}

impl PiecePlan {
    fn new(graph: &Graph, placements: &[Placement], given: Vec<Given>, pieces: &Pieces) -> Result<Self, Error> {
        if let Some(node) = graph.nodes.iter().find(|node| is_loop(&node.operator)) {
            let message = format!(
                "graph `{}` has a loop of its own, at node `{}`: a loop over pieces is put around it with `Graph::slice`",
                graph.name, node.name
            );
            return Err(Error::new(ErrorKind::Loop, message).at(&node.name, &[]));
        }
        let rows = rows_of(graph, &given)?;
        let carries = carries_of(graph, &given, &pieces.carries)?;
        if let Some(Placement::Reduced(_)) =
            placements.iter().find(|placement| matches!(placement, Placement::Reduced(_)))
        {
            let message = "an output that is reduced over pieces needs them in order: put the loop into the graph with \
                           `Graph::slice`";
            return Err(Error::new(ErrorKind::Batch, message));
        }
        if !placements.iter().any(|placement| matches!(placement, Placement::Rows { .. })) {
            return Err(Error::new(ErrorKind::Batch, format!("no output of graph `{}` has rows", graph.name)));
        }
        let mut graph = graph.clone();
        graph.placements = placements.to_vec();
        let (sizes, fixed) = learn(&graph, &given, rows)?;
        // The loop is put in with some size first: where things are in the list does not depend on it.
        let inputs = given;
        let given = (inputs.iter().filter(|given| given.axis.is_none()))
            .map(|given| Ok((given.tensor, whole(given.rows.as_ref())?)))
            .collect::<Result<Vec<_>, Fault>>()?;
        let with_slices = |slicing: Slicing| {
            let mut graph = graph.clone();
            let batches = inputs.iter().filter_map(|given| Some((given.tensor, given.axis?, Arc::clone(&given.rows))));
            graph.slice_inputs(slicing, batches.collect());
            graph.check(1)
        };
        let draft = with_slices(Slicing::new(1))?;
        let mut results = results(&draft, &sizes)?;
        for (name, sink) in &pieces.sinks {
            give_away(&graph, &mut results, name, sink)?;
        }
        let total = usize::try_from(rows).unwrap_or(usize::MAX);
        let result_bytes = results.iter().map(|result| result.bytes(total)).fold(0, usize::saturating_add);
        // A state is there twice while it is handed on.
        let carried = carries.iter().map(|(_, next)| 2 * sizes.bytes(*next, 1));
        let kept_bytes = kept_bytes(&draft, &sizes) + carried.sum::<usize>();
        let need = |piece: u64| layout(&draft, &sizes, &results, usize::try_from(piece).unwrap_or(usize::MAX)).bytes;
        let fixed_bytes = result_bytes.saturating_add(kept_bytes);
        let in_order = Pieces { in_flight: Some(1), ..pieces.clone() };
        let choice = choose::choose(if carries.is_empty() { pieces } else { &in_order }, rows, fixed_bytes, &need)?;
        let cut = choice.slicing.cut(rows)?;
        let layout = layout(&draft, &sizes, &results, usize::try_from(cut.most()).unwrap_or(usize::MAX));
        let program = Arc::new(with_slices(choice.slicing)?);
        Ok(Self {
            graph,
            inputs,
            program,
            given,
            results,
            layout,
            cut,
            rows,
            in_flight: choice.in_flight,
            carries,
            fixed,
            result_bytes,
            kept_bytes,
            memory: pieces.memory,
        })
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The pieces.
    pub fn cut(&self) -> Cut {
        self.cut
    }

    /// How many pieces are in flight at once.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// How many bytes one piece in flight takes.
    pub fn bytes_in_flight(&self) -> usize {
        self.layout.bytes
    }

    /// How many bytes all results take.
    pub fn result_bytes(&self) -> usize {
        self.result_bytes
    }

    /// The most bytes that the run will use: its pieces in flight, what is the same for all of them, and its results.
    /// Inputs and constants of the model are not counted.
    pub fn predicted_peak_bytes(&self) -> usize {
        self.result_bytes + self.kept_bytes + self.in_flight * self.layout.bytes
    }

    /// The program that is run for each piece.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

impl fmt::Display for PiecePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rows in {} pieces of up to {}, {} in flight: {} bytes at most = {} of results + {} of constant parts + {} x {}",
            self.rows,
            self.cut.pieces(),
            self.cut.most(),
            self.in_flight,
            self.predicted_peak_bytes(),
            self.result_bytes,
            self.kept_bytes,
            self.in_flight,
            self.layout.bytes
        )?;
        match self.memory {
            Some(memory) => write!(f, ", of {memory} allowed"),
            None => Ok(()),
        }
    }
}

impl ResultPort {
    /// How many bytes it takes at most: rows that are not along the first axis are put in their places at the end.
    fn bytes(&self, rows: usize) -> usize {
        if self.sink.is_some() {
            return 0;
        }
        let copies = if matches!(self.placement, Placement::Rows { axis: 1.. }) { 2 } else { 1 };
        rounded(self.growth.bytes(rows)).saturating_mul(copies)
    }
}

/// The inputs and outputs that states are handed on through.
fn carries_of(
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
fn rows_of(graph: &Graph, given: &[Given]) -> Result<u64, Error> {
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

fn whole(rows: &dyn Rows) -> Result<Tensor, Fault> {
    let mut tensor = Tensor::zeros(rows.element(), rows.shape())?;
    rows.read(0, 0, &mut tensor)?;
    Ok(tensor)
}

/// The first rows of an input. Where there are fewer, the first is repeated; where there are none, they are zero.
fn sample(given: &Given, axis: usize, count: usize) -> Result<Tensor, Fault> {
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
    }
    Ok(tensor)
}

/// Runs the graph with one row and with two.
fn learn(graph: &Graph, given: &[Given], rows: u64) -> Result<(Sizes, Vec<Option<Tensor>>), Error> {
    let program = graph.clone().check(0)?;
    let settings = Settings::new().memory(usize::MAX / 2);
    let mut records = Vec::new();
    let mut fixed = Vec::new();
    for count in [1, 2] {
        let tensors = (given.iter())
            .map(|given| match given.axis {
                Some(axis) => sample(given, axis, count),
                None => whole(given.rows.as_ref()),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let inputs: Vec<(&str, View<'_>)> = (given.iter().zip(&tensors))
            .map(|(given, tensor)| (graph.tensor_name(given.tensor), tensor.view()))
            .collect();
        let (outcome, record) = program.run_recorded(&inputs, &settings)?;
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

fn results(program: &Program, sizes: &Sizes) -> Result<Vec<ResultPort>, Error> {
    let graph = &program.graph;
    let Some(output) = graph.output else { return Ok(Vec::new()) };
    let tensors = graph.nodes[output.index()].inputs.iter().flatten();
    let mut results = Vec::new();
    for (tensor, placement) in tensors.zip(&graph.placements) {
        let name = graph.tensor_name(*tensor);
        let constant = || {
            graph.constant_value(*tensor).and_then(|value| Growth::new(value.element(), value.shape(), value.shape()))
        };
        let growth = sizes.tensors[tensor.index()].clone().or_else(constant);
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
fn give_away(graph: &Graph, results: &mut [ResultPort], name: &str, sink: &Arc<dyn RowSink>) -> Result<(), Error> {
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

/// How many bytes everything takes that is computed once.
fn kept_bytes(program: &Program, sizes: &Sizes) -> usize {
    let once = program.order().iter().filter(|node| program.partition(**node) == 0);
    let mut scratch = 0;
    let mut bytes = 0usize;
    for node in once {
        scratch = scratch.max(sizes.scratch(&program.graph, *node, 1));
        for output in &program.graph.nodes[node.index()].outputs {
            bytes = bytes.saturating_add(sizes.bytes(*output, 1));
        }
    }
    bytes.saturating_add(scratch)
}

/// Finds a place for everything that a piece of so many rows computes.
fn layout(program: &Program, sizes: &Sizes, results: &[ResultPort], rows: usize) -> Layout {
    let graph = &program.graph;
    let mut items = Vec::new();
    let mut owners: Vec<Result<TensorId, usize>> = Vec::new();
    for (place, node) in program.order().iter().enumerate() {
        if program.partition(*node) == 0 || matches!(graph.nodes[node.index()].operator, Operator::Output) {
            continue;
        }
        for output in &graph.nodes[node.index()].outputs {
            if results.iter().any(|result| result.in_place && result.tensor == *output) {
                continue;
            }
            let last = program.lifetime(*output).map_or(place, |lifetime| lifetime.last);
            items.push(Item { bytes: sizes.bytes(*output, rows), first: place, last });
            owners.push(Ok(*output));
        }
        // The node that cuts is new, and was not there when sizes were learnt.
        if !is_loop(&graph.nodes[node.index()].operator) {
            items.push(Item { bytes: sizes.scratch(graph, *node, rows), first: place, last: place });
            owners.push(Err(node.index()));
        }
    }
    let (offsets, bytes) = pack(&items);
    let mut layout =
        Layout { tensors: vec![None; graph.tensors.len()], scratch: vec![(0, 0); graph.nodes.len()], bytes };
    for ((item, offset), owner) in items.iter().zip(offsets).zip(owners) {
        match owner {
            Ok(tensor) => layout.tensors[tensor.index()] = Some((offset, item.bytes)),
            Err(node) => layout.scratch[node] = (offset, item.bytes),
        }
    }
    layout
}
