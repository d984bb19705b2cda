//! ONNX files as models of `drawloom-tensor`: import, the operators of ONNX, and fewer and larger nodes before a run.
//!
//! ```
//! use drawloom_onnx::sample;
//! use drawloom_tensor::Settings;
//!
//! let model = drawloom_onnx::from_bytes(&sample::sample_model()?, None)?;
//! let batch = sample::sample_batch(3)?;
//! let outcome = model.run(&[("image", batch.view())], &Settings::new())?;
//! assert_eq!(outcome.output("class").unwrap().shape(), [3, 10]);
//! # Ok::<(), drawloom_tensor::Error>(())
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`read`], [`from_bytes`], [`read_tensor`] | models and tensors in files |
//! | [`Operators`], [`Attributes`] | operators of the user's own |
//! | [`sample`] | a small model to try things with |
//! | `guard`, `value` | a first look at the bytes of a file, and tensors in files |
//! | `operators` | the operators of ONNX, and their kernels |
//! | `rows` | types, shapes, and the axis that counts rows, through every operator |
//! | `optimise` | nodes that become fewer before a model runs |
#![deny(unsafe_code)]

mod guard;
mod import;
mod operators;
mod optimise;
mod registry;
mod rows;
pub mod sample;
mod value;

use std::path::Path;

use drawloom_tensor::files::regular;
use drawloom_tensor::{Error, ErrorKind, Model};
use rten_onnx::onnx::ModelProto;

use optimise::optimise;
pub use registry::{Attributes, Operators};
pub use value::read_tensor;

/// The newest version of the operators whose meaning is known.
const NEWEST_OPSET: i64 = 22;

/// Reads a model from a file. Values in other files are looked for beside it.
pub fn read(path: &Path) -> Result<Model, Error> {
    from_bytes(&file(path)?, path.parent())
}

/// Reads a model with the nodes as they are in the file: none are joined, and nothing is computed before a run.
pub fn read_plain(path: &Path) -> Result<Model, Error> {
    plain_from_bytes(&file(path)?, path.parent())
}

/// Reads a model from the bytes of a file, with a folder for values in other files.
pub fn from_bytes(bytes: &[u8], folder: Option<&Path>) -> Result<Model, Error> {
    import_model(bytes, folder, &Operators::new(), true)
}

/// Reads a model from bytes, with operators of the user's own.
pub fn from_bytes_with(bytes: &[u8], folder: Option<&Path>, operators: &Operators) -> Result<Model, Error> {
    import_model(bytes, folder, operators, true)
}

/// Reads a model from bytes, with the nodes as they are in the file: none are joined, and nothing is computed before a run.
pub fn plain_from_bytes(bytes: &[u8], folder: Option<&Path>) -> Result<Model, Error> {
    import_model(bytes, folder, &Operators::new(), false)
}

fn file(path: &Path) -> Result<Vec<u8>, Error> {
    let cannot = |error: std::io::Error| Error::new(ErrorKind::Import, format!("the file cannot be read: {error}"));
    regular(path).map_err(cannot)?;
    std::fs::read(path).map_err(cannot)
}

fn import_model(bytes: &[u8], folder: Option<&Path>, operators: &Operators, optimised: bool) -> Result<Model, Error> {
    guard::model(bytes)?;
    let damaged =
        |text: String| Error::new(ErrorKind::Import, format!("this is not an ONNX file, or it is damaged: {text}"));
    let message = ModelProto::parse_buf(bytes).map_err(|error| damaged(error.to_string()))?;
    let graph = message.graph.as_ref().ok_or_else(|| damaged("it has no graph".to_owned()))?;
    let versions =
        message.opset_import.iter().filter(|set| matches!(set.domain.as_deref().unwrap_or_default(), "" | "ai.onnx"));
    let opset = versions.filter_map(|set| set.version).max();
    if message.opset_import.is_empty() {
        return Err(damaged("it does not say which opset it is written in".to_owned()));
    }
    if let Some(opset) = opset.filter(|opset| *opset > NEWEST_OPSET) {
        let message = format!("the file is written in opset {opset}, and {NEWEST_OPSET} is the newest that is known");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let opset = opset.unwrap_or(1);
    let context = import::Context { opset, folder, operators };
    let imported = import::graph(graph, &context, false, "model").map_err(|error| {
        if error.kind() == ErrorKind::UnknownOperator {
            return Error::new(error.kind(), format!("operators that are not supported: {error}"))
                .with_operator(error.to_string().split(", ").next().unwrap_or_default());
        }
        error
    })?;
    let import::Imported { graph, specs, inputs, outputs, .. } = imported;
    let graph = if optimised { optimise(graph, specs, &inputs)? } else { graph };
    Ok(Model::new(graph.check(4)?, inputs, outputs))
}
