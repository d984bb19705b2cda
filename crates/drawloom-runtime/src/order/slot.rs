//! What the last tasks did with one piece.
//!
//! Only the last *group* of accesses is remembered: tasks that may run at the same time as far as this piece is concerned
//! (readers, or tasks that commute), or one task that had the piece for itself. `last` stands for everything before the
//! group. A new task of the same kind joins the group and waits for `last`; any other waits for all members.

use smallvec::SmallVec;

use crate::access::Arg;
use crate::access::reduction::{Folds, Reduction};
use crate::data::piece::Piece;
use crate::data::tree::Partition;
use crate::sync::Arc;
use crate::task::record::TaskId;

/// The kind of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Group {
    /// Nothing is known to have happened.
    #[default]
    None,
    Readers,
    Commuters,
    /// One task that wrote, or read and wrote.
    Exclusive,
}

impl Group {
    /// Whether two groups, of this piece or of overlapping ones, need no order between them.
    pub(crate) fn mixes_with(self, other: Group) -> bool {
        self == other && matches!(self, Group::Readers | Group::Commuters)
    }
}

/// A list of tasks, most often a short one. It is written with each submission, so the short ones are not on the heap, where
/// their neighbours might be what tasks read and write.
pub(crate) type Tasks = SmallVec<[TaskId; 4]>;

/// A reduction that further tasks may still contribute to.
pub(crate) struct OpenReduction {
    pub(crate) reduction: Arc<Reduction>,
    /// What it is folded into, to be updated.
    pub(crate) arg: Arg,
    pub(crate) members: Tasks,
    /// Contributions so far, those of complete tasks included.
    pub(crate) count: u32,
    pub(crate) context: u32,
    /// The number of its first contribution among those of the scope: reductions with lower ones were opened before.
    pub(crate) opened: u64,
}

impl OpenReduction {
    /// Whether contributions with these folds belong to it.
    pub(crate) fn takes(&self, folds: &dyn Folds) -> bool {
        self.reduction.folds.mixes_with(folds)
    }
}

/// What the last tasks did with one piece.
pub(crate) struct Slot {
    pub(crate) group: Group,
    pub(crate) last: TaskId,
    pub(crate) members: Tasks,
    pub(crate) reduction: Option<Box<OpenReduction>>,
    /// For a piece that overlaps many others: one task that stands for all that a reader must wait for, and the number of
    /// changes to the region when that was so.
    pub(crate) gathered: (TaskId, u64),
    /// For a whole region: tasks that use a part of it without being ordered by it, and may not be complete.
    pub(crate) loose: Tasks,
    /// For a whole region: how often the tasks of the scope changed any part of it.
    pub(crate) changes: u64,
    /// The task whose arguments are being looked at, to find arguments that overlap.
    pub(crate) mark: u64,
    covered: Covered,
}

/// Which parts of a piece were overwritten since its group began.
///
/// Once all were, the group matters to nobody: whoever touches any part waits for the task that overwrote that part, which
/// itself waited for the group. Only pieces of one disjoint partition are counted, which is what programs use in practice;
/// when others overwrite too, the group is just remembered for longer than needed.
#[derive(Default)]
struct Covered {
    /// The address of the partition, which is only compared.
    by: Option<usize>,
    colours: Vec<u64>,
    elements: u64,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            group: Group::None,
            last: TaskId::NONE,
            members: Tasks::new(),
            reduction: None,
            gathered: (TaskId::NONE, 0),
            loose: Tasks::new(),
            changes: 1,
            mark: 0,
            covered: Covered::default(),
        }
    }
}

impl Slot {
    pub(crate) fn is_empty(&self) -> bool {
        self.group == Group::None
    }

    /// Forgets the group. Capacity is kept, so that a program in steady state does not allocate.
    pub(crate) fn clear(&mut self) {
        self.group = Group::None;
        self.last = TaskId::NONE;
        self.members.clear();
        self.covered.reset();
    }

    /// Starts a new group with one member.
    pub(crate) fn start(&mut self, group: Group, last: TaskId, member: TaskId) {
        self.group = group;
        self.last = last;
        self.members.clear();
        self.members.push(member);
        self.covered.reset();
    }

    /// Adds a member to the group. Its part of the piece counts as not overwritten yet.
    pub(crate) fn join(&mut self, member: TaskId, is_complete: impl Fn(TaskId) -> bool) {
        push_and_forget(&mut self.members, member, is_complete);
        self.covered.reset();
    }

    /// Notes that a task has `piece`, which shares `shared` elements with this slot's piece of `len` elements, for itself.
    /// Forgets the group when nothing of it is left.
    pub(crate) fn overwrite(&mut self, piece: &Piece, shared: u64, len: u64) {
        let (Some(partition), Some(colour)) = (piece.disjoint_partition(), piece.colour) else { return };
        if self.covered.add(partition, colour, shared) >= len {
            self.clear();
        }
    }
}

/// Adds a task to a list. Before the list grows, forgets those that nobody needs to wait for any more.
pub(crate) fn push_and_forget(members: &mut Tasks, member: TaskId, is_complete: impl Fn(TaskId) -> bool) {
    if members.len() == members.capacity() {
        members.retain(|&mut m| !is_complete(m));
        if members.len() > members.capacity() / 2 {
            // Otherwise a list that stays nearly full would be gone through for every new member.
            members.reserve(members.len());
        }
    }
    members.push(member);
}

impl Covered {
    fn reset(&mut self) {
        if self.by.take().is_some() {
            self.colours.clear();
            self.elements = 0;
        }
    }

    fn add(&mut self, partition: &Partition, colour: u32, shared: u64) -> u64 {
        let by = std::ptr::from_ref(partition).addr();
        if *self.by.get_or_insert(by) != by {
            return 0;
        }
        let (word, bit) = (colour as usize / 64, 1 << (colour % 64));
        if self.colours.len() <= word {
            self.colours.resize(word + 1, 0);
        }
        if self.colours[word] & bit == 0 {
            self.colours[word] |= bit;
            self.elements += shared;
        }
        self.elements
    }
}
