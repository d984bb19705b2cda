//! What the user says about axes, lengths, states, and the size of pieces.

use std::fmt::Display;
use std::sync::Arc;

use clap::Args;
use drawloom_tensor::{Dimension, Model, Port};
use drawloom_tensor::{ElementType, Pieces};

use super::inputs::Batch;
use super::random::RandomRows;
use crate::number::{bytes, integer};

/// Where the rows of a model's inputs come from, and how they are cut.
#[derive(Debug, Args)]
pub struct Cutting {
    /// The axis that counts rows in an input, or none
    #[arg(long = "axis", value_name = "INPUT=AXIS")]
    axes: Vec<String>,
    /// The length of an axis that the model leaves open, by its name or its place
    #[arg(long = "dim", value_name = "NAME|INPUT:AXIS=LENGTH")]
    dims: Vec<String>,
    /// A state that is handed on from piece to piece: an input, and the output that it is in the next piece
    #[arg(long = "carry", value_name = "INPUT=OUTPUT")]
    carries: Vec<String>,
    /// How much memory the run may use, such as 64MiB
    #[arg(long, value_parser = bytes, value_name = "BYTES")]
    pub memory: Option<usize>,
    /// How many rows a piece has at most
    #[arg(long, value_parser = integer, value_name = "ROWS")]
    pub piece: Option<u64>,
    /// The number of rows of a piece should be a multiple of this
    #[arg(long, value_parser = integer, value_name = "ROWS")]
    multiple: Option<u64>,
}

impl Cutting {
    /// Refuses names that the model does not have, and what is said twice.
    pub fn check(&self, model: &Model) -> Result<(), String> {
        let (axes, carries) = (self.axes()?, self.carries()?);
        once("--axis", axes.iter().map(|(input, _)| *input))?;
        once("--carry", carries.iter().map(|(input, _)| *input))?;
        once("--dim", self.dims()?.into_iter().map(|(name, _)| name))?;
        for input in axes.iter().map(|(input, _)| *input).chain(carries.iter().map(|(input, _)| *input)) {
            if !model.inputs().iter().any(|port| port.name == input) {
                return Err(format!("the model has no input `{input}`: it has {}", names(model.inputs())));
            }
        }
        for (input, output) in &carries {
            if !model.outputs().iter().any(|port| port.name == *output) {
                return Err(format!("the model has no output `{output}`: it has {}", names(model.outputs())));
            }
            if axes.iter().any(|(other, axis)| other == input && axis.is_some()) {
                return Err(format!("input `{input}` carries a state, so no axis of it counts rows"));
            }
        }
        self.dims()?.into_iter().try_for_each(|(name, length)| self.check_length(model, name, length))
    }

    /// Refuses a length of what is no open axis.
    fn check_length(&self, model: &Model, name: &str, length: usize) -> Result<(), String> {
        let mut open = Vec::new();
        let mut refused = None;
        for port in model.inputs() {
            let axis = self.axis_of(model, port)?;
            for (place, dimension) in port.shape.iter().flatten().enumerate() {
                let placed = place_name(port, place);
                let named = placed == name || matches!(dimension, Dimension::Symbol(symbol) if symbol == name);
                match dimension {
                    Dimension::Known(known) if named && *known != length => {
                        return Err(format!("axis {place} of input {port} has the fixed length {known}, not {length}"));
                    }
                    Dimension::Known(_) if named => return Ok(()),
                    Dimension::Known(_) => {}
                    _ if axis == Some(place) => {
                        if named {
                            refused = Some(format!(
                                "--dim {name}={length}: axis {place} of input {port} counts rows, of which there are as \
                                 many as the batch has"
                            ));
                        }
                    }
                    _ if named => return Ok(()),
                    Dimension::Symbol(symbol) => open.push(format!("{symbol} or {placed}")),
                    Dimension::Unknown => open.push(placed),
                }
            }
        }
        Err(refused.unwrap_or_else(|| {
            let leaves = if open.is_empty() { "none".to_owned() } else { open.join(", ") };
            format!("--dim {name}={length}: there is no such length; those that the model leaves open are: {leaves}")
        }))
    }

