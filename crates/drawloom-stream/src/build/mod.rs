//! Describing a stream: types on the outside, plain data on the inside.
//!
//! | file | concept |
//! |---|---|
//! | [`stream`] | [`Stream`](stream::Stream): sources, sinks, regions, edges |
//! | [`node`] | nodes: channels, state, and what they do |
//! | [`handling`] | nodes that do something at signals |
//! | [`mistakes`] | what is said of a stream that cannot be |
//! | [`handle`] | names for channels, nodes, regions and signals |

pub(crate) mod handle;
pub(crate) mod handling;
mod mistakes;
pub(crate) mod node;
pub(crate) mod stream;
