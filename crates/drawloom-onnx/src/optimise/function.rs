//! Several nodes that are one function of each element.
//!
//! Exporters write the same activation in many forms, so it is not the form that is looked at: nodes that compute with each
//! element of one tensor and with single constants are run on a list of numbers, and if the results are those of a function
//! that there is a kernel for, the kernel takes their place.

use std::collections::BTreeMap;

use crate::operators::elementwise::{activation, function};
use crate::operators::simd::activation::Activation;
use crate::optimise::draft::{Draft, DraftFrom, DraftPart, Item, Kind, Node, boxed, operators};
use crate::optimise::fold::floats;
use drawloom_tensor::{Inputs, Operator, Outputs, Scratch, Tensor, TensorId, View};

/// The most nodes that are taken for one function.
const MOST: usize = 12;

/// Functions that are looked for.
const KNOWN: [Activation; 6] = [
    Activation::HARD_SWISH,
    Activation::GeluTanh,
    Activation::Silu,
    Activation::Sigmoid,
    Activation::Tanh,
    Activation::RELU,
];

/// Finds all nodes, alone or together, that are a function of each element.
pub(super) fn functions(draft: &mut Draft) {
    let samples = samples();
    // From the last node on, so that the most nodes are found together.
    for index in (0..draft.items.len()).rev() {
        if let Some(found) = several(draft, index, &samples) {
            replace(draft, index, found);
        }
    }
    for index in 0..draft.items.len() {
        let Some(found) = draft.item(index).and_then(|item| single(draft, item)) else { continue };
        if let Some(item) = &mut draft.items[index] {
            item.kind = Kind::Function(found);
        }
    }
}

/// What one node does with each element of `f32`.
fn single(draft: &Draft, item: &Item) -> Option<Activation> {
    if let Kind::Function(found) = item.kind {
        return Some(found);
    }
    let spec = item.node.spec.as_ref()?;
    let input = item.node.inputs.first().copied().flatten()?;
    if !draft.is_f32(input) || item.node.outputs.len() != 1 {
        return None;
    }
    if spec.operator == "Clip" {
        let bound = |index: usize, name: &'static str, none: f32| match item.node.inputs.get(index).copied().flatten() {
            Some(bound) => floats(draft, bound)?.view().only::<f32>().ok(),
            None => spec.float(name, none).ok(),
        };
        return Some(Activation::clip(bound(1, "min", f32::NEG_INFINITY)?, bound(2, "max", f32::INFINITY)?));
    }
    activation(spec)
}

/// Nodes that are one function of a tensor, and its result.
struct Found {
    nodes: Vec<usize>,
    input: TensorId,
    activation: Activation,
}

/// Numbers between and beyond the bends of the functions that are looked for.
fn samples() -> Tensor {
    let mut values: Vec<f32> = (-400..=400).map(|step| step as f32 / 32.0).collect();
    values.extend([-1000.0, -100.0, -30.0, -1e-3, -1e-6, 1e-6, 1e-3, 30.0, 100.0, 1000.0]);
    let shape = [values.len()];
    Tensor::new(&shape, values).unwrap_or_else(|_| Tensor::scalar(0.0f32))
}

/// Whether a node computes with each element by itself, and its other inputs are single constants.
fn is_pointwise(draft: &Draft, index: usize) -> bool {
    let Some(item) = draft.item(index) else { return false };
    let Some(spec) = &item.node.spec else { return false };
    let known = matches!(
        spec.operator.as_str(),
        "Add"
            | "Sub"
            | "Mul"
            | "Div"
            | "Clip"
            | "Relu"
            | "Tanh"
            | "Sigmoid"
            | "HardSigmoid"
            | "Exp"
            | "Neg"
            | "Max"
            | "Min"
    );
    known && item.parts.is_empty() && spec.opset >= 7 && item.node.outputs.len() == 1
}

/// Whether a node is more than a sum or a product: without one, there is no activation to look for.
fn bends(draft: &Draft, index: usize) -> bool {
    let operator = draft.item(index).and_then(|item| item.node.spec.as_ref()).map_or("", |spec| &spec.operator);
    !matches!(operator, "Add" | "Sub" | "Mul" | "Div" | "Neg")
}

/// The tensors that nodes read, and none of them writes; none if a constant is not a single number.
fn leaves(draft: &Draft, nodes: &[usize]) -> Option<Vec<TensorId>> {
    let mut found = Vec::new();
    for input in nodes.iter().filter_map(|node| draft.item(*node)).flat_map(|item| item.node.inputs.iter().flatten()) {
        match draft.constant(*input) {
            Some(value) if value.view().len() == 1 => {}
            Some(_) => return None,
            None if draft.writer(*input).is_some_and(|writer| nodes.contains(&writer)) => {}
            None if found.contains(input) => {}
            None => found.push(*input),
        }
    }
    Some(found)
}

/// Whether constants have no more axes than the input, whose shape the result has then.
fn keeps_shape(draft: &Draft, nodes: &[usize], input: TensorId) -> bool {
    let rank = draft.rank(input).unwrap_or(0);
    let mut inputs =
        nodes.iter().filter_map(|node| draft.item(*node)).flat_map(|item| item.node.inputs.iter().flatten());
    inputs.all(|tensor| draft.constant(*tensor).is_none_or(|value| value.shape().len() <= rank))
}

