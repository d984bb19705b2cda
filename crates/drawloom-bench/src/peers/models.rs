//! ONNX Runtime, measured beside ours on the same models.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::measure::Peers;
use super::process::{self, Failure};

/// The program, which travels inside this one.
const PROGRAM: &str = include_str!("onnxruntime.py");

/// A measurement that takes longer is given up.
const LIMIT: Duration = Duration::from_secs(600);

/// A model and a batch.
pub(crate) struct Asked<'a> {
    pub(crate) model: &'a Path,
    pub(crate) rows: u64,
    pub(crate) threads: usize,
    pub(crate) repeat: u64,
    /// The shape of each input, and under `axes` the axis that counts its rows.
    pub(crate) inputs: Value,
}

/// Runs the model in pieces of each size, in a process of its own, so that the memory of one does not hide in another's.
pub(crate) fn onnxruntime(asked: &Asked<'_>, pieces: &[u64]) -> Peers {
    let mut peers = Peers::default();
    for piece in pieces {
        let mut command = Command::new("python3");
        command.args(["-c", PROGRAM]).arg(asked.model);
        command.args([asked.rows, *piece, asked.threads as u64, asked.repeat].map(|number| number.to_string()));
        command.arg(asked.inputs.to_string());
        match process::output(&mut command, LIMIT) {
            Ok(text) => match text.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok()) {
                Some(mut line) => {
                    line["model"] = asked.model.display().to_string().into();
                    peers.lines.push(line);
                }
                None => peers.notes.push(format!("onnxruntime: not understood: {text}")),
            },
            Err(failure) => {
                let absent = match &failure {
                    Failure::Missing => Some("there is no python3"),
                    Failure::Failed(_, text) if text.contains("ModuleNotFoundError") => {
                        Some("python3 has no module onnxruntime, or no numpy; pip installs them")
                    }
                    _ => None,
                };
                let why = absent.map_or_else(|| failure.to_string(), str::to_owned);
                peers.notes.push(format!("onnxruntime: {why}; skipped"));
                break;
            }
        }
    }
    peers
}
