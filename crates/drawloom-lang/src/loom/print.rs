//! From a syntax tree to its text.
//!
//! One statement a line, four spaces a level, one space between words, comments kept. A call or a list that would
//! pass 100 columns is broken at its commas. Printing a parsed file and parsing the result gives an equal file.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

use super::syntax::{
    AccessWord, Argument, Block, COMBINATIONS, Call, Control, Cost, Cut, Entry, Expression, File, Item, KINDS, LABELS,
    Literal, Name, NodeName, PartitionPath, Path, RawLabel, RawStatement, Statement, THROUGH, Term, Trivia, When, word,
};
use super::token::{is_plain_name, is_plain_operator};

/// Lines longer than this are broken where they can be.
const WIDTH: usize = 100;

impl Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { out: f, depth: 0 }.block(&self.body, Printer::statement)
    }
}

/// A name as it is written: in quotes when it is not made of letters, digits and `_`.
pub(crate) fn quoted(name: &str) -> Cow<'_, str> {
    if is_plain_name(name) { Cow::Borrowed(name) } else { Cow::Owned(in_quotes(name)) }
}

fn in_quotes(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 2);
    text.push('"');
    for c in name.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c if c.is_control() => text.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

struct Printer<'f, 'o> {
    out: &'f mut fmt::Formatter<'o>,
    depth: usize,
}

impl Printer<'_, '_> {
    fn block<T>(&mut self, block: &Block<T>, print: fn(&mut Self, &T) -> fmt::Result) -> fmt::Result {
        for Item { leading, statement, trailing } in &block.items {
            self.trivia(leading)?;
            self.indent()?;
            print(self, statement)?;
            if let Some(comment) = trailing {
                write!(self.out, " {comment}")?;
            }
            self.out.write_char('\n')?;
        }
        self.trivia(&block.closing)
    }

    fn trivia(&mut self, trivia: &[Trivia]) -> fmt::Result {
        for entry in trivia {
            if let Trivia::Comment(text) = entry {
                self.indent()?;
                self.out.write_str(text)?;
            }
            self.out.write_char('\n')?;
        }
        Ok(())
    }

    fn indent(&mut self) -> fmt::Result {
        write!(self.out, "{:1$}", "", 4 * self.depth)
    }

    /// ` { … }` after what stands before it.
    fn braces<T>(&mut self, block: &Block<T>, print: fn(&mut Self, &T) -> fmt::Result) -> fmt::Result {
        if block.items.is_empty() && block.closing.is_empty() {
            return self.out.write_str(" {}");
        }
        self.out.write_str(" {\n")?;
        self.depth += 1;
        self.block(block, print)?;
        self.depth -= 1;
        self.indent()?;
        self.out.write_char('}')
    }

    fn statement(&mut self, statement: &Statement) -> fmt::Result {
        match statement {
            Statement::Let { name, value } => write!(self.out, "let {} = {value}", quoted(name)),
            Statement::Space { name, length } => write!(self.out, "space {} {length}", quoted(name)),
            Statement::Field { names, space } => {
                self.out.write_str("field ")?;
                self.names(names, 0)?;
                write!(self.out, " on {}", quoted(space))
            }
            Statement::Region { names, inside } => {
                self.out.write_str("region ")?;
                self.names(names, 0)?;
                inside.as_ref().map_or(Ok(()), |region| write!(self.out, " in {region}"))
            }
            Statement::Subregion { child, parent } => write!(self.out, "{child} <= {parent}"),
            Statement::Disjoint(regions) => {
                self.out.write_str("disjoint ")?;
                self.wrapped(regions.iter().map(Path::to_string), 9)
            }
            Statement::Map { name, from, to, arity, targets } => {
                let (name, from, to) = (quoted(name), quoted(from), quoted(to));
                write!(self.out, "map {name} from {from} to {to} arity {} = ", arity.value)?;
                self.list(targets.iter().map(Literal::to_string))
            }
            Statement::Partition { name, of, pieces } => {
                write!(self.out, "partition {} of {of} = ", quoted(name))?;
                self.cut(pieces)
            }
            Statement::For { name, start, end, body } => {
                write!(self.out, "for {} in {start}..{end}", quoted(name))?;
                self.braces(body, Self::statement)
            }
            Statement::Call(call) => self.call(call),
            Statement::Control { name, subscripts, cost, control } => {
                if let Some(name) = name {
                    write!(self.out, "task {}{}", quoted(name), Subscripts(subscripts))?;
                    self.cost(cost.as_ref())?;
                    self.out.write_str(": ")?;
                }
                self.control(control, Self::statement)
            }
            Statement::Graph(block) => {
                self.out.write_str("graph")?;
                self.braces(block, Self::raw_statement)
            }
        }
    }

