//! Graphs as JSON, both ways.
//!
//! ```text
//! {"region_graph":{"regions":[names],"subregion":[[child,parent]],"disjoint":[[a,b]]},
//!  "nodes":[{"id","label":"Task|Open|Close|Region","region"?,"cost"?,"body"?}],
//!  "edges":[{"from","to","label":"Read|Discard|Write|Reduce|HappensBefore|Use","op"?,"port"?,"reorderable"?}]}
//! ```
//!
//! Keys come in any order and unknown keys are ignored; `null` stands for an absent value. Ids are strings or integers, and
//! `1` and `"1"` are one id. A `body` is a nested graph; without a `region_graph` of its own it is about the regions of the
//! graph around it. Two more keys keep what a body alone cannot say: `"control":{"repeat":3}`, `{"while":region}`,
//! `{"if":region}` or `{"call":true}`, and `"else"`, the graph that runs when the condition of an `if` does not hold.
//!
//! Reading refuses only what is no graph of this shape: bad syntax, wrong types, unknown labels, duplicate ids. Whatever a
//! rule is about is read and left to the check, which reports it with its rule.
//!
//! | file | concept |
//! |---|---|
//! | `read` | bytes to a graph |
//! | `ids` | ids and names as they stand in a file |
//! | `error` | what can be wrong with a file, and where |
//! | `write` | a graph to text |
//! | `facts` | the region graph, as a list of names and few facts |
//! | `groups` | which pieces of partitions overlap, by groups of pieces |
//!
//! ```
//! use drawloom_lang::json;
//! let text = r#"{"region_graph":{"regions":["A"],"subregion":[],"disjoint":[]},
//!     "nodes":[{"id":0,"label":"Region","region":"A"},{"id":"show","label":"Task"}],
//!     "edges":[{"from":0,"to":"show","label":"Read"}]}"#;
//! let graph = json::read(text.as_bytes())?;
//! assert_eq!(graph.nodes().len(), 2);
//! assert_eq!(json::read(json::write(&graph).as_bytes())?, graph);
//! # Ok::<(), json::JsonError>(())
//! ```

mod error;
mod facts;
mod groups;
mod ids;
mod read;
mod write;

pub use error::{JsonError, JsonErrorKind};
pub(crate) use ids::Id;
pub use read::read;
pub use write::write;

/// The deepest nesting of bodies that is read. The stack of a thread holds many times that.
pub(crate) const DEEPEST: usize = 64;