/// The most nodes up to this one that are one function.
fn several(draft: &Draft, root: usize, samples: &Tensor) -> Option<Found> {
    if !is_pointwise(draft, root) {
        return None;
    }
    let mut nodes = vec![root];
    let mut best = None;
    while nodes.len() < MOST {
        let Some(leaves) = leaves(draft, &nodes) else { break };
        if let &[input] = &leaves[..]
            && nodes.len() > 1
            && nodes.iter().any(|node| bends(draft, *node))
            && draft.is_f32(input)
            && keeps_shape(draft, &nodes, input)
            && let Some(activation) = recognise(draft, root, input, samples)
        {
            best = Some(Found { nodes: nodes.clone(), input, activation });
        }
        // A node goes in when all who read its result are in already.
        let inside = |leaf: &TensorId| {
            let readers = draft.readers(*leaf);
            draft.writer(*leaf).filter(|writer| {
                is_pointwise(draft, *writer)
                    && !draft.is_output(*leaf)
                    && readers.iter().all(|reader| nodes.contains(reader))
            })
        };
        let Some(next) = leaves.iter().filter_map(inside).max() else { break };
        nodes.push(next);
    }
    best
}

/// The function that nodes are, if it is known.
fn recognise(draft: &Draft, root: usize, input: TensorId, samples: &Tensor) -> Option<Activation> {
    let mut values = BTreeMap::from([(input, samples.clone())]);
    let output = draft.item(root)?.node.outputs[0];
    evaluate(draft, output, &mut values, MOST)?;
    let found = values.get(&output)?.values::<f32>().ok()?;
    let from = samples.values::<f32>().ok()?;
    KNOWN.into_iter().find(|known| {
        let mut expected = from.to_vec();
        known.apply(&mut expected);
        let near = |(found, expected): (&f32, &f32)| (found - expected).abs() <= 2e-6 * expected.abs().max(1.0);
        found.len() == expected.len() && found.iter().zip(&expected).all(near)
    })
}

/// Computes a tensor from those that are there. The depth is bounded, as a file may have nodes in a circle.
fn evaluate(draft: &Draft, tensor: TensorId, values: &mut BTreeMap<TensorId, Tensor>, depth: usize) -> Option<()> {
    if values.contains_key(&tensor) || draft.constant(tensor).is_some() {
        return Some(());
    }
    let node = &draft.item(draft.writer(tensor)?)?.node;
    for input in node.inputs.iter().flatten() {
        evaluate(draft, *input, values, depth.checked_sub(1)?)?;
    }
    let Operator::Kernel(kernel) = &node.operator else { return None };
    let view = |input: TensorId| values.get(&input).map(Tensor::view).or_else(|| Some(draft.constant(input)?.view()));
    // Constants with several axes of length 1 count as plain numbers here.
    let flat =
        |view: View<'_>| if view.len() == 1 { view.values::<f32>().ok().map(|values| values.to_vec()) } else { None };
    let owned: Vec<Option<Tensor>> = (node.inputs.iter())
        .map(|input| {
            let view = view((*input)?)?;
            match flat(view) {
                Some(one) => Tensor::new(&[], one).ok(),
                None => Some(view.to_tensor()),
            }
        })
        .collect();
    let views: Vec<Option<View<'_>>> = owned.iter().map(|value| value.as_ref().map(Tensor::view)).collect();
    let mut results = vec![None];
    kernel.run(&Inputs::new(&views), &mut Outputs::new(&mut results, 1 << 20), &mut Scratch::default()).ok()?;
    values.insert(tensor, results.pop()??);
    Some(())
}

/// Puts one node in the place of several.
fn replace(draft: &mut Draft, root: usize, found: Found) {
    let mut parts: Vec<DraftPart> = Vec::new();
    let mut places: BTreeMap<TensorId, usize> = BTreeMap::new();
    let mut left = found.nodes.clone();
    // Each node goes behind those it reads from.
    while !left.is_empty() {
        let is_next = |index: &usize| {
            let inputs = draft.item(*index).into_iter().flat_map(|item| item.node.inputs.iter().flatten());
            inputs.into_iter().all(|input| {
                places.contains_key(input) || draft.writer(*input).is_none_or(|writer| !left.contains(&writer))
            })
        };
        let Some(place) = left.iter().position(is_next) else { return };
        let index = left.swap_remove(place);
        let Some(item) = draft.item(index) else { return };
        for mut part in draft.parts(item) {
            for from in part.inputs.iter_mut().flatten() {
                if let DraftFrom::Tensor(tensor) = from
                    && let Some(place) = places.get(tensor)
                {
                    *from = DraftFrom::Part(*place);
                }
            }
            parts.push(part);
        }
        places.insert(item.node.outputs[0], parts.len() - 1);
    }
    let items: Vec<Option<Item>> = found.nodes.iter().map(|index| draft.remove(*index)).collect();
    // The last one is the first that was found.
    let Some(Some(last)) = items.into_iter().next() else { return };
    let node = Node {
        operator_name: operators(&parts),
        operator: boxed(function(found.activation)),
        inputs: vec![Some(found.input)],
        ..last.node
    };
    draft.put(root, Item::joined(node, parts, Kind::Function(found.activation)));
}
