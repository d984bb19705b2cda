//! Images from a folder as a batch.
//!
//! What is before the graph is declared: how large images are made, in which order their colours are, and which mean and
//! deviation they are normalised with. Each image is decoded when the piece that it is in begins.
//!
//! The files are decoded by `png` and `zune-jpeg` directly, and resized here: the crates `image` and `fast_image_resize` take 54
//! seconds of processor time to compile, and these two take 7.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Fault};
use crate::files::regular;
use crate::slice::Rows;
use crate::tensor::Tensor;
use crate::tensor::element::ElementType;

/// The order of colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colours {
    /// Red first.
    #[default]
    Rgb,
    /// Blue first.
    Bgr,
    /// Brightness alone.
    Grey,
}

impl Colours {
    /// How many values a point has.
    pub fn count(self) -> usize {
        if self == Self::Grey { 1 } else { 3 }
    }
}

/// What is done with an image before the graph: decode, resize, and `(value / 255 - mean) / deviation` for each colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Front {
    height: usize,
    width: usize,
    colours: Colours,
    mean: Vec<f32>,
    deviation: Vec<f32>,
    channels_last: bool,
}

impl Front {
    /// Images of a size, with values from 0 to 1, and the colours apart from each other.
    pub fn new(height: usize, width: usize) -> Self {
        Self { height, width, colours: Colours::Rgb, mean: vec![0.0], deviation: vec![1.0], channels_last: false }
    }

    /// The order of colours.
    #[must_use]
    pub fn colours(mut self, colours: Colours) -> Self {
        self.colours = colours;
        self
    }

    /// What is taken off each colour, and what it is then divided by: one number for all, or one for each.
    #[must_use]
    pub fn normalise(mut self, mean: &[f32], deviation: &[f32]) -> Self {
        (self.mean, self.deviation) = (mean.to_vec(), deviation.to_vec());
        self
    }

    /// The colours of a point lie side by side.
    #[must_use]
    pub fn channels_last(mut self, last: bool) -> Self {
        self.channels_last = last;
        self
    }

    fn check(&self) -> Result<(), Error> {
        let colours = self.colours.count();
        for (name, values) in [("means", &self.mean), ("deviations", &self.deviation)] {
            if values.len() != 1 && values.len() != colours {
                let message = format!("there are {} {name} for {colours} colours", values.len());
                return Err(Error::new(ErrorKind::Input, message));
            }
        }
        if self.deviation.contains(&0.0) || self.height == 0 || self.width == 0 {
            let message = "the deviation, the height and the width of images must not be zero";
            return Err(Error::new(ErrorKind::Input, message));
        }
        Ok(())
    }
}

impl fmt::Display for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "decode, resize to {} x {}, {:?}, (value / 255 - {:?}) / {:?}, colours {}",
            self.height,
            self.width,
            self.colours,
            self.mean,
            self.deviation,
            if self.channels_last { "last" } else { "first" }
        )
    }
}

/// The images of a folder in the order of their names: files that end with `.png`, `.jpg` or `.jpeg`.
#[derive(Debug)]
pub struct Images {
    files: Vec<PathBuf>,
    front: Front,
    shape: Vec<usize>,
    /// The most bytes that decoding and resizing one of them takes.
    memory: usize,
}

impl Images {
    /// The images of a folder.
    pub fn open(folder: &Path, front: Front) -> Result<Self, Error> {
        let wrong = |what: String| Error::new(ErrorKind::Input, format!("{}: {what}", folder.display()));
        front.check()?;
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).map_err(|error| wrong(format!("it cannot be read: {error}")))? {
            let path = entry.map_err(|error| wrong(format!("it cannot be read: {error}")))?.path();
            let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
            if matches!(ending.as_deref(), Some("png" | "jpg" | "jpeg")) {
                regular(&path).map_err(|error| wrong(format!("{}: it cannot be read: {error}", path.display())))?;
                files.push(path);
            }
        }
        if files.is_empty() {
            return Err(wrong("there are no images in it that end with .png, .jpg or .jpeg".to_owned()));
        }
        files.sort_unstable();
        let colours = front.colours.count();
        let shape = if front.channels_last {
            vec![files.len(), front.height, front.width, colours]
        } else {
            vec![files.len(), colours, front.height, front.width]
        };
        // One that cannot be read is told about when its turn comes.
        let memory = files.iter().filter_map(|file| memory_of(file, &front)).max().unwrap_or(0);
        Ok(Self { files, front, shape, memory })
    }

    /// The files, in the order of the rows.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

