//! Mesh programs as messages: a device for each element, and one that has the control flow.
//!
//! Every set is a device type, every element a device that keeps its values of each dat. The device `global` keeps the
//! globals and steps through the program. For a loop it tells all devices concerned to begin; elements that others read send
//! their values to those; each element of the loop's set waits for its inputs, calls the kernel and sends what it wrote;
//! and when a device has heard all that it must, it says that it is at the end. What one loop has sent has arrived before
//! the next one begins.
//!
//! | file | what is in it |
//! |---|---|
//! | `options` | what can be chosen |
//! | `names` | the names of types, pins and members |
//! | `involved` | what a loop reads and writes through maps |
//! | `wiring` | what the devices of a loop wait for |
//! | `declare` | device types, messages and states |
//! | `element` | what the devices of elements do |
//! | `controller` | the device `global`: the program as a list of steps |
//! | `tree` | devices between that one and the elements |
//! | `connect` | the instance: a device for each element, and the edges between them |
//! | `parts` | which worker has which devices |
//! | `text` | handlers as C text |
//! | `graph` | the instance for its own sake, to be written to a file |
//! | `machine` | running it |

mod connect;
mod controller;
mod declare;
mod element;
mod graph;
mod involved;
mod machine;
mod names;
mod options;
mod parts;
mod text;
mod tree;
mod wiring;

pub(crate) use machine::OnEvents;
pub use options::{Control, Events};
pub use text::HandlerText;
