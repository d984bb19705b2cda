//! rten and tract on the same models and rows, in a build with the feature `tensor-peers`.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use drawloom_cli::batch::Batch;
use drawloom_cli::meter;
use drawloom_cli::output::{self, Output};
use drawloom_tensor::{ElementType, Rows, Slice, Tensor};
use serde_json::json;
use tract_onnx::prelude::{
    DatumType, Framework, InferenceFact, InferenceModelExt, IntoRunnable, IntoTValue, TValue, TVec,
    Tensor as TractTensor, tvec,
};

/// One call of an engine with the inputs of a piece.
type Engine = Box<dyn FnMut(&[Tensor]) -> Result<(), String>>;

/// Measures both with pieces of each size, on one thread.
pub(super) fn measure(file: &Path, model: &str, batch: &Batch, pieces: &[u64], repeat: u64, output: &mut Output) {
    for (peer, make) in [("rten", rten as fn(&Path, &[Tensor]) -> Result<Engine, String>), ("tract", tract)] {
        for piece in pieces {
            match one(file, batch, *piece, repeat, make) {
                Ok((rows, cpu, seconds, resident)) => output.json(&json!({
                    "bench": "tensor", "peer": peer, "model": model, "rows": rows, "piece": piece, "workers": 1,
                    "cpu_ms_per_row": cpu * 1e3 / rows as f64, "seconds": seconds, "resident_bytes": resident,
                })),
                Err(why) => output::complain(format_args!("{peer}: {why}; skipped")),
            }
            output.flush();
        }
    }
}

/// The rows of a batch, processor time, time, and growth of memory, for the best of several runs.
fn one(
    file: &Path,
    batch: &Batch,
    piece: u64,
    repeat: u64,
    make: fn(&Path, &[Tensor]) -> Result<Engine, String>,
) -> Result<(u64, f64, f64, Option<u64>), String> {
    let rows = batch.inputs.iter().filter_map(|(_, rows)| rows.shape().first()).copied().max().unwrap_or(0) as u64;
    let read = |first: u64, count: u64| {
        let tensor = |rows: &Arc<dyn Rows>| {
            let mut shape = rows.shape().to_vec();
            if let Some(length) = shape.first_mut() {
                *length = count as usize;
            }
            let mut tensor = Tensor::zeros(rows.element(), &shape).map_err(|fault| fault.to_string())?;
            rows.read(0, first as usize, &mut tensor).map_err(|fault| fault.to_string())?;
            Ok::<Tensor, String>(tensor)
        };
        batch.inputs.iter().map(|(_, rows)| tensor(rows)).collect::<Result<Vec<_>, _>>()
    };
    let piece = piece.min(rows).max(1);
    // Rows that do not fill a piece are left out, because some engines are made for one shape.
    let pieces = rows / piece;
    let inputs = (0..pieces).map(|number| read(number * piece, piece)).collect::<Result<Vec<_>, _>>()?;
    let mut engine = make(file, inputs.first().ok_or("there are no rows")?)?;
    engine(&inputs[0])?;
    meter::reset_peak();
    let before = meter::memory().map(|memory| memory.0);
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..repeat.max(1) {
        let (cpu, start) = (meter::process_cpu_seconds().unwrap_or(0.0), Instant::now());
        for inputs in &inputs {
            engine(inputs)?;
        }
        let spent = (meter::process_cpu_seconds().unwrap_or(0.0) - cpu, start.elapsed().as_secs_f64());
        if spent.0 < best.0 {
            best = spent;
        }
    }
    let resident = before.and_then(|before| Some(meter::memory()?.1.saturating_sub(before)));
    Ok((pieces * piece, best.0, best.1, resident))
}

fn rten(file: &Path, _shapes: &[Tensor]) -> Result<Engine, String> {
    use rten::{Model, RunOptions, ThreadPool, Value};

    let model = Model::load_file(file).map_err(|error| error.to_string())?;
    let options = RunOptions::default().with_thread_pool(Some(Arc::new(ThreadPool::with_num_threads(1))));
    Ok(Box::new(move |inputs| {
        let mut values = Vec::new();
        for (id, tensor) in model.input_ids().iter().zip(inputs) {
            let shape = tensor.shape();
            let value = match tensor.view().slice() {
                Slice::F32(data) => Value::from(rten_tensor::Tensor::from_data(shape, data.to_vec())),
                Slice::I32(data) => Value::from(rten_tensor::Tensor::from_data(shape, data.to_vec())),
                Slice::I64(data) => Value::from(rten_tensor::Tensor::from_data(
                    shape,
                    data.iter().map(|v| *v as i32).collect::<Vec<_>>(),
                )),
                _ => return Err(format!("elements of type {} are not measured", tensor.element())),
            };
            values.push((*id, value.into()));
        }
        let outputs =
            model.run(values, model.output_ids(), Some(options.clone())).map_err(|error| error.to_string())?;
        std::hint::black_box(outputs);
        Ok(())
    }))
}

fn tract(file: &Path, shapes: &[Tensor]) -> Result<Engine, String> {
    let text = |error: tract_onnx::prelude::TractError| format!("{error:#}");
    let mut model = tract_onnx::onnx().model_for_path(file).map_err(text)?;
    for (index, tensor) in shapes.iter().enumerate() {
        let element = match tensor.element() {
            ElementType::F32 => DatumType::F32,
            ElementType::I32 => DatumType::I32,
            ElementType::I64 => DatumType::I64,
            other => return Err(format!("elements of type {other} are not measured")),
        };
        model = model.with_input_fact(index, InferenceFact::dt_shape(element, tensor.shape())).map_err(text)?;
    }
    let plan = model.into_optimized().and_then(|model| model.into_runnable()).map_err(text)?;
    Ok(Box::new(move |inputs| {
        let mut values: TVec<TValue> = tvec![];
        for tensor in inputs {
            let value = match tensor.view().slice() {
                Slice::F32(data) => TractTensor::from_shape(tensor.shape(), data),
                Slice::I32(data) => TractTensor::from_shape(tensor.shape(), data),
                Slice::I64(data) => TractTensor::from_shape(tensor.shape(), data),
                _ => return Err("elements of this type are not measured".to_owned()),
            };
            values.push(value.map_err(text)?.into_tvalue());
        }
        std::hint::black_box(plan.run(values).map_err(text)?);
        Ok(())
    }))
}
