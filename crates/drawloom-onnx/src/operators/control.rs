//! Branches, and loops with values that are carried from one iteration to the next.

use crate::operators::body::{Body, Held};
use crate::operators::movement::concatenate;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, axis_of, kernel_with, within};
use drawloom_tensor::operator::{Room, without_elements};
use drawloom_tensor::{ElementType, ErrorKind, Fact, Fault, Inputs, Outputs, Scratch, Tensor, View};

/// More iterations than this are taken for a loop that never ends.
const MOST_ITERATIONS: i64 = 1 << 24;

pub(crate) fn make(spec: &Spec, declared: usize) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "If" => branch(spec),
        "Loop" => repeat(spec, declared),
        "Scan" if spec.opset < 9 => scan_batches(spec, declared),
        "Scan" => scan(spec, declared),
        _ => return None,
    })
}

fn branch(spec: &Spec) -> Made {
    let (yes, no) = (spec.graph("then_branch")?, spec.graph("else_branch")?);
    let count = spec.outputs;
    if yes.outputs.len() != count || no.outputs.len() != count || !yes.inputs.is_empty() || !no.inputs.is_empty() {
        return Err(Fault::new(format!("both branches must have no inputs, and the {count} outputs of the node")));
    }
    kernel_with(move |inputs, outputs, scratch| {
        let condition = inputs.get(0)?;
        let results = if condition.is_absent() {
            either(&yes, &no, inputs, scratch)?
        } else {
            let body = if condition.only::<bool>()? { &yes } else { &no };
            body.run(&[], inputs, Held::default(), scratch)?
        };
        for (index, tensor) in results.into_iter().enumerate() {
            outputs.put(index, tensor)?;
        }
        Ok(())
    })
}

/// What both branches give, where it is not known which of them it will be: how large it is, if that is the same.
fn either(yes: &Body, no: &Body, inputs: &Inputs<'_>, scratch: &mut Scratch) -> Result<Vec<Tensor>, Fault> {
    let (yes, no) = (yes.run(&[], inputs, Held::default(), scratch)?, no.run(&[], inputs, Held::default(), scratch)?);
    let absent = |(yes, no): (Tensor, Tensor)| {
        if yes.element() != no.element() || yes.shape() != no.shape() {
            return Err(Fault::of(
                ErrorKind::Absent,
                "which branch it takes, and so the shape of its results, depends on values",
            ));
        }
        Tensor::absent(yes.element(), yes.shape())
    };
    yes.into_iter().zip(no).map(absent).collect()
}

/// Slices of iterations, which become one tensor.
#[derive(Default)]
struct Stacked {
    slices: Vec<Tensor>,
    /// The type and shape of a slice, where there are none.
    empty: Option<(ElementType, Vec<usize>)>,
}

impl Stacked {
    /// Puts the slices behind each other along a new axis.
    fn finish(self, axis: i64, reverse: bool, index: usize, outputs: &mut Outputs<'_>) -> Result<(), Fault> {
        let Some(first) = self.slices.first() else {
            let unknown = || {
                let message = "there was no iteration, and the graph inside does not say which type and shape the slices of \
                               its output";
                Fault::unsupported(format!("{message} {index} have"))
            };
            let (element, mut shape) = self.empty.ok_or_else(unknown)?;
            shape.insert(axis_of(axis, shape.len() + 1)?, 0);
            return outputs.allocate_of(element, index, &shape).map(|_| ());
        };
        let axis = axis_of(axis, first.shape().len() + 1)?;
        let mut shape = first.shape().to_vec();
        shape.insert(axis, 1);
        let mut slices = self.slices.into_iter().map(|slice| slice.reshaped(&shape)).collect::<Result<Vec<_>, _>>()?;
        if reverse {
            slices.reverse();
        }
        let views: Vec<View<'_>> = slices.iter().map(Tensor::view).collect();
        let mut result = [None];
        let mut one = Outputs::within(&mut result, outputs.room().clone());
        let done = concatenate(&views, axis as i64, &mut one);
        without_elements(done, &mut result)?;
        if let [Some(tensor)] = result {
            outputs.put(index, tensor)?;
        }
        Ok(())
    }
}

