//! `drawloom show`: a graph as a drawing.

use std::fs;

use drawloom_lang::{Drawing, dot, svg};

use super::order::derived;
use super::verdict::{self, Checked, Voice};
use crate::arguments::{Picture, Show};
use crate::exit::Exit;
use crate::input::Input;
use crate::output::{Output, complain};

/// Draws a graph.
pub(crate) fn run(arguments: &Show, output: &mut Output) -> Exit {
    let picture = match picture(arguments) {
        Ok(picture) => picture,
        Err(message) => {
            complain(message);
            return Exit::Unusable;
        }
    };
    let input = Input::new(&arguments.file);
    let checked = match Checked::new(&input) {
        Ok(checked) => checked,
        Err(reason) => return verdict::unusable(&input, &reason, Voice::Text, output),
    };
    let graph = checked.graph();
    // An invalid graph has no order; its violations are highlighted instead.
    let orders = match graph.order() {
        Ok(order) if order.barriers == 0 => derived(graph, &order),
        _ => Vec::new(),
    };
    let drawing = Drawing { orders, report: Some(&checked.report) };
    let drawn = match picture {
        Picture::Dot => dot::write(graph, &drawing),
        Picture::Svg => match svg::write(graph, &drawing) {
            Ok(drawn) => drawn,
            Err(error) => {
                complain(format_args!("{input}: {error}"));
                return Exit::Unusable;
            }
        },
    };
    match &arguments.output {
        Some(path) if path.as_os_str() != "-" => {
            if let Err(error) = fs::write(path, drawn) {
                complain(format_args!("cannot write {}: {error}", path.display()));
                return Exit::Unusable;
            }
        }
        _ => output.text(drawn),
    }
    Exit::Valid
}

/// What to draw: what `--format` says, else what the ending of the name says, else SVG.
fn picture(arguments: &Show) -> Result<Picture, String> {
    if let Some(picture) = arguments.format {
        return Ok(picture);
    }
    let Some(path) = arguments.output.as_ref().filter(|path| path.as_os_str() != "-") else {
        return Ok(Picture::Svg);
    };
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => Ok(Picture::Svg),
        Some("dot" | "gv") => Ok(Picture::Dot),
        _ => Err(format!("{} ends in neither .svg nor .dot; say which with --format", path.display())),
    }
}