    /// The axes that were given.
    pub fn axes(&self) -> Result<Vec<(&str, Option<usize>)>, String> {
        self.axes.iter().map(|text| axis(text)).collect()
    }

    /// The states that were given: inputs, and the outputs that they are in the next piece.
    pub fn carries(&self) -> Result<Vec<(&str, &str)>, String> {
        let pair = |text: &'_ str| format!("`{text}` is not INPUT=OUTPUT");
        self.carries.iter().map(|text| text.split_once('=').ok_or_else(|| pair(text))).collect()
    }

    /// The lengths that were given.
    fn dims(&self) -> Result<Vec<(&str, usize)>, String> {
        self.dims.iter().map(|text| dim(text)).collect()
    }

    /// The axes and states alone.
    pub fn axes_and_carries(&self) -> Result<Pieces, String> {
        let mut pieces = Pieces::new();
        for (input, axis) in self.axes()? {
            pieces = pieces.axis(input, axis);
        }
        for (input, output) in self.carries()? {
            pieces = pieces.carry(input, output);
        }
        Ok(pieces)
    }

    /// How a batch is cut for so many workers.
    pub fn pieces(&self, workers: usize) -> Result<Pieces, String> {
        let mut pieces = self.axes_and_carries()?.workers(workers);
        if let Some(memory) = self.memory {
            pieces = pieces.memory(memory);
        }
        if self.piece == Some(0) || self.multiple == Some(0) {
            return Err("a piece must have one row at least".to_owned());
        }
        if let (Some(piece), Some(multiple)) = (self.piece, self.multiple)
            && piece % multiple != 0
        {
            return Err(format!("--multiple {multiple} does not divide --piece {piece}"));
        }
        if let Some(piece) = self.piece {
            pieces = pieces.piece(piece);
        }
        if let Some(multiple) = self.multiple {
            pieces = pieces.multiple(multiple);
        }
        Ok(pieces)
    }

    /// The shape of an input for a number of rows: from the file, and from what was given for lengths that it does not know.
    pub(super) fn shape(&self, model: &Model, port: &Port) -> Result<(ElementType, Vec<Option<usize>>), String> {
        let element =
            port.element.ok_or_else(|| format!("the model does not say which type input `{}` has", port.name))?;
        let lengths = port.shape.as_ref();
        let lengths = lengths.ok_or_else(|| format!("the model does not say which shape input `{}` has", port.name))?;
        let axis = self.axis_of(model, port)?;
        let mut shape = Vec::new();
        for (place, length) in lengths.iter().enumerate() {
            shape.push(match length {
                _ if Some(place) == axis => None,
                Dimension::Known(length) => Some(*length),
                other => {
                    let given = self.length(model, port, place)?;
                    Some(given.ok_or_else(|| {
                        let place = place_name(port, place);
                        format!("input {port}: the length `{other}` is not known; give it with --dim {place}=LENGTH")
                    })?)
                }
            });
        }
        Ok((element, shape))
    }

    /// The axis that counts the rows of an input, before anything is known about what the model does with them. What carries
    /// a state has none; nor has anything where the axes that were given are wrong, which whoever uses them says.
    pub fn axis_of(&self, model: &Model, port: &Port) -> Result<Option<usize>, String> {
        let (mut axes, carries) = (self.axes()?, self.carries()?);
        axes.extend(carries.iter().map(|(input, _)| (*input, None)));
        let place = model.inputs().iter().position(|other| other.name == port.name);
        let found = model.input_axes(&axes).unwrap_or_default();
        Ok(place.and_then(|place| found.get(place).copied().flatten()))
    }

