//! Loops are unrolled into a list of calls, and declarations entered on the way.

use rustc_hash::FxHashSet;

use super::super::error::{Code, Edit, SyntaxError};
use super::super::parse::MOST_ERRORS;
use super::super::print::quoted;
use super::super::span::{Span, Spanned};
use super::super::syntax::{AccessWord, Argument, Block, Call, Control, Cost, Expression, Name, Statement, When};
use super::Finding;
use super::resolve::{Found, Tables};
use drawloom_graph::diagnostic::{Diagnostic, Rule};
use drawloom_graph::graph::Control as Kind;
use drawloom_graph::region::RegionId;

/// A program without loops.
#[derive(Default)]
pub(crate) struct Expanded<'f> {
    pub(crate) steps: Vec<Step<'f>>,
    /// Regions that nobody declared, each with the place that names it.
    pub(crate) findings: Vec<Finding>,
}

/// One step of a program.
pub(crate) struct Step<'f> {
    /// The name of its node, with its numbers: `smooth[3,4]`.
    pub(crate) name: String,
    pub(crate) cost: Option<f64>,
    pub(crate) span: Span,
    pub(crate) action: Action<'f>,
}

/// What a step does.
pub(crate) enum Action<'f> {
    /// A task call with its arguments.
    Call(Vec<Resolved<'f>>),
    /// A control statement. A condition that could not be resolved is `None`, and a finding tells it.
    Control { kind: Option<Kind>, body: Vec<Step<'f>>, otherwise: Vec<Step<'f>> },
}

/// One argument of a call.
pub(crate) struct Resolved<'f> {
    pub(crate) region: RegionId,
    pub(crate) access: &'f AccessWord,
    pub(crate) span: Span,
}

/// Unrolls a program. Mistakes go to the tables.
pub(crate) fn expand<'f>(program: &'f Block<Statement>, tables: &mut Tables) -> Expanded<'f> {
    let mut expansion = Expansion {
        tables,
        out: Expanded::default(),
        left: 0,
        loops: Vec::new(),
        in_control: 0,
        stopped: false,
        first_call: None,
        graph: None,
        failed: FxHashSet::default(),
        undeclared: FxHashSet::default(),
        operators: FxHashSet::default(),
    };
    expansion.left = expansion.tables.limits.steps;
    expansion.block(program);
    expansion.out
}

struct Expansion<'f, 't> {
    tables: &'t mut Tables,
    out: Expanded<'f>,
    /// Steps that may still be made.
    left: u64,
    loops: Vec<&'f Name>,
    in_control: usize,
    stopped: bool,
    first_call: Option<Span>,
    graph: Option<Span>,
    /// Statements with a mistake.
    failed: FxHashSet<Span>,
    /// Places that name a region nobody declared.
    undeclared: FxHashSet<Span>,
    operators: FxHashSet<&'f str>,
}

