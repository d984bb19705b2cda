//! Text in, text out: each `tests/loom/*.loom` is read and checked, and what is told must equal the file `.expected`
//! beside it. `UPDATE_EXPECTED=1` rewrites those files; look at the difference before you keep it.

use std::path::Path;

use drawloom_lang::load::load;
use drawloom_lang::render::render;

fn told(name: &str, bytes: &[u8]) -> String {
    match load(name, bytes) {
        Err(error) => format!("unusable: {error}\n\n{}", error.render(false)),
        Ok(loaded) => {
            let mut report = loaded.graph.check();
            report.violations.splice(0..0, loaded.findings);
            let verdict = if report.is_valid() { "valid" } else { "invalid" };
            format!("{verdict}\n\n{}", render(&report, &loaded.graph, loaded.source.as_ref(), false))
        }
    }
}

#[test]
fn every_case_is_told_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/loom");
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let mut wrong = Vec::new();
    for path in crate::support::files(&folder, "loom") {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let found = told(&name, &std::fs::read(&path).expect("a case can be read"));
        let found = found.trim_end().to_owned() + "\n";
        let expected_path = path.with_extension("expected");
        if update {
            std::fs::write(&expected_path, &found).expect("the expected text can be written");
        }
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        if expected != found {
            wrong.push(format!("=== {name}\n--- expected\n{expected}\n--- found\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn colours_are_only_added_and_never_change_the_words() {
    let bytes = b"region A\ntask f(reed A)\n";
    let error = load("colour.loom", bytes).unwrap_err();
    let (plain, coloured) = (error.render(false), error.render(true));
    assert!(!plain.contains('\u{1b}') && coloured.contains('\u{1b}'));
    let mut stripped = String::new();
    let mut inside = false;
    for c in coloured.chars() {
        match c {
            '\u{1b}' => inside = true,
            'm' if inside => inside = false,
            _ if inside => {}
            c => stripped.push(c),
        }
    }
    assert_eq!(stripped, plain);
}