    fn raw_statement(&mut self, statement: &RawStatement) -> fmt::Result {
        match statement {
            RawStatement::Node { kind, name, region, cost, control } => {
                write!(self.out, "{} {}", word(&KINDS, kind), name.value)?;
                if let Some(region) = region {
                    write!(self.out, ": {region}")?;
                }
                self.cost(cost.as_ref())?;
                match control {
                    Some(control) => {
                        self.out.write_str(": ")?;
                        self.control(control, Self::raw_statement)
                    }
                    None => Ok(()),
                }
            }
            RawStatement::Edge { from, to, label, port } => {
                write!(self.out, "{} -> {}: {}", from.value, to.value, label.value)?;
                port.as_ref().map_or(Ok(()), |port| write!(self.out, " @{}", port.value))
            }
        }
    }

    fn control<T>(&mut self, control: &Control<T>, print: fn(&mut Self, &T) -> fmt::Result) -> fmt::Result {
        match &control.when {
            When::Call => self.out.write_str("call")?,
            When::Repeat(times) => write!(self.out, "repeat {times}")?,
            When::While(region) => write!(self.out, "while {region}")?,
            When::If(region) => write!(self.out, "if {region}")?,
        }
        self.braces(&control.body, print)?;
        match &control.otherwise {
            Some(otherwise) => {
                self.out.write_str(" else")?;
                self.braces(otherwise, print)
            }
            None => Ok(()),
        }
    }

    fn call(&mut self, call: &Call) -> fmt::Result {
        let name = format!("task {}{}(", quoted(&call.name), Subscripts(&call.subscripts));
        let arguments: Vec<String> = call.arguments.iter().map(Argument::to_string).collect();
        let columns: usize = arguments.iter().map(|a| a.chars().count() + 2).sum();
        self.out.write_str(&name)?;
        if 4 * self.depth + name.chars().count() + columns <= WIDTH {
            write!(self.out, "{})", arguments.join(", "))?;
        } else {
            self.out.write_char('\n')?;
            self.depth += 1;
            for argument in arguments {
                self.indent()?;
                writeln!(self.out, "{argument},")?;
            }
            self.depth -= 1;
            self.indent()?;
            self.out.write_char(')')?;
        }
        self.cost(call.cost.as_ref())
    }

    fn cost(&mut self, cost: Option<&Cost>) -> fmt::Result {
        cost.map_or(Ok(()), |cost| write!(self.out, " cost {}", cost.text))
    }

    fn cut(&mut self, cut: &Cut) -> fmt::Result {
        match cut {
            Cut::Equal(count) => write!(self.out, "equal {count}"),
            Cut::Colours(colours) => {
                self.out.write_str("colours ")?;
                self.list(colours.iter().map(Literal::to_string))
            }
            Cut::Lists(lists) => {
                self.out.write_str("lists")?;
                // A few short lists fit a line; otherwise each has its own.
                let entries: usize = lists.iter().map(|l| l.len() + 1).sum();
                let mut line = String::new();
                for list in lists.iter().take(if entries <= 32 { lists.len() } else { 0 }) {
                    let list: Vec<String> = list.iter().map(Entry::to_string).collect();
                    let _ = write!(line, " [{}]", list.join(", "));
                }
                if entries <= 32 && line.len() <= WIDTH / 2 {
                    return self.out.write_str(&line);
                }
                self.depth += 1;
                for list in lists {
                    self.out.write_char('\n')?;
                    self.indent()?;
                    self.list(list.iter().map(Entry::to_string))?;
                }
                self.depth -= 1;
                Ok(())
            }
            Cut::Through(how, of, map) => write!(self.out, "{} {of} through {}", word(&THROUGH, how), quoted(map)),
            Cut::Combine(how, a, b) => write!(self.out, "{} {a} {b}", word(&COMBINATIONS, how)),
            Cut::Halo(of, width) => write!(self.out, "halo {of} {width}"),
            Cut::Declared { count, disjoint, complete } => {
                write!(self.out, "declared {count}")?;
                self.out.write_str(if *disjoint { " disjoint" } else { "" })?;
                self.out.write_str(if *complete { " complete" } else { "" })
            }
        }
    }

