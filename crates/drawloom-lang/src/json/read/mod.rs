//! Bytes to a graph.
//!
//! Large files are the reason for the shape of this reader. Its visitors borrow names from the text and push straight into
//! the graph: there is no tree of values in between. That needs regions before nodes before edges. A part that comes too
//! early is kept as a slice of the text, found by one quick scan, and parsed when its turn has come; bodies are always kept
//! that way, so the parser itself never recurses into a file.
//!
//! | file | concept |
//! |---|---|
//! | `graph` | the reader, and the keys of a graph |
//! | `region_graph` | names and facts |
//! | `nodes` | the list of nodes |
//! | `body` | nested graphs and how they run |
//! | `edges` | the list of edges |

mod body;
mod edges;
mod graph;
mod nodes;
mod region_graph;

pub use graph::read;
