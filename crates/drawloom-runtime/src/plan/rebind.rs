//! The same plan on other regions.

use std::ptr::NonNull;

use drawloom_graph::Pieces;
use rustc_hash::FxHashMap;

use super::compile::{Bound, needs_of_region, whole_of};
use super::handle::Plan;
use crate::access::Arg;
use crate::data::piece::Piece;
use crate::data::region::{Handle, Region};
use crate::data::tree::Tree;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;

impl Plan {
    /// The same plan with another region in the place of one that it uses. Both must be whole regions of the same kind,
    /// element type and shape. The recording is shared, so this is cheap; pieces of the new region are made as needed.
    ///
    /// The bodies are shared, too. A body that submits children names the regions of these itself: where the plan lends them
    /// the region that is replaced, the body has to be told of the new one, say by a value that it reads.
    ///
    /// # Errors
    /// When the plan does not use the first region, the second one does not fit in its place or is used already, or belongs
    /// to another runtime.
    pub fn rebind<R: Region>(&self, old: &R, new: &R) -> Result<Plan> {
        let refuse = |kind, message: &str| {
            let text = format!("region `{}` cannot take the place of `{}`: {message}", new.name(), old.name());
            Err(Error::new(kind, text))
        };
        let (from, to) = (old.handle(), new.handle());
        if let Some((kind, message)) = self.reason_not_to_rebind(from, to) {
            return refuse(kind, message);
        }
        if self.uses(to) && from.root.tree != to.root.tree {
            return refuse(ErrorKind::Plan, "the plan uses both, which `exchange` would exchange");
        }
        self.bind(&[(from, to)])
    }

    /// The same plan with two regions that it uses in the place of each other: what it did from the first to the second, it
    /// does from the second to the first. Both must be whole regions of the same kind, element type and shape.
    ///
    /// ```
    /// use drawloom_runtime::Loom;
    ///
    /// let loom = Loom::builder().workers(2).build()?;
    /// let (old, new) = (loom.value("old", 1), loom.value("new", 0));
    /// let capture = loom.capture("there");
    /// capture.task("double").read(&old).write(&new).run(|old, new| *new = 2 * old);
    /// let there = capture.plan()?;
    /// let back = there.exchange(&old, &new)?;
    /// for _ in 0..5 {
    ///     there.run()?;
    ///     back.run()?;
    /// }
    /// assert_eq!(old.get()?, 1024);
    /// # Ok::<(), drawloom_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the plan does not use both regions, or they do not fit in each other's place.
    pub fn exchange<R: Region>(&self, one: &R, other: &R) -> Result<Plan> {
        let (first, second) = (one.handle(), other.handle());
        let reason = self.reason_not_to_rebind(first, second).or_else(|| self.reason_not_to_rebind(second, first));
        if let Some((kind, message)) = reason {
            let text = format!("regions `{}` and `{}` cannot be exchanged: {message}", one.name(), other.name());
            return Err(Error::new(kind, text));
        }
        self.bind(&[(first, second), (second, first)])
    }

    fn uses(&self, region: &Handle) -> bool {
        self.state().bound.needs.iter().any(|(root, ..)| root.tree == region.root.tree)
    }

    /// Why a region cannot take the place of another one, whatever else the plan uses.
    fn reason_not_to_rebind(&self, from: &Handle, to: &Handle) -> Option<(ErrorKind, &'static str)> {
        let is_whole = |piece: &Piece, tree: &Tree| std::ptr::eq(piece, &*tree.root);
        if !Arc::ptr_eq(&to.root.core, self.core()) {
            Some((ErrorKind::Foreign, "it belongs to another runtime"))
        } else if !is_whole(from.piece(), from.tree()) || !is_whole(to.piece(), to.tree()) {
            Some((ErrorKind::Plan, "only whole regions can be exchanged"))
        } else if !self.uses(from) {
            Some((ErrorKind::Plan, "the plan does not use it"))
        } else if !from.tree().element.is(&to.tree().element) || from.tree().root.shape != to.tree().root.shape {
            Some((ErrorKind::Shape, "their elements or shapes differ"))
        } else {
            None
        }
    }

    /// The same plan with the second of each pair in the place of the first.
    fn bind(&self, pairs: &[(&Handle, &Handle)]) -> Result<Plan> {
        let bound = &self.state().bound;
        let mut pieces: Vec<Counterparts<'_>> = pairs
            .iter()
            .map(|(from, to)| Counterparts { old: from.tree(), new: to.tree(), known: FxHashMap::default() })
            .collect();
        let mut exchange = |arg: &Arg| match pieces.iter_mut().find(|p| std::ptr::eq(arg.piece().tree(), p.old)) {
            Some(pieces) => pieces.exchange(*arg),
            None => Ok(*arg),
        };
        let args: Vec<Arg> = bound.args.iter().map(&mut exchange).collect::<Result<_>>()?;
        let folds: Vec<Arg> = bound.folds.iter().map(&mut exchange).collect::<Result<_>>()?;
        let needs = bound.needs.iter().map(|(root, reads, writes)| {
            let Some((_, to)) = pairs.iter().find(|(from, _)| from.root.tree == root.tree) else {
                return (Arc::clone(root), reads.clone(), writes.clone());
            };
            // What is read first was not noted for a region that had all its contents when the tasks were recorded.
            let (reads, writes) = needs_of_region(&args, to.tree());
            (Arc::clone(&to.root), reads, writes)
        });
        let needs = needs.collect();
        let bound = Bound { whole: whole_of(&args), args, folds, needs };
        Ok(Plan::new(self.core(), Arc::clone(&self.state().pattern), bound))
    }
}

/// Finds the piece of one region that corresponds to a piece of another.
struct Counterparts<'a> {
    old: &'a Tree,
    new: &'a Tree,
    known: FxHashMap<*const Piece, NonNull<Piece>>,
}

impl Counterparts<'_> {
    fn exchange(&mut self, arg: Arg) -> Result<Arg> {
        let piece = self.counterpart(arg.piece())?;
        // SAFETY: pieces live as long as their tree, which the new plan keeps.
        let exchanged = unsafe { Arg::new(piece.as_ref(), arg.mode()) };
        Ok(if arg.is_ordered() { exchanged } else { exchanged.unordered() })
    }

    fn counterpart(&mut self, piece: &Piece) -> Result<NonNull<Piece>> {
        if std::ptr::eq(piece, &*self.old.root) {
            return Ok(NonNull::from(&*self.new.root));
        }
        if let Some(&known) = self.known.get(&std::ptr::from_ref(piece)) {
            return Ok(known);
        }
        // SAFETY: the piece is not the whole region, so it belongs to a partition; those live as long as their tree.
        let partition = unsafe { &*piece.partition };
        // SAFETY: as above.
        let of = self.counterpart(unsafe { &*partition.of })?;
        let sets: Vec<_> = partition.pieces.iter().map(|p| (*p.indices).clone()).collect();
        let cut = partition.cut.clone();
        let shapes = |colour: usize, _: &_| partition.pieces[colour].shape.clone();
        // SAFETY: as above.
        let of = unsafe { of.as_ref() };
        let made = self.new.partition(of, cut, Pieces::lists(sets), false, &shapes)?;
        // SAFETY: as above.
        for (old, new) in partition.pieces.iter().zip(unsafe { &made.as_ref().pieces }) {
            self.known.insert(old, NonNull::from(new));
        }
        Ok(self.known[&std::ptr::from_ref(piece)])
    }
}