    fn names(&mut self, names: &[Name], column: usize) -> fmt::Result {
        self.wrapped(names.iter().map(|n| quoted(n).into_owned()), column + 7)
    }

    /// `[a, b, …]`, over several lines when one is too short.
    fn list(&mut self, elements: impl Iterator<Item = String>) -> fmt::Result {
        // Only as much is looked ahead as fits a line: a list can hold millions.
        let mut elements = elements.peekable();
        let mut head: Vec<String> = Vec::new();
        let mut columns = 0;
        while columns <= WIDTH / 2 && elements.peek().is_some() {
            let element = elements.next().expect("an element was just seen");
            columns += element.len() + 2;
            head.push(element);
        }
        if elements.peek().is_none() {
            return write!(self.out, "[{}]", head.join(", "));
        }
        self.out.write_char('[')?;
        self.depth += 1;
        self.out.write_char('\n')?;
        self.indent()?;
        self.wrapped_in(head.into_iter().chain(elements), 0, self.depth)?;
        self.depth -= 1;
        self.out.write_str(",\n")?;
        self.indent()?;
        self.out.write_char(']')
    }

    fn wrapped(&mut self, elements: impl Iterator<Item = String>, column: usize) -> fmt::Result {
        self.wrapped_in(elements, column, self.depth + 1)
    }

    /// Elements with commas between them; a new line at the given depth whenever one is full.
    fn wrapped_in(&mut self, elements: impl Iterator<Item = String>, column: usize, depth: usize) -> fmt::Result {
        let mut column = column + 4 * depth;
        for (at, element) in elements.enumerate() {
            let width = element.chars().count() + 2;
            if at > 0 {
                self.out.write_char(',')?;
                if column + width > WIDTH {
                    write!(self.out, "\n{:1$}", "", 4 * depth)?;
                    column = 4 * depth;
                } else {
                    self.out.write_char(' ')?;
                }
            }
            self.out.write_str(&element)?;
            column += width;
        }
        Ok(())
    }
}

/// `[i, j]`, or nothing.
struct Subscripts<'a>(&'a [Expression]);

impl Display for Subscripts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, subscript) in self.0.iter().enumerate() {
            write!(f, "{}{subscript}", if at == 0 { "[" } else { ", " })?;
        }
        f.write_str(if self.0.is_empty() { "" } else { "]" })
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.access.value {
            AccessWord::Read => f.write_str("read ")?,
            AccessWord::Write => f.write_str("write ")?,
            AccessWord::Update => f.write_str("update ")?,
            AccessWord::Reduce(operator) => write!(f, "reduce({}) ", operator_text(operator))?,
        }
        self.region.fmt(f)
    }
}

fn operator_text(operator: &str) -> Cow<'_, str> {
    if is_plain_operator(operator) { Cow::Borrowed(operator) } else { Cow::Owned(in_quotes(operator)) }
}

impl Display for RawLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word(&LABELS, &self.label))?;
        f.write_str(if self.reorderable { " reorderable" } else { "" })?;
        self.operator.as_ref().map_or(Ok(()), |operator| write!(f, "({})", operator_text(operator)))
    }
}

impl Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&if self.integer { Cow::Borrowed(self.text.as_str()) } else { quoted(&self.text) })
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.base))?;
        for step in &self.steps {
            write!(f, ".{}[{}]", quoted(&step.partition), step.piece)?;
        }
        Ok(())
    }
}

impl Display for PartitionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(of) = &self.of {
            write!(f, "{of}.")?;
        }
        f.write_str(&quoted(&self.name))
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => self.value.fmt(f),
        }
    }
}

impl Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.start.fmt(f)?;
        self.end.as_ref().map_or(Ok(()), |end| write!(f, "..{end}"))
    }
}

impl Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        term(f, &self.value, 0)
    }
}

/// Prints a term, in parentheses when it binds less tightly than its place needs.
fn term(f: &mut fmt::Formatter<'_>, value: &Term, needed: u8) -> fmt::Result {
    match value {
        Term::Number(literal) => literal.fmt(f),
        Term::Variable(name) => f.write_str(name),
        Term::Negate(inner) => {
            f.write_char('-')?;
            term(f, &inner.value, 3)
        }
        Term::Binary(operator, left, right) => {
            let own = operator.strength();
            if own < needed {
                f.write_char('(')?;
            }
            term(f, &left.value, own)?;
            write!(f, " {} ", operator.symbol())?;
            term(f, &right.value, own + 1)?;
            if own < needed {
                f.write_char(')')?;
            }
            Ok(())
        }
    }
}
