//! Graph types and graph instances.
//!
//! | file | concept |
//! |---|---|
//! | [`id`] | numbers of devices, pins and edges |
//! | [`kind`] | what a graph type declares: properties, messages, device types |
//! | [`device`] | what a device type declares: properties, state, pins, handlers |
//! | [`pin`] | input and output pins |
//! | [`build`] | building an instance, with every mistake refused by name |
//! | [`instance`] | an instance: devices, edges, properties, initial states |
//! | [`topology`] | which edges leave which pin, as flat arrays |

pub mod build;
pub mod device;
pub mod id;
pub mod instance;
pub mod kind;
pub mod pin;
pub(crate) mod topology;

pub use build::InstanceBuilder;
pub use device::{Code, DeviceType, DeviceTypeBuilder};
pub use id::{DeviceId, DeviceTypeId, EdgeId, InputId, MessageId, OutputId};
pub use instance::{EdgeEnds, Instance};
pub use kind::{GraphType, GraphTypeBuilder, MessageType};
pub use pin::{InputPin, OutputPin};
