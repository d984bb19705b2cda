//! `drawloom plot`: a picture of a mesh or of a field on it.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use drawloom_mesh::files;

use crate::exit::Exit;
use crate::mesh::{Reason, read};
use crate::number::integer;
use crate::output::{Output, complain};
use crate::plot::Plot;
use crate::written::{self, Use};

/// Draw a mesh, or a field on it, as SVG or PNG
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom plot naca0012:20x30 -o mesh.svg                            the cells of a mesh
  drawloom plot new_grid.dat --window -0.5,-0.7,1.5,0.7 -o mesh.png   what is near the airfoil
  drawloom plot result.vtu --field pressure -o pressure.png           a field, with a colour bar

Exit codes: 0 drawn, 2 an unusable file or setting.")]
pub(crate) struct Arguments {
    /// The mesh: a file of any kind that `drawloom mesh` reads, or a generated one such as naca0012:20x30
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// Colour the cells by this dat, on the cells or on their corners
    #[arg(long, value_name = "NAME")]
    field: Option<String>,

    /// Which of the values of each element to show, from 0
    #[arg(long, default_value = "0", value_parser = integer, value_name = "K", requires = "field")]
    component: u64,

    /// The width of the picture in dots
    #[arg(long, default_value = "1200", value_parser = integer, value_name = "DOTS")]
    width: u64,

    /// Show only this part: least x and y, greatest x and y
    #[arg(long, value_parser = numbers::<4>, allow_hyphen_values = true, value_name = "X0,Y0,X1,Y1")]
    window: Option<[f64; 4]>,

    /// The values of the first and the last colour; by default the least and the greatest that are shown
    #[arg(long, value_parser = numbers::<2>, allow_hyphen_values = true, value_name = "LOW,HIGH", requires = "field")]
    range: Option<[f64; 2]>,

    /// Where to draw: a name ending in .svg or .png; without it, standard output
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// What to draw; by default what the ending of OUT says, else SVG
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
}

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Polygons, or an image if there are many of them
    Svg,
    /// Dots
    Png,
}

/// Draws a mesh.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    match draw(arguments, output) {
        Ok(()) => Exit::Valid,
        Err(reason) => {
            complain(reason);
            Exit::Unusable
        }
    }
}

fn draw(arguments: &Arguments, output: &mut Output) -> Result<(), Reason> {
    let path = arguments.output.as_deref().filter(|path| path.as_os_str() != "-" && !written::is_stdout(path));
    let format = format(arguments.format, path)?;
    let picture: Vec<Use> = path.map(|path| Use::new("the picture", path)).into_iter().collect();
    written::check(&[Use::new("the mesh", &arguments.file)], &picture)?;
    let mesh = read(&arguments.file)?;
    let component = usize::try_from(arguments.component).unwrap_or(usize::MAX);
    let width = u32::try_from(arguments.width).unwrap_or(u32::MAX);
    let mut plot = Plot::new(&mesh).component(component).width(width);
    if let Some(field) = &arguments.field {
        plot = plot.field(field);
    }
    if let Some(window) = arguments.window {
        plot = plot.window(window);
    }
    if let Some([lowest, highest]) = arguments.range {
        plot = plot.range(lowest, highest);
    }
    let picture = match format {
        Format::Svg => plot.svg()?.into_bytes(),
        Format::Png => plot.png()?,
    };
    match path {
        Some(path) => files::write_bytes(path, &picture)?,
        None => output.bytes(&picture),
    }
    Ok(())
}

fn format(asked: Option<Format>, path: Option<&Path>) -> Result<Format, Reason> {
    match (asked, path) {
        (Some(format), _) => Ok(format),
        (None, None) => Ok(Format::Svg),
        (None, Some(path)) => match written::ending("the picture", path, &["svg", "png"]) {
            Ok("png") => Ok(Format::Png),
            Ok(_) => Ok(Format::Svg),
            Err(why) => Err(format!("{why}; or say which with --format").into()),
        },
    }
}

/// Reads numbers with commas between them.
fn numbers<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let refuse = || format!("`{text}` is not {N} numbers with commas between them");
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    numbers.ok().and_then(|numbers| numbers.try_into().ok()).ok_or_else(refuse)
}
