//! Streams: irregular dataflow in full vectors, with signals, regions and nothing lost.
//!
//! ```
//! use drawloom_runtime::Loom;
//! use drawloom_stream::{Stream, source};
//!
//! let mut stream = Stream::new("squares");
//! let numbers = stream.source("numbers", source::range(0..1000));
//! let odd = stream.node("odd", numbers).filter(|n| n % 2 == 1);
//! let squares = stream.node("squares", odd).map(|n| n * n);
//! let squares = stream.collect("result", squares);
//! let report = stream.run(&Loom::builder().workers(1).build().unwrap())?;
//! assert_eq!(squares.take()[..3], [1, 9, 25]);
//! assert_eq!(report.node("odd").unwrap().runs, 8); // 1000 items, up to 128 at once
//! # Ok::<(), drawloom_stream::Error>(())
//! ```
//!
//! A node consumes items from the queues of its edges, up to a vector at a time, and pushes any number of items into its
//! channels. A node runs only with a full vector, unless what it has is all that it can get. The protocol is described in
//! the README of this crate.
//!
//! | module | concept |
//! |---|---|
//! | [`Stream`], [`NodeBuilder`] | describing a stream |
//! | [`source`], [`sink`] | where items come from, and go to |
//! | [`Plan`], [`Running`], [`Report`] | a stream that was checked, runs, and has run |
//! | [`Settings`], [`Parameter`] | how a stream is run, and what its nodes get to know |
//! | `plan` | the description without types: its check, regions, loops, and sizes of queues |
//! | `body` | what nodes do with items |
//! | `machine` | one copy of a stream: who fires when |
//! | `bell`, `exchange` | how the rest of the program calls a stream that waits for it, and a buffer between the two |
//! | `nested` | streams that are waited for inside of nodes of other streams |
//! | `wide` | wide instructions, in the one module with `unsafe` code |
#![deny(unsafe_code)]

mod bell;
mod body;
mod build;
mod dot;
mod error;
mod exchange;
mod machine;
mod nested;
mod parameter;
mod plan;
mod report;
mod run;
mod settings;
pub mod sink;
pub mod source;
mod trace;
#[allow(unsafe_code)]
mod wide;

pub use body::channels::{Append, Channels, Raise};
pub use body::push::Push;
pub use body::slice::Run;
pub use build::handle::{Input, IntoInputs, Output, Region, Tag};
pub use build::node::NodeBuilder;
pub use build::stream::Stream;
pub use error::{Code, Diagnostic, Error, ErrorKind, Outcome, Result};
pub use parameter::Parameter;
pub use report::{EdgeReport, NodeReport, Report};
pub use run::{Plan, Running};
pub use settings::Settings;
pub use sink::{Collected, Sink};
pub use source::Source;
pub use wide::{Lanes, select, split, widest};
