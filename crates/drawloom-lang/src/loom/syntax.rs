//! The syntax tree: what a text says, with the places where it says it, and with its comments.

use super::span::Spanned;
use drawloom_graph::graph::{Label, NodeKind};

/// A parsed `.loom` text. Printing it and parsing the result gives an equal file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// Everything in the file.
    pub body: Block<Statement>,
}

/// Statements one after the other, and the comments after the last of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Block<T> {
    /// The statements.
    pub items: Vec<Item<T>>,
    /// Comments after the last statement.
    pub closing: Vec<Trivia>,
}

/// A statement with its comments.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<T> {
    /// Comments and blank lines before the statement.
    pub leading: Vec<Trivia>,
    /// The statement.
    pub statement: Spanned<T>,
    /// The comment at the end of its last line.
    pub trailing: Option<String>,
}

/// What stands between statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trivia {
    /// A comment with its `#`.
    Comment(String),
    /// One or more blank lines.
    Blank,
}

/// A name.
pub type Name = Spanned<String>;

/// An integer as it was written: `1e6` stays `1e6`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// The number.
    pub value: u64,
    /// Its text, when that is not simply the digits of the number.
    pub text: Option<Box<str>>,
}

/// The cost of a task as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The number.
    pub value: f64,
    /// Its text.
    pub text: String,
}

/// A statement outside `graph { … }`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Statement {
    /// `let NAME = EXPRESSION`
    Let {
        /// The variable.
        name: Name,
        /// Its value.
        value: Expression,
    },
    /// `space NAME LENGTH`
    Space {
        /// The space.
        name: Name,
        /// How many indices it has.
        length: Expression,
    },
    /// `field A, B on SPACE`
    Field {
        /// The fields.
        names: Vec<Name>,
        /// Their space.
        space: Name,
    },
    /// `region A, B` or `region A, B in REGION`
    Region {
        /// The regions.
        names: Vec<Name>,
        /// The region that contains them.
        inside: Option<Path>,
    },
    /// `A <= B`
    Subregion {
        /// The contained region.
        child: Path,
        /// The containing region.
        parent: Path,
    },
    /// `disjoint A, B, C`: every two of them.
    Disjoint(Vec<Path>),
    /// `map NAME from SPACE to SPACE arity K = [ … ]`
    Map {
        /// The map.
        name: Name,
        /// The space it starts from.
        from: Name,
        /// The space it points into.
        to: Name,
        /// How many targets each index has.
        arity: Spanned<Literal>,
        /// The targets, in index order.
        targets: Vec<Literal>,
    },
    /// `partition NAME of SPACE = PIECES`
    Partition {
        /// The partition.
        name: Name,
        /// What it cuts: a space, an abstract region, or a piece of one.
        of: Path,
        /// How.
        pieces: Spanned<Cut>,
    },
    /// `for NAME in A..B { … }`
    For {
        /// The variable.
        name: Name,
        /// Its first value.
        start: Expression,
        /// One past its last value.
        end: Expression,
        /// What is repeated while reading.
        body: Block<Statement>,
    },
    /// `task NAME[I](ACCESS REGION, …) cost X`
    Call(Call),
    /// `repeat N { … }` and the other control statements, with or without `task NAME:` before it.
    Control {
        /// The name of the control node.
        name: Option<Name>,
        /// Numbers that are part of that name.
        subscripts: Vec<Expression>,
        /// What it costs.
        cost: Option<Cost>,
        /// The statement itself.
        control: Control<Statement>,
    },
    /// `graph { … }`
    Graph(Block<RawStatement>),
}

/// A task call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The task.
    pub name: Name,
    /// Numbers that tell one call from another: part of the name of its node.
    pub subscripts: Vec<Expression>,
    /// What it touches.
    pub arguments: Vec<Argument>,
    /// What it costs.
    pub cost: Option<Cost>,
}

/// One argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// What the task does with the region.
    pub access: Spanned<AccessWord>,
    /// The region.
    pub region: Path,
}

/// What a task does with an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessWord {
    /// `read`
    Read,
    /// `write`
    Write,
    /// `update`
    Update,
    /// `reduce(OPERATOR)`
    Reduce(String),
}

/// A control statement with its bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Control<T> {
    /// When the body runs.
    pub when: When,
    /// What runs.
    pub body: Block<T>,
    /// What runs when the condition of an `if` does not hold.
    pub otherwise: Option<Block<T>>,
}

/// When a body runs.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// `call`: once.
    Call,
    /// `repeat N`
    Repeat(Expression),
    /// `while REGION`
    While(Path),
    /// `if REGION`
    If(Path),
}

/// How a partition cuts its space.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cut {
    /// `equal N`
    Equal(Expression),
    /// `colours [ … ]`
    Colours(Vec<Literal>),
    /// `lists [ … ] [ … ]`
    Lists(Vec<Vec<Entry>>),
    /// `image P through M`, `preimage P through M` or `halo P through M`
    Through(Through, PartitionPath, Name),
    /// `union P Q`, `intersection P Q` or `difference P Q`
    Combine(Combination, PartitionPath, PartitionPath),
    /// `halo P WIDTH`
    Halo(PartitionPath, Expression),
    /// `declared N disjoint complete`
    Declared {
        /// How many pieces there are.
        count: Expression,
        /// Whether no two share an index.
        disjoint: bool,
        /// Whether they hold everything.
        complete: bool,
    },
}

