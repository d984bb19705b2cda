//! What operators compute, against values worked out by hand or by a direct sum.

use drawloom_tensor::{Settings, Tensor};
use fastrand::Rng;
use rten_onnx::onnx::{AttributeProto, AttributeType, DataType, GraphProto};

use crate::build::{attribute, compute, constants, int, ints, model, node, tensor, value, with};

fn one(node: rten_onnx::onnx::NodeProto, inputs: &[Tensor]) -> Tensor {
    compute(node, inputs).unwrap().remove(0)
}

#[test]
fn elements_are_broadcast_from_the_last_axis_on() {
    let sum = one(node("Add", &["a", "b"], &["c"]), &[tensor(&[2, 1], &[1i64, 2]), tensor(&[3], &[10i64, 20, 30])]);
    assert_eq!(sum, tensor(&[2, 3], &[11i64, 21, 31, 12, 22, 32]));
}

#[test]
fn integers_are_divided_towards_zero_and_never_by_zero() {
    let quotient = one(node("Div", &["a", "b"], &["c"]), &[tensor(&[2], &[-7i32, i32::MIN]), tensor(&[2], &[2, -1])]);
    assert_eq!(quotient, tensor(&[2], &[-3i32, i32::MIN]));
    let error = compute(node("Div", &["a", "b"], &["c"]), &[tensor(&[1], &[1i32]), tensor(&[1], &[0])]).err().unwrap();
    assert_eq!(error.to_string(), "node `Div_0` (Div): an integer is divided by zero");
}

#[test]
fn a_matrix_product_is_that_of_its_rows_and_columns() {
    let mut rng = Rng::with_seed(1);
    for _ in 0..50 {
        let (m, k, n) = (rng.usize(1..9), rng.usize(0..20), rng.usize(1..9));
        let mut random = |count: usize| (0..count).map(|_| rng.f32() - 0.5).collect::<Vec<f32>>();
        let (a, b) = (random(m * k), random(k * n));
        let product = one(node("MatMul", &["a", "b"], &["c"]), &[tensor(&[m, k], &a), tensor(&[k, n], &b)]);
        for row in 0..m {
            for column in 0..n {
                let sum: f32 = (0..k).map(|step| a[row * k + step] * b[step * n + column]).sum();
                assert!((product.values::<f32>().unwrap()[row * n + column] - sum).abs() < 1e-5);
            }
        }
    }
}

/// A convolution by the sums that define it.
#[allow(clippy::too_many_arguments)]
fn convolve(
    x: &[f32],
    w: &[f32],
    [n, c, h, wd]: [usize; 4],
    outs: usize,
    k: usize,
    groups: usize,
    stride: usize,
    pad: usize,
    dilation: usize,
) -> (Vec<f32>, [usize; 4]) {
    let size = |length: usize| (length + 2 * pad - ((k - 1) * dilation + 1)) / stride + 1;
    let (oh, ow) = (size(h), size(wd));
    let (ins, per) = (c / groups, outs / groups);
    let mut y = vec![0.0; n * outs * oh * ow];
    for (index, result) in y.iter_mut().enumerate() {
        let (col, row, out, item) = (index % ow, index / ow % oh, index / ow / oh % outs, index / ow / oh / outs);
        for ci in 0..ins {
            for (ky, kx) in (0..k * k).map(|place| (place / k, place % k)) {
                let (sy, sx) = (row * stride + ky * dilation, col * stride + kx * dilation);
                if sy >= pad && sy < h + pad && sx >= pad && sx < wd + pad {
                    let channel = out / per * ins + ci;
                    *result += x[((item * c + channel) * h + sy - pad) * wd + sx - pad]
                        * w[((out * ins + ci) * k + ky) * k + kx];
                }
            }
        }
    }
    (y, [n, outs, oh, ow])
}

#[test]
fn convolutions_of_every_kind_are_the_sums_that_define_them() {
    let mut rng = Rng::with_seed(2);
    for case in 0..300 {
        let groups = rng.usize(1..4);
        let (ins, outs) = if case % 3 == 0 { (1, 1) } else { (rng.usize(1..4), rng.usize(1..4)) };
        let (k, stride, pad, dilation) = (rng.usize(1..4), rng.usize(1..3), rng.usize(0..3), rng.usize(1..3));
        let shape = [rng.usize(1..3), ins * groups, rng.usize(5..9), rng.usize(5..9)];
        let mut random = |count: usize| (0..count).map(|_| rng.f32() - 0.5).collect::<Vec<f32>>();
        let (x, w) = (random(shape.iter().product()), random(outs * groups * ins * k * k));
        let (expected, result_shape) = convolve(&x, &w, shape, outs * groups, k, groups, stride, pad, dilation);
        let (stride, pad, dilation) = (stride as i64, pad as i64, dilation as i64);
        let conv = with(
            with(with(node("Conv", &["x", "w"], &["y"]), ints("strides", &[stride; 2])), ints("pads", &[pad; 4])),
            ints("dilations", &[dilation; 2]),
        );
        let found = one(
            with(conv, int("group", groups as i64)),
            &[tensor(&shape, &x), tensor(&[outs * groups, ins, k, k], &w)],
        );
        assert_eq!(found.shape(), result_shape);
        for (found, expected) in found.values::<f32>().unwrap().iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-4, "case {case}: {found} {expected}");
        }
    }
}

