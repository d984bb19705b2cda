//! Graph types and graph instances.
//!
//! | file | concept |
//! |---|---|
//! | [`id`] | numbers of devices, pins and edges |
//! | [`kind`] | what a graph type declares: messages, device types, pins, handlers |
//! | [`build`] | building an instance, with every mistake refused by name |
//! | [`instance`] | an instance: devices, edges, properties, initial states |
//! | [`topology`] | which edges leave which pin, as flat arrays |

pub mod build;
pub mod id;
pub mod instance;
pub mod kind;
pub(crate) mod topology;

pub use build::InstanceBuilder;
pub use id::{DeviceId, DeviceTypeId, EdgeId, InputId, MessageId, OutputId};
pub use instance::{EdgeEnds, Instance};
pub use kind::{Code, DeviceType, DeviceTypeBuilder, GraphType, GraphTypeBuilder, InputPin, MessageType, OutputPin};
