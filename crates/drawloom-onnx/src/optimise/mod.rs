//! Fewer and larger nodes, before a model runs: constants are computed, and nodes that follow each other run as one.
//!
//! The one idea: a node that stands for several keeps what they were, with the rule of each of them for rows and shapes, so
//! whether a batch can be cut is decided as if nothing had been changed. Results change by rounding only, and the inputs and
//! outputs of the graph keep their names.
//!
//! | module | what it does |
//! |---|---|
//! | [`draft`] | a graph that is being changed |
//! | [`fold`] | nodes of constants, and nodes that do nothing |
//! | [`function`] | several nodes that are one function of each element |
//! | [`one_hot`] | products with rows of zeros and a one |
//! | [`join`] | what follows a convolution |

mod draft;
mod fold;
mod function;
mod join;
mod one_hot;

use crate::operators::spec::Spec;
use draft::Draft;
use drawloom_tensor::{Error, Graph, Port};
use std::sync::Arc;

/// The same graph with fewer nodes.
pub(crate) fn optimise(graph: Graph, specs: Vec<Option<Arc<Spec>>>, inputs: &[Port]) -> Result<Graph, Error> {
    let mut draft = Draft::new(graph, specs);
    fold::constants(&mut draft)?;
    // Once more, as more shapes are known without the nodes that do nothing.
    for _ in 0..2 {
        draft.infer(inputs);
        fold::idle(&mut draft);
    }
    function::functions(&mut draft);
    one_hot::tables(&mut draft)?;
    join::convolutions(&mut draft)?;
    draft.finish()
}
