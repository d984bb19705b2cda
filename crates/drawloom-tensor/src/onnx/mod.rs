//! Models in ONNX files.

mod guard;
mod import;
pub mod node_tests;
mod registry;
pub mod sample;
mod value;

use std::fmt;
use std::path::Path;

use rten_onnx::onnx::ModelProto;

use crate::error::{Error, ErrorKind};
use crate::files::regular;
use crate::optimise::optimise;
use crate::program::Program;
use crate::run::{Outcome, Settings};
use crate::tensor::View;
use crate::tensor::element::ElementType;
pub(crate) use registry::RowRule;
pub use registry::{Attributes, Operators};

/// A model that was imported: its program, and what is known about its inputs and outputs.
pub struct Model {
    program: Program,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

/// An input or output of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// The type of its elements, where the file says so.
    pub element: Option<ElementType>,
    /// The lengths of its axes, where the file says how many there are.
    pub shape: Option<Vec<Dimension>>,
}

/// The length of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// It is known.
    Known(usize),
    /// It has a name, and is the same wherever the name is.
    Symbol(String),
    /// It can be anything.
    Unknown,
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(length) => write!(f, "{length}"),
            Self::Symbol(name) => f.write_str(name),
            Self::Unknown => f.write_str("?"),
        }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        match self.element {
            Some(element) => write!(f, "{element}")?,
            None => write!(f, "?")?,
        }
        match &self.shape {
            None => write!(f, "[…]"),
            Some(shape) => {
                let lengths: Vec<String> = shape.iter().map(Dimension::to_string).collect();
                write!(f, "[{}]", lengths.join(", "))
            }
        }
    }
}

fn file(path: &Path) -> Result<Vec<u8>, Error> {
    let cannot = |error: std::io::Error| Error::new(ErrorKind::Import, format!("the file cannot be read: {error}"));
    regular(path).map_err(cannot)?;
    std::fs::read(path).map_err(cannot)
}

/// The newest version of the operators whose meaning is known.
const NEWEST_OPSET: i64 = 22;

impl Model {
    /// Reads a model from a file. Values in other files are looked for beside it.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::from_bytes(&file(path)?, path.parent())
    }

    /// The same with the nodes as they are in the file: none are joined, and nothing is computed before a run.
    pub fn read_plain(path: &Path) -> Result<Self, Error> {
        Self::plain_from_bytes(&file(path)?, path.parent())
    }

    /// Reads a model from the bytes of a file, with a folder for values in other files.
    pub fn from_bytes(bytes: &[u8], folder: Option<&Path>) -> Result<Self, Error> {
        Self::import(bytes, folder, &Operators::new(), true)
    }

    /// The same with operators of the user's own.
    pub fn from_bytes_with(bytes: &[u8], folder: Option<&Path>, operators: &Operators) -> Result<Self, Error> {
        Self::import(bytes, folder, operators, true)
    }

    /// The same with the nodes as they are in the file: none are joined, and nothing is computed before a run.
    pub fn plain_from_bytes(bytes: &[u8], folder: Option<&Path>) -> Result<Self, Error> {
        Self::import(bytes, folder, &Operators::new(), false)
    }

    fn import(bytes: &[u8], folder: Option<&Path>, operators: &Operators, optimised: bool) -> Result<Self, Error> {
        guard::model(bytes)?;
        let damaged =
            |text: String| Error::new(ErrorKind::Import, format!("this is not an ONNX file, or it is damaged: {text}"));
        let message = ModelProto::parse_buf(bytes).map_err(|error| damaged(error.to_string()))?;
        let graph = message.graph.as_ref().ok_or_else(|| damaged("it has no graph".to_owned()))?;
        let versions = message
            .opset_import
            .iter()
            .filter(|set| matches!(set.domain.as_deref().unwrap_or_default(), "" | "ai.onnx"));
        let opset = versions.filter_map(|set| set.version).max();
        if message.opset_import.is_empty() {
            return Err(damaged("it does not say which opset it is written in".to_owned()));
        }
        if let Some(opset) = opset.filter(|opset| *opset > NEWEST_OPSET) {
            let message =
                format!("the file is written in opset {opset}, and {NEWEST_OPSET} is the newest that is known");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let opset = opset.unwrap_or(1);
        let context = import::Context { opset, folder, operators };
        let imported = import::graph(graph, &context, false, "model").map_err(|error| {
            if error.kind() == ErrorKind::UnknownOperator {
                return Error::new(error.kind(), format!("operators that are not supported: {error}"))
                    .with_operator(error.to_string().split(", ").next().unwrap_or_default());
            }
            error
        })?;
        let graph = if optimised { optimise(imported.graph, &imported.inputs)? } else { imported.graph };
        Ok(Self { program: graph.check(4)?, inputs: imported.inputs, outputs: imported.outputs })
    }

    /// Its program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What it must be given.
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// What it computes.
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// Runs it, after a look at the types and shapes of the inputs.
    pub fn run(&self, inputs: &[(&str, View<'_>)], settings: &Settings) -> Result<Outcome, Error> {
        self.check_inputs(inputs.iter().map(|(name, view)| (*name, view.element(), view.shape())))?;
        self.program.run(inputs, settings)
    }

    /// Refuses inputs of other types and shapes than the file says.
    pub(crate) fn check_inputs<'a>(
        &self,
        inputs: impl Iterator<Item = (&'a str, ElementType, &'a [usize])>,
    ) -> Result<(), Error> {
        let mut symbols: Vec<(&str, usize)> = Vec::new();
        for (name, element, found) in inputs {
            let Some(port) = self.inputs.iter().find(|port| port.name == name) else { continue };
            let wrong = || {
                let message = format!("input {port} does not fit a tensor {element}{found:?}");
                Error::new(ErrorKind::Input, message)
            };
            if port.element.is_some_and(|expected| expected != element) {
                return Err(wrong());
            }
            let Some(shape) = &port.shape else { continue };
            if shape.len() != found.len() {
                return Err(wrong());
            }
            for (expected, found) in shape.iter().zip(found) {
                match expected {
                    Dimension::Known(length) if length != found => return Err(wrong()),
                    Dimension::Symbol(symbol) => match symbols.iter().find(|known| known.0 == symbol) {
                        Some((_, length)) if length != found => {
                            let message = format!("`{symbol}` is {length} in one input, and {found} in input {port}");
                            return Err(Error::new(ErrorKind::Input, message));
                        }
                        Some(_) => {}
                        None => symbols.push((symbol, *found)),
                    },
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
