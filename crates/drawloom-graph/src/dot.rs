//! A writer of the DOT language of Graphviz: statements, attributes and escapes. Every drawing for Graphviz is written here.
//!
//! ```
//! use drawloom_graph::dot::{Attributes, Dot, escaped};
//! let mut dot = Dot::new("steps");
//! dot.defaults("graph", &Attributes::new().word("rankdir", "LR"));
//! dot.defaults("node", &Attributes::new().word("shape", "box"));
//! dot.open("first", &Attributes::new().text("label", "the \"first\" step"));
//! dot.node("a", &Attributes::new().html(&format!("<b>{}</b>", escaped("a < b"))));
//! dot.close();
//! dot.edge("a", format_args!("n{}", 7), &Attributes::new().text("color", "#1d66b0").word("penwidth", 1.5));
//! assert_eq!(dot.finish(), r##"digraph "steps" {
//!   graph [rankdir=LR];
//!   node [shape=box];
//!   subgraph cluster_first {
//!     graph [label="the \"first\" step"];
//!     a [label=<<b>a &lt; b</b>>];
//!   }
//!   a -> n7 [color="#1d66b0", penwidth=1.5];
//! }
//! "##);
//! ```

use std::fmt::{Display, Write as _};

/// A digraph in the DOT language, written statement by statement.
///
/// Identifiers are written as they are: letters, digits and underscores, beginning with a letter. A name that a user chose
/// is never an identifier but a [label](Attributes::text), which is quoted.
///
/// A node may be named again without attributes to put it into a cluster; Graphviz merges the statements of one node.
#[derive(Clone, Debug)]
pub struct Dot {
    text: String,
    indent: usize,
}

impl Dot {
    /// An empty digraph of that name.
    pub fn new(name: &str) -> Self {
        Self { text: format!("digraph {} {{\n", quoted(name)), indent: 1 }
    }

    /// Attributes of everything that follows in this graph or cluster: `what` is `graph`, `node` or `edge`.
    pub fn defaults(&mut self, what: &str, attributes: &Attributes) {
        self.statement(format_args!("{what}"), attributes);
    }

    /// A node.
    pub fn node(&mut self, id: impl Display, attributes: &Attributes) {
        self.statement(format_args!("{id}"), attributes);
    }

    /// An arrow from one node to another.
    pub fn edge(&mut self, from: impl Display, to: impl Display, attributes: &Attributes) {
        self.statement(format_args!("{from} -> {to}"), attributes);
    }

    /// Begins a cluster, which Graphviz draws as a frame around the nodes that follow until [`close`](Self::close).
    /// Clusters nest; `attributes` are those of the cluster itself. `id` is unique in the graph and may begin with a digit.
    pub fn open(&mut self, id: impl Display, attributes: &Attributes) {
        self.pad();
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "subgraph cluster_{id} {{");
        self.indent += 1;
        if !attributes.text.is_empty() {
            self.defaults("graph", attributes);
        }
    }

    /// Ends the cluster that was begun last.
    ///
    /// # Panics
    /// When no cluster is open.
    pub fn close(&mut self) {
        assert!(self.indent > 1, "a cluster is closed that was not opened");
        self.indent -= 1;
        self.pad();
        self.text.push_str("}\n");
    }

    /// The text. Clusters that are still open end here.
    pub fn finish(mut self) -> String {
        while self.indent > 1 {
            self.close();
        }
        self.text.push_str("}\n");
        self.text
    }

    fn statement(&mut self, head: std::fmt::Arguments<'_>, attributes: &Attributes) {
        self.pad();
        let _ = match attributes.text.as_str() {
            "" => writeln!(self.text, "{head};"),
            list => writeln!(self.text, "{head} [{list}];"),
        };
    }

    fn pad(&mut self) {
        for _ in 0..self.indent {
            self.text.push_str("  ");
        }
    }
}

/// The attributes of a node, an edge or a graph, in the order in which they are given.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    text: String,
}

impl Attributes {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// An attribute whose value is a single word or a number, such as `shape=box`.
    #[must_use]
    pub fn word(self, key: &str, value: impl Display) -> Self {
        self.push(format_args!("{key}={value}"))
    }

    /// An attribute whose value is any text; it is quoted.
    #[must_use]
    pub fn text(self, key: &str, value: &str) -> Self {
        self.push(format_args!("{key}={}", quoted(value)))
    }

    /// A label in Graphviz's kind of HTML. The texts in it must have gone through [`escaped`].
    #[must_use]
    pub fn html(self, markup: &str) -> Self {
        self.push(format_args!("label=<{markup}>"))
    }

    fn push(mut self, attribute: std::fmt::Arguments<'_>) -> Self {
        let comma = if self.text.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{comma}{attribute}");
        self
    }
}

/// A text between quotes, for a name or a label.
///
/// Graphviz knows the escapes `\"`, `\\` and `\n`, and HTML's names of characters, so that an `&` in front of a word is
/// written as `&amp;`. Other control characters have no place in a label and are replaced.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '&' if rest.as_str().starts_with(|next: char| next == '#' || next.is_ascii_alphanumeric()) => {
                quoted.push_str("&amp;");
            }
            c if c.is_control() => quoted.push('\u{fffd}'),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A text in a label of Graphviz's kind of HTML.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("<br/>"),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