    /// The length that was given for an axis: by its place, by its name, or by the place of another with the same name.
    fn length(&self, model: &Model, port: &Port, place: usize) -> Result<Option<usize>, String> {
        let dims = self.dims()?;
        let given = |name: &str| dims.iter().find(|(given, _)| *given == name).map(|(_, length)| *length);
        let symbol = port.shape.as_ref().and_then(|shape| shape.get(place));
        let Some(Dimension::Symbol(symbol)) = symbol else { return Ok(given(&place_name(port, place))) };
        let elsewhere = || {
            let places = model.inputs().iter().flat_map(|port| {
                port.shape.iter().flatten().enumerate().map(move |(place, length)| (port, place, length))
            });
            let mut same =
                places.filter(|(_, _, length)| matches!(length, Dimension::Symbol(other) if other == symbol));
            same.find_map(|(port, place, _)| given(&place_name(port, place)))
        };
        Ok(given(&place_name(port, place)).or_else(|| given(symbol)).or_else(elsewhere))
    }

    /// Refuses a batch whose lengths are others than those that were given.
    pub(super) fn check_batch(&self, model: &Model, batch: &Batch) -> Result<(), String> {
        for (name, rows) in &batch.inputs {
            let Some(port) = model.inputs().iter().find(|port| port.name == *name) else { continue };
            let axis = self.axis_of(model, port)?;
            for (place, found) in rows.shape().iter().enumerate().filter(|(place, _)| Some(*place) != axis) {
                if let Some(length) = self.length(model, port, place)?.filter(|length| length != found) {
                    return Err(format!(
                        "axis {place} of input `{name}` has the length {found}, and --dim says {length}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Random rows for all inputs of a model.
    pub fn random(&self, model: &Model, rows: u64) -> Result<Batch, String> {
        let rows = usize::try_from(rows).map_err(|_| format!("{rows} rows are too many"))?;
        let mut batch = Batch::default();
        for port in model.inputs() {
            batch.inputs.push((port.name.clone(), Arc::new(self.random_rows(model, port, rows)?)));
        }
        Ok(batch)
    }

    /// The same for those inputs whose lengths are known.
    pub fn random_where_known(&self, model: &Model) -> Batch {
        let mut batch = Batch::default();
        for port in model.inputs() {
            if let Ok(rows) = self.random_rows(model, port, 1) {
                batch.inputs.push((port.name.clone(), Arc::new(rows)));
            }
        }
        batch
    }

    fn random_rows(&self, model: &Model, port: &Port, rows: usize) -> Result<RandomRows, String> {
        let (element, shape) = self.shape(model, port)?;
        let shape: Vec<usize> = shape.into_iter().map(|length| length.unwrap_or(rows)).collect();
        // More than any file can hold is a slip of the finger.
        let bytes = shape.iter().try_fold(element.size(), |product, length| product.checked_mul(*length));
        if bytes.is_none_or(|bytes| i64::try_from(bytes).is_err()) {
            return Err(format!("{rows} rows are too many for input {port}"));
        }
        Ok(RandomRows { element, shape })
    }
}

/// An axis by its place, which also those have that the model has no name for.
fn place_name(port: &Port, place: usize) -> String {
    format!("{}:{place}", port.name)
}

/// Refuses what is named twice.
fn once<'a>(option: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if seen.contains(&name) {
            return Err(format!("{option} is given twice for `{name}`"));
        }
        seen.push(name);
    }
    Ok(())
}

/// The names of inputs or outputs, for people.
pub(super) fn names(ports: &[Port]) -> impl Display + use<> {
    ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Reads `INPUT=AXIS`.
fn axis(text: &str) -> Result<(&str, Option<usize>), String> {
    let wrong = || format!("`{text}` is not INPUT=AXIS, with a number or `none`");
    let (name, axis) = text.rsplit_once('=').ok_or_else(wrong)?;
    match axis {
        "none" => Ok((name, None)),
        axis => axis.parse().map(|axis| (name, Some(axis))).map_err(|_| wrong()),
    }
}

/// Reads `NAME=LENGTH`.
fn dim(text: &str) -> Result<(&str, usize), String> {
    let wrong = || format!("`{text}` is not NAME=LENGTH or INPUT:AXIS=LENGTH");
    let (name, length) = text.rsplit_once('=').ok_or_else(wrong)?;
    let length = length.parse().map_err(|_| format!("`{length}` is not the length of an axis"))?;
    Ok((name, length))
}
