//! Models: programs with names, types and shapes of their inputs and outputs.

use std::fmt;

use crate::error::{Error, ErrorKind};
use crate::program::Program;
use crate::run::{Outcome, Settings};
use crate::tensor::View;
use crate::tensor::element::ElementType;

/// A model: its program, and what is known about its inputs and outputs.
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

impl Dimension {
    /// The length, if it is known.
    pub fn known(&self) -> Option<usize> {
        if let Self::Known(length) = self { Some(*length) } else { None }
    }
}

impl From<Option<usize>> for Dimension {
    /// A length that may be known.
    fn from(length: Option<usize>) -> Self {
        length.map_or(Self::Unknown, Self::Known)
    }
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

impl Model {
    /// A program with what is known about its inputs and outputs.
    pub fn new(program: Program, inputs: Vec<Port>, outputs: Vec<Port>) -> Self {
        Self { program, inputs, outputs }
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
