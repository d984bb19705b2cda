//! The list of calls becomes a graph, through the builder.

use rustc_hash::FxHashMap;

use super::super::span::Span;
use super::super::spans::Spans;
use super::super::syntax::AccessWord;
use super::expand::{Action, Expanded, Resolved, Step};
use super::resolve::Tables;
use super::{Finding, Lowered};
use drawloom_graph::build::{Access, Builder};
use drawloom_graph::diagnostic::{Diagnostic, Rule, Witness};
use drawloom_graph::graph::{Control, EdgeId, Graph, NodeId};

/// Builds the graph of a program.
pub(super) fn build(program: &Expanded<'_>, tables: Tables) -> Lowered {
    if !tables.regions.inconsistencies().is_empty() {
        // Versions cannot pass between regions whose containers are unknown or contradict each other. The check of a
        // graph without nodes reports the facts: rule RG2.
        let graph = Graph::new(tables.regions);
        return Lowered { graph, spans: tables.spans, findings: program.findings.clone() };
    }
    let mut builder = Builder::new(tables.regions);
    let mut progress = Progress { findings: program.findings.clone(), repeated: FxHashMap::default() };
    let mut spans = tables.spans;
    progress.run(&program.steps, &mut builder, &mut spans);
    let Progress { mut findings, repeated } = progress;
    for (at, times) in repeated.into_values().filter(|(_, times)| *times > 1) {
        // Every round of a loop breaks the same rule in the same place: told once, and counted.
        findings[at]
            .diagnostic
            .message
            .push_str(&format!(" (the first of {times} refused calls that are written here)"));
    }
    findings.sort_by_key(|f| (f.span, f.diagnostic.rule));
    Lowered { graph: builder.finish(), spans, findings }
}

struct Progress {
    findings: Vec<Finding>,
    /// For each rule and place, which finding tells it, and how often it was met.
    repeated: FxHashMap<(Rule, Span), (usize, u64)>,
}

impl Progress {
    /// Builds steps. What is refused is a finding, and the rest is still built. Recursion is as deep as control statements
    /// are nested.
    fn run(&mut self, steps: &[Step<'_>], builder: &mut Builder, spans: &mut Spans) {
        for step in steps {
            let before = builder.graph().edges().len();
            let mut bodies = Vec::new();
            let (built, arguments) = match &step.action {
                Action::Call(arguments) => {
                    let accesses: Vec<_> = arguments.iter().map(|a| (a.region, access(a.access))).collect();
                    (builder.call(&step.name, &accesses), &arguments[..])
                }
                Action::Control { kind, body, otherwise } => {
                    (self.control(builder, &step.name, kind.clone(), [body, otherwise], &mut bodies), &[][..])
                }
            };
            match built {
                Ok(node) => {
                    if let Some(cost) = step.cost {
                        builder.set_cost(node, cost);
                    }
                    note_call(builder, spans, before, node, arguments, step.span);
                    if !bodies.is_empty() {
                        spans.set_bodies(node, bodies);
                    }
                }
                Err(diagnostic) => self.refuse(*diagnostic, step.span, arguments),
            }
        }
    }

    fn refuse(&mut self, diagnostic: Diagnostic, span: Span, arguments: &[Resolved<'_>]) {
        let (_, times) = self.repeated.entry((diagnostic.rule, span)).or_insert((self.findings.len(), 0));
        *times += 1;
        if *times == 1 {
            let (span, related) = refused_arguments(&diagnostic, arguments).unwrap_or((span, Vec::new()));
            let label = if related.is_empty() { "refused" } else { "this argument" };
            let label = label.to_owned();
            self.findings.push(Finding { diagnostic, span, label, related, edit: None });
        }
    }

    fn control(
        &mut self,
        builder: &mut Builder,
        name: &str,
        kind: Option<Control>,
        [body, otherwise]: [&[Step<'_>]; 2],
        spans: &mut Vec<Spans>,
    ) -> Result<NodeId, Box<Diagnostic>> {
        let (mut first, mut second) = (Spans::default(), Spans::default());
        // Both bodies of an `if` need this list of findings, one after the other.
        let shared = std::cell::RefCell::new(self);
        let run = |steps: &[Step<'_>], inner: &mut Builder, spans: &mut Spans| {
            shared.borrow_mut().run(steps, inner, spans);
            Ok(())
        };
        if let Some(Control::If(condition)) = kind {
            let then = |inner: &mut Builder| run(body, inner, &mut first);
            let built = builder.choose(name, condition, then, |inner| run(otherwise, inner, &mut second));
            spans.extend([first, second]);
            return built;
        }
        // Where the condition is missing, the bodies are still looked through for more findings.
        let built = builder.control(name, kind.unwrap_or(Control::Call), |inner| {
            run(body, inner, &mut first)?;
            run(otherwise, inner, &mut second)
        });
        spans.push(first);
        built
    }
}

/// The places of the two arguments that a call was refused for.
fn refused_arguments(diagnostic: &Diagnostic, arguments: &[Resolved<'_>]) -> Option<(Span, Vec<(Span, String)>)> {
    let Witness::Overlap { first, second, .. } = &diagnostic.witness else { return None };
    let one = arguments.iter().position(|a| a.region == *first)?;
    let other = arguments.iter().enumerate().position(|(i, a)| i != one && a.region == *second)?;
    let (early, late) = (&arguments[one.min(other)], &arguments[one.max(other)]);
    Some((late.span, vec![(early.span, "overlaps this one".to_owned())]))
}

fn access(word: &AccessWord) -> Access<'_> {
    match word {
        AccessWord::Read => Access::Read,
        AccessWord::Write => Access::Write,
        AccessWord::Update => Access::Update,
        AccessWord::Reduce(operator) => Access::Reduce(operator),
    }
}

/// Everything that a call added has the place of the call; its own edges, and the versions they make, have the places of
/// its arguments.
fn note_call(
    builder: &Builder,
    spans: &mut Spans,
    first_edge: usize,
    task: NodeId,
    arguments: &[Resolved<'_>],
    span: Span,
) {
    let graph = builder.graph();
    spans.fill_nodes(graph.nodes().len(), span);
    spans.fill_edges(graph.edges().len(), span);
    for (at, edge) in graph.edges().iter().enumerate().skip(first_edge) {
        let other = match (edge.from == task, edge.to == task) {
            (true, _) => edge.to,
            (_, true) => edge.from,
            _ => continue,
        };
        let by_port = edge.port().and_then(|port| arguments.get(port as usize));
        let argument = by_port.or_else(|| arguments.iter().find(|a| graph.region(other) == Some(a.region)));
        if let Some(argument) = argument {
            spans.set_edge(EdgeId::from_index(at), argument.span);
            if edge.label.is_mutation() {
                spans.set_node(other, argument.span);
            }
        }
    }
}
