//! Running one node.

use std::cell::UnsafeCell;

use drawloom_trace::EventKind;

use super::compile::{NO_RARE, Node, NodeWork};
use super::replay::PlanState;
use crate::access::reduction::fold_all;
use crate::access::{Arg, Frame, Scratchpad};
use crate::core::{Core, outcome, spoiled_input};
use crate::error::Error;
use crate::panic;
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
        let (args, fold) = match node.work {
            NodeWork::Nothing => return,
            NodeWork::Task(_) => (self.args(node), None),
            NodeWork::Fold(reduction) => (std::slice::from_ref(&self.bound.folds[reduction as usize]), Some(reduction)),
        };
        log.start(alone);
        let because = match fold {
            None if node.rare == NO_RARE => None,
            None => self.fails_after(&self.pattern.rare[node.rare as usize].after),
            Some(reduction) => self.lacks(reduction),
        };
        let result = match because.or_else(|| spoiled_input(args)) {
            Some(because) => Err(Error::cancelled(self.origin(number), because)),
            None => core
                .prepare(args)
                .map_err(|error| Error::of_task(error.kind(), self.origin(number), error.message()))
                .and_then(|()| self.run_body(node, number, args, scratch)),
        };
        log.end(number, result.map_or_else(|error| self.fail(core, number, args, error), |()| EventKind::End));
    }

    /// Runs what is the user's of a node: its body, or an operator.
    #[inline]
    fn run_body(&self, node: &Node, number: u32, args: &[Arg], scratch: &mut Scratchpad) -> Result<(), Error> {
        let result = panic::catch(|| match node.work {
            NodeWork::Nothing => Ok(()),
            NodeWork::Fold(reduction) => {
                self.fold(reduction, &args[0]);
                Ok(())
            }
            NodeWork::Task(task) if node.rare == NO_RARE => {
                self.pattern.bodies[task as usize](&mut Frame::new(args, &[], &[], scratch, &[]))
            }
            NodeWork::Task(task) => {
                let (parameters, layouts) = self.pattern.rare[node.rare as usize].parts();
                self.reset_contributions(node.rare);
                let places = &self.places[node.rare as usize];
                self.pattern.bodies[task as usize](&mut Frame::new(args, parameters, places, scratch, layouts))
            }
        });
        outcome(result, || self.origin(number))
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
    fn fold(&self, reduction: u32, arg: &Arg) {
        let folds = &self.pattern.reductions[reduction as usize].folds;
        let cells = &self.accumulators[reduction as usize];
        // SAFETY: all contributors are complete, and the next run has not begun, so nobody else uses these cells, which have
        // the layout of what is in them.
        let list = unsafe { std::slice::from_raw_parts_mut(UnsafeCell::raw_get(cells.as_ptr()), cells.len()) };
        fold_all(&**folds, list);
        // SAFETY: the node has exclusive access to the piece, whose elements have the reduction's type.
        unsafe { folds.apply(arg.piece(), arg.piece().tree().base(), &list[0]) };
    }
}
