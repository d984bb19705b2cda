//! Rows through graphs inside of nodes: branches, and loops with values that are carried.
//!
//! A graph inside of a node is followed as the one around it is. Values that a loop carries must have their rows along the
//! same axis before and after each iteration, and what decides how often it goes on must not depend on rows at all.

use crate::operators::body::Body;
use crate::operators::spec::Spec;
use crate::rows::Refusal;
use crate::rows::layout::{attribute, axis_in};
use drawloom_tensor::operator::{Room, constant_facts, follow};
use drawloom_tensor::{Dimension, Fact};

/// So often the axes of carried values are tried: those that have none at first may get one.
const TRIES: usize = 4;

/// The facts of the outputs of a node with graphs inside, or nothing for other nodes.
pub(super) fn apply(spec: &Spec, inputs: &[Option<&Fact>], room: &Room) -> Option<Result<Vec<Fact>, Refusal>> {
    Some(match spec.operator.as_str() {
        "If" => branch(spec, inputs, room),
        "Loop" => repeat(spec, inputs, room),
        "Scan" if spec.opset >= 9 => scan(spec, inputs, room),
        _ => return None,
    })
}

/// Follows rows through a graph inside, and says what its outputs are.
pub(crate) fn inside(body: &Body, given: &[Fact], inputs: &[Option<&Fact>], room: &Room) -> Result<Vec<Fact>, Refusal> {
    let graph = body.program.graph();
    let mut facts = constant_facts(&body.program);
    for (name, fact) in body.inputs.iter().zip(given) {
        if let Some(id) = graph.find_tensor(name) {
            facts[id.index()] = fact.clone();
        }
    }
    for (name, index) in &body.captures {
        if let (Some(id), Some(fact)) = (graph.find_tensor(name), inputs.get(*index).copied().flatten()) {
            facts[id.index()] = fact.clone();
        }
    }
    // What is computed inside goes again.
    let room = Room::new(room.left());
    follow(&body.program, &mut facts, Vec::new(), &room).map_err(|error| format!("inside of it, {error}"))?;
    Ok(graph.outputs().map(|output| facts[output.index()].clone()).collect())
}

/// Refuses a value that depends on rows where none may.
fn same_for_all(fact: Option<&Fact>, what: &str) -> Result<(), Refusal> {
    match fact {
        Some(fact) if fact.axis.is_some() || fact.counts_rows => Err(format!("{what} depends on rows")),
        _ => Ok(()),
    }
}

/// What is known whichever of two facts holds. Both must have rows along the same axis.
fn either(one: &Fact, other: &Fact) -> Result<Fact, Refusal> {
    if one.axis != other.axis || one.counts_rows != other.counts_rows {
        return Err("its graphs have rows along different axes".to_owned());
    }
    let shape = match (&one.shape, &other.shape) {
        (Some(one), Some(other)) if one.len() == other.len() => {
            let length = |(a, b): (&Dimension, &Dimension)| if a == b { a.clone() } else { Dimension::Unknown };
            Some(one.iter().zip(other).map(length).collect())
        }
        _ => None,
    };
    let element = one.element.filter(|element| other.element == Some(*element));
    Ok(Fact { element, shape, axis: one.axis, counts_rows: one.counts_rows, ..Fact::default() })
}

fn branch(spec: &Spec, inputs: &[Option<&Fact>], room: &Room) -> Result<Vec<Fact>, Refusal> {
    same_for_all(inputs.first().copied().flatten(), "its condition")?;
    let (then, other) = (attribute(spec.graph("then_branch"))?, attribute(spec.graph("else_branch"))?);
    // Where it is known which way it goes, the other one does not matter.
    if let Some([truth]) = inputs.first().copied().flatten().and_then(Fact::integers).as_deref() {
        return inside(if *truth != 0 { &then } else { &other }, &[], inputs, room);
    }
    let (yes, no) = (inside(&then, &[], inputs, room)?, inside(&other, &[], inputs, room)?);
    yes.iter().zip(&no).map(|(yes, no)| either(yes, no)).collect()
}

