//! Boxes around things in images: which of those that overlap to keep.

use crate::operators::spec::Spec;
use crate::operators::support::{Made, kernel_with};
use drawloom_tensor::Fault;

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "NonMaxSuppression" => suppress(spec),
        _ => return None,
    })
}

/// The edges of a box, the lower ones first.
fn edges(values: &[f32], centered: bool) -> [f32; 4] {
    let [a, b, c, d] = [values[0], values[1], values[2], values[3]];
    if centered {
        [b - d / 2.0, a - c / 2.0, b + d / 2.0, a + c / 2.0]
    } else {
        [a.min(c), b.min(d), a.max(c), b.max(d)]
    }
}

/// How much of two boxes they share.
fn overlap(a: &[f32], b: &[f32]) -> f32 {
    let side = |axis: usize| (a[axis + 2].min(b[axis + 2]) - a[axis].max(b[axis])).max(0.0);
    let area = |sides: &[f32]| (sides[2] - sides[0]) * (sides[3] - sides[1]);
    let shared = side(0) * side(1);
    let all = area(a) + area(b) - shared;
    if all > 0.0 { shared / all } else { 0.0 }
}

fn suppress(spec: &Spec) -> Made {
    let centered = spec.flag("center_point_box", false)?;
    kernel_with(move |inputs, outputs, scratch| {
        let (boxes, scores) = (inputs.get(0)?, inputs.get(1)?);
        let (batch, count, classes) = match (boxes.shape(), scores.shape()) {
            (&[batch, count, 4], &[other, classes, number]) if (batch, count) == (other, number) => {
                (batch, count, classes)
            }
            (boxes, scores) => {
                let message = format!("boxes of shape {boxes:?} and scores of shape {scores:?} do not fit");
                return Err(Fault::new(message));
            }
        };
        let mut edged = scratch.unset::<f32>(count * 4)?;
        let mut order = scratch.unset::<i64>(count)?;
        scratch.all_there()?;
        let most = inputs.optional(2).map_or(Ok(0), |most| most.only::<i64>())?.max(0) as usize;
        let threshold = inputs.optional(3).map_or(Ok(0.0), |threshold| threshold.only::<f32>())?;
        let least = inputs.optional(4).map(|least| least.only::<f32>()).transpose()?;
        let (sides, scores) = (boxes.values::<f32>()?, scores.values::<f32>()?);
        // How many are kept is not known before, so they are counted as they come.
        let mut kept: Vec<[i64; 3]> = Vec::new();
        for item in 0..batch {
            let sides = sides[item * count * 4..][..count * 4].chunks_exact(4);
            edged.chunks_exact_mut(4).zip(sides).for_each(|(into, values)| {
                into.copy_from_slice(&edges(values, centered));
            });
            for class in 0..classes {
                let scores = &scores[(item * classes + class) * count..][..count];
                let mut candidates = 0;
                for index in (0..count).filter(|index| least.is_none_or(|least| scores[*index] > least)) {
                    order[candidates] = index as i64;
                    candidates += 1;
                }
                let order = &mut order[..candidates];
                let score = |index: &i64| scores[*index as usize];
                order.sort_unstable_by(|a, b| score(b).total_cmp(&score(a)).then(a.cmp(b)));
                let first = kept.len();
                for index in order.iter() {
                    if kept.len() - first >= most {
                        break;
                    }
                    let sides = |index: i64| &edged[index as usize * 4..][..4];
                    let mut chosen = kept[first..].iter().map(|kept| kept[2]);
                    if chosen.all(|other| overlap(sides(other), sides(*index)) <= threshold) {
                        if kept.len() == kept.capacity() {
                            // What is there is copied to the larger list.
                            let larger = kept.len().max(16) * 2;
                            scratch.count((kept.len() + larger) * size_of::<[i64; 3]>())?;
                            scratch.all_there()?;
                            kept.reserve_exact(larger - kept.len());
                        }
                        kept.push([item as i64, class as i64, *index]);
                    }
                }
            }
        }
        outputs.allocate::<i64>(0, &[kept.len(), 3])?.copy_from_slice(kept.as_flattened());
        Ok(())
    })
}
