//! Nodes of constants are computed once, and nodes that do nothing go.

use crate::operators::support::axis_of;
use crate::optimise::draft::Draft;
use drawloom_tensor::{Dimension, ElementType, Error, Inputs, Operator, Outputs, Scratch, Tensor, View};

/// A constant that is computed may have this many bytes, or twice as many as those it is computed from.
const SMALL: usize = 1 << 16;

/// Computes all nodes of constants. A node that cannot be computed is left for the run, which says why.
pub(super) fn constants(draft: &mut Draft) -> Result<(), Error> {
    let ready = |draft: &Draft, index: usize| {
        let item = draft.item(index)?;
        let Operator::Kernel(_) = item.node.operator else { return None };
        // Without inputs there is nothing to tell how large the result may be, and graphs inside of nodes may run long.
        let plain = item.node.spec.as_ref().is_some_and(|spec| !spec.has_graph());
        let constant = item.node.inputs.iter().flatten().all(|input| draft.constant(*input).is_some());
        (plain && constant).then_some(index)
    };
    let mut queue: Vec<usize> = (0..draft.items.len()).rev().filter_map(|index| ready(draft, index)).collect();
    while let Some(index) = queue.pop() {
        let Some(item) = draft.item(index) else { continue };
        let Some(results) = compute(draft, index) else { continue };
        let outputs = item.node.outputs.clone();
        draft.remove(index);
        for (output, result) in outputs.into_iter().zip(results) {
            draft.make_constant(output, result);
            let readers: Vec<usize> = draft.readers(output).iter().copied().collect();
            queue.extend(readers.into_iter().filter_map(|reader| ready(draft, reader)));
        }
    }
    Ok(())
}

fn compute(draft: &Draft, index: usize) -> Option<Vec<Tensor>> {
    let node = &draft.item(index)?.node;
    let Operator::Kernel(kernel) = &node.operator else { return None };
    let views: Vec<Option<View<'_>>> = (node.inputs.iter())
        .map(|input| input.and_then(|input| draft.constant(input)).map(|value| value.view()))
        .collect();
    let bytes: usize = views.iter().flatten().map(View::bytes).sum();
    let mut results = vec![None; node.outputs.len()];
    let mut outputs = Outputs::new(&mut results, bytes.saturating_mul(2).max(SMALL));
    kernel.run(&Inputs::new(&views), &mut outputs, &mut Scratch::default()).ok()?;
    results.into_iter().collect()
}

/// Takes out nodes whose only output is their first input.
pub(super) fn idle(draft: &mut Draft) {
    for index in 0..draft.items.len() {
        let Some(item) = draft.item(index) else { continue };
        let (Some(spec), &[output]) = (&item.node.spec, &item.node.outputs[..]) else { continue };
        let Some(Some(input)) = item.node.inputs.first().copied() else { continue };
        let does_nothing = match spec.operator.as_str() {
            "Identity" => true,
            // In training, elements are dropped at random.
            "Dropout" => spec.opset < 12 || item.node.inputs.len() < 3,
            "Slice" => keeps_all(draft, index),
            _ => false,
        };
        // A result of the graph keeps its name, and so the node that gives it that.
        if does_nothing && !draft.is_output(output) && input != output {
            draft.remove(index);
            draft.redirect(output, input);
        }
    }
}

/// Whether a slice goes from the first element of each axis to the last one.
fn keeps_all(draft: &Draft, index: usize) -> bool {
    // Ends that stand for the last element, wherever it is.
    const BEYOND: i64 = 1_000_000_000;
    let Some(item) = draft.item(index) else { return false };
    let list = |number: usize| match item.node.inputs.get(number).copied().flatten() {
        None => Some(None),
        Some(input) => Some(Some(draft.constant(input)?.view().integers().ok()?)),
    };
    let (Some(Some(starts)), Some(Some(ends)), Some(axes), Some(steps)) = (list(1), list(2), list(3), list(4)) else {
        return false;
    };
    let shape = item.node.inputs[0].and_then(|input| draft.fact(input)).and_then(|fact| fact.shape);
    let length = |place: usize| {
        let shape = shape.as_ref()?;
        let axis = axes.as_ref().map_or(Some(place as i64), |axes| axes.get(place).copied())?;
        match shape.get(axis_of(axis, shape.len()).ok()?)? {
            Dimension::Known(length) => i64::try_from(*length).ok(),
            _ => None,
        }
    };
    starts.iter().all(|start| *start == 0)
        && ends.iter().enumerate().all(|(place, end)| *end >= length(place).unwrap_or(BEYOND))
        && steps.is_none_or(|steps| steps.iter().all(|step| *step == 1))
}

/// A constant of type `f32`.
pub(super) fn floats(draft: &Draft, tensor: drawloom_tensor::TensorId) -> Option<&Tensor> {
    draft.constant(tensor).map(std::convert::AsRef::as_ref).filter(|value| value.element() == ElementType::F32)
}