impl Rows for Images {
    fn element(&self) -> ElementType {
        ElementType::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn memory(&self) -> usize {
        self.memory
    }

    fn read(&self, axis: usize, first: usize, into: &mut Tensor) -> Result<(), Fault> {
        if axis != 0 {
            return Err(Fault::of(ErrorKind::Input, "images are along the first axis"));
        }
        let rows = into.shape().first().copied().unwrap_or(0);
        let files = first.checked_add(rows).and_then(|end| self.files.get(first..end));
        let files = files.ok_or_else(|| Fault::of(ErrorKind::Input, "there are fewer images"))?;
        let row: usize = self.shape[1..].iter().product();
        for (file, values) in files.iter().zip(into.values_mut::<f32>()?.chunks_exact_mut(row)) {
            let image =
                decode(file).map_err(|why| Fault::of(ErrorKind::Input, format!("image {}: {why}", file.display())))?;
            image.put(&self.front, values);
        }
        Ok(())
    }
}

/// How much of a file is read to learn its size. What comes before that is seldom longer.
const HEADER: u64 = 1 << 16;

/// The most bytes that reading an image takes: the file and what it is decoded into, and then the image, in its old height
/// and in its new one. None if its size cannot be found out.
fn memory_of(path: &Path, front: &Front) -> Option<usize> {
    use std::io::Read;

    // Progressive files are kept as coefficients of two bytes until all of them are there.
    const DECODED: usize = 10;
    const VALUES: usize = 3 * size_of::<f32>();
    const LISTS: usize = 256 << 10;
    let file = fs::File::open(path).ok()?;
    let length = usize::try_from(file.metadata().ok()?.len()).ok()?;
    let mut header = Vec::new();
    file.take(HEADER).read_to_end(&mut header).ok()?;
    let size = size_of_image(&header).or_else(|| size_of_image(&fs::read(path).ok()?));
    let (width, height) = size?;
    check_size(width, height, length).ok()?;
    let points = width.checked_mul(height)?;
    let decoding = length.checked_add(points.checked_mul(DECODED)?)?;
    let rows = front.width.checked_mul(height.checked_add(front.height)?)?.checked_mul(VALUES)?;
    let resizing = points.checked_mul(3)?.checked_add(rows)?;
    decoding.max(resizing).checked_add(LISTS)
}

/// The width and height that the beginning of a file tells.
fn size_of_image(bytes: &[u8]) -> Option<(usize, usize)> {
    if bytes.starts_with(b"\x89PNG") {
        let reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().ok()?;
        return Some((reader.info().width as usize, reader.info().height as usize));
    }
    let mut decoder = zune_jpeg::JpegDecoder::new(zune_jpeg::zune_core::bytestream::ZCursor::new(bytes));
    decoder.decode_headers().ok()?;
    decoder.dimensions()
}

/// An image of three colours for each point, red first.
struct Image {
    height: usize,
    width: usize,
    points: Vec<u8>,
}

/// Larger images than this are not decoded.
const MOST_POINTS: usize = 1 << 28;

/// How many points a byte of a file can hold at most: deflate makes 1032 bytes of one, and a byte has 8 points of one bit.
const POINTS_PER_BYTE: usize = 1032 * 8;

/// Refuses a size that the bytes of a file cannot hold, before there is memory for it: a damaged header may claim anything.
fn check_size(width: usize, height: usize, length: usize) -> Result<(), String> {
    let points = width.saturating_mul(height);
    if points > MOST_POINTS {
        return Err(format!("{width} x {height} points are too many"));
    }
    if points > length.saturating_mul(POINTS_PER_BYTE) {
        return Err(format!("its header says {width} x {height} points, and its {length} bytes cannot hold as many"));
    }
    Ok(())
}

fn decode(path: &Path) -> Result<Image, String> {
    let bytes = fs::read(path).map_err(|error| format!("it cannot be read: {error}"))?;
    if bytes.starts_with(b"\x89PNG") { decode_png(&bytes) } else { decode_jpeg(&bytes) }
}

fn decode_png(bytes: &[u8]) -> Result<Image, String> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    check_size(width, height, bytes.len())?;
    let size = reader.output_buffer_size().ok_or("it is too large")?;
    let mut buffer = vec![0; size];
    let info = reader.next_frame(&mut buffer).map_err(|error| error.to_string())?;
    buffer.truncate(info.buffer_size());
    let values = &buffer[..];
    let points = match info.color_type {
        png::ColorType::Rgb => buffer,
        png::ColorType::Rgba => values.chunks_exact(4).flat_map(|point| [point[0], point[1], point[2]]).collect(),
        png::ColorType::Grayscale => values.iter().flat_map(|value| [*value; 3]).collect(),
        png::ColorType::GrayscaleAlpha => values.chunks_exact(2).flat_map(|point| [point[0]; 3]).collect(),
        png::ColorType::Indexed => return Err("its palette is missing".to_owned()),
    };
    Ok(Image { height, width, points })
}

