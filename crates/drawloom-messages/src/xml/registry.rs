//! The graph types that a program knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::graph::GraphType;

/// Graph types by name. The device types of a file are bound to the handlers that are registered for them here.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    types: BTreeMap<String, Arc<GraphType>>,
}

impl Registry {
    /// A registry without types.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a graph type.
    ///
    /// # Errors
    /// When there is one with its name.
    pub fn register(&mut self, graph_type: &Arc<GraphType>) -> Result<()> {
        if self.types.contains_key(graph_type.id()) {
            let message = format!("two graph types are called {:?}", graph_type.id());
            return Err(Error::new(ErrorKind::Type, message).of_type(graph_type.id()));
        }
        self.types.insert(graph_type.id().to_owned(), Arc::clone(graph_type));
        Ok(())
    }

    /// The graph type with a name.
    ///
    /// # Errors
    /// When there is none.
    pub fn get(&self, id: &str) -> Result<&Arc<GraphType>> {
        self.types.get(id).ok_or_else(|| {
            let known: Vec<&str> = self.types.keys().map(String::as_str).collect();
            let message =
                format!("no handlers are registered for graph type {id:?}; there are some for {}", known.join(", "));
            Error::new(ErrorKind::Unknown, message).of_type(id)
        })
    }
}
