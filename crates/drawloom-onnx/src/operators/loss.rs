//! Losses of classifiers, and what is random while a model is trained.

use crate::operators::spec::Spec;
use crate::operators::support::{Made, doubles, expect_rank, index_of, indices, kernel, kernel_with};
use drawloom_tensor::operator::Number;
use drawloom_tensor::operator::around;
use drawloom_tensor::{Element, ElementType, ErrorKind, Fault, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "NegativeLogLikelihoodLoss" | "SoftmaxCrossEntropyLoss" => loss(spec),
        "Dropout" => dropout(spec),
        "Bernoulli" | "Multinomial" | "RandomNormal" | "RandomNormalLike" | "RandomUniform" | "RandomUniformLike" => {
            Err(random())
        }
        _ => return None,
    })
}

fn random() -> Fault {
    Fault::of(ErrorKind::Random, "random numbers are not supported: the same input must give the same output")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    None,
    Sum,
    Mean,
}

fn loss(spec: &Spec) -> Made {
    let ignored = spec.optional_int("ignore_index")?;
    let how = match spec.text("reduction", "mean")?.as_str() {
        "none" => How::None,
        "sum" => How::Sum,
        "mean" => How::Mean,
        other => return Err(Fault::new(format!("there is no reduction `{other}`"))),
    };
    let softmax = spec.operator == "SoftmaxCrossEntropyLoss";
    kernel_with(move |inputs, outputs, scratch| {
        let (scores, labels) = (inputs.get(0)?, inputs.get(1)?);
        expect_rank(scores, 2, "scores")?;
        let mut shape = scores.shape().to_vec();
        shape.remove(1);
        if labels.shape() != shape {
            return Err(Fault::new(format!(
                "labels of shape {:?} do not fit scores of shape {:?}",
                labels.shape(),
                scores.shape()
            )));
        }
        with_type!(floats, scores.element(), T => {
            let mut logs = doubles(scores, scratch)?;
            let labels = indices(labels, scratch)?;
            let mut losses = scratch.zeros::<f64>(shape.iter().product())?;
            outputs.announce(T::TYPE, 0, if how == How::None { &shape } else { &[] })?;
            outputs.announce(T::TYPE, 1, scores.shape())?;
            scratch.all_there()?;
            if softmax {
                log_softmax(&mut logs, scores.shape());
            }
            let weights = inputs.optional(2).map(|weights| weights.values::<T>()).transpose()?;
            let (sum, total) = fill_losses::<T>(&logs, scores.shape(), &labels, (weights, ignored), &mut losses)?;
            match how {
                How::None => {
                    let results = outputs.allocate::<T>(0, &shape)?;
                    results.iter_mut().zip(losses.iter()).for_each(|(result, loss)| *result = T::from_f64(*loss));
                }
                How::Sum => outputs.allocate::<T>(0, &[])?[0] = T::from_f64(sum),
                How::Mean => outputs.allocate::<T>(0, &[])?[0] = T::from_f64(sum / total),
            }
            if softmax && outputs.wanted(1) {
                let results = outputs.allocate::<T>(1, scores.shape())?;
                results.iter_mut().zip(logs.iter()).for_each(|(result, log)| *result = T::from_f64(*log));
            }
            Ok(())
        })
    })
}

fn log_softmax(values: &mut [f64], shape: &[usize]) {
    let (items, classes, inner) = around(shape, 1);
    for item in 0..items {
        for place in 0..inner {
            let at = |class: usize| (item * classes + class) * inner + place;
            let largest = (0..classes).map(|class| values[at(class)]).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = (0..classes).map(|class| (values[at(class)] - largest).exp()).sum();
            (0..classes).for_each(|class| values[at(class)] -= largest + sum.ln());
        }
    }
}

/// Writes the loss of each item, and says their sum and that of their weights.
fn fill_losses<T: Number>(
    logs: &[f64],
    shape: &[usize],
    labels: &[i64],
    (weights, ignored): (Option<&[T]>, Option<i64>),
    losses: &mut [f64],
) -> Result<(f64, f64), Fault> {
    let (_, classes, inner) = around(shape, 1);
    if weights.is_some_and(|weights| weights.len() != classes) {
        return Err(Fault::new(format!("the weights do not fit {classes} classes")));
    }
    let (mut sum, mut total) = (0.0, 0.0);
    for (at, (loss, label)) in losses.iter_mut().zip(labels).enumerate() {
        if ignored == Some(*label) {
            continue;
        }
        let class = index_of(*label, classes)?;
        let weight = weights.map_or(1.0, |weights| weights[class].to_f64());
        *loss = -weight * logs[(at / inner * classes + class) * inner + at % inner];
        sum += *loss;
        total += weight;
    }
    Ok((sum, total))
}

fn dropout(spec: &Spec) -> Made {
    spec.ignore(&["seed", "ratio", "is_test"]);
    let truth = spec.opset >= 10;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        outputs.announce(input.element(), 0, input.shape())?;
        outputs.announce(if truth { ElementType::Bool } else { input.element() }, 1, input.shape())?;
        let training = inputs.optional(2).map_or(Ok(false), |training| training.only::<bool>())?;
        let ratio = match inputs.optional(1) {
            None => 0.5,
            Some(ratio) => with_type!(floats, ratio.element(), T => Ok(ratio.only::<T>()?.to_f64()))?,
        };
        if training && ratio != 0.0 {
            return Err(random());
        }
        outputs.copy(0, input, input.shape())?;
        if outputs.wanted(1) {
            if truth {
                outputs.allocate::<bool>(1, input.shape())?.fill(true);
            } else {
                with_type!(floats, input.element(), T => outputs.allocate::<T>(1, input.shape()).map(|mask| mask.fill(1.0)))?;
            }
        }
        Ok(())
    })
}
