//! What a node does with rows: the axis of its results, or why its rows cannot be told apart.

mod bodies;
mod elements;
mod fixed;
mod layout;
mod moves;
mod picks;
mod shapes;

use std::sync::Arc;

use crate::operators::spec::{From, Part, Spec};
pub(crate) use bodies::inside;
use drawloom_tensor::operator::Room;
use drawloom_tensor::{Fact, Fault, Inputs, Kernel, Operator, Outputs, Scratch};

/// A kernel with the node that it was made from, which says what it does with rows.
struct WithRule {
    kernel: Arc<dyn Kernel>,
    spec: Arc<Spec>,
}

impl Kernel for WithRule {
    fn scratch(&self, shapes: &[Option<&[usize]>]) -> usize {
        self.kernel.scratch(shapes)
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        self.kernel.run(inputs, outputs, scratch)
    }

    fn rows(&self, inputs: &[Option<&Fact>], outputs: usize, room: &Room) -> Option<Result<Vec<Fact>, String>> {
        let rows = inputs.iter().flatten().any(|fact| fact.axis.is_some() || fact.counts_rows);
        let inside = if rows { bodies::apply(&self.spec, inputs, room) } else { None };
        Some(inside.unwrap_or_else(|| apply(&self.spec, inputs, outputs)))
    }

    fn asks_first(&self) -> bool {
        self.kernel.asks_first()
    }
}

/// The operator of a node with its rule for rows.
pub(crate) fn with_rule(operator: Operator, spec: &Arc<Spec>) -> Operator {
    match operator {
        Operator::Kernel(kernel) => Operator::Kernel(Arc::new(WithRule { kernel, spec: Arc::clone(spec) })),
        other => other,
    }
}

/// Why rows cannot be told apart.
pub(crate) type Refusal = String;

/// The facts of the outputs of a node.
pub(crate) fn apply(spec: &Spec, inputs: &[Option<&Fact>], outputs: usize) -> Result<Vec<Fact>, Refusal> {
    if !spec.parts.is_empty() {
        return parts(&spec.parts, inputs);
    }
    if let Some(rule) = &spec.rule {
        let mut facts = rule(inputs)?;
        facts.resize(outputs, Fact::default());
        return Ok(facts);
    }
    let element = elements::element(spec, inputs);
    let mut facts = match shapes::numbers(spec, inputs) {
        Some(fact) => vec![fact],
        None => {
            if inputs.iter().flatten().any(|fact| fact.counts_rows) && !reads_only_shapes(spec, inputs) {
                return Err("it computes with the number of rows".to_owned());
            }
            layout::layout(spec, inputs)?
        }
    };
    facts.resize(outputs.max(facts.len()), Fact::default());
    if facts.len() > 1 && inputs.iter().flatten().any(|fact| fact.axis.is_some()) && !several(spec) {
        // An output that no rule speaks about.
        let unknown = facts[1..].iter().any(|fact| fact.axis.is_none());
        if unknown && outputs > 1 {
            return Err("it is not known which axis of its further outputs counts rows".to_owned());
        }
    }
    facts.truncate(outputs);
    if let Some(first) = facts.first_mut() {
        first.element = element;
    }
    Ok(facts)
}

/// The fact of the output of a node that was several: each of them has its rule.
fn parts(parts: &[Part], inputs: &[Option<&Fact>]) -> Result<Vec<Fact>, Refusal> {
    let mut facts: Vec<Fact> = Vec::with_capacity(parts.len());
    for part in parts {
        let of = |from: &From| match from {
            From::Input(index) => inputs.get(*index).copied().flatten().cloned(),
            From::Part(index) => facts.get(*index).cloned(),
            From::Constant(fact) => Some(fact.clone()),
        };
        let own: Vec<Option<Fact>> = part.inputs.iter().map(|from| from.as_ref().and_then(of)).collect();
        let own: Vec<Option<&Fact>> = own.iter().map(Option::as_ref).collect();
        facts.extend(apply(&part.spec, &own, 1)?);
    }
    Ok(facts.pop().into_iter().collect())
}

/// Whether the operator reads numbers of rows as a shape, where they are understood.
fn reads_only_shapes(spec: &Spec, inputs: &[Option<&Fact>]) -> bool {
    let shape_input = match spec.operator.as_str() {
        "Reshape" | "Expand" | "AffineGrid" | "CenterCropPad" => 1,
        "Slice" => 2,
        "ConstantOfShape" => 0,
        _ => return false,
    };
    inputs.iter().enumerate().all(|(index, fact)| index == shape_input || fact.is_none_or(|fact| !fact.counts_rows))
}

/// Operators whose further outputs have rules.
fn several(spec: &Spec) -> bool {
    matches!(
        spec.operator.as_str(),
        "Split" | "LSTM" | "GRU" | "RNN" | "TopK" | "Dropout" | "LayerNormalization" | "SoftmaxCrossEntropyLoss"
    )
}
