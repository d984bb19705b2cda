//! A writer of the DOT language of Graphviz: statements, attributes and escapes.
//!
//! ```
//! use drawloom_graph::dot::{Attributes, Dot};
//! let mut dot = Dot::new("steps");
//! dot.defaults("node", &Attributes::new().word("shape", "box"));
//! dot.node("a", &Attributes::new().text("label", "say \"a\""));
//! dot.edge("a", "b", &Attributes::new());
//! assert_eq!(dot.finish(), r#"digraph "steps" {
//!   node [shape=box];
//!   a [label="say \"a\""];
//!   a -> b;
//! }
//! "#);
//! ```

use std::fmt::{Display, Write as _};

/// A digraph in the DOT language, written statement by statement.
///
/// Identifiers are written as they are: letters, digits and underscores, beginning with a letter. Names that users choose
/// belong into labels.
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

    /// Begins a frame around the nodes that follow, until [`close`](Self::close). Frames nest.
    pub fn open(&mut self, id: impl Display, attributes: &Attributes) {
        self.pad();
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "subgraph cluster_{id} {{");
        self.indent += 1;
        if !attributes.text.is_empty() {
            self.defaults("graph", attributes);
        }
    }

    /// Ends the frame that was begun last.
    ///
    /// # Panics
    /// When no frame is open.
    pub fn close(&mut self) {
        assert!(self.indent > 1, "a frame is closed that was not opened");
        self.indent -= 1;
        self.pad();
        self.text.push_str("}\n");
    }

    /// The text. Frames that are still open end here.
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

#[cfg(test)]
mod tests {
    use super::{Attributes, Dot, escaped, quoted};

    #[test]
    fn frames_nest_and_end_with_the_graph() {
        let mut dot = Dot::new("a \"b\"");
        dot.open(0, &Attributes::new().text("label", "outer"));
        dot.open("0_1", &Attributes::new());
        dot.node("n", &Attributes::new().word("penwidth", 2.5).html("<b>x</b>"));
        dot.close();
        dot.edge("n", "m", &Attributes::new().word("style", "dashed"));
        let expected = r#"digraph "a \"b\"" {
  subgraph cluster_0 {
    graph [label="outer"];
    subgraph cluster_0_1 {
      n [penwidth=2.5, label=<<b>x</b>>];
    }
    n -> m [style=dashed];
  }
}
"#;
        assert_eq!(dot.finish(), expected);
    }

    #[test]
    fn no_text_of_a_user_ends_a_label() {
        assert_eq!(quoted("a\"\\\n\u{7}& &lt;"), "\"a\\\"\\\\\\n\u{fffd}& &amp;lt;\"");
        assert_eq!(escaped("<a> & \"b\"\n\t"), "&lt;a&gt; &amp; &quot;b&quot;<br/>\u{fffd}");
    }
}