fn repeat(spec: &Spec, declared: usize) -> Made {
    let body = spec.graph("body")?;
    let carried = declared.checked_sub(2).ok_or_else(|| Fault::new("a loop needs the inputs M and cond"))?;
    if body.inputs.len() != carried + 2 || body.outputs.len() < carried + 1 || body.outputs.len() - 1 != spec.outputs {
        return Err(Fault::new(format!(
            "the body takes {} inputs and has {} outputs: with {carried} carried values, and {} outputs of the node, that \
             should be {} and {}",
            body.inputs.len(),
            body.outputs.len(),
            spec.outputs,
            carried + 2,
            spec.outputs + 1
        )));
    }
    kernel_with(move |inputs, outputs, scratch| {
        let most = inputs.optional(0).map(|most| most.only::<i64>()).transpose()?;
        let mut goes_on = inputs.optional(1).map_or(Ok(true), |goes_on| goes_on.only::<bool>())?;
        let mut first = Held::default();
        let mut values = (0..carried)
            .map(|index| first.copy(inputs.get(index + 2)?, None, scratch))
            .collect::<Result<Vec<_>, Fault>>()?;
        let mut stacked: Vec<Stacked> = (carried + 1..body.outputs.len()).map(|_| Stacked::default()).collect();
        let mut iteration = 0i64;
        while goes_on && most.is_none_or(|most| iteration < most) {
            if iteration == MOST_ITERATIONS {
                return Err(Fault::of(
                    ErrorKind::Iteration,
                    format!("the loop did not end in {MOST_ITERATIONS} iterations"),
                ));
            }
            let (number, truth) = (Tensor::scalar(iteration), Tensor::scalar(goes_on));
            let mut given = vec![number.view(), truth.view()];
            given.extend(values.iter().map(Tensor::view));
            let mut results = body.run(&given, inputs, held(&values, &stacked), scratch)?.into_iter();
            goes_on = results.next().map_or(Ok(false), |goes_on| goes_on.view().only::<bool>())?;
            values = results.by_ref().take(carried).collect();
            stacked.iter_mut().zip(results).for_each(|(stack, slice)| stack.slices.push(slice));
            iteration += 1;
        }
        if iteration == 0 {
            let (number, truth) = (Tensor::scalar(iteration), Tensor::scalar(goes_on));
            let given = [number.view(), truth.view()].into_iter().chain(values.iter().map(Tensor::view));
            let given: Vec<Fact> = given.map(Fact::of_view).collect();
            let slices = body.described(&given, inputs).into_iter().skip(carried + 1);
            stacked.iter_mut().zip(slices).for_each(|(stack, slice)| stack.empty = slice);
        }
        hold_twice(held(&values, &stacked), Held::default(), outputs, scratch)?;
        for (index, value) in values.into_iter().enumerate() {
            outputs.put(index, value)?;
        }
        for (index, stack) in stacked.into_iter().enumerate() {
            stack.finish(0, false, carried + index, outputs)?;
        }
        Ok(())
    })
}

/// What carried values and slices take.
fn held(values: &[Tensor], stacked: &[Stacked]) -> Held {
    Held::of(values.iter().chain(stacked.iter().flat_map(|stack| &stack.slices)))
}

/// Counts slices that are there twice while they are put together.
fn hold_twice(slices: Held, beside: Held, outputs: &Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
    let all = beside.plus(slices).plus(slices);
    if !scratch.hold(all.bytes, all.there)? {
        outputs.room().lack();
    }
    Ok(())
}

/// What a scan says about its axes.
#[derive(Clone, Default)]
struct ScanAxes {
    input_axes: Vec<i64>,
    input_reverse: Vec<i64>,
    output_axes: Vec<i64>,
    output_reverse: Vec<i64>,
}

fn scanned(spec: &Spec, states_and_inputs: usize) -> Result<(Body, usize), Fault> {
    let body = spec.graph("body")?;
    let scanned = spec.int("num_scan_inputs", 0)?;
    let wrong = || "attribute `num_scan_inputs` does not fit the inputs".to_owned();
    let scanned = within(scanned, 1..states_and_inputs.saturating_add(1), wrong)?;
    let states = states_and_inputs - scanned;
    if body.inputs.len() != states_and_inputs || body.outputs.len() < states || body.outputs.len() != spec.outputs {
        return Err(Fault::new(format!(
            "the body takes {} inputs and has {} outputs, the node {states_and_inputs} and {}",
            body.inputs.len(),
            body.outputs.len(),
            spec.outputs
        )));
    }
    Ok((body, states))
}

fn scan(spec: &Spec, declared: usize) -> Made {
    let (body, states) = scanned(spec, declared)?;
    let list = |name| spec.ints(name).map(Option::unwrap_or_default);
    let axes = ScanAxes {
        input_axes: list("scan_input_axes")?,
        input_reverse: list("scan_input_directions")?,
        output_axes: list("scan_output_axes")?,
        output_reverse: list("scan_output_directions")?,
    };
    kernel_with(move |inputs, outputs, scratch| {
        let given = (0..declared).map(|index| inputs.get(index)).collect::<Result<Vec<_>, _>>()?;
        Scan { body: &body, states, axes: &axes, inputs, beside: Held::default() }.run(&given, outputs, scratch)
    })
}

/// One scan over sequences.
struct Scan<'a> {
    body: &'a Body,
    states: usize,
    axes: &'a ScanAxes,
    /// What the node is given: the body may take some of it.
    inputs: &'a Inputs<'a>,
    /// What is held by whoever scans.
    beside: Held,
}

