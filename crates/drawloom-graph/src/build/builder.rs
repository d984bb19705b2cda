//! The builder: a sequence of task calls with accesses becomes a graph that is valid by construction.
//!
//! ```
//! use drawloom_graph::{Access, Builder, Pieces, Regions};
//! let mut regions = Regions::new();
//! let cells = regions.space("cells", 100)?;
//! let u = regions.field("u", cells)?;
//! let halves = regions.partition("halves", cells, Pieces::equal(2))?;
//! let [left, right] = [0, 1].map(|i| regions.region(u, regions.piece(halves, i)).unwrap());
//! let whole = regions.whole(u);
//!
//! let mut program = Builder::new(regions);
//! program.call("fill", &[(left, Access::Write)]).unwrap();
//! program.call("fill", &[(right, Access::Write)]).unwrap();
//! program.call("sum", &[(whole, Access::Read)]).unwrap();
//! let refused = program.call("shift", &[(whole, Access::Read), (left, Access::Update)]).unwrap_err();
//! assert_eq!(refused.rule.code(), "P1");
//!
//! let graph = program.finish();
//! assert!(graph.check().is_valid());
//! assert!(graph.order().unwrap().happens_before.is_empty(), "the two fills may run at the same time");
//! # Ok::<(), drawloom_graph::RegionError>(())
//! ```

use std::sync::Arc;

use super::arguments;
use super::live::Live;
use super::naming::Naming;
use crate::check::structure;
use crate::check::tally::Tally;
use crate::diagnostic::Diagnostic;
use crate::graph::{Body, Control, Edge, Graph, Label, NodeId, NodeKind};
use crate::pass::summary::summarise_body;
use crate::region::cover::Covers;
use crate::region::{RegionId, Regions};

/// What a call does with one of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access<'a> {
    /// Reads the values.
    Read,
    /// Writes every value without reading any.
    Write,
    /// Reads and writes.
    Update,
    /// Folds contributions in with an operator.
    Reduce(&'a str),
}

impl Access<'_> {
    /// The word used in files and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Update => "update",
            Access::Reduce(_) => "reduce",
        }
    }
}

/// Builds a graph from calls in program order.
///
/// Versions, Opens and Closes are derived; the result passes every check. A call costs the number of its arguments times
/// the depth of the region tree, amortised, however long the program already is.
#[derive(Clone, Debug)]
pub struct Builder {
    graph: Graph,
    live: Live,
    naming: Naming,
    tally: Tally,
    passed: Vec<RegionId>,
    /// Why no call can be built at all: the facts about the regions contradict each other (RG2).
    refused: Option<Box<Diagnostic>>,
}

impl Builder {
    /// A builder over the given regions. All regions the program touches must exist already.
    pub fn new(regions: impl Into<Arc<Regions>>) -> Self {
        let mut regions: Arc<Regions> = regions.into();
        // Reads of overlapping pieces go through what contains them, so all containers must be regions too.
        if !regions.has_containers() {
            Arc::make_mut(&mut regions).add_containers();
        }
        let faults = regions.inconsistencies();
        if faults.is_empty() {
            let covers = Arc::new(Covers::new(&regions, regions.ids()));
            return Self::with_covers(regions, covers);
        }
        // Every call will be refused, so nothing asks about aliasing.
        let covers = Arc::new(Covers::new(&regions, []));
        let mut builder = Self::with_covers(regions, covers);
        builder.refused = structure::fact_faults(&builder.graph, faults).into_iter().next().map(Box::new);
        builder
    }

    fn with_covers(regions: Arc<Regions>, covers: Arc<Covers>) -> Self {
        Self {
            naming: Naming::new(&regions),
            tally: Tally::new(&covers, regions.len()),
            live: Live::new(covers),
            graph: Graph::new(regions),
            passed: Vec::new(),
            refused: None,
        }
    }

    /// The regions, as the graph will hold them: those given, and everything around them.
    pub fn regions(&self) -> &Regions {
        self.graph.regions()
    }

