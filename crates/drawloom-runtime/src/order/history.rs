//! The slots of a scope, and the tasks that a new one must wait for.
//!
//! A new access to a piece looks at the slot of the piece, and at the slots of all pieces that overlap it. The number of
//! edges stays linear in the number of accesses: a list of several tasks that more than one later task must wait for is
//! first gathered into one synchronisation point, which stands for all of them.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::access::reduction::{Folds, Reduction};
use crate::access::{Arg, Mode};
use crate::data::piece::Piece;
use crate::error::ErrorKind;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, lock};
use crate::task::record::TaskId;

use super::scope::{Scope, ScopeId};
use super::slot::{Group, OpenReduction, Slot, Tasks, push_and_forget};

/// Readers of a piece that overlaps more others than this wait for one point that stands for all writers.
const MANY: usize = 8;

/// Why a task cannot be ordered.
pub(crate) struct Refusal {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
}

/// What makes tasks and edges of what a history decides: the engine, or a plan that is being made.
pub(crate) trait Weaver {
    /// One task that stands for several: complete when all of them are. None when they are complete already.
    fn sync_point(&self, tasks: &[TaskId]) -> TaskId;
    /// Whether nobody needs to wait for a task any more.
    fn is_complete(&self, task: TaskId) -> bool;
    /// Starts the submission of the task that folds a reduction into its piece. See [`History::take_folds`].
    fn begin_fold(&self, scope: ScopeId, open: &OpenReduction, arg: Arg) -> TaskId;
}

/// A task that folds a reduction, and those it must wait for.
pub(crate) type Fold = (TaskId, Vec<TaskId>);

/// A place in a reduction.
pub(crate) struct Joined {
    pub(crate) reduction: Arc<Reduction>,
    pub(crate) number: u32,
}

/// A task that is to have its place in the order.
#[derive(Clone, Copy)]
pub(crate) struct Comer<'a> {
    pub(crate) task: TaskId,
    /// Where reductions that it begins are folded.
    pub(crate) context: u32,
    pub(crate) args: &'a [Arg],
    /// The operators of the arguments that are reduced into, in order, each with whether its contributions are folded in the
    /// canonical order.
    pub(crate) folds: &'a [(Arc<dyn Folds>, bool)],
}

impl<'a> Comer<'a> {
    /// One that reduces into nothing.
    pub(crate) fn plain(task: TaskId, args: &'a [Arg]) -> Self {
        Self { task, context: 0, args, folds: &[] }
    }
}

/// What the tasks of a scope did, piece by piece.
pub(crate) struct History {
    scope: ScopeId,
    /// Slots of the pieces that tasks of an inner scope touched. Those of the outermost scope are in the pieces.
    slots: FxHashMap<*const Piece, Slot>,
    mark: u64,
    /// How many reductions were opened, at least.
    opened: u64,
    /// How many of them are open.
    open: usize,
    /// Folds that have their place in the order, and were not let go yet.
    folds: Vec<Fold>,
}

// SAFETY: the pointers are addresses of pieces, which are `Sync` and outlive the scope's tasks.
unsafe impl Send for History {}

impl History {
    pub(crate) fn new(scope: ScopeId) -> Self {
        Self { scope, slots: FxHashMap::default(), mark: 0, opened: 0, open: 0, folds: Vec::new() }
    }

    fn slot(&mut self, piece: &Piece) -> &mut Slot {
        if self.scope == ScopeId::OUTERMOST {
            // SAFETY: the slot in a piece belongs to the history of the outermost scope, which is borrowed mutably. There
            // is one such history per runtime, and a piece belongs to one runtime.
            unsafe { &mut *piece.slot.get() }
        } else {
            self.slots.entry(piece).or_default()
        }
    }

    /// Orders a task after those it must wait for, which are added to `waits`, and remembers it.
    ///
    /// The places in reductions are added to `joined`.
    #[inline]
    pub(crate) fn order<W: Weaver>(
        &mut self,
        weaver: &W,
        comer: Comer<'_>,
        waits: &mut Vec<TaskId>,
        joined: &mut Vec<Joined>,
    ) -> Result<(), Refusal> {
        let Comer { args, folds, .. } = comer;
        // Also a task that is refused is remembered: those after it must find that it did not write.
        let refused = if args.len() > 1 { self.refuse_overlap(args) } else { Ok(()) };
        if self.open > 0 {
            for &arg in args.iter().filter(|a| a.is_ordered()) {
                let folds = folds_of(args, folds, arg);
                let goes_on = |open: &OpenReduction| folds.is_some_and(|(folds, all)| open.takes(&**folds, *all));
                self.settle_reductions(weaver, arg.piece(), |open| !goes_on(open));
            }
        }
        self.place(weaver, comer, waits, joined);
        refused
    }

