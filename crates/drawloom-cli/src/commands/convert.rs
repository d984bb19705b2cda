//! `drawloom convert`: a graph in another language.

use drawloom_lang::{json, loom};

use super::verdict::{self, Voice};
use crate::arguments::{Convert, Language};
use crate::exit::Exit;
use crate::input::Input;
use crate::output::Output;

/// Prints a graph as JSON, or as a raw graph in the text language.
pub(crate) fn run(arguments: &Convert, output: &mut Output) -> Exit {
    let input = Input::new(&arguments.file);
    let loaded = match input.load() {
        Ok(loaded) => loaded,
        Err(reason) => return verdict::unusable(&input, &reason, Voice::Text, output),
    };
    match arguments.to {
        Language::Json => output.line(json::write(&loaded.graph)),
        Language::Loom => output.text(loom::write_graph(&loaded.graph)),
    }
    Exit::Valid
}
