//! Inputs of models from files and folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueHint};
use drawloom_tensor::files::{ArrayFile, Colours, Front, Images};
use drawloom_tensor::{Dimension, Model, Port};
use drawloom_tensor::{Rows, Tensor};

use super::cutting::{Cutting, names};
use super::paths::Format;

/// What is before the graph when rows are images.
#[derive(Debug, Args)]
pub struct ImageFront {
    /// The height and width of images, where the model does not say
    #[arg(long, value_name = "HEIGHTxWIDTH", value_parser = size)]
    size: Option<(usize, usize)>,
    /// What is taken off the colours of images, which are between 0 and 1; by default nothing
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    mean: Vec<f32>,
    /// What they are then divided by; by default 1
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    deviation: Vec<f32>,
    /// Blue is the first colour
    #[arg(long)]
    bgr: bool,
}

fn size(text: &str) -> Result<(usize, usize), String> {
    let wrong = || format!("`{text}` is not HEIGHTxWIDTH");
    let (height, width) = text.split_once('x').ok_or_else(wrong)?;
    Ok((height.parse().map_err(|_| wrong())?, width.parse().map_err(|_| wrong())?))
}

impl ImageFront {
    /// Refuses what is said about images where there are none.
    pub fn refuse(&self) -> Result<(), String> {
        let given = [
            ("--size", self.size.is_some()),
            ("--mean", !self.mean.is_empty()),
            ("--deviation", !self.deviation.is_empty()),
            ("--bgr", self.bgr),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(format!("{option} is for folders of images, and no input is one")),
            None => Ok(()),
        }
    }
}

/// The inputs of a model.
#[derive(Default)]
pub struct Batch {
    /// Their names, and where their rows come from.
    pub inputs: Vec<(String, Arc<dyn Rows>)>,
    /// What is before the graph, where there is anything.
    pub fronts: Vec<String>,
}

impl Batch {
    /// The names and rows.
    pub fn named(&self) -> Vec<(&str, Arc<dyn Rows>)> {
        self.inputs.iter().map(|(name, rows)| (name.as_str(), Arc::clone(rows))).collect()
    }

    /// From the files of inputs.
    pub fn read(
        model: &Model,
        files: &[(&Port, PathBuf)],
        cutting: &Cutting,
        images: &ImageFront,
    ) -> Result<Self, String> {
        let mut batch = Self::default();
        for (port, path) in files {
            batch.inputs.push((port.name.clone(), open(model, port, path, cutting, images, &mut batch.fronts)?));
        }
        if batch.fronts.is_empty() {
            images.refuse()?;
        }
        // A state that nobody gave begins with zeros.
        for (state, _) in cutting.carries()? {
            let port = model.inputs().iter().find(|port| port.name == state);
            let port = port.ok_or_else(|| format!("the model has no input `{state}`"))?;
            if batch.inputs.iter().all(|(name, _)| name != state) {
                let (element, shape) = cutting.shape(model, port)?;
                let shape: Vec<usize> = shape.into_iter().map(|length| length.unwrap_or(1)).collect();
                let zeros = Tensor::zeros(element, &shape).map_err(|fault| fault.to_string())?;
                batch.inputs.push((state.to_owned(), Arc::new(zeros)));
            }
        }
        cutting.check_batch(model, &batch)?;
        Ok(batch)
    }
}

/// From what was typed: `FILE` for the only input or output, or `NAME=FILE` for each.
pub fn named_files<'a>(kind: &str, ports: &'a [Port], texts: &[String]) -> Result<Vec<(&'a Port, PathBuf)>, String> {
    let mut files: Vec<(&Port, PathBuf)> = Vec::new();
    for text in texts {
        let find = |(name, path)| Some((ports.iter().find(|port| port.name == name)?, path));
        let (port, path) = match (text.split_once('=').and_then(find), ports) {
            (Some(named), _) => named,
            (None, _) if wrong_name(text).is_some() => {
                let name = wrong_name(text).unwrap_or_default();
                return Err(format!("the model has no {kind} `{name}`: it has {}", names(ports)));
            }
            (None, [port]) => (port, text.as_str()),
            (None, _) => {
                return Err(format!(
                    "`{text}`: the model has several {kind}s: write NAME=FILE, with a name of {}",
                    names(ports)
                ));
            }
        };
        if let Some((_, other)) = files.iter().find(|(other, _)| other.name == port.name) {
            return Err(format!("{kind} `{}` is given twice: {} and {path}", port.name, other.display()));
        }
        files.push((port, PathBuf::from(path)));
    }
    Ok(files)
}

/// What is written as a name in `NAME=FILE`, where the whole is not the name of a file that is there.
fn wrong_name(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('=')?;
    (!name.contains(std::path::MAIN_SEPARATOR) && !Path::new(text).exists()).then_some(name)
}

fn open(
    model: &Model,
    port: &Port,
    path: &Path,
    cutting: &Cutting,
    images: &ImageFront,
    fronts: &mut Vec<String>,
) -> Result<Arc<dyn Rows>, String> {
    let text = |error: drawloom_tensor::Error| error.to_string();
    if path.is_dir() {
        let front = front(port, images)?;
        fronts.push(format!("{}: {front}", port.name));
        return Ok(Arc::new(Images::open(path, front).map_err(text)?));
    }
    if !path.exists() {
        return Err(format!("{}: it cannot be read: there is no such file or folder", path.display()));
    }
    // Even opening a pipe may wait for ever.
    if !path.is_file() {
        return Err(format!("{}: it cannot be read: it is no regular file, but a pipe or a device", path.display()));
    }
    match Format::of(path).map_err(|why| format!("{why}, and it is no folder of images"))? {
        Format::Npy => Ok(Arc::new(ArrayFile::npy(path).map_err(text)?)),
        Format::Raw => {
            let (element, shape) = cutting.shape(model, port)?;
            Ok(Arc::new(ArrayFile::raw(path, element, &shape).map_err(text)?))
        }
    }
}

/// How images become rows of an input: its shape says where colours are, and how large it wants them.
fn front(port: &Port, images: &ImageFront) -> Result<Front, String> {
    let wrong = || format!("input {port} does not take images: it needs four axes, with 1 or 3 colours second or last");
    let lengths = port.shape.as_deref().filter(|shape| shape.len() == 4).ok_or_else(wrong)?;
    let known = |axis: usize| if let Dimension::Known(length) = lengths[axis] { Some(length) } else { None };
    let (colours, last) = match (known(1), known(3)) {
        (Some(colours @ (1 | 3)), _) => (colours, false),
        (_, Some(colours @ (1 | 3))) => (colours, true),
        _ => return Err(wrong()),
    };
    let (height, width) = if last { (known(1), known(2)) } else { (known(2), known(3)) };
    let (height, width) = match (images.size, height, width) {
        (Some(size), ..) => size,
        (None, Some(height), Some(width)) => (height, width),
        _ => return Err(format!("input {port} takes images of any size: give one with --size HEIGHTxWIDTH")),
    };
    let order = match (colours, images.bgr) {
        (1, _) => Colours::Grey,
        (_, true) => Colours::Bgr,
        _ => Colours::Rgb,
    };
    let front = Front::new(height, width).colours(order).channels_last(last);
    let or = |values: &[f32], default: f32| if values.is_empty() { vec![default] } else { values.to_vec() };
    Ok(front.normalise(&or(&images.mean, 0.0), &or(&images.deviation, 1.0)))
}

/// Arguments that take paths of models.
pub const MODEL_HINT: ValueHint = ValueHint::FilePath;