#[test]
fn rows_of_a_batch_are_the_same_bits_alone_and_together() {
    let mut rng = Rng::with_seed(3);
    let mut random = |count: usize| (0..count).map(|_| rng.f32() - 0.5).collect::<Vec<f32>>();
    let (x, w) = (random(5 * 3 * 9 * 9), random(8 * 3 * 9));
    let weights = tensor(&[8, 3, 3, 3], &w);
    let whole = one(node("Conv", &["x", "w"], &["y"]), &[tensor(&[5, 3, 9, 9], &x), weights.clone()]);
    for (row, expected) in whole.values::<f32>().unwrap().chunks(8 * 49).enumerate() {
        let alone = tensor(&[1, 3, 9, 9], &x[row * 243..][..243]);
        assert_eq!(
            one(node("Conv", &["x", "w"], &["y"]), &[alone, weights.clone()]).values::<f32>().unwrap(),
            expected
        );
    }
}

#[test]
fn a_slice_takes_the_most_extreme_bounds() {
    let bounds = |start: i64, end: i64, step: i64| {
        let inputs = [
            tensor(&[4], &[0i64, 1, 2, 3]),
            tensor(&[1], &[start]),
            tensor(&[1], &[end]),
            tensor(&[1], &[0i64]),
            tensor(&[1], &[step]),
        ];
        one(node("Slice", &["x", "s", "e", "a", "t"], &["y"]), &inputs).values::<i64>().unwrap().to_vec()
    };
    assert_eq!(bounds(i64::MIN, i64::MAX, 1), [0, 1, 2, 3]);
    assert_eq!(bounds(i64::MAX, i64::MIN, -1), [3, 2, 1, 0]);
    assert_eq!(bounds(i64::MAX, i64::MIN, i64::MIN), [3]);
    assert_eq!(bounds(0, 4, i64::MAX), [0]);
    assert_eq!(bounds(3, 1, 1), [0i64; 0]);
}

/// A graph inside of a node.
fn body(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(graph), r#type: Some(AttributeType::GRAPH), ..attribute(name) }
}

#[test]
fn a_loop_carries_values_and_stacks_slices_and_sees_names_from_outside() {
    let graph = GraphProto {
        node: vec![
            node("Add", &["carried", "outside"], &["next"]),
            node("Identity", &["next"], &["slice"]),
            node("Identity", &["goes_on"], &["again"]),
        ],
        input: vec![
            value("i", DataType::INT64, &[]),
            value("goes_on", DataType::BOOL, &[]),
            value("carried", DataType::INT64, &[]),
        ],
        output: vec![
            value("again", DataType::BOOL, &[]),
            value("next", DataType::INT64, &[]),
            value("slice", DataType::INT64, &[]),
        ],
        ..GraphProto::default()
    };
    let repeat = with(node("Loop", &["most", "", "start"], &["last", "all"]), body("body", graph));
    let inputs = [("most", Tensor::scalar(3i64)), ("start", Tensor::scalar(1i64)), ("outside", Tensor::scalar(10i64))];
    let bytes = model(constants(vec![repeat], &inputs, &["last", "all"]));
    let outcome = drawloom_onnx::from_bytes(&bytes, None).unwrap().run(&[], &Settings::new()).unwrap();
    assert_eq!(*outcome.output("last").unwrap(), Tensor::scalar(31i64));
    assert_eq!(*outcome.output("all").unwrap(), tensor(&[3], &[11i64, 21, 31]));
}

#[test]
fn a_branch_is_taken_by_its_condition() {
    let branch = |name: &str| GraphProto { output: vec![value(name, DataType::INT64, &[])], ..GraphProto::default() };
    for (truth, expected) in [(true, 1i64), (false, 2)] {
        let choose = with(
            with(node("If", &["truth"], &["y"]), body("then_branch", branch("one"))),
            body("else_branch", branch("two")),
        );
        let inputs = [("truth", Tensor::scalar(truth)), ("one", Tensor::scalar(1i64)), ("two", Tensor::scalar(2i64))];
        let bytes = model(constants(vec![choose], &inputs, &["y"]));
        let outcome = drawloom_onnx::from_bytes(&bytes, None).unwrap().run(&[], &Settings::new()).unwrap();
        assert_eq!(*outcome.output("y").unwrap(), Tensor::scalar(expected));
    }
}
