//! `drawloom model sample`: a small model, and a batch for it.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use drawloom_onnx::sample::{give_batch, sample_model};
use drawloom_tensor::files::NpyWriter;

use crate::number::integer;
use crate::output::Output;

/// Write a small model and a batch for it: a classifier of images with random weights
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom model sample                      sample.onnx and sample.npy here
  drawloom model sample --folder /tmp --rows 1000")]
pub(super) struct Sample {
    /// Where to write them
    #[arg(long, default_value = ".", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(super) folder: PathBuf,
    /// How many images the batch has
    #[arg(long, default_value = "256", value_parser = integer, value_name = "ROWS")]
    rows: u64,
}

impl Sample {
    pub(super) fn write(&self, output: &mut Output) -> Result<(), String> {
        let rows = usize::try_from(self.rows).map_err(|_| format!("{} rows are too many", self.rows))?;
        let (model, batch) = (self.folder.join("sample.onnx"), self.folder.join("sample.npy"));
        let bytes = sample_model().map_err(|error| error.to_string())?;
        std::fs::write(&model, bytes).map_err(|error| format!("{}: {error}", model.display()))?;
        give_batch(rows, &NpyWriter::new(&batch)).map_err(|error| error.to_string())?;
        output.line(format_args!("wrote {} and {}", model.display(), batch.display()));
        Ok(())
    }
}
