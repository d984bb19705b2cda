//! Images sampled at places that other tensors name.

use crate::operators::movement::advance;
use crate::operators::spec::Spec;
use crate::operators::support::{
    Made, doubles, expect_rank, index_of, indices, kernel, kernel_with, lengths, steps, within,
};
use crate::operators::window::WindowSpec;
use drawloom_tensor::operator::Number;
use drawloom_tensor::operator::count;
use drawloom_tensor::{Fault, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "GridSample" => grid_sample(spec),
        "AffineGrid" => affine_grid(spec),
        "RoiAlign" => regions(spec),
        "Col2Im" => fold(spec),
        _ => return None,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// A place that is reflected at the edges until it lies between them.
fn reflect(x: f64, low: f64, high: f64) -> f64 {
    let range = high - low;
    let fold = |distance: f64| {
        let times = (distance / range).floor();
        (times % 2.0 == 0.0, distance - times * range)
    };
    if range <= 0.0 {
        low
    } else if x < low {
        let (even, rest) = fold(low - x);
        if even { low + rest } else { high - rest }
    } else if x > high {
        let (even, rest) = fold(x - high);
        if even { high - rest } else { low + rest }
    } else {
        x
    }
}

/// The weights of neighbours in one direction, and the first of them.
fn neighbours(x: f64, mode: &str) -> (i64, Vec<f64>) {
    if mode == "nearest" {
        return (x.round_ties_even() as i64, vec![1.0]);
    }
    let base = x.floor();
    let ratio = x - base;
    if mode == "linear" {
        return (base as i64, vec![1.0 - ratio, ratio]);
    }
    let a = -0.75;
    let weight = |x: f64| {
        let x = x.abs();
        if x <= 1.0 {
            ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
        } else {
            ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
        }
    };
    ((base - 1.0) as i64, (-1..3).map(|step| weight(f64::from(step) - ratio)).collect())
}

fn grid_sample(spec: &Spec) -> Made {
    let mode = match spec.text("mode", "linear")?.as_str() {
        "linear" | "bilinear" => "linear",
        "cubic" | "bicubic" => "cubic",
        "nearest" => "nearest",
        other => return Err(Fault::unsupported(format!("there is no mode `{other}`"))),
    };
    let padding = match spec.text("padding_mode", "zeros")?.as_str() {
        "zeros" => Padding::Zeros,
        "border" => Padding::Border,
        "reflection" => Padding::Reflection,
        other => return Err(Fault::unsupported(format!("there is no padding `{other}`"))),
    };
    let align = spec.flag("align_corners", false)?;
    kernel_with(move |inputs, outputs, scratch| {
        let (input, grid) = (inputs.get(0)?, inputs.get(1)?);
        expect_rank(input, 3, "an image")?;
        let (x, g) = (input.shape(), grid.shape());
        let axes = x.len() - 2;
        if g.len() != x.len() || g[0] != x[0] || g[g.len() - 1] != axes {
            return Err(Fault::new(format!("a grid of shape {g:?} does not fit an image of shape {x:?}")));
        }
        let dims = &x[2..];
        let places: usize = g[1..g.len() - 1].iter().product();
        let channel: usize = dims.iter().product();
        let own = steps(dims);
        let mut shape = x[..2].to_vec();
        shape.extend(&g[1..g.len() - 1]);
        // The neighbours along one axis: offsets, none outside, and weights.
        let along = |normal: f64, axis: usize| -> Vec<(Option<usize>, f64)> {
            let length = dims[axis] as f64;
            let (low, high) = if align { (0.0, length - 1.0) } else { (-0.5, length - 0.5) };
            let mut at =
                if align { (normal + 1.0) / 2.0 * (length - 1.0) } else { ((normal + 1.0) * length - 1.0) / 2.0 };
            if mode == "nearest" {
                at = at.round_ties_even();
            }
            if at < low || at > high {
                match padding {
                    Padding::Border => at = at.clamp(0.0, length - 1.0),
                    Padding::Reflection => at = reflect(at, low, high),
                    Padding::Zeros => {}
                }
            }
            let (first, weights) = neighbours(at, mode);
            let place = |step: usize| {
                let place = first.saturating_add(step as i64);
                let inside = (0..dims[axis] as i64).contains(&place);
                match padding {
                    _ if inside => Some(place as usize * own[axis] as usize),
                    Padding::Zeros => None,
                    Padding::Border => Some(place.clamp(0, dims[axis] as i64 - 1) as usize * own[axis] as usize),
                    Padding::Reflection => {
                        let place = reflect(place as f64, low, high) as i64;
                        Some(place.clamp(0, dims[axis] as i64 - 1) as usize * own[axis] as usize)
                    }
                }
            };
            weights.iter().enumerate().map(|(step, weight)| (place(step), *weight)).collect()
        };
        if channel == 0 && count(&shape)? > 0 {
            return Err(Fault::new("there is nothing to sample"));
        }
        with_type!(floats, input.element(), T => {
            let points = doubles(grid, scratch)?;
            let mut sums = scratch.unset::<f64>(x[1])?;
            let results = outputs.allocate::<T>(0, &shape)?;
            let values = input.values::<T>()?;
            for item in 0..x[0] {
                for place in 0..places {
                    let point = &points[(item * places + place) * axes..][..axes];
                    // The last axis is named first.
                    let lists: Vec<_> = (0..axes).map(|axis| along(point[axes - 1 - axis], axis)).collect();
                    let sizes: Vec<usize> = lists.iter().map(Vec::len).collect();
                    sums.fill(0.0);
                    let mut at = vec![0; axes];
                    for _ in 0..sizes.iter().product::<usize>() {
                        let neighbour = at.iter().zip(&lists).try_fold((0, 1.0), |(offset, weight), (step, list)| {
                            let (place, factor) = list[*step];
                            place.map(|place| (offset + place, weight * factor))
                        });
                        if let Some((offset, weight)) = neighbour {
                            for (number, sum) in sums.iter_mut().enumerate() {
                                *sum += weight * values[(item * x[1] + number) * channel + offset].to_f64();
                            }
                        }
                        advance(&mut at, &sizes);
                    }
                    for (number, sum) in sums.iter().enumerate() {
                        results[(item * x[1] + number) * places + place] = T::from_f64(*sum);
                    }
                }
            }
            Ok(())
        })
    })
}

fn affine_grid(spec: &Spec) -> Made {
    let align = spec.flag("align_corners", false)?;
    kernel(move |inputs, outputs| {
        let (theta, size) = (inputs.get(0)?, lengths(&inputs.get(1)?.integers()?)?);
        let axes = size.len().saturating_sub(2);
        if !(2..=3).contains(&axes) || theta.shape() != [size[0], axes, axes + 1] {
            return Err(Fault::new(format!(
                "matrices of shape {:?} do not fit images of shape {size:?}",
                theta.shape()
            )));
        }
        let dims = &size[2..];
        let mut shape = vec![size[0]];
        shape.extend(dims);
        shape.push(axes);
        let places = count(dims)?;
        let coordinate = |at: usize, length: usize| {
            if align {
                if length < 2 { -1.0 } else { -1.0 + 2.0 * at as f64 / (length - 1) as f64 }
            } else {
                -1.0 + (2 * at + 1) as f64 / length as f64
            }
        };
        with_type!(floats, theta.element(), T => {
            let results = outputs.allocate::<T>(0, &shape)?;
            let matrices = theta.values::<T>()?;
            for item in 0..size[0] {
                let matrix = &matrices[item * axes * (axes + 1)..][..axes * (axes + 1)];
                let mut at = vec![0; axes];
                for place in 0..places {
                    for row in 0..axes {
                        let line = &matrix[row * (axes + 1)..][..axes + 1];
                        // The last axis is named first.
                        let sum: f64 = (0..axes).map(|axis| line[axis].to_f64() * coordinate(at[axes - 1 - axis], dims[axes - 1 - axis])).sum();
                        results[(item * places + place) * axes + row] = T::from_f64(sum + line[axes].to_f64());
                    }
                    advance(&mut at, dims);
                }
            }
            Ok(())
        })
    })
}

fn regions(spec: &Spec) -> Made {
    let half_pixel = spec
        .text("coordinate_transformation_mode", if spec.opset < 16 { "output_half_pixel" } else { "half_pixel" })?
        == "half_pixel";
    let largest = spec.text("mode", "avg")?.eq_ignore_ascii_case("max");
    let small = |value: i64, what: &str| within(value, 0..1 << 12, || format!("attribute `{what}` is out of bounds"));
    let (rows, columns) =
        (small(spec.int("output_height", 1)?, "output_height")?, small(spec.int("output_width", 1)?, "output_width")?);
    let ratio = small(spec.int("sampling_ratio", 0)?, "sampling_ratio")?;
    let scale = f64::from(spec.float("spatial_scale", 1.0)?);
    kernel_with(move |inputs, outputs, scratch| {
        let (input, regions, chosen) = (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?);
        let count = chosen.len();
        let &[batch, channels, height, width] = input.shape() else {
            return Err(Fault::new("expected an image with four axes"));
        };
        if regions.shape() != [count, 4] || height == 0 || width == 0 {
            return Err(Fault::new(format!("regions of shape {:?} do not fit {count} indices", regions.shape())));
        }
        let items = indices(chosen, scratch)?;
        with_type!(floats, input.element(), T => {
            let mut sums = scratch.unset::<f64>(channels)?;
            let results = outputs.allocate::<T>(0, &[count, channels, rows, columns])?;
            let (values, boxes) = (input.values::<T>()?, regions.values::<T>()?);
            for (number, item) in items.iter().enumerate() {
                let item = index_of(*item, batch)?;
                let offset = if half_pixel { 0.5 } else { 0.0 };
                let edge = |index: usize| boxes[number * 4 + index].to_f64() * scale - offset;
                let least = if half_pixel { f64::NEG_INFINITY } else { 1.0 };
                let (w, h) = ((edge(2) - edge(0)).max(least), (edge(3) - edge(1)).max(least));
                let (bin_h, bin_w) = (h / rows as f64, w / columns as f64);
                let samples = |bin: f64| if ratio > 0 { ratio } else { bin.ceil().clamp(0.0, 4096.0) as usize };
                let (grid_h, grid_w) = (samples(bin_h), samples(bin_w));
                for row in 0..rows {
                    for column in 0..columns {
                        sums.fill(0.0);
                        let mut first = true;
                        for sample in 0..grid_h * grid_w {
                            let (iy, ix) = (sample / grid_w, sample % grid_w);
                            let y = edge(1) + row as f64 * bin_h + (iy as f64 + 0.5) * bin_h / grid_h as f64;
                            let x = edge(0) + column as f64 * bin_w + (ix as f64 + 0.5) * bin_w / grid_w as f64;
                            let corners = corners(y, x, height, width);
                            for (channel, sum) in sums.iter_mut().enumerate() {
                                let plane = &values[(item * channels + channel) * height * width..][..height * width];
                                let parts = corners.map(|(place, weight)| weight * plane[place].to_f64());
                                if largest {
                                    let best = parts.into_iter().fold(f64::NEG_INFINITY, f64::max);
                                    *sum = if first { best } else { sum.max(best) };
                                } else {
                                    *sum += parts.iter().sum::<f64>() / (grid_h * grid_w) as f64;
                                }
                            }
                            first = false;
                        }
                        for (channel, sum) in sums.iter().enumerate() {
                            results[((number * channels + channel) * rows + row) * columns + column] = T::from_f64(*sum);
                        }
                    }
                }
            }
            Ok(())
        })
    })
}

/// The four elements around a place and their weights, which are zero far outside.
fn corners(y: f64, x: f64, height: usize, width: usize) -> [(usize, f64); 4] {
    // Not the negation: what is not a number is outside too.
    let inside = (-1.0..=height as f64).contains(&y) && (-1.0..=width as f64).contains(&x);
    if !inside {
        return [(0, 0.0); 4];
    }
    let split = |at: f64, length: usize| {
        let at = at.max(0.0);
        let low = at as usize;
        if low >= length - 1 { (length - 1, length - 1, 0.0) } else { (low, low + 1, at - low as f64) }
    };
    let (y_low, y_high, ly) = split(y, height);
    let (x_low, x_high, lx) = split(x, width);
    [
        (y_low * width + x_low, (1.0 - ly) * (1.0 - lx)),
        (y_low * width + x_high, (1.0 - ly) * lx),
        (y_high * width + x_low, ly * (1.0 - lx)),
        (y_high * width + x_high, ly * lx),
    ]
}

fn fold(spec: &Spec) -> Made {
    let windows = WindowSpec::new(spec)?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let (image, block) = (lengths(&inputs.get(1)?.integers()?)?, lengths(&inputs.get(2)?.integers()?)?);
        let &[batch, rows, columns] = input.shape() else { return Err(Fault::new("expected three axes")) };
        if image.len() != block.len() || block.contains(&0) || block.iter().any(|size| *size > 1 << 16) {
            return Err(Fault::new(format!("blocks of {block:?} do not fit images of {image:?}")));
        }
        let windows = windows.over(&image, Some(&block))?;
        let (size, places): (usize, usize) = (count(&block)?, windows.output.iter().product());
        if places != columns || rows % size != 0 {
            return Err(Fault::new(format!("{rows} rows and {columns} columns do not fit {places} blocks of {size}")));
        }
        let channels = rows / size;
        let mut shape = vec![batch, channels];
        shape.extend(&image);
        let plane = count(&image)?;
        with_type!(numbers, input.element(), T => {
            let results = outputs.allocate::<T>(0, &shape)?;
            let values = input.values::<T>()?;
            for number in 0..batch * channels {
                let mut k = vec![0; block.len()];
                for step in 0..size {
                    let mut at = vec![0; block.len()];
                    for place in 0..places {
                        let target = (0..block.len()).try_fold(0usize, |offset, axis| Some(offset * image[axis] + windows.source(axis, at[axis], k[axis])?));
                        if let Some(target) = target {
                            let result = &mut results[number * plane + target];
                            *result = result.plus(values[(number * size + step) * places + place]);
                        }
                        advance(&mut at, &windows.output);
                    }
                    advance(&mut k, &block);
                }
            }
            Ok(())
        })
    })
}
