//! The same plan on other regions.

use std::ptr::NonNull;

use drawloom_graph::Pieces;
use rustc_hash::FxHashMap;

use super::compile::{Bound, needs_of_region, whole_of};
use super::handle::Plan;
use crate::access::Arg;
use crate::data::piece::Piece;
use crate::data::region::Region;
use crate::data::tree::Tree;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;

impl Plan {
    /// The same plan with another region in the place of one that it uses. Both must be whole regions of the same kind,
    /// element type and shape. The recording is shared, so this is cheap; pieces of the new region are made as needed.
    ///
    /// # Errors
    /// When the plan does not use the first region, the second one does not fit in its place or is used already, or belongs
    /// to another runtime.
    pub fn rebind<R: Region>(&self, old: &R, new: &R) -> Result<Plan> {
        let (from, to) = (old.handle(), new.handle());
        let refuse = |kind, message: String| {
            Err(Error::new(
                kind,
                format!("region `{}` cannot take the place of `{}`: {message}", new.name(), old.name()),
            ))
        };
        if !Arc::ptr_eq(&to.root.core, self.core()) {
            return refuse(ErrorKind::Foreign, "it belongs to another runtime".to_owned());
        }
        let is_whole = |piece: &Piece, tree: &Tree| std::ptr::eq(piece, &*tree.root);
        if !is_whole(from.piece(), from.tree()) || !is_whole(to.piece(), to.tree()) {
            return refuse(ErrorKind::Plan, "only whole regions can be exchanged".to_owned());
        }
        let bound = &self.state().bound;
        if !bound.needs.iter().any(|(root, ..)| root.tree == from.root.tree) {
            return refuse(ErrorKind::Plan, "the plan does not use it".to_owned());
        }
        if bound.needs.iter().any(|(root, ..)| root.tree == to.root.tree) && from.root.tree != to.root.tree {
            return refuse(ErrorKind::Plan, "the plan uses both".to_owned());
        }
        if from.tree().element != to.tree().element || from.tree().root.shape != to.tree().root.shape {
            return refuse(ErrorKind::Shape, "their elements or shapes differ".to_owned());
        }
        let mut pieces = Counterparts { old: from.tree(), new: to.tree(), known: FxHashMap::default() };
        let mut exchange = |arg: &Arg| pieces.exchange(*arg);
        let args: Vec<Arg> = bound.args.iter().map(&mut exchange).collect::<Result<_>>()?;
        let folds: Vec<Arg> = bound.folds.iter().map(&mut exchange).collect::<Result<_>>()?;
        let needs = bound.needs.iter().map(|(root, reads, writes)| {
            if root.tree != from.root.tree {
                return (Arc::clone(root), reads.clone(), writes.clone());
            }
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
        if !std::ptr::eq(arg.piece().tree(), self.old) {
            return Ok(arg);
        }
        let piece = self.counterpart(arg.piece())?;
        // SAFETY: pieces live as long as their tree, which the new plan keeps.
        let exchanged = Arg::new(unsafe { piece.as_ref() }, arg.mode());
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
        let made = self.new.partition(of, cut, |_, _| Ok(Pieces::lists(sets)), false, shapes)?;
        // SAFETY: as above.
        for (old, new) in partition.pieces.iter().zip(unsafe { &made.as_ref().pieces }) {
            self.known.insert(old, NonNull::from(new));
        }
        Ok(self.known[&std::ptr::from_ref(piece)])
    }
}