impl Scan<'_> {
    fn run(&self, given: &[View<'_>], outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let Self { body, states, axes, inputs, beside } = *self;
        let at = |list: &[i64], index: usize| list.get(index).copied().unwrap_or(0);
        let sequences = &given[states..];
        let cut_axes = (sequences.iter().enumerate())
            .map(|(index, view)| axis_of(at(&axes.input_axes, index), view.rank()))
            .collect::<Result<Vec<_>, _>>()?;
        let length = sequences[0].shape()[cut_axes[0]];
        if sequences.iter().zip(&cut_axes).any(|(view, axis)| view.shape()[*axis] != length) {
            return Err(Fault::new("the sequences have different lengths"));
        }
        let mut first = beside;
        let mut values =
            (given[..states].iter()).map(|view| first.copy(*view, None, scratch)).collect::<Result<Vec<_>, _>>()?;
        let mut stacked: Vec<Stacked> = (states..body.outputs.len()).map(|_| Stacked::default()).collect();
        if length == 0 {
            let sequence = |(view, axis): (&View<'_>, &usize)| {
                let mut fact = Fact::of_view(*view);
                fact.value = None;
                fact.shape.as_mut().map(|shape| shape.remove(*axis));
                fact
            };
            let states_given = values.iter().map(|value| Fact::of_view(value.view()));
            let given: Vec<Fact> = states_given.chain(sequences.iter().zip(&cut_axes).map(sequence)).collect();
            let slices = body.described(&given, inputs).into_iter().skip(states);
            stacked.iter_mut().zip(slices).for_each(|(stack, slice)| stack.empty = slice);
        }
        for step in 0..length {
            let mut held = beside.plus(held(&values, &stacked));
            let slices = (sequences.iter().zip(&cut_axes).enumerate())
                .map(|(index, (view, axis))| {
                    let at = if at(&axes.input_reverse, index) == 1 { length - 1 - step } else { step };
                    held.copy(*view, Some((*axis, at)), scratch)
                })
                .collect::<Result<Vec<_>, _>>()?;
            let views: Vec<View<'_>> = values.iter().chain(&slices).map(Tensor::view).collect();
            let mut results = body.run(&views, inputs, held, scratch)?.into_iter();
            values = results.by_ref().take(states).collect();
            stacked.iter_mut().zip(results).for_each(|(stack, slice)| stack.slices.push(slice));
        }
        hold_twice(held(&values, &stacked), beside, outputs, scratch)?;
        for (index, value) in values.into_iter().enumerate() {
            outputs.put(index, value)?;
        }
        for (index, stack) in stacked.into_iter().enumerate() {
            stack.finish(
                at(&axes.output_axes, index),
                at(&axes.output_reverse, index) == 1,
                states + index,
                outputs,
            )?;
        }
        Ok(())
    }
}

/// The first form of a scan: every value has an axis of batches first, and sequences one of time behind it.
fn scan_batches(spec: &Spec, declared: usize) -> Made {
    let (body, states) = scanned(spec, declared.saturating_sub(1))?;
    let axes = ScanAxes { input_reverse: spec.ints("directions")?.unwrap_or_default(), ..ScanAxes::default() };
    kernel_with(move |inputs, outputs, scratch| {
        if inputs.optional(0).is_some() {
            return Err(Fault::unsupported("a scan with lengths of sequences is not supported"));
        }
        let given = (1..declared).map(|index| inputs.get(index)).collect::<Result<Vec<_>, _>>()?;
        let batches = given.first().and_then(|view| view.shape().first()).copied().unwrap_or(0);
        let mut stacked: Vec<Stacked> = (0..outputs.len()).map(|_| Stacked::default()).collect();
        for batch in 0..batches {
            let wrong = || Fault::new("the inputs have different batches");
            let mut beside = held(&[], &stacked);
            let one = (given.iter())
                .map(|view| match view.shape().first() {
                    Some(first) if *first == batches => beside.copy(*view, Some((0, batch)), scratch),
                    _ => Err(wrong()),
                })
                .collect::<Result<Vec<_>, _>>()?;
            let views: Vec<View<'_>> = one.iter().map(Tensor::view).collect();
            let mut results = vec![None; outputs.len()];
            let scan = Scan { body: &body, states, axes: &axes, inputs, beside };
            // What it gives is counted with the slices here, and no result of the node yet.
            let room = if scratch.room().counts() { scratch.room().rest() } else { Room::default() };
            scan.run(&views, &mut Outputs::within(&mut results, room), scratch)?;
            stacked.iter_mut().zip(results.into_iter().flatten()).for_each(|(stack, slice)| stack.slices.push(slice));
        }
        hold_twice(held(&[], &stacked), Held::default(), outputs, scratch)?;
        for (index, stack) in stacked.into_iter().enumerate() {
            stack.finish(0, false, index, outputs)?;
        }
        Ok(())
    })
}
