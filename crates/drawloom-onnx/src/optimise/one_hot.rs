//! Products with rows of zeros and a one: such a product is a row of the other matrix, which is looked up instead.
//!
//! Functions that follow are applied to the whole table once, if it is smaller than what is looked up.

use crate::operators::lookup::lookup;
use crate::operators::support::{broadcast, broadcast_steps};
use crate::optimise::draft::{Draft, DraftPart, Item, Kind, Node, boxed, operators};
use crate::optimise::fold::floats;
use drawloom_tensor::{Dimension, ElementType, Error, Tensor, TensorId};

/// Numbers that are compared with 0, 1, 2 and so on.
struct Numbers {
    nodes: [usize; 2],
    parts: Vec<DraftPart>,
    numbers: TensorId,
}

/// Replaces all products whose left matrix says which numbers are equal to 0, 1, 2 and so on.
pub(super) fn tables(draft: &mut Draft) -> Result<(), Error> {
    for index in 0..draft.items.len() {
        let Some(item) = draft.item(index) else { continue };
        let Some(spec) = item.node.spec.clone().filter(|spec| spec.operator == "MatMul") else { continue };
        let &[Some(left), Some(right)] = &item.node.inputs[..] else { continue };
        let Some(table) = floats(draft, right) else { continue };
        let &[rows, columns] = table.shape() else { continue };
        let Some(found) = numbers(draft, left, rows) else { continue };
        // Zero times what is not finite is not zero.
        let Ok(values) = table.values::<f32>() else { continue };
        if !values.iter().all(|value| value.is_finite()) || rows == 0 || columns == 0 {
            continue;
        }
        // A row more, for numbers that are equal to none: zeros, with what follows.
        let mut values = [values, &vec![0.0; columns]].concat();
        let (mut parts, mut output) = (found.parts, item.node.outputs[0]);
        draft.append(&mut parts, left, item);
        let Some(product) = draft.remove(index) else { continue };
        for node in found.nodes {
            draft.remove(node);
        }
        if looked_up(draft, found.numbers) >= rows {
            while let Some(reader) = draft.only_reader(output) {
                let Some(next) = draft.item(reader) else { break };
                if !apply(draft, next, output, columns, &mut values) {
                    break;
                }
                draft.append(&mut parts, output, next);
                output = next.node.outputs[0];
                draft.remove(reader);
            }
        }
        let wrong = |fault: drawloom_tensor::Fault| Error::new(fault.kind(), fault.message());
        let table = Tensor::new(&[rows + 1, columns], values).map_err(wrong)?;
        let table = draft.add_constant(&format!("{}.table", product.node.name), table)?;
        let node = Node {
            operator_name: operators(&parts),
            operator: boxed(lookup()),
            inputs: vec![Some(found.numbers), Some(table)],
            outputs: vec![output],
            spec: Some(spec),
            name: product.node.name,
        };
        draft.put(index, Item::joined(node, parts, Kind::Other));
    }
    Ok(())
}

/// The numbers of which a matrix says in each row which of `0..rows` they are equal to.
fn numbers(draft: &Draft, matrix: TensorId, rows: usize) -> Option<Numbers> {
    let cast = draft.writer(matrix)?;
    let item = draft.item(cast)?;
    let spec = item.node.spec.as_ref().filter(|spec| spec.operator == "Cast" && item.parts.is_empty())?;
    let truth = item.node.inputs.first().copied().flatten()?;
    let equal = draft.writer(truth)?;
    let to_f32 = spec.int("to", 0).is_ok_and(|to| to == 1);
    if !to_f32 || draft.only_reader(matrix).is_none() || draft.only_reader(truth).is_none() {
        return None;
    }
    let comparison = draft.item(equal)?;
    comparison.node.spec.as_ref().filter(|spec| spec.operator == "Equal" && spec.opset >= 7)?;
    let &[Some(a), Some(b)] = &comparison.node.inputs[..] else { return None };
    let (numbers, counted) = if draft.constant(b).is_some() { (a, b) } else { (b, a) };
    let list = draft.constant(counted)?;
    let fact = draft.fact(numbers)?;
    let shape = fact.shape.as_ref()?;
    let is_list = list.shape().last() == Some(&rows)
        && list.view().integers().ok()?.iter().copied().eq(0..rows as i64)
        && list.shape().len() <= shape.len()
        && matches!(fact.element, Some(ElementType::I32 | ElementType::I64));
    // A row of the matrix for each number: they are along all axes but the last.
    if !is_list || shape.len() < 2 || shape.last() != Some(&Dimension::Known(1)) {
        return None;
    }
    let mut parts = draft.parts(comparison);
    draft.append(&mut parts, truth, item);
    Some(Numbers { nodes: [cast, equal], parts, numbers })
}

/// How many numbers there are at least.
fn looked_up(draft: &Draft, numbers: TensorId) -> usize {
    let shape = draft.fact(numbers).and_then(|fact| fact.shape).unwrap_or_default();
    shape.iter().map(|length| length.known().unwrap_or(1)).fold(1, usize::saturating_mul)
}

/// Applies what a node does with each row to the table, if it is a function or adds a constant to every row.
fn apply(draft: &Draft, item: &Item, output: TensorId, columns: usize, values: &mut [f32]) -> bool {
    if let Kind::Function(activation) = item.kind {
        activation.apply(values);
        return true;
    }
    let Some(spec) = item.node.spec.as_ref().filter(|spec| spec.opset >= 7 && item.parts.is_empty()) else {
        return false;
    };
    let &[Some(a), Some(b)] = &item.node.inputs[..] else { return false };
    let other = if a == output { b } else { a };
    let (Some(value), Some(rank)) = (floats(draft, other), draft.rank(output)) else { return false };
    if !matches!(spec.operator.as_str(), "Add" | "Mul") || value.shape().len() > rank {
        return false;
    }
    // The same for all rows: one number, or one for each column.
    let (Ok(full), Ok(numbers)) = (broadcast(&[value.shape(), &[columns]]), value.values::<f32>()) else {
        return false;
    };
    if full.iter().product::<usize>() != columns || broadcast_steps(value.shape(), &full).is_err() {
        return false;
    }
    for row in values.chunks_exact_mut(columns) {
        for (place, element) in row.iter_mut().enumerate() {
            let number = numbers[if numbers.len() == 1 { 0 } else { place }];
            *element = if spec.operator == "Add" { *element + number } else { *element * number };
        }
    }
    true
}