/// Finds facts of carried values that hold before and after each iteration, and returns what the body makes of them.
fn carried(
    body: &Body,
    first: Vec<Fact>,
    fixed: &[Fact],
    behind: usize,
    inputs: &[Option<&Fact>],
    room: &Room,
) -> Result<(Vec<Fact>, Vec<Fact>), Refusal> {
    let mut states = first;
    for _ in 0..TRIES {
        let given: Vec<Fact> = fixed[..behind].iter().chain(&states).chain(&fixed[behind..]).cloned().collect();
        let results = inside(body, &given, inputs, room)?;
        let mut next = Vec::new();
        // The condition of a loop is the first of its results, and a scan has none.
        let offset = usize::from(behind > 0);
        for (state, result) in states.iter().zip(&results[offset.min(results.len())..]) {
            let mut result = result.clone();
            let mut before = state.clone();
            if before.axis.is_none() && result.axis.is_some() {
                return Err("a carried value gets rows in the loop, and has none before it".to_owned());
            }
            before.value = None;
            result.value = None;
            next.push(either(&before, &result)?);
        }
        let settled = next.iter().zip(&states).all(|(next, state)| next.shape == state.shape && state.value.is_none());
        states = next;
        if settled {
            return Ok((states, results));
        }
    }
    Err("the shapes of carried values are not known".to_owned())
}

fn repeat(spec: &Spec, inputs: &[Option<&Fact>], room: &Room) -> Result<Vec<Fact>, Refusal> {
    let body = attribute(spec.graph("body"))?;
    same_for_all(inputs.first().copied().flatten(), "how often it goes on")?;
    same_for_all(inputs.get(1).copied().flatten(), "its condition")?;
    let count = body.inputs.len().saturating_sub(2);
    let scalar = Fact { shape: Some(Vec::new()), ..Fact::default() };
    let first = (0..count).map(|index| inputs.get(index + 2).copied().flatten().cloned().unwrap_or_default());
    let (mut facts, results) = carried(&body, first.collect(), &[scalar.clone(), scalar], 2, inputs, room)?;
    same_for_all(results.first(), "whether it goes on")?;
    for stacked in results.iter().skip(count + 1) {
        facts.push(with_axis(stacked, 0));
    }
    Ok(facts)
}

/// A fact about slices, for the tensor that they are stacked to.
fn with_axis(fact: &Fact, at: usize) -> Fact {
    let shape = fact.shape.clone().map(|mut shape| {
        shape.insert(at.min(shape.len()), Dimension::Unknown);
        shape
    });
    let axis = fact.axis.map(|axis| if axis >= at { axis + 1 } else { axis });
    Fact { element: fact.element, shape, axis, counts_rows: fact.counts_rows, ..Fact::default() }
}

fn scan(spec: &Spec, inputs: &[Option<&Fact>], room: &Room) -> Result<Vec<Fact>, Refusal> {
    let body = attribute(spec.graph("body"))?;
    let sequences = usize::try_from(attribute(spec.int("num_scan_inputs", 0))?).unwrap_or(0);
    let states = body.inputs.len().saturating_sub(sequences);
    let at = |name, index: usize| {
        Ok::<i64, Refusal>(attribute(spec.ints(name))?.and_then(|axes| axes.get(index).copied()).unwrap_or(0))
    };
    let fact = |index: usize| inputs.get(index).copied().flatten().cloned().unwrap_or_default();
    let mut slices = Vec::new();
    for index in 0..sequences {
        let whole = fact(states + index);
        let mut shape = whole.shape.clone().ok_or("the shape of a sequence is not known")?;
        let axis = axis_in(at("scan_input_axes", index)?, shape.len())?;
        if whole.axis == Some(axis) {
            return Err(format!(
                "axis {axis} of its input {} is time: every step depends on those before it",
                states + index
            ));
        }
        shape.remove(axis);
        let own = whole.axis.map(|own| if own > axis { own - 1 } else { own });
        slices.push(Fact { element: whole.element, shape: Some(shape), axis: own, ..Fact::default() });
    }
    let (mut facts, results) = carried(&body, (0..states).map(fact).collect(), &slices, 0, inputs, room)?;
    for (index, stacked) in results.iter().skip(states).enumerate() {
        let rank = stacked.shape.as_ref().map_or(0, Vec::len) + 1;
        let axis = axis_in(at("scan_output_axes", index)?, rank)?;
        facts.push(with_axis(stacked, axis));
    }
    Ok(facts)
}
