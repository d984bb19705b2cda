//! Batches for models: files, folders of images, and random rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueHint};
use drawloom_tensor::files::{ArrayFile, Colours, Front, Images};
use drawloom_tensor::onnx::{Dimension, Model, Port};
use drawloom_tensor::{ElementType, Fault, Pieces, Rows, Tensor};

use crate::number::{bytes, integer};

/// Where the rows of a model's inputs come from, and how they are cut.
#[derive(Debug, Args)]
pub(crate) struct Cutting {
    /// The axis that counts rows in an input, or none
    #[arg(long = "axis", value_name = "INPUT=AXIS")]
    pub(crate) axes: Vec<String>,
    /// The length of an axis that the model leaves open, by its name or its place
    #[arg(long = "dim", value_name = "NAME|INPUT:AXIS=LENGTH")]
    pub(crate) dims: Vec<String>,
    /// A state that is handed on from piece to piece: an input, and the output that it is in the next piece
    #[arg(long = "carry", value_name = "INPUT=OUTPUT")]
    pub(crate) carries: Vec<String>,
    /// How much memory the run may use, such as 64MiB
    #[arg(long, value_parser = bytes, value_name = "BYTES")]
    pub(crate) memory: Option<usize>,
    /// How many rows a piece has at most
    #[arg(long, value_parser = integer, value_name = "ROWS")]
    pub(crate) piece: Option<u64>,
    /// The number of rows of a piece should be a multiple of this
    #[arg(long, value_parser = integer, value_name = "ROWS")]
    pub(crate) multiple: Option<u64>,
}

impl Cutting {
    /// The axes that were given.
    pub(crate) fn axes(&self) -> Result<Vec<(&str, Option<usize>)>, String> {
        self.axes.iter().map(|text| axis(text)).collect()
    }

    /// The states that were given.
    fn carries(&self) -> Result<Vec<(&str, &str)>, String> {
        let pair = |text: &'_ str| format!("`{text}` is not INPUT=OUTPUT");
        self.carries.iter().map(|text| text.split_once('=').ok_or_else(|| pair(text))).collect()
    }

    /// How a batch is cut for so many workers.
    pub(crate) fn pieces(&self, workers: usize) -> Result<Pieces, String> {
        let mut pieces = Pieces::new().workers(workers);
        for (input, axis) in self.axes()? {
            pieces = pieces.axis(input, axis);
        }
        for (input, output) in self.carries()? {
            pieces = pieces.carry(input, output);
        }
        if let Some(memory) = self.memory {
            pieces = pieces.memory(memory);
        }
        if self.piece == Some(0) || self.multiple == Some(0) {
            return Err("a piece must have one row at least".to_owned());
        }
        if let (Some(piece), Some(multiple)) = (self.piece, self.multiple)
            && piece % multiple != 0
        {
            return Err(format!("--multiple {multiple} does not divide --piece {piece}"));
        }
        if let Some(piece) = self.piece {
            pieces = pieces.piece(piece);
        }
        if let Some(multiple) = self.multiple {
            pieces = pieces.multiple(multiple);
        }
        Ok(pieces)
    }

    /// The shape of an input for a number of rows: from the file, and from what was given for lengths that it does not know.
    fn shape(&self, model: &Model, port: &Port) -> Result<(ElementType, Vec<Option<usize>>), String> {
        let element =
            port.element.ok_or_else(|| format!("the model does not say which type input `{}` has", port.name))?;
        let lengths = port.shape.as_ref();
        let lengths = lengths.ok_or_else(|| format!("the model does not say which shape input `{}` has", port.name))?;
        let axis = self.axis_of(model, port)?;
        let mut shape = Vec::new();
        for (place, length) in lengths.iter().enumerate() {
            shape.push(match length {
                _ if Some(place) == axis => None,
                Dimension::Known(length) => Some(*length),
                other => {
                    // By its name, or by its place, which also those have that the model has no name for.
                    let place = format!("{}:{place}", port.name);
                    let given = self.length(&place).or_else(|| self.length(&other.to_string()));
                    Some(given.ok_or_else(|| {
                        format!("input {port}: the length `{other}` is not known; give it with --dim {place}=LENGTH")
                    })??)
                }
            });
        }
        Ok((element, shape))
    }

    /// The axis that counts the rows of an input. What carries a state has none.
    pub(crate) fn axis_of(&self, model: &Model, port: &Port) -> Result<Option<usize>, String> {
        let carries = self.carries()?;
        if carries.iter().any(|(input, _)| *input == port.name) {
            return Ok(None);
        }
        if let Some((_, axis)) = self.axes()?.into_iter().find(|(name, _)| *name == port.name) {
            return Ok(axis);
        }
        if !carries.is_empty() {
            return Ok(Some(0));
        }
        let batch = model.batch(&self.axes()?).map_err(|error| error.to_string())?;
        Ok(batch.axis(model, &port.name))
    }

    fn length(&self, name: &str) -> Option<Result<usize, String>> {
        let given = self.dims.iter().find_map(|text| text.rsplit_once('=').filter(|(given, _)| *given == name))?;
        Some(given.1.parse().map_err(|_| format!("`{}` is not the length of an axis", given.1)))
    }

    /// Random rows for all inputs of a model.
    pub(crate) fn random(&self, model: &Model, rows: u64) -> Result<Batch, String> {
        let rows = usize::try_from(rows).map_err(|_| format!("{rows} rows are too many"))?;
        let mut batch = Batch::default();
        for port in model.inputs() {
            let (element, shape) = self.shape(model, port)?;
            let shape = shape.into_iter().map(|length| length.unwrap_or(rows)).collect();
            batch.inputs.push((port.name.clone(), Arc::new(RandomRows { element, shape })));
        }
        Ok(batch)
    }
}

