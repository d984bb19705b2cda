//! The message-driven machine: devices that keep a state and send each other messages, run under several executors with
//! one meaning.
//!
//! ```
//! use drawloom_messages::data::Layout;
//! use drawloom_messages::{Executor, Machine, Settings, samples};
//!
//! // Heat spreads over a grid of 8 by 8 cells, each of which is as far in time as its neighbours let it.
//! let instance = samples::heat::instance(8, 8, 100)?;
//! let mut machine = Machine::new(&instance);
//! let report = machine.run(&Settings::new(Executor::Parallel { workers: 2 }))?;
//! assert_eq!(report.counts.sends, 64 * 101); // one message for each cell and step, and the initial ones
//! let mut same = Machine::new(&instance);
//! same.run(&Settings::new(Executor::Random { seed: 1 }))?;
//! let corner = instance.device("cell_7_7").unwrap();
//! assert_eq!(machine.state(corner), same.state(corner));
//! # Ok::<(), drawloom_messages::Error>(())
//! ```
//!
//! A *graph type* says what its devices are: their properties, their states, their pins, the messages that travel between
//! pins, and the handlers that do something about them. An *instance* is a graph of devices and edges. A *machine* is an
//! instance with states, which runs.
//!
//! | module | concept |
//! |---|---|
//! | [`data`] | typed records as bytes: properties, states, messages |
//! | [`graph`] | graph types and instances |
//! | [`handlers`] | what devices do |
//! | [`run`] | machines and executors |
//! | [`log`] | everything that happened: compared, replayed |
//! | [`xml`] | graph files, versions 3 and 4; and the registry of types that they are bound to |
//! | [`samples`] | graph types to try things with |
#![forbid(unsafe_code)]

pub mod data;
mod error;
pub mod graph;
pub mod handlers;
pub mod log;
pub mod run;
pub mod samples;
pub mod xml;

pub use error::{Error, ErrorKind, Result};
pub use graph::build::EdgeValues;
pub use graph::{
    Code, DeviceId, DeviceType, DeviceTypeId, EdgeId, GraphType, InputId, InputPin, Instance, InstanceBuilder,
    MessageId, OutputId, OutputPin,
};
pub use handlers::{Device, DeviceView, EdgeView, Handlers, Pins, Sent};
pub use log::Log;
pub use run::{Counts, Executor, Machine, Report, Settings};
pub use xml::Registry;
