//! What follows a convolution runs with it: factors and sums of each channel become part of its constants, and
//! a tensor that is added and an activation are applied before the result is stored.

use crate::operators::convolution::{Following, following};
use crate::operators::convolve::pack;
use crate::operators::simd::activation::Activation;
use crate::operators::spec::Spec;
use crate::operators::support::axis_of;
use crate::optimise::draft::{Draft, DraftPart, Item, Kind, Node, boxed, operators};
use crate::optimise::fold::floats;
use drawloom_tensor::{Error, Tensor, TensorId};

/// A convolution and the nodes that were joined to it.
struct Chain {
    parts: Vec<DraftPart>,
    output: TensorId,
    rank: usize,
    weights: Vec<f32>,
    bias: Option<Vec<f32>>,
    add: Option<TensorId>,
    following: Following,
    /// Whether there are loops in the graph.
    loops: bool,
}

/// Joins what follows them to all convolutions with constant weights, and packs the weights.
pub(super) fn convolutions(draft: &mut Draft) -> Result<(), Error> {
    let loops = draft.has_loops();
    for index in 0..draft.items.len() {
        let Some(mut chain) = draft.item(index).and_then(|item| begin(draft, item)) else { continue };
        chain.loops = loops;
        while let Some(reader) = draft.only_reader(chain.output) {
            let Some(item) = draft.item(reader) else { break };
            if !chain.accepts(draft, item) {
                break;
            }
            draft.append(&mut chain.parts, chain.output, item);
            chain.output = item.node.outputs[0];
            draft.remove(reader);
        }
        end(draft, index, chain)?;
    }
    Ok(())
}

/// A convolution of `f32` over one or two axes with constant weights, and a constant bias or none.
fn begin(draft: &Draft, item: &Item) -> Option<Chain> {
    let spec = item.node.spec.as_ref().filter(|spec| spec.operator == "Conv")?;
    let input = item.node.inputs.first().copied().flatten()?;
    let weights = floats(draft, item.node.inputs.get(1).copied().flatten()?)?;
    let &[outputs, inputs, ref kernel @ ..] = weights.shape() else { return None };
    let groups =
        spec.int("group", 1).ok().and_then(|groups| usize::try_from(groups).ok()).filter(|groups| *groups > 0)?;
    let fits = matches!(kernel.len(), 1 | 2) && outputs.is_multiple_of(groups) && outputs * inputs > 0;
    if !fits || kernel.contains(&0) || !draft.is_f32(input) || item.node.outputs.len() != 1 {
        return None;
    }
    let bias = match item.node.inputs.get(2).copied().flatten() {
        None => None,
        Some(bias) => Some(floats(draft, bias)?.values::<f32>().ok()?.to_vec()).filter(|bias| bias.len() == outputs),
    };
    if bias.is_none() && item.node.inputs.get(2).copied().flatten().is_some() {
        return None;
    }
    Some(Chain {
        parts: draft.parts(item),
        output: item.node.outputs[0],
        rank: weights.shape().len(),
        weights: weights.values::<f32>().ok()?.to_vec(),
        bias,
        add: None,
        loops: false,
        following: Following { packed: Some(weights.shape().to_vec()), ..Following::default() },
    })
}

impl Chain {
    fn channels(&self) -> usize {
        self.following.packed.as_ref().map_or(0, |shape| shape[0])
    }

    /// Takes a node that reads the result, if it can be joined.
    fn accepts(&mut self, draft: &Draft, item: &Item) -> bool {
        if item.node.outputs.len() != 1 || item.node.inputs.iter().flatten().filter(|i| **i == self.output).count() != 1
        {
            return false;
        }
        let done = self.following.activation != Activation::None;
        if let Kind::Function(activation) = item.kind {
            if !done && item.node.inputs.first() == Some(&Some(self.output)) {
                self.following.activation = activation;
                return true;
            }
            return false;
        }
        let Some(spec) = item.node.spec.as_ref().filter(|_| item.parts.is_empty()) else { return false };
        if spec.operator == "Squeeze" {
            return self.squeeze(draft, item, spec).is_some();
        }
        if done || self.add.is_some() {
            return false;
        }
        if let Some((factors, terms)) = self.line(draft, item, spec) {
            self.scale(&factors, &terms);
            return true;
        }
        self.sum(draft, item, spec).is_some()
    }

    /// Axes behind the channels that the result loses.
    fn squeeze(&mut self, draft: &Draft, item: &Item, spec: &Spec) -> Option<()> {
        if !self.following.squeeze.is_empty() || item.node.inputs.first() != Some(&Some(self.output)) {
            return None;
        }
        let axes = match item.node.inputs.get(1).copied().flatten() {
            Some(axes) => draft.constant(axes)?.view().integers().ok()?,
            None => spec.ints("axes").ok()??,
        };
        let mut axes = axes.iter().map(|axis| axis_of(*axis, self.rank).ok()).collect::<Option<Vec<_>>>()?;
        axes.sort_unstable();
        axes.dedup();
        if axes.is_empty() || axes.iter().any(|axis| *axis < 2) {
            return None;
        }
        self.following.squeeze = axes;
        Some(())
    }

