//! `drawloom fmt`: the text language in its usual shape.

use std::path::Path;
use std::{fs, io};

use drawloom_lang::load::load;
use drawloom_lang::loom;

use super::verdict::{self, Voice};
use crate::arguments::Fmt;
use crate::exit::Exit;
use crate::input::{self, Input, Unusable};
use crate::output::Output;

/// Formats files in place, or checks that they are formatted.
pub(crate) fn run(arguments: &Fmt, output: &mut Output) -> Exit {
    let mut worst = Exit::Valid;
    for input in input::collect(&arguments.files, &["loom"]) {
        worst = worst.and(match format(&input, arguments.check, output) {
            Ok(exit) => exit,
            Err(reason) => verdict::unusable(&input, &reason, Voice::Text, output),
        });
        output.flush();
    }
    worst
}

fn format(input: &Input, check: bool, output: &mut Output) -> Result<Exit, Unusable> {
    let bytes = input.read()?;
    let formatted = formatted(input, &bytes)?;
    let same = formatted.as_bytes() == bytes;
    match input {
        _ if check && !same => {
            output.line(format_args!("{input}: not formatted"));
            return Ok(Exit::Invalid);
        }
        Input::Stdin if !check => output.text(formatted),
        Input::File(path) if !check && !same => {
            replace(path, formatted.as_bytes())
                .map_err(|error| Unusable::Unreadable(format!("cannot write {input}: {error}")))?;
        }
        _ => {}
    }
    Ok(Exit::Valid)
}

fn formatted(input: &Input, bytes: &[u8]) -> Result<String, Unusable> {
    if let Some(file) = std::str::from_utf8(bytes).ok().and_then(|text| loom::parse(text).ok()) {
        return Ok(file.to_string());
    }
    // Loading fails for the same reason, and knows how to show it; unless the file is JSON, which loads.
    match load(&input.to_string(), bytes) {
        Err(error) => Err(Unusable::Malformed(error)),
        Ok(_) => Err(Unusable::Unreadable(format!("{input} holds JSON, and only .loom files are formatted"))),
    }
}

/// Replaces the contents of a file at once: whoever reads it meanwhile sees all of the old or all of the new.
fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    // A link stays a link to the file that is rewritten.
    let path = fs::canonicalize(path)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    let permissions = fs::metadata(&path)?.permissions();
    let written = fs::write(&beside, contents)
        .and_then(|()| fs::set_permissions(&beside, permissions))
        .and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        // The old file is whole; the new one beside it is of no use to anybody.
        let _ = fs::remove_file(&beside);
    }
    written
}
