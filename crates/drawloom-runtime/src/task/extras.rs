//! What only some tasks need: kept apart, so that the records of all others stay small.

use std::alloc::Layout;

use crate::access::Arg;
use crate::access::parameter::Parameter;
use crate::access::reduction::Folds;
use crate::core::Saved;
use crate::order::history::Joined;
use crate::order::scope::{Orphan, Scope};
use crate::plan::apart::NodeTask;
use crate::sync::Arc;
use crate::team::Bounds;

use super::record::TaskId;

/// What a device runs in the place of a body.
pub(crate) type Implementation = Arc<dyn std::any::Any + Send + Sync>;

/// The rare parts of a task.
#[derive(Default)]
pub(crate) struct Extras {
    /// All arguments, when there are more than a record holds in place.
    pub(crate) args: Vec<Arg>,
    /// Of those parameters of the body that need more than arguments.
    pub(crate) parameters: Vec<Parameter>,
    /// Operators of the arguments that are reduced into.
    pub(crate) folds: Vec<Arc<dyn Folds>>,
    /// The places in those reductions.
    pub(crate) joined: Vec<Joined>,
    /// Scratch buffers.
    pub(crate) scratch: Vec<Layout>,
    /// Tasks to come after.
    pub(crate) after: Vec<TaskId>,
    /// Recorded tasks to come after.
    pub(crate) steps: Vec<u32>,
    /// Tasks to be complete together with.
    pub(crate) ends_with: Vec<TaskId>,
    /// How often the task may be tried again.
    pub(crate) retries: u32,
    /// What a team task that may be tried again had overwritten, as it was before its first team.
    pub(crate) saved: Option<Saved>,
    /// How many workers the task needs at once.
    pub(crate) team: Option<Bounds>,
    /// The scope of the task's children.
    pub(crate) inside: Option<Arc<Scope>>,
    /// The kind of device that alone may run the task.
    pub(crate) device: Option<u32>,
    /// What devices run in the place of the body, by kind. The body is the implementation for processors.
    pub(crate) implementations: Vec<(u32, Implementation)>,
    /// The node of a plan that the task stands for.
    pub(crate) node: Option<NodeTask>,
    /// A region to free when the task is complete.
    pub(crate) frees: Option<Orphan>,
    /// Records that hold further edges of this task.
    pub(crate) extensions: Vec<u32>,
}

impl Extras {
    /// What devices of a kind run in the place of the body.
    pub(crate) fn implementation_for(&self, kind: u32) -> Option<&Implementation> {
        self.implementations.iter().find(|(of, _)| *of == kind).map(|(_, implementation)| implementation)
    }

    /// What was asked for of a task that runs many times, for one more time.
    pub(crate) fn asked_for(&self) -> Self {
        Self {
            parameters: self.parameters.clone(),
            scratch: self.scratch.clone(),
            retries: self.retries,
            team: self.team,
            device: self.device,
            implementations: self.implementations.clone(),
            ..Self::default()
        }
    }

    /// Whether devices are among those who may run the task.
    pub(crate) fn is_for_devices(&self) -> bool {
        self.device.is_some() || !self.implementations.is_empty()
    }
}