    /// Gives a task its place, when no reduction is open that has to be folded before it.
    #[inline]
    fn place<W: Weaver>(&mut self, weaver: &W, comer: Comer<'_>, waits: &mut Vec<TaskId>, joined: &mut Vec<Joined>) {
        let Comer { task, context, args, folds } = comer;
        // First everything is looked at, then everything is changed: the arguments of one task do not wait for each other.
        for &arg in args.iter().filter(|a| a.is_ordered()) {
            self.look(weaver, arg, waits);
        }
        for &arg in args {
            if !arg.is_ordered() {
                let root = self.slot(&arg.piece().tree().root);
                push_and_forget(&mut root.loose, task, |id| weaver.is_complete(id));
            } else if arg.mode() == Mode::Reduce {
                let folds = folds_of(args, folds, arg).expect("each reduction has an operator");
                joined.push(self.contribute(weaver, task, context, arg.piece(), folds));
            } else {
                self.remember(weaver, task, arg);
            }
        }
    }

    /// The tasks that use a part of a region without being ordered by it.
    pub(crate) fn loose(&mut self, root: &Piece) -> Tasks {
        std::mem::take(&mut self.slot(root).loose)
    }

    /// The tasks that an access must wait for.
    #[inline]
    fn look<W: Weaver>(&mut self, weaver: &W, arg: Arg, waits: &mut Vec<TaskId>) {
        let Some(group) = group_of(arg.mode()) else { return };
        let piece = arg.piece();
        self.look_at(weaver, piece, group, true, waits);
        let aliases = piece.aliases();
        if group != Group::Readers || aliases.clone().nth(MANY).is_none() {
            for alias in aliases {
                self.look_at(weaver, alias.piece(), group, alias.inside, waits);
            }
            return;
        }
        let changes = self.slot(&piece.tree().root).changes;
        let (gathered, at) = self.slot(piece).gathered;
        if at != changes {
            let mut all = Vec::new();
            for alias in aliases {
                self.look_at(weaver, alias.piece(), group, alias.inside, &mut all);
            }
            let point = weaver.sync_point(&all);
            self.slot(piece).gathered = (point, changes);
            wait_for(waits, point);
        } else {
            wait_for(waits, gathered);
        }
    }

    /// What an access of kind `group` must wait for on account of one slot. `replaces` says that the slot's piece lies in
    /// that of the access.
    #[inline]
    fn look_at<W: Weaver>(&mut self, weaver: &W, piece: &Piece, group: Group, replaces: bool, waits: &mut Vec<TaskId>) {
        let slot = self.slot(piece);
        if slot.is_empty() {
            return;
        }
        if slot.group.mixes_with(group) {
            if !slot.last.is_none() {
                wait_for(waits, slot.last);
            }
            return;
        }
        if slot.members.len() > 1 && !(replaces && group == Group::Exclusive) {
            // Others will have to wait for the same tasks.
            let point = weaver.sync_point(&slot.members);
            slot.members.clear();
            if point.is_none() {
                slot.clear();
                return;
            }
            slot.members.push(point);
        }
        for &member in &slot.members {
            wait_for(waits, member);
        }
    }

    /// Puts an access into the slots.
    #[inline]
    fn remember<W: Weaver>(&mut self, weaver: &W, task: TaskId, arg: Arg) {
        let Some(group) = group_of(arg.mode()) else { return };
        let piece = arg.piece();
        let slot = self.slot(piece);
        if slot.group.mixes_with(group) {
            slot.join(task, |id| weaver.is_complete(id));
        } else {
            // Unless the new access is exclusive, `look` left at most one member.
            let last = match slot.members[..] {
                [only] if group != Group::Exclusive => only,
                _ => TaskId::NONE,
            };
            slot.start(group, last, task);
        }
        if group == Group::Readers {
            return;
        }
        self.slot(&piece.tree().root).changes += 1;
        if group == Group::Exclusive {
            for alias in piece.aliases() {
                let slot = self.slot(alias.piece());
                if slot.is_empty() {
                    continue;
                }
                if alias.inside {
                    slot.clear();
                } else {
                    slot.overwrite(piece, alias.shared, alias.piece().indices.len());
                }
            }
        }
    }