/// What is before the graph when rows are images.
#[derive(Debug, Args)]
pub(crate) struct ImageFront {
    /// The height and width of images, where the model does not say
    #[arg(long, value_name = "HEIGHTxWIDTH", value_parser = size)]
    size: Option<(usize, usize)>,
    /// What is taken off the colours of images, which are between 0 and 1
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "0")]
    mean: Vec<f32>,
    /// What they are then divided by
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "1")]
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

/// Reads `INPUT=AXIS`.
pub(crate) fn axis(text: &str) -> Result<(&str, Option<usize>), String> {
    let wrong = || format!("`{text}` is not INPUT=AXIS, with a number or `none`");
    let (name, axis) = text.rsplit_once('=').ok_or_else(wrong)?;
    match axis {
        "none" => Ok((name, None)),
        axis => axis.parse().map(|axis| (name, Some(axis))).map_err(|_| wrong()),
    }
}

/// The inputs of a model.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) inputs: Vec<(String, Arc<dyn Rows>)>,
    /// What is before the graph, where there is anything.
    pub(crate) fronts: Vec<String>,
}

impl Batch {
    /// The names and rows.
    pub(crate) fn named(&self) -> Vec<(&str, Arc<dyn Rows>)> {
        self.inputs.iter().map(|(name, rows)| (name.as_str(), Arc::clone(rows))).collect()
    }

    /// From what was typed: `FILE` for the only input, or `INPUT=FILE` for each.
    pub(crate) fn read(
        model: &Model,
        texts: &[String],
        cutting: &Cutting,
        images: &ImageFront,
    ) -> Result<Self, String> {
        let mut batch = Self::default();
        for text in texts {
            let named = text.split_once('=').filter(|(name, _)| model.inputs().iter().any(|port| port.name == *name));
            let (name, path) = match (named, model.inputs()) {
                (Some((name, path)), _) => (name, PathBuf::from(path)),
                (None, ports) if wrong_name(text).is_some() => {
                    let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
                    let name = wrong_name(text).unwrap_or_default();
                    return Err(format!("the model has no input `{name}`: it has {}", names.join(", ")));
                }
                (None, [port]) => (port.name.as_str(), PathBuf::from(text)),
                (None, ports) => {
                    let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
                    let message = format!("`{text}`: the model has several inputs: write NAME=FILE for each of");
                    return Err(format!("{message} {}", names.join(", ")));
                }
            };
            let port = model.inputs().iter().find(|port| port.name == name);
            let port = port.ok_or_else(|| format!("the model has no input `{name}`"))?;
            batch.inputs.push((name.to_owned(), open(model, port, &path, cutting, images, &mut batch.fronts)?));
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
        Ok(batch)
    }
}

/// What is written as a name in `NAME=FILE`, where the whole is not the name of a file that is there.
pub(crate) fn wrong_name(text: &str) -> Option<&str> {
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
    if path.extension().is_some_and(|ending| ending == "npy") {
        return Ok(Arc::new(ArrayFile::npy(path).map_err(text)?));
    }
    let (element, shape) = cutting.shape(model, port)?;
    Ok(Arc::new(ArrayFile::raw(path, element, &shape).map_err(text)?))
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
    Ok(front.normalise(&images.mean, &images.deviation))
}

/// Rows of random numbers, the same for each row in whatever piece it is.
struct RandomRows {
    element: ElementType,
    shape: Vec<usize>,
}

impl Rows for RandomRows {
    fn element(&self) -> ElementType {
        self.element
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read(&self, axis: usize, first: usize, into: &mut Tensor) -> Result<(), Fault> {
        let shape = into.shape().to_vec();
        let rows = shape.get(axis).copied().unwrap_or(1);
        let inner: usize = shape.get(axis + 1..).unwrap_or(&[]).iter().product();
        let length = self.shape.get(axis).copied().unwrap_or(1);
        let number = |place: usize| {
            let (block, row, at) = (place / inner / rows, place / inner % rows, place % inner);
            // A few rounds of shifts and products make neighbours differ.
            let mut bits = ((block * length + first + row) * inner + at) as u64;
            for factor in [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9_u64] {
                bits = (bits ^ bits >> 31).wrapping_mul(factor);
            }
            bits >> 40
        };
        let real = |place: usize| number(place) as f32 / (1 << 23) as f32 - 1.0;
        match self.element {
            ElementType::F32 => fill(into.values_mut::<f32>()?, real),
            ElementType::F64 => fill(into.values_mut::<f64>()?, |place| f64::from(real(place))),
            ElementType::I64 => fill(into.values_mut::<i64>()?, |place| (number(place) % 256) as i64),
            ElementType::I32 => fill(into.values_mut::<i32>()?, |place| (number(place) % 256) as i32),
            ElementType::U8 => fill(into.values_mut::<u8>()?, |place| number(place) as u8),
            ElementType::I8 => fill(into.values_mut::<i8>()?, |place| number(place) as i8),
            ElementType::Bool => fill(into.values_mut::<bool>()?, |place| number(place) % 2 == 1),
        }
        Ok(())
    }
}

fn fill<T>(values: &mut [T], value: impl Fn(usize) -> T) {
    values.iter_mut().enumerate().for_each(|(place, into)| *into = value(place));
}

/// Arguments that take paths of models.
pub(crate) const MODEL_HINT: ValueHint = ValueHint::FilePath;
