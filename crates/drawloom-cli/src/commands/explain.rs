//! `drawloom explain`: why one node must precede another.

use std::borrow::Cow;

use drawloom_graph::Sentences;
use drawloom_graph::{Explanation, Graph, NodeId, OrderStep};
use serde::Serialize;

use super::verdict::{self, Trouble, Voice};
use crate::arguments::{Explain, Format};
use crate::exit::Exit;
use crate::input::Input;
use crate::output::Output;
use crate::progress;

/// The answer as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    file: String,
    a: &'a str,
    b: &'a str,
    /// `before`, `after` or `unordered`.
    relation: &'static str,
    steps: Vec<Step>,
}

#[derive(Serialize)]
struct Step {
    before: String,
    after: String,
    because: String,
}

/// Explains the order between two nodes.
pub(crate) fn run(arguments: &Explain, output: &mut Output) -> Exit {
    let input = Input::new(&arguments.file);
    let voice = Voice::from(arguments.format);
    let explained = verdict::valid(&input, voice, output, |graph| {
        let (a, b) = (find(graph, &arguments.first)?, find(graph, &arguments.second)?);
        Ok((a, b, progress::explain(&input.to_string(), graph, a, b)?))
    });
    let (graph, (a, b, explanation)) = match explained {
        Ok(explained) => explained,
        Err(exit) => return exit,
    };
    let graph = &graph;
    let (relation, steps) = match explanation {
        Explanation::Before(steps) => ("before", steps),
        Explanation::After(steps) => ("after", steps),
        _ => ("unordered", Vec::new()),
    };
    let sentences = Sentences::new(graph);
    match arguments.format {
        Format::Text => text(graph, &sentences, (a, b), relation, &steps, output),
        Format::Json => {
            let steps = steps.iter().map(|step| Step {
                before: graph.name(step.before).into_owned(),
                after: graph.name(step.after).into_owned(),
                because: sentences.step(step),
            });
            output.json(&Answer {
                file: input.given(),
                a: &arguments.first,
                b: &arguments.second,
                relation,
                steps: steps.collect(),
            });
        }
    }
    Exit::Valid
}

fn text(
    graph: &Graph,
    sentences: &Sentences<'_>,
    (a, b): (NodeId, NodeId),
    relation: &str,
    steps: &[OrderStep],
    output: &mut Output,
) {
    let (first, second) = (graph.name(a), graph.name(b));
    match relation {
        "before" => output.line(format_args!("{first} must precede {second}:")),
        "after" => output.line(format_args!("{second} must precede {first}:")),
        _ if a == b => output.line(format_args!("{first} is one node: nothing precedes itself")),
        _ => output.line(format_args!("nothing orders {first} and {second}: they may run at the same time")),
    }
    for step in steps {
        output.line(format_args!("  {}", sentences.step(step)));
    }
}

/// The node of a name; else that there is none, and which names are close to it.
fn find(graph: &Graph, name: &str) -> Result<NodeId, Trouble> {
    if let Some(node) = graph.find(name) {
        return Ok(node);
    }
    let near = |other: Cow<'_, str>| distance(name, &other).map(|d| (d, other.into_owned()));
    let mut names: Vec<(usize, String)> = graph.node_ids().filter_map(|node| near(graph.name(node))).collect();
    names.sort();
    let names: Vec<String> = names.into_iter().take(3).map(|(_, name)| name).collect();
    Err(Trouble::Unusable(match names.as_slice() {
        [] => format!("there is no node `{name}`"),
        names => format!("there is no node `{name}`; did you mean {}?", names.join(" or ")),
    }))
}

/// How many characters have to be changed to make one name of the other, when that is few for their length.
fn distance(a: &str, b: &str) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let most = a.len().max(b.len()) / 3;
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    (row[b.len()] <= most).then_some(row[b.len()])
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn near_names_are_near_and_others_are_not() {
        assert_eq!(distance("smooth", "smoth"), Some(1));
        assert_eq!(distance("smooth", "smooth"), Some(0));
        assert_eq!(distance("smooth", "relax"), None);
        assert_eq!(distance("t1", "t2"), None);
        assert_eq!(distance("", "x"), None);
    }
}
