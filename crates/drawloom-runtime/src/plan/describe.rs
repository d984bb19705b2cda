//! The nodes of a plan, for a trace.
//!
//! In a trace, a run of a plan is a task, and its nodes are children of that task. They are described once in a recording,
//! however often the plan is run.

use super::compile::{NO_RARE, Node, NodeWork};
use super::replay::PlanState;
use crate::access::{Arg, Mode};
use crate::task::name::Name;
use crate::trace::tables::{AccessEntry, NodeRecord, PlanRecord, Site, Tables};

impl PlanState {
    /// The names of the operators of all reductions. They are the user's, and must not be asked for under a lock.
    pub(crate) fn operators(&self) -> Vec<&'static str> {
        self.pattern.reductions.iter().map(|reduction| reduction.folds.name()).collect()
    }

    /// Describes all nodes, for a recording with these tables.
    pub(crate) fn describe(&self, operators: &[&'static str], recording: u32, tables: &mut Tables) -> PlanRecord {
        let pattern = &*self.pattern;
        // Recorded tasks by their nodes, for orders that the user asked for.
        let mut node_of = vec![0; pattern.task_count];
        let mut nodes: Vec<NodeRecord> = Vec::with_capacity(pattern.nodes.len());
        for (number, node) in pattern.nodes.iter().enumerate() {
            let record = match node.work {
                NodeWork::Nothing => NodeRecord::default(),
                NodeWork::Task(task) => {
                    node_of[task as usize] = number as u32;
                    let title = &pattern.titles[task as usize];
                    NodeRecord {
                        site: Some(tables.site(Site { name: title.name, location: title.location })),
                        priority: node.priority,
                        accesses: self.accesses(operators, recording, tables, node),
                        after: title.after.iter().map(|&step| node_of[step as usize]).collect(),
                        ..NodeRecord::default()
                    }
                }
                NodeWork::Fold(reduction) => {
                    let arg = self.bound.folds[reduction as usize];
                    let piece = tables.piece(recording, arg.piece());
                    NodeRecord {
                        site: Some(tables.site(Site { name: Name::literal("fold"), location: pattern.location })),
                        internal: true,
                        accesses: vec![AccessEntry { piece, mode: Mode::Update, operator: 0 }],
                        ..NodeRecord::default()
                    }
                }
            };
            nodes.push(record);
        }
        for (number, node) in pattern.nodes.iter().enumerate() {
            let later = node.first_later as usize..(node.first_later + node.later_count) as usize;
            for &other in &pattern.later[later] {
                nodes[other as usize].waits.push(number as u32);
            }
        }
        PlanRecord { nodes }
    }

    fn accesses(
        &self,
        operators: &[&'static str],
        recording: u32,
        tables: &mut Tables,
        node: &Node,
    ) -> Vec<AccessEntry> {
        let pattern = &*self.pattern;
        let joined = if node.rare == NO_RARE { &[][..] } else { &pattern.rare[node.rare as usize].joined };
        let mut joined = joined.iter();
        let args: &[Arg] = &self.bound.args[node.first_arg as usize..(node.first_arg + node.arg_count) as usize];
        let mut accesses = Vec::with_capacity(args.len());
        for arg in args {
            let operator = match arg.mode() {
                Mode::Reduce => {
                    joined.next().map_or(0, |&(reduction, _)| tables.operator(operators[reduction as usize]))
                }
                _ => 0,
            };
            if arg.is_ordered() && !arg.piece().indices.is_empty() {
                accesses.push(AccessEntry { piece: tables.piece(recording, arg.piece()), mode: arg.mode(), operator });
            }
        }
        accesses
    }
}
