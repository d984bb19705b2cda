//! The command line, and the help that goes with it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use crate::commands::{event, model, plot};
use crate::mesh;
use crate::output::Color;
use crate::run;

/// Check graphs of tasks over shared data, explain what is wrong with them, order and draw them.
///
/// A graph is a .loom file (a small text language) or a JSON file. `-` reads standard input.
#[derive(Debug, Parser)]
#[command(name = "drawloom", version, propagate_version = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// When to colour the output; NO_COLOR and CLICOLOR_FORCE are respected
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  drawloom check examples/graphs/stencil.loom      check a graph, and show its order
  drawloom check --format json graphs/             check every graph in a folder, a line of JSON each
  drawloom explain stencil.loom smooth relax       why must smooth run before relax?
  drawloom show stencil.loom -o stencil.svg        draw it
  drawloom rules RF2                               what does RF2 ask for?
  drawloom run cholesky --n 2048 --tile 64         factor a matrix on every core
  drawloom mesh naca0012 --i 400 --j 600           make a mesh around an airfoil
  drawloom plot naca0012:20x30 -o mesh.svg         draw a mesh

Exit codes:
  0  everything is valid
  1  a graph breaks a rule
  2  an input could not be used: unreadable file, bad syntax, unknown label, duplicate id";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(Check),
    Order(Order),
    Explain(Explain),
    Show(Show),
    Fmt(Fmt),
    Stats(Stats),
    Convert(Convert),
    Rules(Rules),
    Event(event::Arguments),
    /// Run a program that comes with drawloom
    Run(run::Arguments),
    Mesh(mesh::Arguments),
    Model(model::Arguments),
    Plot(plot::Arguments),
    Completions(Completions),
}

/// Check graphs: every violation of every rule, each with what proves it and how to mend it
///
/// A folder stands for every .loom and .json file in it and in the folders below it. The worst exit code of all files is
/// the exit code, and every file is checked whatever happens to the others.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom check stencil.loom                       one graph: verdict, order, and why
  drawloom check *.loom graphs/                     several files and folders
  drawloom check --format json - < graph.json       standard input; one line of JSON
  drawloom check --format sarif graphs/ > out.sarif for code-scanning tools

Exit codes: 0 all valid, 1 a violation, 2 an unusable input.")]
pub(crate) struct Check {
    /// Files or folders; `-` is standard input
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,

    /// What to print
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: ReportFormat,

    /// Print nothing about graphs that are valid and without warnings
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What `check` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people: source excerpts, notes and repairs
    #[default]
    Text,
    /// A line of JSON for each file
    Json,
    /// One SARIF 2.1.0 document for all files
    Sarif,
}

/// What most commands print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// One line of JSON
    Json,
}

/// Order a valid graph: the serial order, each task's parameters, and the orders that overwriting requires
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom order stencil.loom                       the launch list, and why tasks must wait
  drawloom order --format json stencil.loom         the same, as one line of JSON
  drawloom order --augment graph.json > more.json   the graph with the derived orders as edges

Exit codes: 0 ordered, 1 the graph breaks a rule (which is then explained), 2 an unusable input.")]
pub(crate) struct Order {
    /// The graph; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// What to print
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,

    /// Print the graph as JSON with the derived HappensBefore edges added; doing so twice adds nothing
    #[arg(long, conflicts_with = "format")]
    pub(crate) augment: bool,
}

/// Explain why one node must precede another, or why nothing orders them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom explain stencil.loom smooth relax        step by step, with the versions involved
  drawloom explain graph.json t1 t2 --format json   as one line of JSON

Exit codes: 0 explained, 1 the graph breaks a rule, 2 an unusable input or an unknown name.")]
pub(crate) struct Explain {
    /// The graph; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// The name of a node, usually a task
    #[arg(value_name = "A")]
    pub(crate) first: String,

    /// The name of another node
    #[arg(value_name = "B")]
    pub(crate) second: String,

    /// What to print
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// Draw a graph as SVG or Graphviz DOT, with derived orders, and with violations highlighted
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom show stencil.loom -o stencil.svg         a drawing that any browser opens
  drawloom show stencil.loom -o stencil.dot         for Graphviz
  drawloom show --format dot stencil.loom | dot -Tpdf > stencil.pdf

Exit codes: 0 drawn (a graph that breaks a rule too), 2 an unusable input.")]
pub(crate) struct Show {
    /// The graph; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Where to draw: a name ending in .svg or .dot; without it, standard output
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// What to draw; by default what the ending of OUT says, else SVG
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<Picture>,
}

/// A kind of drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Picture {
    /// A self-contained SVG drawing
    Svg,
    /// Graphviz DOT
    Dot,
}

/// Format .loom files in place
///
/// Comments are kept. Formatting a formatted file changes nothing. With `-`, standard input is formatted to standard
/// output.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom fmt stencil.loom                         rewrite one file
  drawloom fmt --check examples/                    is everything formatted? Changes nothing
  drawloom fmt - < stencil.loom                     print the formatted text

Exit codes: 0 formatted, 1 a file is not formatted (with --check), 2 an unusable input.")]
pub(crate) struct Fmt {
    /// .loom files or folders; `-` is standard input
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,

    /// Change nothing; name the files that are not formatted, and exit with 1 if there are any
    #[arg(long)]
    pub(crate) check: bool,
}

/// Count what is in a graph, and how parallel it is
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom stats stencil.loom                       nodes, edges, regions, work, critical path
  drawloom stats --format json graph.json           the same, as one line of JSON

Exit codes: 0 counted, 1 the graph breaks a rule (it is counted, and not ordered), 2 an unusable input.")]
pub(crate) struct Stats {
    /// The graph; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// What to print
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// Print a graph as JSON, or as a raw graph in the text language
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom convert --to json stencil.loom > stencil.json
  drawloom convert --to loom graph.json             read what another tool wrote

Exit codes: 0 printed (a graph that breaks a rule too), 2 an unusable input.")]
pub(crate) struct Convert {
    /// The graph; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// What to print
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Language,
}

/// A language for graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// JSON, on one line
    Json,
    /// The text language
    Loom,
}

/// List the rules, or explain one with a failing and a corrected example
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom rules                                    every rule, with what it asks for
  drawloom rules S1                                 the page of one rule
  drawloom rules --format json                      a line of JSON for each rule

Exit codes: 0 printed, 2 there is no such rule.")]
pub(crate) struct Rules {
    /// The code of a rule, such as RF2
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,

    /// What to print
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", conflicts_with = "code")]
    pub(crate) format: Format,
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom completions bash > ~/.local/share/bash-completion/completions/drawloom
  drawloom completions zsh > ~/.zfunc/_drawloom
  drawloom completions fish > ~/.config/fish/completions/drawloom.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
