//! The list of calls becomes a graph, through the builder.

use rustc_hash::FxHashMap;

use super::super::span::Span;
use super::super::spans::Spans;
use super::super::syntax::AccessWord;
use super::expand::{Expanded, Op, Resolved};
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
    let mut progress = Progress {
        steps: program.steps.iter().peekable(),
        arguments: &program.arguments,
        findings: program.findings.clone(),
        repeated: FxHashMap::default(),
    };
    let mut spans = tables.spans;
    progress.run(&mut builder, &mut spans);
    let Progress { mut findings, repeated, .. } = progress;
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

struct Progress<'p, 'f> {
    steps: std::iter::Peekable<std::slice::Iter<'p, Op<'f>>>,
    arguments: &'p [Resolved<'f>],
    findings: Vec<Finding>,
    /// For each rule and place, which finding tells it, and how often it was met.
    repeated: FxHashMap<(Rule, Span), (usize, u64)>,
}

impl Progress<'_, '_> {
    /// Builds up to the end of the innermost body. Recursion is as deep as control statements are nested.
    fn run(&mut self, builder: &mut Builder, spans: &mut Spans) {
        while let Some(step) = self.steps.peek() {
            match step {
                Op::Else | Op::End => return,
                Op::Call { name, subscripts, arguments, cost, span } => {
                    self.steps.next();
                    let (now, rest) = self.arguments.split_at(*arguments);
                    self.arguments = rest;
                    self.call(builder, spans, &format!("{name}{subscripts}"), now, *cost, *span);
                }
                Op::Begin { name, subscripts, kind, cost, span } => {
                    self.steps.next();
                    self.control(builder, spans, &format!("{name}{subscripts}"), kind.clone(), *cost, *span);
                }
            }
        }
    }

    fn call(
        &mut self,
        builder: &mut Builder,
        spans: &mut Spans,
        name: &str,
        arguments: &[Resolved<'_>],
        cost: Option<f64>,
        span: Span,
    ) {
        let accesses: Vec<_> = arguments.iter().map(|a| (a.region, access(a.access))).collect();
        let before = builder.graph().edges().len();
        match builder.call(name, &accesses) {
            Ok(task) => {
                if let Some(cost) = cost {
                    builder.set_cost(task, cost);
                }
                note_call(builder, spans, before, task, arguments, span);
            }
            Err(diagnostic) => self.refuse(*diagnostic, span, arguments),
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
        spans: &mut Spans,
        name: &str,
        kind: Option<Control>,
        cost: Option<f64>,
        span: Span,
    ) {
        let mut bodies = vec![Spans::default()];
        let before = builder.graph().edges().len();
        let built = match kind {
            // The condition is missing; its body is still looked through for more findings.
            None => builder.control(name, Control::Call, |inner| self.body(inner, &mut bodies[0])),
            Some(Control::If(condition)) => {
                let (mut then, mut otherwise) = (Spans::default(), Spans::default());
                // Both bodies need this list of steps, one after the other.
                let shared = std::cell::RefCell::new(&mut *self);
                let built = builder.choose(
                    name,
                    condition,
                    |inner| shared.borrow_mut().body(inner, &mut then),
                    |inner| shared.borrow_mut().body(inner, &mut otherwise),
                );
                bodies = vec![then, otherwise];
                built
            }
            Some(kind) => builder.control(name, kind, |inner| self.body(inner, &mut bodies[0])),
        };
        self.skip_to_end();
        match built {
            Ok(node) => {
                if let Some(cost) = cost {
                    builder.set_cost(node, cost);
                }
                note_call(builder, spans, before, node, &[], span);
                spans.set_bodies(node, bodies);
            }
            Err(diagnostic) => self.refuse(*diagnostic, span, &[]),
        }
    }

    /// One body of a control statement. What is refused inside it is a finding, and the rest is still built.
    fn body(&mut self, builder: &mut Builder, spans: &mut Spans) -> Result<(), Box<Diagnostic>> {
        self.run(builder, spans);
        self.steps.next_if(|step| matches!(step, Op::Else));
        Ok(())
    }

    /// Passes what is left of a control statement: bodies that the builder did not ask for, and its end.
    fn skip_to_end(&mut self) {
        let mut depth = 1usize;
        for step in self.steps.by_ref() {
            match step {
                Op::Call { arguments, .. } => self.arguments = &self.arguments[*arguments..],
                Op::Begin { .. } => depth += 1,
                Op::End => depth -= 1,
                Op::Else => {}
            }
            if depth == 0 {
                return;
            }
        }
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
