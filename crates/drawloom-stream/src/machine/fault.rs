//! What the user's code did wrong, with names.

use super::Machine;
use crate::body::Fault;
use crate::error::{Error, ErrorKind};

impl Machine<'_> {
    /// What the user's code did wrong, with names.
    pub(crate) fn fault(&self, node: u32, fault: Fault) -> Error {
        let this = &self.description.nodes[node as usize];
        let channel = |channel: usize| self.description.channel_name(this.channels[channel]);
        let back = |channel: usize| {
            self.description.channels[this.channels[channel] as usize].edge.is_some_and(|e| self.description.is_back(e))
        };
        let declared = |channel: usize| {
            let channel = &self.description.channels[this.channels[channel] as usize];
            let each = channel.most.map(|most| format!("; it declares {most} for each item"));
            let at_signal = (channel.at_signal > 0).then(|| format!(", and {} at a signal", channel.at_signal));
            each.map(|each| each + &at_signal.unwrap_or_default()).unwrap_or_default()
        };
        let error = match fault {
            Fault::Loop { channel: at } => Error::new(
                ErrorKind::Exceeded,
                format!("more items go around over {} than the bound of its loop allows", channel(at)),
            ),
            Fault::Items { channel: at, most } => Error::new(
                ErrorKind::Exceeded,
                format!(
                    "more than the {most} items were pushed to {} that it may get at once{}",
                    channel(at),
                    declared(at)
                ),
            ),
            Fault::Each { channel: at, most } => Error::new(
                ErrorKind::Exceeded,
                format!("more than the {most} items were pushed to {} that it may get for each item", channel(at)),
            ),
            Fault::Orphan { channel: at } => Error::new(
                ErrorKind::Exceeded,
                format!("an item was pushed to {} while no parent of its region is under way", channel(at)),
            ),
            Fault::Signals { channel: at, .. } if back(at) => Error::new(
                ErrorKind::Exceeded,
                format!("a signal was raised on {}, which leads back: no signal goes around in a loop", channel(at)),
            ),
            Fault::Signals { channel: at, most } => Error::new(
                ErrorKind::Exceeded,
                format!(
                    "more signals were raised on {} than the {most} signals that the node declares at once (`signals` says how many)",
                    channel(at)
                ),
            ),
            Fault::Nowhere => Error::new(
                ErrorKind::Exceeded,
                format!(
                    "a signal was raised on all channels of node `{}`, all of which lead back: no signal goes around in a loop",
                    this.name
                ),
            ),
            Fault::Unseen => Error::new(
                ErrorKind::Exceeded,
                format!(
                    "a signal that was raised in a loop came to node `{}`, whose channels all lead back, and nobody has seen it: \
                     no signal goes around in a loop",
                    this.name
                ),
            ),
            Fault::Source(why) => {
                Error::new(ErrorKind::Source, format!("source `{}` failed: {why}", this.name)).because(why)
            }
            Fault::Sink(why) => Error::new(ErrorKind::Sink, format!("sink `{}` failed: {why}", this.name)).because(why),
            Fault::Node(why) => {
                Error::new(ErrorKind::Failed, format!("node `{}` failed: {why}", this.name)).because(why)
            }
        };
        error.at_node(&this.name)
    }
}