    /// Closes open reductions into a piece and what overlaps it: those that are `over`.
    #[inline]
    fn settle_reductions<W: Weaver>(&mut self, weaver: &W, piece: &Piece, over: impl Fn(&OpenReduction) -> bool) {
        // Allocates only when something is closed.
        let mut closing: Vec<(u64, *const Piece)> = Vec::new();
        for overlapping in std::iter::once(piece).chain(piece.aliases().map(|alias| alias.piece())) {
            if let Some(open) = &self.slot(overlapping).reduction
                && over(open)
            {
                closing.push((open.opened, overlapping));
            }
        }
        if !closing.is_empty() {
            self.close_in_order(weaver, closing);
        }
    }

    /// Closes reductions in the order in which they were opened, so that what is folded into an element, and what is spoiled
    /// with it, is the same whoever asks for it.
    ///
    /// Others that overlap those, and were opened before, are folded before; and so on. Those that were opened later can
    /// wait.
    #[cold]
    fn close_in_order<W: Weaver>(&mut self, weaver: &W, mut closing: Vec<(u64, *const Piece)>) {
        let mut known: FxHashSet<*const Piece> = closing.iter().map(|(_, piece)| *piece).collect();
        let mut at = 0;
        while let Some(&(opened, piece)) = closing.get(at) {
            // SAFETY: the pieces are those of tasks that were ordered here, whose regions are still in use.
            for overlapping in unsafe { &*piece }.aliases().map(|alias| alias.piece()) {
                if let Some(open) = &self.slot(overlapping).reduction
                    && open.opened < opened
                    && known.insert(overlapping)
                {
                    closing.push((open.opened, overlapping));
                }
            }
            at += 1;
        }
        closing.sort_unstable_by_key(|(opened, _)| *opened);
        for (_, piece) in closing {
            // SAFETY: as above.
            self.close_reduction(weaver, unsafe { &*piece });
        }
    }

    /// Submits the task that folds a reduction into its piece.
    #[cold]
    fn close_reduction<W: Weaver>(&mut self, weaver: &W, piece: &Piece) {
        let Some(open) = self.slot(piece).reduction.take() else { return };
        self.open -= 1;
        let arg = Arg::new(piece, Mode::Update);
        let fold = weaver.begin_fold(self.scope, &open, arg);
        let mut waits = open.members.into_vec();
        self.place(weaver, Comer::plain(fold, &[arg]), &mut waits, &mut Vec::new());
        self.folds.push((fold, waits));
    }

    /// The folds that were begun since the last time, in order. They are let go when the history is not locked any more: what
    /// a fold runs is the user's, and may run at once.
    #[inline]
    pub(crate) fn take_folds(&mut self) -> Vec<Fold> {
        std::mem::take(&mut self.folds)
    }

    /// Closes all open reductions of an inner scope.
    pub(crate) fn close_all<W: Weaver>(&mut self, weaver: &W) {
        let open = self.slots.iter().filter_map(|(piece, slot)| Some((slot.reduction.as_ref()?.opened, *piece)));
        let open = open.collect();
        self.close_in_order(weaver, open);
    }

    fn contribute<W: Weaver>(
        &mut self,
        weaver: &W,
        task: TaskId,
        context: u32,
        piece: &Piece,
        (folds, ordered): &(Arc<dyn Folds>, bool),
    ) -> Joined {
        self.opened += 1;
        let opened = self.opened;
        self.slot(&piece.tree().root).changes += 1;
        let slot = self.slot(piece);
        let is_new = slot.reduction.is_none();
        let open = slot.reduction.get_or_insert_with(|| {
            Box::new(OpenReduction {
                reduction: Arc::new(Reduction::new(Arc::clone(folds), *ordered)),
                members: Tasks::new(),
                count: 0,
                context,
                opened,
            })
        });
        push_and_forget(&mut open.members, task, |id| weaver.is_complete(id));
        open.count += 1;
        let joined = Joined { reduction: Arc::clone(&open.reduction), number: open.count - 1 };
        self.open += usize::from(is_new);
        joined
    }

    /// Refuses arguments that overlap when one of them is not only read.
    fn refuse_overlap(&mut self, args: &[Arg]) -> Result<(), Refusal> {
        if args.iter().all(|a| !a.mode().mutates()) || !share_a_tree(args) {
            return Ok(());
        }
        self.mark += 1;
        let mark = self.mark;
        for (i, arg) in args.iter().enumerate().filter(|(_, a)| !a.piece().indices.is_empty()) {
            let slot = self.slot(arg.piece());
            if slot.mark == mark {
                let first = args[..i].iter().find(|a| std::ptr::eq(a.piece(), arg.piece())).expect("it was marked");
                if first.mode().mutates() || arg.mode().mutates() {
                    return Err(overlap(*first, *arg));
                }
            }
            slot.mark = mark;
        }
        for arg in args.iter().filter(|a| a.mode().mutates()) {
            for alias in arg.piece().aliases() {
                if self.slot(alias.piece()).mark == mark {
                    let other = args.iter().find(|a| std::ptr::eq(a.piece(), alias.piece())).expect("it was marked");
                    return Err(overlap(*arg, *other));
                }
            }
        }
        Ok(())
    }
}

