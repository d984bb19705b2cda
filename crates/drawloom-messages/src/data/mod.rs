//! Plain typed data: the properties, states and messages of a graph.
//!
//! A record is bytes, laid out as a C compiler would, so that handlers reach a member without any search: a [`Field`] is
//! found once, by name, and is a number from then on.
//!
//! | file | concept |
//! |---|---|
//! | [`types`] | what there can be: scalars, arrays, tuples with named members |
//! | [`layout`] | where each member lies |
//! | [`field`] | a member of a known Rust type |
//! | [`record`] | the bytes of one value, with their type |
//! | [`rows`] | the bytes of many values of one type |
//! | [`json`] | values as JSON, both ways |
//! | [`c`] | declarations and initialisers as in C, both ways |

pub(crate) mod c;
pub mod field;
pub(crate) mod json;
pub mod layout;
pub mod record;
pub(crate) mod rows;
pub mod types;

pub use field::{Field, Plain};
pub use layout::Layout;
pub use record::Record;
pub use types::{Member, Scalar, Tuple, Type};
