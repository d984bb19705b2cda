//! The attributes of a node, and what else an operator knows when it is made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::operators::body::Body;
use crate::registry::RowRule;
use drawloom_tensor::{Fact, Fault, Tensor};

/// The value of an attribute.
#[derive(Clone)]
pub(crate) enum Attribute {
    Int(i64),
    Float(f32),
    Text(String),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Texts(Vec<String>),
    Tensor(Tensor),
    Graph(Body),
}

/// What an operator is made from. It remembers which attributes were asked for: one that nobody asks for could change what
/// the operator means, so it is refused.
pub(crate) struct Spec {
    pub(crate) operator: String,
    pub(crate) opset: i64,
    pub(crate) outputs: usize,
    pub(crate) attributes: BTreeMap<String, Attribute>,
    /// What a node does that was several nodes in the file, one after another; the last one computes its output.
    pub(crate) parts: Vec<Part>,
    /// What an operator of the user's own does with rows.
    pub(crate) rule: Option<RowRule>,
    /// Whether it is an operator of the user's own, whatever its name.
    pub(crate) own: bool,
    asked: Mutex<BTreeSet<&'static str>>,
}

/// One of several nodes that run as one.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) spec: Arc<Spec>,
    pub(crate) inputs: Vec<Option<From>>,
}

/// Where an input of a part comes from.
#[derive(Clone)]
pub(crate) enum From {
    /// An input of the node.
    Input(usize),
    /// Another part, before it.
    Part(usize),
    /// A constant, which the node may have in another form.
    Constant(Fact),
}

impl Spec {
    pub(crate) fn new(operator: &str, opset: i64, outputs: usize, attributes: BTreeMap<String, Attribute>) -> Self {
        Self {
            operator: operator.to_owned(),
            opset,
            outputs,
            attributes,
            parts: Vec::new(),
            rule: None,
            own: false,
            asked: Mutex::default(),
        }
    }

    pub(crate) fn check_all_asked(&self) -> Result<(), Fault> {
        let asked = self.asked();
        match self.attributes.keys().find(|name| !asked.contains(name.as_str())) {
            None => Ok(()),
            Some(name) => Err(Fault::unsupported(format!("attribute `{name}` is not known here"))),
        }
    }

    /// Attributes that change nothing for us.
    pub(crate) fn ignore(&self, names: &[&'static str]) {
        self.asked().extend(names);
    }

    fn asked(&self) -> MutexGuard<'_, BTreeSet<&'static str>> {
        self.asked.lock()
    }

    fn get(&self, name: &'static str) -> Option<&Attribute> {
        self.asked().insert(name);
        self.attributes.get(name)
    }

    pub(crate) fn int(&self, name: &'static str, default: i64) -> Result<i64, Fault> {
        self.optional_int(name).map(|value| value.unwrap_or(default))
    }

    pub(crate) fn optional_int(&self, name: &'static str) -> Result<Option<i64>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Attribute::Int(value)) => Ok(Some(*value)),
            Some(_) => Err(wrong(name, "an integer")),
        }
    }

    pub(crate) fn flag(&self, name: &'static str, default: bool) -> Result<bool, Fault> {
        Ok(self.int(name, i64::from(default))? != 0)
    }

    pub(crate) fn float(&self, name: &'static str, default: f32) -> Result<f32, Fault> {
        match self.get(name) {
            None => Ok(default),
            Some(Attribute::Float(value)) => Ok(*value),
            Some(_) => Err(wrong(name, "a number")),
        }
    }

    pub(crate) fn text(&self, name: &'static str, default: &str) -> Result<String, Fault> {
        match self.get(name) {
            None => Ok(default.to_owned()),
            Some(Attribute::Text(value)) => Ok(value.clone()),
            Some(_) => Err(wrong(name, "a text")),
        }
    }

    pub(crate) fn ints(&self, name: &'static str) -> Result<Option<Vec<i64>>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Attribute::Ints(values)) => Ok(Some(values.clone())),
            Some(_) => Err(wrong(name, "a list of integers")),
        }
    }

    pub(crate) fn floats(&self, name: &'static str) -> Result<Option<Vec<f32>>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Attribute::Floats(values)) => Ok(Some(values.clone())),
            Some(_) => Err(wrong(name, "a list of numbers")),
        }
    }

    pub(crate) fn texts(&self, name: &'static str) -> Result<Option<Vec<String>>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Attribute::Texts(values)) => Ok(Some(values.clone())),
            Some(_) => Err(wrong(name, "a list of texts")),
        }
    }

    pub(crate) fn tensor(&self, name: &'static str) -> Result<Option<Tensor>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Attribute::Tensor(value)) => Ok(Some(value.clone())),
            Some(_) => Err(wrong(name, "a tensor")),
        }
    }

    /// Whether an attribute is a graph.
    pub(crate) fn has_graph(&self) -> bool {
        self.attributes.values().any(|attribute| matches!(attribute, Attribute::Graph(_)))
    }

    pub(crate) fn graph(&self, name: &'static str) -> Result<Body, Fault> {
        match self.get(name) {
            Some(Attribute::Graph(value)) => Ok(value.clone()),
            _ => Err(wrong(name, "a graph")),
        }
    }
}

fn wrong(name: &str, expected: &str) -> Fault {
    Fault::new(format!("attribute `{name}` must be {expected}"))
}