    /// Appends a task call. Its node is named `name`, or `name#2` and so on when the name is taken.
    ///
    /// The call is refused, and nothing changes, with P1 when arguments overlap and one of them is not only read, with P2
    /// when regions may alias and no region contains them, with WF4 for an operator that is not commutative, and with RG2
    /// when the facts about the regions contradict each other.
    ///
    /// # Panics
    /// When a region is not from the table of this builder.
    pub fn call(&mut self, name: &str, arguments: &[(RegionId, Access<'_>)]) -> Result<NodeId, Box<Diagnostic>> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        self.passed.clear();
        self.passed.extend(arguments.iter().map(|a| a.0));
        let may_overlap = self.tally.any_overlap(&self.live.covers, &self.passed);
        let passed = arguments::resolve(&self.graph, name, arguments, may_overlap)?;
        self.refuse_separate_roots(name, &passed)?;

        let Self { graph, live, naming, .. } = self;
        live.begin_call();
        let operators: Vec<_> = arguments
            .iter()
            .map(|(_, access)| match access {
                Access::Reduce(operator) => Some(graph.operator(operator)),
                _ => None,
            })
            .collect();
        // Closing for one argument may close what another had open, so everything is closed before anything is opened.
        // An open reduction stays as it is, unless another argument closed it.
        for joined in [false, true] {
            for (i, &region) in passed.iter().enumerate() {
                let joins = operators[i].is_some_and(|op| live.reduction(region, op).is_some());
                if !joins && joined == operators[i].is_some() {
                    live.clear(graph, naming, region, arguments[i].1 != Access::Read);
                }
            }
        }
        for (i, &region) in passed.iter().enumerate() {
            let joins = operators[i].is_some_and(|op| live.reduction(region, op).is_some());
            if !joins && arguments[i].1 != Access::Read {
                live.settle(graph, naming, region);
            }
        }
        let mut takes: Vec<NodeId> = Vec::with_capacity(passed.len());
        for (i, &region) in passed.iter().enumerate() {
            takes.push(match operators[i].and_then(|op| live.reduction(region, op)) {
                Some((_, base)) => base,
                None => live.open(graph, naming, region, &passed),
            });
        }
        let task = graph.add_compute(naming.compute(name), NodeKind::Task);
        for (i, &(_, access)) in arguments.iter().enumerate() {
            let label = match access {
                Access::Read | Access::Update => Label::Read,
                Access::Write => Label::Discard,
                Access::Reduce(_) => Label::Use,
            };
            graph.add_edge(Edge::new(takes[i], task, label).at_port(i as u32));
            if operators[i].is_none() {
                live.end_reduction(passed[i]);
            }
        }
        for (i, &(_, access)) in arguments.iter().enumerate() {
            let (region, port) = (passed[i], i as u32);
            match (access, operators[i]) {
                (Access::Read, _) => {}
                (Access::Reduce(_), Some(operator)) => {
                    let version = match live.reduction(region, operator) {
                        Some((version, _)) => version,
                        None => {
                            let version = live.change(graph, naming, region);
                            live.begin_reduction(region, operator, takes[i]);
                            version
                        }
                    };
                    graph.add_edge(Edge::new(task, version, Label::Reduce).with_operator(operator).at_port(port));
                }
                _ => {
                    let version = live.change(graph, naming, region);
                    graph.add_edge(Edge::new(task, version, Label::Write).at_port(port));
                }
            }
        }
        Ok(task)
    }

    /// Appends a control node whose body is built by `body`. Its accesses are summarised from the body's.
    pub fn control(
        &mut self,
        name: &str,
        control: Control,
        body: impl FnOnce(&mut Builder) -> Result<(), Box<Diagnostic>>,
    ) -> Result<NodeId, Box<Diagnostic>> {
        let graph = self.nested(body)?;
        self.append_body(name, Body::new(control, graph))
    }

    /// Appends an `if` on a scalar region with two bodies.
    pub fn choose(
        &mut self,
        name: &str,
        condition: RegionId,
        then: impl FnOnce(&mut Builder) -> Result<(), Box<Diagnostic>>,
        otherwise: impl FnOnce(&mut Builder) -> Result<(), Box<Diagnostic>>,
    ) -> Result<NodeId, Box<Diagnostic>> {
        let then = self.nested(then)?;
        let otherwise = self.nested(otherwise)?;
        self.append_body(name, Body::new(Control::If(condition), then).with_otherwise(otherwise))
    }

    /// Says what a task costs.
    pub fn set_cost(&mut self, task: NodeId, cost: f64) {
        self.graph.set_cost(task, cost);
    }

    /// Says that an argument of a call that updates commutes: the updates of a chain of such calls may follow each other in
    /// any order. The graph holds them in the order of the calls, with a mark; see [`Edge::is_reorderable`].
    pub fn set_reorderable(&mut self, task: NodeId, argument: u32) {
        self.graph.set_reorderable(task, argument);
    }

    /// The graph so far.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The finished graph.
    pub fn finish(self) -> Graph {
        self.graph
    }

    fn nested(&self, body: impl FnOnce(&mut Builder) -> Result<(), Box<Diagnostic>>) -> Result<Graph, Box<Diagnostic>> {
        let mut inner = Builder::with_covers(self.graph.shared_regions(), Arc::clone(&self.live.covers));
        body(&mut inner)?;
        Ok(inner.finish())
    }

    fn append_body(&mut self, name: &str, body: Body) -> Result<NodeId, Box<Diagnostic>> {
        let node = self.call(name, &summarise_body(&body))?;
        self.graph.set_body(node, body);
        Ok(node)
    }

    /// P2: roots that are about to become live must not alias each other or anything live.
    fn refuse_separate_roots(&mut self, name: &str, passed: &[RegionId]) -> Result<(), Box<Diagnostic>> {
        let mut roots: Vec<RegionId> = Vec::new();
        for &region in passed {
            let Some(root) = self.live.needed_root(region) else { continue };
            if roots.contains(&root) {
                continue;
            }
            let regions = self.graph.regions();
            let other = roots.iter().copied().find(|r| regions.may_alias(*r, root));
            if let Some(other) = other.or_else(|| self.live.conflicting_root(&self.graph, root)) {
                return Err(arguments::no_container(&self.graph, name, region, other));
            }
            roots.push(root);
        }
        Ok(())
    }
}
