//! What is said of a stream that cannot be: it is found while the stream is described, and refused with all other mistakes.

use super::stream::Stream;
use crate::error::{Code, Diagnostic};

impl Stream {
    /// Whether something is of another stream. It is said who wants to use it.
    pub(super) fn is_foreign(&mut self, stream: u64, what: impl FnOnce(&Self) -> String) -> bool {
        let is_foreign = stream != self.id;
        if is_foreign {
            let message = what(self);
            self.mistakes.push(Diagnostic::new(Code::Foreign, message));
        }
        is_foreign
    }

    /// Something was said of a node that means nothing.
    pub(super) fn means_nothing(&mut self, node: u32, what: &str) {
        let message = format!("node `{}` {what}", self.description.nodes[node as usize].name);
        self.mistakes.push(Diagnostic::new(Code::Setting, message));
    }

    /// What a node is called where there is another stream.
    pub(super) fn name_of(&self, node: u32) -> String {
        format!("node `{}` of stream `{}`", self.description.nodes[node as usize].name, self.name())
    }
}