fn decode_jpeg(bytes: &[u8]) -> Result<Image, String> {
    use zune_jpeg::zune_core::bytestream::ZCursor;
    use zune_jpeg::zune_core::colorspace::ColorSpace;
    use zune_jpeg::zune_core::options::DecoderOptions;

    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| format!("it is neither PNG nor JPEG, or damaged: {error:?}"))?;
    let (width, height) = decoder.dimensions().ok_or("it has no size")?;
    check_size(width, height, bytes.len())?;
    let points = decoder.decode().map_err(|error| format!("{error:?}"))?;
    if points.len() != width * height * 3 {
        return Err("it does not have three colours".to_owned());
    }
    Ok(Image { height, width, points })
}

impl Image {
    /// Resizes, normalises, and puts the values into a row.
    fn put(&self, front: &Front, values: &mut [f32]) {
        let (height, width) = (front.height, front.width);
        let resized = self.resized(height, width);
        let channels = front.colours.count();
        for (place, point) in resized.chunks_exact(3).enumerate() {
            let colours: [f32; 3] = match front.colours {
                Colours::Rgb => [point[0], point[1], point[2]],
                Colours::Bgr => [point[2], point[1], point[0]],
                Colours::Grey => [0.299 * point[0] + 0.587 * point[1] + 0.114 * point[2], 0.0, 0.0],
            };
            for (channel, colour) in colours[..channels].iter().enumerate() {
                let of = |list: &[f32]| list[channel.min(list.len() - 1)];
                let at =
                    if front.channels_last { place * channels + channel } else { channel * height * width + place };
                values[at] = (colour / 255.0 - of(&front.mean)) / of(&front.deviation);
            }
        }
    }

    /// The image in another size: along each axis, every point is a mean of those it covers, weighted by a triangle that is
    /// as wide as the step, and never narrower than to the neighbours.
    fn resized(&self, height: usize, width: usize) -> Vec<f32> {
        let across = weights(self.width, width);
        let mut rows = vec![0.0f32; self.height * width * 3];
        for (from, into) in self.points.chunks_exact(self.width * 3).zip(rows.chunks_exact_mut(width * 3)) {
            for ((first, list), into) in across.iter().zip(into.chunks_exact_mut(3)) {
                for (weight, point) in list.iter().zip(from[first * 3..].chunks_exact(3)) {
                    into.iter_mut().zip(point).for_each(|(sum, value)| *sum += weight * f32::from(*value));
                }
            }
        }
        let mut result = vec![0.0f32; height * width * 3];
        for ((first, list), into) in weights(self.height, height).iter().zip(result.chunks_exact_mut(width * 3)) {
            for (weight, row) in list.iter().zip(rows[first * width * 3..].chunks_exact(width * 3)) {
                into.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
            }
        }
        result
    }
}

/// For each of the new points, the first of the old ones that it covers, and their weights.
fn weights(from: usize, into: usize) -> Vec<(usize, Vec<f32>)> {
    let step = from as f64 / into as f64;
    let reach = step.max(1.0);
    let weights = |point: usize| {
        let centre = (point as f64 + 0.5) * step;
        let first = (centre - reach + 0.5).floor().max(0.0) as usize;
        let end = ((centre + reach + 0.5).floor() as usize).clamp(first + 1, from);
        let first = first.min(end - 1);
        let list: Vec<f64> =
            (first..end).map(|old| (1.0 - ((old as f64 + 0.5 - centre) / reach).abs()).max(0.0)).collect();
        let sum: f64 = list.iter().sum();
        if sum == 0.0 {
            return (first, vec![1.0]);
        }
        (first, list.iter().map(|weight| (weight / sum) as f32).collect())
    };
    (0..into).map(weights).collect()
}
