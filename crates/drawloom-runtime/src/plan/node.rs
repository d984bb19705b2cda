//! Running one node.

use std::cell::UnsafeCell;

use drawloom_trace::EventKind;

use super::compile::{NO_RARE, Node, NodeWork};
use super::replay::PlanState;
use crate::access::reduction::fold_all;
use crate::access::{Arg, Frame, Mode, Scratchpad};
use crate::core::{Core, returned};
use crate::error::{Error, ErrorKind};
use crate::panic;
use crate::task::body::BodyResult;
use crate::trace::nodes::NodeLog;

impl PlanState {
    #[inline]
    pub(super) fn run_node(
        &self,
        core: &Core,
        number: u32,
        scratch: &mut Scratchpad,
        alone: bool,
        log: &mut impl NodeLog,
    ) {
        let node = &self.pattern.nodes[number as usize];
        if node.work == NodeWork::Nothing {
            return;
        }
        log.start(alone);
        let outcome = match node.work {
            NodeWork::Task(task) => self.run_task(core, node, number, task, scratch),
            NodeWork::Fold(reduction) => self.fold(core, number, reduction),
            NodeWork::Nothing => EventKind::End,
        };
        log.end(number, outcome);
    }

    #[inline]
    fn run_task(&self, core: &Core, node: &Node, number: u32, task: u32, scratch: &mut Scratchpad) -> EventKind {
        let args = self.args(node);
        if node.rare != NO_RARE
            && let Some(because) = self.fails_after(&self.pattern.rare[node.rare as usize].after)
        {
            return self.fail(core, number, args, Error::cancelled(self.origin(number), because));
        }
        // Contributions are private: it is the fold which depends on the contents.
        for arg in args.iter().filter(|a| a.mode().reads() && a.mode() != Mode::Reduce) {
            if let Some(because) = arg.piece().tree().spoiled(&arg.piece().indices) {
                return self.fail(core, number, args, Error::cancelled(self.origin(number), because));
            }
        }
        if let Err(error) = core.make_proper_here(args) {
            return self.fail(core, number, args, Error::of_task(error.kind(), self.origin(number), error.message()));
        }
        let body = &self.pattern.bodies[task as usize];
        let result = if node.rare == NO_RARE {
            let mut frame = Frame::new(args, &[], &[], scratch, &[]);
            panic::catch(|| body(&mut frame))
        } else {
            self.run_rare(node, args, task, scratch)
        };
        match result {
            Ok(Ok(())) => {
                for arg in args.iter().filter(|a| a.mode().replaces()) {
                    arg.piece().tree().heal(&arg.piece().indices);
                }
                EventKind::End
            }
            Ok(Err(error)) => self.fail(core, number, args, returned(self.origin(number), error)),
            Err(message) => {
                self.fail(core, number, args, Error::of_task(ErrorKind::Panicked, self.origin(number), message))
            }
        }
    }

    fn run_rare(
        &self,
        node: &Node,
        args: &[Arg],
        task: u32,
        scratch: &mut Scratchpad,
    ) -> std::result::Result<BodyResult, String> {
        let rare = &self.pattern.rare[node.rare as usize];
        // The identities of operators are the user's, as the body is.
        panic::catch(|| {
            self.reset_contributions(node.rare);
            let places = &self.places[node.rare as usize];
            let mut frame = Frame::new(args, &rare.parameters, places, scratch, &rare.scratch);
            self.pattern.bodies[task as usize](&mut frame)
        })
    }

    /// Begins the contributions of a node anew.
    pub(super) fn reset_contributions(&self, rare: u32) {
        for &(reduction, contribution) in &self.pattern.rare[rare as usize].joined {
            let (reduction, contribution) = (reduction as usize, contribution as usize);
            // SAFETY: this accumulator belongs to this node alone until the fold, which waits for the node.
            let accumulator = unsafe { &mut *self.accumulators[reduction][contribution].get() };
            self.pattern.reductions[reduction].folds.reset(accumulator);
        }
    }

    /// Folds a reduction into its piece.
    fn fold(&self, core: &Core, number: u32, reduction: u32) -> EventKind {
        let arg = self.bound.folds[reduction as usize];
        let tree = arg.piece().tree();
        if let Some(because) = tree.spoiled(&arg.piece().indices).or_else(|| self.lacks(reduction)) {
            return self.fail(core, number, &[arg], Error::cancelled(self.origin(number), because));
        }
        if let Err(error) = core.make_proper_here(&[arg]) {
            return self.fail(core, number, &[arg], Error::of_task(error.kind(), self.origin(number), error.message()));
        }
        let folds = &self.pattern.reductions[reduction as usize].folds;
        let cells = &self.accumulators[reduction as usize];
        // SAFETY: all contributors are complete, and the next run has not begun, so nobody else uses these cells, which have
        // the layout of what is in them.
        let list = unsafe { std::slice::from_raw_parts_mut(UnsafeCell::raw_get(cells.as_ptr()), cells.len()) };
        let folded = panic::catch(|| {
            fold_all(&**folds, list);
            // SAFETY: the node has exclusive access to the piece, whose elements have the reduction's type.
            unsafe { folds.apply(arg.piece(), tree.base(), &list[0]) };
        });
        match folded {
            Ok(()) => EventKind::End,
            Err(message) => {
                let error = Error::of_task(ErrorKind::Panicked, self.origin(number), message);
                self.fail(core, number, &[arg], error)
            }
        }
    }
}
