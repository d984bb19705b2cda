//! Describing a stream: types on the outside, plain data on the inside.
//!
//! | file | concept |
//! |---|---|
//! | [`stream`] | [`Stream`](stream::Stream): sources, sinks, regions, edges |
//! | [`node`] | nodes: channels, state, and what they do with items and at signals |
//! | [`mistakes`] | what is said of a stream that cannot be |
//! | [`handle`] | names for channels, nodes, regions and signals |

pub(crate) mod handle;
mod mistakes;
pub(crate) mod node;
pub(crate) mod stream;