impl<'f> Expansion<'f, '_> {
    fn block(&mut self, block: &'f Block<Statement>) {
        let depth = self.tables.scope.depth();
        for item in &block.items {
            if self.stopped || self.tables.errors.are_many() {
                break;
            }
            self.take_steps(1, item.statement.span);
            // What fails in one round of a loop would fail in the others, and telling why is not cheap.
            if !self.failed.is_empty() && self.failed.contains(&item.statement.span) {
                continue;
            }
            if let Err(error) = self.statement(&item.statement) {
                self.failed.insert(item.statement.span);
                self.tables.errors.push(error);
                self.tables.errors.excuse(&item.statement);
            }
        }
        self.tables.scope.leave(depth);
    }

    fn statement(&mut self, statement: &'f Spanned<Statement>) -> Result<(), SyntaxError> {
        let span = statement.span;
        match &statement.value {
            Statement::For { name, start, end, body } => self.repeat(name, start, end, body),
            Statement::Call(call) => {
                self.note_call(call.name.span)?;
                self.call(call, span)
            }
            Statement::Control { name, subscripts, cost, control } => {
                let head = name.as_ref().map_or(span, |n| n.span);
                self.note_call(head)?;
                let name = match (name, &control.when) {
                    (Some(name), _) => name.value.as_str(),
                    (None, When::Call) => "call",
                    (None, When::Repeat(_)) => "repeat",
                    (None, When::While(_)) => "while",
                    (None, When::If(_)) => "if",
                };
                self.control(name, subscripts, cost.as_ref(), control, span)
            }
            // A graph can be long; its place is its first word.
            Statement::Graph(_) => self.note_graph(Span { end: span.start + 5, ..span }),
            Statement::Let { .. } => self.tables.declare(statement),
            _ if self.in_control > 0 => Err(SyntaxError::new(
                Code::Syntax,
                "a declaration inside a control statement",
                span,
                "declares something for one branch or round only",
            )
            .help("declare regions and partitions outside; a `for` loop may declare partitions")),
            Statement::Partition { .. } | Statement::Subregion { .. } | Statement::Disjoint(_) => {
                self.tables.declare(statement)
            }
            _ if !self.loops.is_empty() => Err(SyntaxError::new(
                Code::Syntax,
                "a loop declares the same name in every round",
                span,
                "declared inside a loop",
            )
            .help("declare it before the loop")),
            _ => self.tables.declare(statement),
        }
    }

    /// A file holds task calls or one raw graph.
    fn note_call(&mut self, span: Span) -> Result<(), SyntaxError> {
        let first = *self.first_call.get_or_insert(span);
        match self.graph {
            Some(graph) if first == span => Err(mixed(span, graph)),
            _ => Ok(()),
        }
    }

    fn note_graph(&mut self, span: Span) -> Result<(), SyntaxError> {
        if self.in_control > 0 || !self.loops.is_empty() {
            let message = "a raw graph inside another statement";
            return Err(SyntaxError::new(Code::Syntax, message, span, "must stand by itself"));
        }
        if let Some(first) = self.graph {
            let message = "a file holds one raw graph";
            return Err(SyntaxError::new(Code::DuplicateName, message, span, "the second graph")
                .relate(first, "the first graph"));
        }
        self.graph = Some(span);
        match self.first_call {
            Some(call) => Err(mixed(call, span)),
            None => Ok(()),
        }
    }

    fn take_steps(&mut self, count: u64, span: Span) {
        if count <= self.left {
            self.left -= count;
            return;
        }
        self.left = 0;
        if std::mem::replace(&mut self.stopped, true) {
            return;
        }
        let most = self.tables.limits.steps;
        let (message, span) = match self.loops.last() {
            Some(name) => {
                (format!("the loop over `{}` makes the program longer than {most} steps", name.value), name.span)
            }
            None => (format!("the program is longer than {most} steps"), span),
        };
        self.tables.errors.push(
            SyntaxError::new(Code::OutOfRange, message, span, "too many rounds")
                .help("a step is a round of a loop, a statement in it, or an argument of a call"),
        );
    }

    fn repeat(
        &mut self,
        name: &'f Name,
        start: &Expression,
        end: &Expression,
        body: &'f Block<Statement>,
    ) -> Result<(), SyntaxError> {
        let (first, last) = (self.tables.scope.value(start)?, self.tables.scope.value(end)?);
        let depth = self.tables.scope.depth();
        self.tables.scope.declare(name, first)?;
        self.loops.push(name);
        let rounds = last.checked_sub(first).unwrap_or(i128::MAX).max(0);
        // Known beforehand, so that an impossible loop fails at once.
        self.take_steps(u64::try_from(rounds).unwrap_or(u64::MAX), name.span);
        let mut value = first;
        while value < last && !self.stopped && !self.tables.errors.are_many() {
            self.tables.scope.leave(depth + 1);
            self.tables.scope.assign_last(value);
            self.block(body);
            value += 1;
        }
        self.loops.pop();
        self.tables.scope.leave(depth);
        Ok(())
    }

    fn call(&mut self, call: &'f Call, span: Span) -> Result<(), SyntaxError> {
        self.take_steps(call.arguments.len() as u64, span);
        let name = self.numbered(&call.name, &call.subscripts)?;
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            if let AccessWord::Reduce(operator) = &argument.access.value {
                self.note_operator(operator, argument.access.span)?;
            }
            if let Some(region) = self.argument_region(call, argument)? {
                let span = argument.access.span.to(argument.region.span());
                arguments.push(Resolved { region, access: &argument.access.value, span });
            }
        }
        let cost = call.cost.as_ref().map(|c| c.value);
        self.out.steps.push(Step { name, cost, span, action: Action::Call(arguments) });
        Ok(())
    }

    /// A graph numbers its operators with 16 bits.
    fn note_operator(&mut self, operator: &'f str, span: Span) -> Result<(), SyntaxError> {
        const MOST_OPERATORS: usize = 65_535;
        if self.operators.len() == MOST_OPERATORS && !self.operators.contains(operator) {
            let message = format!("more than {MOST_OPERATORS} different reduction operators");
            return Err(SyntaxError::new(Code::OutOfRange, message, span, "one operator too many"));
        }
        self.operators.insert(operator);
        Ok(())
    }

    fn argument_region(&mut self, call: &Call, argument: &Argument) -> Result<Option<RegionId>, SyntaxError> {
        Ok(match self.tables.region(&argument.region)? {
            Found::Region(region) => Some(region),
            Found::Undeclared(region) => {
                let span = argument.region.span();
                self.undeclared(format!("the task {}", call.name.value), &argument.region.base, &region, span);
                None
            }
        })
    }

    fn undeclared(&mut self, who: String, base: &Name, region: &str, span: Span) {
        if !self.undeclared.insert(span) {
            return;
        }
        let message = format!("{who} accesses the region {region}, which nobody declared");
        let mut diagnostic = Diagnostic::new(Rule::RG1, message);
        let mut edit = None;
        // Looking at every name is not cheap, and nobody reads the hundredth suggestion.
        if self.out.findings.len() < MOST_ERRORS
            && let Some(near) = self.tables.nearest_region(base)
        {
            diagnostic = diagnostic.repair(format!("did you mean {near}?"));
            edit = Some(Edit { span: base.span, replacement: quoted(&near).into_owned() });
        }
        let name = quoted(base);
        diagnostic = diagnostic.repair(format!("declare it: region {name}, or: field {name} on a space"));
        let label = "no such region".to_owned();
        self.out.findings.push(Finding { diagnostic, span, label, related: Vec::new(), edit });
    }

    fn control(
        &mut self,
        name: &'f str,
        subscripts: &[Expression],
        cost: Option<&Cost>,
        control: &'f Control<Statement>,
        span: Span,
    ) -> Result<(), SyntaxError> {
        let numbered = self.numbered(name, subscripts)?;
        let kind = match &control.when {
            When::Call => Some(Kind::Call),
            When::Repeat(times) => {
                Some(Kind::Repeat(self.tables.scope.value_in(times, 0, u64::MAX, "the number of rounds")?))
            }
            When::While(path) | When::If(path) => match self.tables.region(path)? {
                Found::Region(region) if matches!(control.when, When::If(_)) => Some(Kind::If(region)),
                Found::Region(region) => Some(Kind::While(region)),
                Found::Undeclared(region) => {
                    self.undeclared(format!("the condition of {name}"), &path.base, &region, path.span());
                    None
                }
            },
        };
        let head = Span { start: span.start, end: self.head_end(control, span) };
        self.in_control += 1;
        let around = std::mem::take(&mut self.out.steps);
        self.block(&control.body);
        let body = std::mem::take(&mut self.out.steps);
        control.otherwise.iter().for_each(|otherwise| self.block(otherwise));
        let otherwise = std::mem::replace(&mut self.out.steps, around);
        self.in_control -= 1;
        let action = Action::Control { kind, body, otherwise };
        self.out.steps.push(Step { name: numbered, cost: cost.map(|c| c.value), span: head, action });
        Ok(())
    }

    /// A control statement can be long; its place is its head, before the body.
    fn head_end(&self, control: &Control<Statement>, span: Span) -> u32 {
        match &control.when {
            When::Call => span.start + 4,
            When::Repeat(times) => times.span.end,
            When::While(path) | When::If(path) => path.span().end,
        }
    }

    /// A name with its numbers: `smooth[3,4]`.
    fn numbered(&self, name: &str, subscripts: &[Expression]) -> Result<String, SyntaxError> {
        if subscripts.is_empty() {
            return Ok(name.to_owned());
        }
        let values = subscripts.iter().map(|s| Ok(self.tables.scope.value(s)?.to_string()));
        let values = values.collect::<Result<Vec<String>, SyntaxError>>()?;
        Ok(format!("{name}[{}]", values.join(",")))
    }
}

fn mixed(call: Span, graph: Span) -> SyntaxError {
    SyntaxError::new(Code::Syntax, "a file holds task calls or a raw graph, not both", graph, "the raw graph")
        .relate(call, "a task call")
}
