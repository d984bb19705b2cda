//! The message-driven machine: devices that keep a state and send each other messages, run under several executors with
//! one meaning.
//!
//! ```
//! use drawloom_messages::data::{Field, Layout, Scalar, Tuple};
//! use drawloom_messages::{
//!     Device, DeviceType, DeviceView, EdgeView, Executor, GraphType, Handlers, InputId, InputPin, InstanceBuilder, Machine,
//!     OutputId, OutputPin, Pins, Sent, Settings,
//! };
//!
//! /// Passes a token on, as many times as it has arrived.
//! struct Node {
//!     tokens: Field<u32>,
//! }
//!
//! impl Handlers for Node {
//!     fn receive(&self, _: InputId, device: &mut Device<'_>, _: &[u8], _: EdgeView<'_>) {
//!         device.export(0, device.id().0);
//!     }
//!
//!     fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
//!         pins.insert_if(OutputId(0), self.tokens.get(device.state) > 0);
//!     }
//!
//!     fn send(&self, _: OutputId, device: &mut Device<'_>, _: &mut [u8]) -> Sent {
//!         *self.tokens.at_mut(device.state) -= 1;
//!         Sent::Broadcast
//!     }
//! }
//!
//! let state = Layout::new(Tuple::new().with_default("tokens", Scalar::U32, 3))?;
//! let node = Node { tokens: state.field("tokens")? };
//! let pins = (InputPin::new("in", "token"), OutputPin::new("out", "token"));
//! let kind = DeviceType::builder("node").state(state).input(pins.0).output(pins.1).handlers(node);
//! let graph_type = GraphType::builder("pair").message("token", Layout::empty()).device(kind).build()?;
//!
//! // Two nodes, each of which sends three tokens to the other one.
//! let mut builder = InstanceBuilder::new(&graph_type, "two");
//! let node = graph_type.device("node").unwrap();
//! let (a, b) = (builder.device("a", node)?, builder.device("b", node)?);
//! builder.connect(a, "out", b, "in")?;
//! builder.connect(b, "out", a, "in")?;
//! let instance = builder.build()?;
//! for executor in [Executor::Fifo, Executor::Random { seed: 1 }, Executor::Parallel { workers: 2 }] {
//!     let report = Machine::new(&instance).run(&Settings::new(executor))?;
//!     assert_eq!((report.counts.deliveries, report.exports.len()), (6, 6));
//! }
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
#![forbid(unsafe_code)]

pub mod data;
mod error;
pub mod graph;
pub mod handlers;
pub mod log;
pub mod run;
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
