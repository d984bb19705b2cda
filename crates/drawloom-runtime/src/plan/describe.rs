//! The nodes of a plan, for a trace.
//!
//! In a trace, a run of a plan is a task, and its nodes are children of that task. They are described once in a recording,
//! however often the plan is run.

use super::compile::{NO_RARE, Node, NodeWork};
use super::replay::PlanState;
use crate::access::Mode;
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
        let mut plan = PlanRecord { later: pattern.later.clone(), ..PlanRecord::default() };
        plan.nodes.reserve_exact(pattern.nodes.len());
        for (number, node) in (0..).zip(&pattern.nodes) {
            let first_access = plan.accesses.len() as u32;
            let site = match node.work {
                NodeWork::Nothing => None,
                NodeWork::Task(task) => {
                    node_of[task as usize] = number;
                    let title = &pattern.titles[task as usize];
                    plan.after.extend(title.after.iter().map(|&step| (number, node_of[step as usize])));
                    plan.ends_with.extend(title.ends_with.iter().map(|&step| (number, node_of[step as usize])));
                    self.describe_accesses(operators, recording, tables, node, &mut plan.accesses);
                    Some(Site { name: title.name, location: title.location })
                }
                NodeWork::Fold(reduction) => {
                    let piece = tables.piece(recording, self.bound.folds[reduction as usize].piece());
                    plan.accesses.push(AccessEntry { piece, mode: Mode::Update, operator: "" });
                    Some(Site { name: Name::literal("fold"), location: pattern.location })
                }
            };
            plan.nodes.push(NodeRecord {
                site,
                priority: node.priority,
                context: self.wishes(node).and_then(|wishes| wishes.context),
                internal: matches!(node.work, NodeWork::Fold(_)),
                accesses: first_access..plan.accesses.len() as u32,
                later: node.first_later..node.first_later + node.later_count,
            });
        }
        plan
    }

    fn describe_accesses(
        &self,
        operators: &[&'static str],
        recording: u32,
        tables: &mut Tables,
        node: &Node,
        accesses: &mut Vec<AccessEntry>,
    ) {
        let joined = if node.rare == NO_RARE { &[][..] } else { &self.pattern.rare[node.rare as usize].joined };
        let mut joined = joined.iter();
        for arg in self.args(node) {
            let operator = match arg.mode() {
                Mode::Reduce => joined.next().map_or("", |&(reduction, _)| operators[reduction as usize]),
                _ => "",
            };
            if arg.is_ordered() && !arg.piece().indices.is_empty() {
                accesses.push(AccessEntry { piece: tables.piece(recording, arg.piece()), mode: arg.mode(), operator });
            }
        }
    }
}