/// How a map makes the pieces of one partition of those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    /// `image`: what the map reaches from a piece.
    Image,
    /// `preimage`: from where the map reaches a piece.
    Preimage,
    /// `halo`: what the map reaches from a piece, outside of it.
    Halo,
}

/// How the pieces of two partitions are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// `union`
    Union,
    /// `intersection`
    Intersection,
    /// `difference`
    Difference,
}

/// The ways to combine partitions, each with its word.
pub(crate) const COMBINATIONS: [(&str, Combination); 3] = [
    ("union", Combination::Union),
    ("intersection", Combination::Intersection),
    ("difference", Combination::Difference),
];

/// The ways to go through a map, each with its word.
pub(crate) const THROUGH: [(&str, Through); 3] =
    [("image", Through::Image), ("preimage", Through::Preimage), ("halo", Through::Halo)];

/// An index, or a range of them, in an index list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The first index.
    pub start: Literal,
    /// One past the last, in a range.
    pub end: Option<Literal>,
}

/// A space or region: `cells`, `u`, `u.blocks[3].tiles[i + 1]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The name it starts with.
    pub base: Name,
    /// The pieces it goes through.
    pub steps: Vec<Step>,
}

/// From a space to a piece of one of its partitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The partition.
    pub partition: Name,
    /// The piece.
    pub piece: Expression,
}

/// A partition: `blocks`, `cells.blocks`, or `cells.blocks[0].tiles`.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionPath {
    /// The space it cuts, unless that is left to be found.
    pub of: Option<Path>,
    /// The partition.
    pub name: Name,
}

/// An integer expression.
pub type Expression = Spanned<Term>;

/// An integer expression without its place.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A number.
    Number(Literal),
    /// The variable of a `for` or a `let`.
    Variable(String),
    /// `-a`
    Negate(Box<Expression>),
    /// `a + b`
    Binary(Operator, Box<Expression>, Box<Expression>),
}

/// An operator of an integer expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, rounding towards minus infinity for a positive divisor.
    Divide,
    /// `%`, never negative: `(i - 1) % 4` is 3 for `i = 0`.
    Remainder,
}

/// The name of a node in a raw graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeName {
    /// The name.
    pub text: String,
    /// Whether it was written as a number without quotes.
    pub integer: bool,
}

/// A statement inside `graph { … }`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RawStatement {
    /// `data NAME: REGION`, `task NAME`, `open NAME`, `close NAME`
    Node {
        /// What the node is.
        kind: NodeKind,
        /// Its name.
        name: Spanned<NodeName>,
        /// The region of a data node.
        region: Option<Path>,
        /// What it costs.
        cost: Option<Cost>,
        /// The nested graph of a control node.
        control: Option<Control<RawStatement>>,
    },
    /// `FROM -> TO: LABEL @PORT`
    Edge {
        /// Where the edge starts.
        from: Spanned<NodeName>,
        /// Where it ends.
        to: Spanned<NodeName>,
        /// What it means.
        label: Spanned<RawLabel>,
        /// The argument position at its compute node.
        port: Option<Spanned<Literal>>,
    },
}

/// The label of a raw edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawLabel {
    /// `read`, `discard`, `write`, `reduce`, `before` or `use`.
    pub label: Label,
    /// `(OPERATOR)` after `reduce`; `reduce` alone violates rule WF4.
    pub operator: Option<String>,
    /// `reorderable` after `write`.
    pub reorderable: bool,
}

impl<T> Default for Block<T> {
    fn default() -> Self {
        Self { items: Vec::new(), closing: Vec::new() }
    }
}

impl<T> Item<T> {
    /// A statement without comments, made and not read.
    pub fn made(statement: T) -> Self {
        Self { leading: Vec::new(), statement: Spanned::made(statement), trailing: None }
    }
}

impl From<u64> for Literal {
    fn from(value: u64) -> Self {
        Self { value, text: None }
    }
}

/// The kinds of declared nodes, each with its word.
pub(crate) const KINDS: [(&str, NodeKind); 4] =
    [("data", NodeKind::Data), ("task", NodeKind::Task), ("open", NodeKind::Open), ("close", NodeKind::Close)];

/// The labels of raw edges, each with its word.
pub(crate) const LABELS: [(&str, Label); 6] = [
    ("read", Label::Read),
    ("discard", Label::Discard),
    ("write", Label::Write),
    ("reduce", Label::Reduce),
    ("before", Label::HappensBefore),
    ("use", Label::Use),
];

/// The word for a value in such a table.
pub(crate) fn word<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> &'static str {
    table.iter().find(|entry| entry.1 == *value).map_or("", |entry| entry.0)
}

impl Operator {
    /// How tightly it binds.
    pub(crate) fn strength(self) -> u8 {
        match self {
            Operator::Add | Operator::Subtract => 1,
            Operator::Multiply | Operator::Divide | Operator::Remainder => 2,
        }
    }

    /// The symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
        }
    }
}
