//! Sums of products over named axes.

use std::collections::BTreeMap;

use crate::operators::movement::advance;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, kernel, steps};
use drawloom_tensor::operator::Number;
use drawloom_tensor::operator::count;
use drawloom_tensor::{Fault, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    (spec.operator == "Einsum").then(|| einsum(spec))
}

/// An equation for inputs with known numbers of axes: a label for each axis.
pub(crate) struct Equation {
    pub(crate) terms: Vec<Vec<char>>,
    /// The labels of the result.
    pub(crate) kept: Vec<char>,
}

impl Equation {
    /// Reads an equation, if it fits.
    pub(crate) fn new(text: &str, ranks: &[usize]) -> Option<Self> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (terms, result) = match text.split_once("->") {
            Some((terms, result)) => (terms, Some(result)),
            None => (text.as_str(), None),
        };
        let terms: Vec<&str> = terms.split(',').collect();
        if terms.len() != ranks.len() {
            return None;
        }
        // Axes that dots stand for get labels of their own, counted from the last one.
        let labels = |term: &str, dots: usize| -> Vec<char> {
            let dot_labels: String = (0..dots).rev().map(|dot| char::from(b'0' + dot as u8)).collect();
            term.replace("...", &dot_labels).chars().collect()
        };
        let mut most_dots = 0;
        let mut named = Vec::new();
        for (term, rank) in terms.iter().zip(ranks) {
            let plain = term.replace("...", "").chars().count();
            let dots = rank.checked_sub(plain).filter(|dots| *dots < 10 && (*dots == 0 || term.contains("...")))?;
            most_dots = most_dots.max(dots);
            named.push(labels(term, dots));
        }
        let kept = match result {
            Some(result) => labels(result, most_dots),
            None => once(&named),
        };
        let known = |label: &char| named.iter().any(|labels| labels.contains(label));
        kept.iter().all(known).then_some(Self { terms: named, kept })
    }
}

/// The labels of a result that is not written down: those of dots, and then all that are there once, by the alphabet.
fn once(terms: &[Vec<char>]) -> Vec<char> {
    let mut all: Vec<char> = terms.concat();
    all.sort_unstable();
    let once = |label: &&char| label.is_ascii_digit() || all.iter().filter(|other| other == label).count() == 1;
    let mut kept: Vec<char> = all.iter().filter(once).copied().collect();
    kept.dedup();
    kept.sort_by_key(|label| {
        let dots = label.is_ascii_digit();
        (!dots, if dots { u32::MAX - *label as u32 } else { *label as u32 })
    });
    kept
}

fn einsum(spec: &Spec) -> Made {
    let equation = spec.text("equation", "")?;
    kernel(move |inputs, outputs| {
        let wrong = || Fault::new(format!("the equation `{equation}` does not fit the inputs"));
        let views = (0..inputs.len()).map(|index| inputs.get(index)).collect::<Result<Vec<_>, _>>()?;
        let ranks: Vec<usize> = views.iter().map(|view| view.rank()).collect();
        let Equation { terms, kept } = Equation::new(&equation, &ranks).ok_or_else(wrong)?;
        let mut lengths: BTreeMap<char, usize> = BTreeMap::new();
        for (labels, view) in terms.iter().zip(&views) {
            for (label, length) in labels.iter().zip(view.shape()) {
                let known = lengths.entry(*label).or_insert(*length);
                if *known == 1 {
                    *known = *length;
                } else if *length != 1 && *length != *known {
                    return Err(wrong());
                }
            }
        }
        let summed: Vec<char> = lengths.keys().copied().filter(|label| !kept.contains(label)).collect();
        let all: Vec<char> = kept.iter().chain(&summed).copied().collect();
        let full: Vec<usize> = all.iter().map(|label| lengths[label]).collect();
        // The number of products is bounded like the number of elements of a tensor.
        count(&full)?;
        let step_lists: Vec<Vec<usize>> = (views.iter().zip(&terms))
            .map(|(view, labels)| {
                let own = steps(view.shape());
                let step = |label: &char| {
                    let axes =
                        labels.iter().enumerate().filter(|(axis, other)| *other == label && view.shape()[*axis] != 1);
                    axes.map(|(axis, _)| own[axis] as usize).sum()
                };
                all.iter().map(step).collect()
            })
            .collect();
        let shape: Vec<usize> = kept.iter().map(|label| lengths[label]).collect();
        let inner: usize = full[kept.len()..].iter().product();
        with_type!(numbers, views[0].element(), T => {
            let results = outputs.allocate::<T>(0, &shape)?;
            let values = views.iter().map(|view| view.values::<T>()).collect::<Result<Vec<_>, _>>()?;
            let mut index = vec![0; full.len()];
            for result in results.iter_mut() {
                for _ in 0..inner {
                    let product = values.iter().zip(&step_lists).fold(T::ONE, |product, (values, steps)| {
                        product.times(values[index.iter().zip(steps).map(|(at, step)| at * step).sum::<usize>()])
                    });
                    *result = result.plus(product);
                    advance(&mut index, &full);
                }
            }
            Ok(())
        })
    })
}