/// Refuses to read what was never written, and notes what is written.
pub(crate) fn refuse_missing(args: &[Arg]) -> Result<(), Refusal> {
    for arg in args {
        let tree = arg.piece().tree();
        if tree.has_missing.load(Ordering::Relaxed)
            && arg.mode().reads()
            && let Some(index) = lock(&tree.missing).first_common(&arg.piece().indices)
        {
            return Err(Refusal {
                kind: ErrorKind::Uninitialised,
                message: format!(
                    "cannot {} region `{}`: its element {index} was never written",
                    arg.mode().name(),
                    arg.piece().name()
                ),
            });
        }
    }
    note_written(args);
    Ok(())
}

/// Notes what is written.
pub(crate) fn note_written(args: &[Arg]) {
    for arg in args.iter().filter(|a| a.mode().mutates()) {
        let tree = arg.piece().tree();
        if tree.has_missing.load(Ordering::Relaxed) {
            let mut missing = lock(&tree.missing);
            *missing = missing.difference(&arg.piece().indices);
            tree.has_missing.store(!missing.is_empty(), Ordering::Relaxed);
        }
    }
}

/// Refuses what a child touches without its parent having lent it.
pub(crate) fn refuse_not_lent(scope: &Scope, args: &[Arg]) -> Result<(), Refusal> {
    for arg in args {
        let (piece, mode) = (arg.piece(), arg.mode());
        if piece.tree().owner == scope.id {
            continue;
        }
        let covers = |lent: &&Arg| {
            let whole = lent.piece();
            std::ptr::eq(whole.tree(), piece.tree())
                && (std::ptr::eq(whole, piece) || whole.indices.contains_set(&piece.indices))
        };
        let lent = scope.lent.iter().find(covers);
        let message = match lent {
            Some(lent) if !mode.mutates() || lent.mode().mutates() => continue,
            Some(_) => format!(
                "cannot {} region `{}`: its parent, {}, lent it to be read only",
                mode.name(),
                piece.name(),
                scope.origin
            ),
            None => format!(
                "cannot {} region `{}`: its parent, {}, did not lend it",
                mode.name(),
                piece.name(),
                scope.origin
            ),
        };
        return Err(Refusal { kind: ErrorKind::NotLent, message });
    }
    Ok(())
}

/// The kind of group that an access belongs to. Contributions to reductions belong to none.
fn group_of(mode: Mode) -> Option<Group> {
    match mode {
        Mode::Read | Mode::LendRead => Some(Group::Readers),
        Mode::Commute => Some(Group::Commuters),
        Mode::Reduce => None,
        _ => Some(Group::Exclusive),
    }
}

fn folds_of<'a>(args: &[Arg], folds: &'a [(Arc<dyn Folds>, bool)], arg: Arg) -> Option<&'a (Arc<dyn Folds>, bool)> {
    if arg.mode() != Mode::Reduce {
        return None;
    }
    let reduced = args.iter().filter(|a| a.mode() == Mode::Reduce);
    reduced.zip(folds).find(|(a, _)| std::ptr::eq(a.piece(), arg.piece())).map(|(_, folds)| folds)
}

fn share_a_tree(args: &[Arg]) -> bool {
    match args {
        [a, b] => std::ptr::eq(a.piece().tree(), b.piece().tree()),
        _ if args.len() <= 16 => args
            .iter()
            .enumerate()
            .any(|(i, a)| args[..i].iter().any(|b| std::ptr::eq(a.piece().tree(), b.piece().tree()))),
        _ => true,
    }
}

fn overlap(a: Arg, b: Arg) -> Refusal {
    let (first, second) = (a.piece(), b.piece());
    let shared = first.indices.first_common(&second.indices).unwrap_or(0);
    Refusal {
        kind: ErrorKind::Overlap,
        message: format!(
            "cannot {} region `{}` and {} region `{}`: they share element {shared}",
            a.mode().name(),
            first.name(),
            b.mode().name(),
            second.name()
        ),
    }
}

#[inline]
fn wait_for(waits: &mut Vec<TaskId>, task: TaskId) {
    // Looking back a little catches most repetitions; the rest does no harm.
    if !task.is_none() && !waits[waits.len().saturating_sub(8)..].contains(&task) {
        waits.push(task);
    }
}
