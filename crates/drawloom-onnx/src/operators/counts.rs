//! How many inputs each operator takes, as the ONNX standard says.

use drawloom_tensor::{ErrorKind, Fault};

/// The least and the most inputs of operators that always took as many.
#[rustfmt::skip]
const ALWAYS: &[(usize, usize, &str)] = &[
    (0, 0, "Constant RandomNormal RandomUniform"),
    (1, 1, "Abs Acos Acosh ArgMax ArgMin Asin Asinh Atan Atanh AveragePool Bernoulli BitwiseNot BlackmanWindow \
        Cast Ceil Celu ConstantOfShape Cos Cosh DepthToSpace Det DynamicQuantizeLinear Elu Erf Exp EyeLike \
        Flatten Floor Gelu GlobalAveragePool GlobalLpPool GlobalMaxPool HammingWindow HannWindow HardSigmoid \
        HardSwish Hardmax Identity If IsInf IsNaN LRN LeakyRelu Log LogSoftmax LpNormalization LpPool \
        MaxPool MeanVarianceNormalization Mish Multinomial Neg NonZero Not RandomNormalLike \
        RandomUniformLike Reciprocal Relu Round Selu Shape Shrink Sigmoid Sign Sin Sinh Size Softmax \
        Softplus Softsign SpaceToDepth Sqrt Tan Tanh ThresholdedRelu Transpose Unique"),
    (1, 2, "Trilu"),
    (1, usize::MAX, "Concat Einsum Max Mean Min Sum"),
    (2, 2, "Add AffineGrid And BitShift BitwiseAnd BitwiseOr BitwiseXor CastLike CenterCropPad Compress CumSum \
        Div Equal Expand Gather GatherElements GatherND Greater GreaterOrEqual GridSample Less LessOrEqual \
        MatMul Mod Mul Or PRelu Pow ReverseSequence Sub Xor"),
    (2, 3, "Conv ConvTranspose DequantizeLinear LayerNormalization MaxUnpool NegativeLogLikelihoodLoss \
        QuantizeLinear SoftmaxCrossEntropyLoss"),
    (2, 4, "ConvInteger MatMulInteger STFT"),
    (2, 5, "NonMaxSuppression"),
    (3, 3, "Col2Im GroupNormalization InstanceNormalization OneHot Range RoiAlign Scatter ScatterElements \
        ScatterND Where"),
    (3, 6, "GRU RNN"),
    (3, 8, "LSTM"),
    (5, 5, "BatchNormalization MelWeightMatrix"),
    (8, 8, "QLinearMatMul"),
    (8, 9, "QLinearConv"),
];

/// The least and the most inputs of an operator in a version of the standard, or nothing for one that is not known.
fn counts(operator: &str, opset: i64) -> Option<(usize, usize)> {
    let listed = |names: &str| names.split(' ').any(|name| name == operator);
    if let Some((least, most, _)) = ALWAYS.iter().find(|(_, _, names)| listed(names)) {
        return Some((*least, *most));
    }
    // Later versions made inputs of attributes.
    let since =
        |version: i64, before: (usize, usize), then: (usize, usize)| if opset < version { before } else { then };
    Some(match operator {
        "Clip" => since(11, (1, 1), (1, 3)),
        "DFT" => since(20, (1, 2), (1, 3)),
        "Dropout" => since(12, (1, 1), (1, 3)),
        "Gemm" => (2, 3),
        "Loop" => (2, usize::MAX),
        "Pad" => since(11, (1, 1), since(18, (2, 3), (2, 4))),
        "ReduceL1" | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceMax" | "ReduceMean" | "ReduceMin"
        | "ReduceProd" | "ReduceSumSquare" => since(18, (1, 1), (1, 2)),
        "Split" if opset < 2 => (1, 2),
        "ReduceSum" | "Split" | "Squeeze" => since(13, (1, 1), (1, 2)),
        "Reshape" => since(5, (1, 1), (2, 2)),
        "Resize" => since(11, (2, 2), (1, 4)),
        "Scan" => since(9, (2, usize::MAX), (1, usize::MAX)),
        "Slice" => since(10, (1, 1), (3, 5)),
        "Tile" => since(6, (3, 3), (2, 2)),
        "TopK" => since(10, (1, 1), (2, 2)),
        "Unsqueeze" => since(13, (1, 1), (2, 2)),
        "Upsample" => since(9, (1, 1), (2, 2)),
        _ => return None,
    })
}

/// Refuses a node with too many inputs, or too few. Those that were left out have no name.
pub(crate) fn check(operator: &str, opset: i64, inputs: &[String]) -> Result<(), Fault> {
    let Some((least, most)) = counts(operator, opset) else { return Ok(()) };
    let given = inputs.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1);
    if operator == "Loop" {
        // Both of the first may be left out, also when nothing comes behind them.
        return if inputs.len() < least { Err(wrong(least, most, inputs.len())) } else { Ok(()) };
    }
    if given < least || given > most {
        return Err(wrong(least, most, given));
    }
    // Some that come before others may be left out.
    let may_be_left_out = matches!(operator, "Resize" | "Scan");
    match inputs[..least].iter().position(String::is_empty) {
        Some(index) if !may_be_left_out => Err(Fault::of(ErrorKind::Import, format!("its input {index} is missing"))),
        _ => Ok(()),
    }
}

fn wrong(least: usize, most: usize, given: usize) -> Fault {
    let inputs = |count: usize| if count == 1 { "1 input".to_owned() } else { format!("{count} inputs") };
    let takes = match most {
        _ if most == least => inputs(least),
        usize::MAX => format!("{} or more", inputs(least)),
        _ => format!("{least} to {}", inputs(most)),
    };
    Fault::of(ErrorKind::Import, format!("it takes {takes}, and has {given}"))
}