    /// A tensor that is added to the result.
    fn sum(&mut self, draft: &Draft, item: &Item, spec: &Spec) -> Option<()> {
        // With a tensor of a loop, the convolution would run once for each of its iterations.
        if spec.operator != "Add" || spec.opset < 7 || self.loops {
            return None;
        }
        let other = item.node.inputs.iter().flatten().find(|input| **input != self.output)?;
        if draft.constant(*other).is_some() {
            return None;
        }
        self.add = Some(*other);
        Some(())
    }

    /// A factor and a term for each channel, if that is what a node does.
    fn line(&self, draft: &Draft, item: &Item, spec: &Spec) -> Option<(Vec<f64>, Vec<f64>)> {
        let channels = self.channels();
        if spec.operator == "BatchNormalization" {
            if item.node.inputs.first() != Some(&Some(self.output)) || spec.flag("training_mode", false).ok()? {
                return None;
            }
            let list = |index: usize| {
                let values = floats(draft, item.node.inputs.get(index).copied().flatten()?)?.values::<f32>().ok()?;
                (values.len() == channels).then(|| values.iter().map(|value| f64::from(*value)).collect::<Vec<f64>>())
            };
            let (scale, bias, mean, variance) = (list(1)?, list(2)?, list(3)?, list(4)?);
            let epsilon = f64::from(spec.float("epsilon", 1e-5).ok()?);
            let factors: Vec<f64> =
                scale.iter().zip(&variance).map(|(scale, variance)| scale / (variance + epsilon).sqrt()).collect();
            let terms =
                bias.iter().zip(&mean).zip(&factors).map(|((bias, mean), factor)| bias - mean * factor).collect();
            return Some((factors, terms));
        }
        if spec.opset < 7 || item.node.inputs.len() != 2 {
            return None;
        }
        let place = item.node.inputs.iter().position(|input| *input != Some(self.output))?;
        let values = self.of_channels(floats(draft, item.node.inputs[place]?)?)?;
        let (ones, zeros) = (vec![1.0; channels], vec![0.0; channels]);
        match (spec.operator.as_str(), place) {
            ("Add", _) => Some((ones, values)),
            ("Sub", 1) => Some((ones, values.iter().map(|value| -value).collect())),
            ("Sub", 0) => Some((vec![-1.0; channels], values)),
            ("Mul", _) => Some((values, zeros)),
            ("Div", 1) if values.iter().all(|value| *value != 0.0) => {
                Some((values.iter().map(|value| 1.0 / value).collect(), zeros))
            }
            _ => None,
        }
        .filter(|(factors, terms)| factors.iter().chain(terms).all(|value| value.is_finite()))
    }

    /// The numbers of a constant that is the same for all places of a channel.
    fn of_channels(&self, value: &Tensor) -> Option<Vec<f64>> {
        let rank = self.rank - self.following.squeeze.len();
        let channels = self.channels();
        let missing = rank.checked_sub(value.shape().len())?;
        let values = value.values::<f32>().ok()?;
        let plain = |(axis, length): (usize, &usize)| *length == 1 || (axis + missing == 1 && *length == channels);
        if !value.shape().iter().enumerate().all(plain) {
            return None;
        }
        match values.len() {
            1 => Some(vec![f64::from(values[0]); channels]),
            _ => Some(values.iter().map(|value| f64::from(*value)).collect()),
        }
    }

    fn scale(&mut self, factors: &[f64], terms: &[f64]) {
        let size = self.weights.len() / factors.len();
        for (weights, factor) in self.weights.chunks_exact_mut(size).zip(factors) {
            weights.iter_mut().for_each(|weight| *weight = (f64::from(*weight) * factor) as f32);
        }
        let old = self.bias.take().unwrap_or_else(|| vec![0.0; factors.len()]);
        let new =
            old.iter().zip(factors).zip(terms).map(|((old, factor), term)| (f64::from(*old) * factor + term) as f32);
        self.bias = Some(new.collect());
    }
}

/// Puts the node of a chain in the place of its convolution.
fn end(draft: &mut Draft, index: usize, mut chain: Chain) -> Result<(), Error> {
    let Some(item) = draft.remove(index) else { return Ok(()) };
    let Some(spec) = item.node.spec.clone() else { return Ok(()) };
    let wrong = |fault: drawloom_tensor::Fault| Error::new(fault.kind(), fault.message()).at(&item.node.name, &[]);
    let shape = chain.following.packed.clone().unwrap_or_default();
    let groups = spec.int("group", 1).map_err(wrong)? as usize;
    let window = shape[2..].iter().product();
    let packed = pack(&chain.weights, groups, shape[0] / groups, shape[1], window);
    let packed = Tensor::new(&[packed.len()], packed).map_err(wrong)?;
    let mut inputs =
        vec![item.node.inputs[0], Some(draft.add_constant(&format!("{}.weights", item.node.name), packed)?)];
    if let Some(bias) = chain.bias {
        let bias = Tensor::new(&[bias.len()], bias).map_err(wrong)?;
        inputs.push(Some(draft.add_constant(&format!("{}.bias", item.node.name), bias)?));
    }
    if let Some(add) = chain.add {
        inputs.resize(3, None);
        inputs.push(Some(add));
        chain.following.add = true;
    }
    let node = Node {
        operator_name: operators(&chain.parts),
        operator: boxed(following(&spec, chain.following).map_err(wrong)?),
        inputs,
        outputs: vec![chain.output],
        spec: Some(spec),
        name: item.node.name.clone(),
    };
    draft.put(index, Item::joined(node, chain.parts, Kind::Other));
    Ok(())
}
