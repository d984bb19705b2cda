//! Choosing, among steps that each keep the values, those that also keep the graph valid.
//!
//! Most steps of most passes are harmless, and some are not: in a graph that takes stale versions, dropping a node can
//! lose the only path that ordered two others. What is harmless depends on the whole graph, so it is left to the check.
//! All steps are tried at once; when the result is not valid, the first half is tried and then the second, and so on down
//! to single steps. With k refused steps out of n this takes at most 2·k·log2(n) + 1 checks, and never more than the
//! budget, after which the remaining steps are not taken.

use crate::graph::Graph;

/// How many times a pass checks its result before it leaves the remaining steps alone.
pub(crate) const BUDGET: u32 = 256;

/// The steps that can be taken together, in their order, and the graph that results; `None` when there are none.
pub(crate) fn accept<S: Clone>(
    steps: &[S],
    budget: &mut u32,
    build: impl Fn(&[S]) -> Option<Graph>,
) -> Option<(Vec<S>, Graph)> {
    let mut taken: Vec<S> = Vec::new();
    let mut best = None;
    let mut todo = vec![steps];
    while let Some(part) = todo.pop() {
        if part.is_empty() || *budget == 0 {
            continue;
        }
        *budget -= 1;
        let trial: Vec<S> = taken.iter().chain(part).cloned().collect();
        match build(&trial).filter(|graph| graph.check().is_valid()) {
            Some(graph) => {
                taken = trial;
                best = Some(graph);
            }
            None if part.len() > 1 => {
                let (first, second) = part.split_at(part.len() / 2);
                todo.extend([second, first]);
            }
            None => {}
        }
    }
    best.map(|graph| (taken, graph))
}
