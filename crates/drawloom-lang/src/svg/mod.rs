//! Graphs as self-contained SVG drawings.
//!
//! Time runs downwards. Versions are pills with their region and number, tasks are boxes, Opens and Closes trapezoids;
//! control nodes hold the drawing of their body. Every kind of edge has its own colour, dashes and arrowhead, listed in a
//! legend. Violations are red, carry the code of their rule, and are told below the drawing.
//!
//! | file | concept |
//! |---|---|
//! | `layers` | every edge goes from a layer to the next |
//! | `crossings` | the order inside each layer |
//! | `coordinates` | the place along each layer |
//! | `layout` | the three steps together: centres of nodes, and points of edges |
//! | `text` | numbers, escaped names, and how wide a text is |
//! | `shape` | what nodes look like |
//! | `line` | what edges look like |
//! | `picture` | one graph as a picture, with the pictures of its bodies inside |
//! | `page` | the picture on a page, with legend and findings |

mod coordinates;
mod crossings;
mod layers;
mod layout;
mod line;
mod page;
mod picture;
mod shape;
mod text;

pub use page::write;

/// The largest graph that is drawn, nested graphs included.
pub(crate) const MOST_NODES: usize = 2000;
/// The most edges and orders that are drawn.
pub(crate) const MOST_EDGES: usize = 6000;
/// The most places where long edges cross layers.
pub(crate) const MOST_CELLS: usize = 40_000;
