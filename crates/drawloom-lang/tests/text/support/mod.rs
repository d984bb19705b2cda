//! What the tests of the text language share.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};

/// The shipped examples, by name.
pub(crate) fn examples() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/graphs");
    files(&folder, "loom")
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("an example can be read");
            (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text)
        })
        .collect()
}

/// The files of a folder with an ending, by name; there is at least one.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} holds no .{ending} file", folder.display());
    paths
}

/// The comments of a text in the order of their words, which printing may not change, sorted: printing may move them.
pub(crate) fn comments(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut quoted = false;
        let mut escaped = false;
        for (at, c) in line.char_indices() {
            match c {
                '#' if !quoted => {
                    found.push(line[at..].trim_end().to_owned());
                    break;
                }
                '"' if !escaped => quoted = !quoted,
                _ => {}
            }
            escaped = quoted && c == '\\' && !escaped;
        }
    }
    found.sort();
    found
}

/// A text that follows the grammar, with odd spacing, comments and names. Many mean something, some do not.
pub(crate) fn random_text(seed: u64) -> String {
    Writer { random: fastrand::Rng::with_seed(seed), out: String::new(), loops: 0 }.text()
}

struct Writer {
    random: fastrand::Rng,
    out: String,
    loops: usize,
}

impl Writer {
    fn text(mut self) -> String {
        self.out.push_str("space cells 24\nspace points 1_2\nfield u, v on cells; field w on points\nregion A, B in R\nregion R\ndisjoint A B\n");
        self.out.push_str("partition b of cells = equal 4 # blocks\npartition p of R = declared 3 disjoint\nmap m from points to cells arity 1 = [0,2,4,6,8,10,12,14,16,18,20,22]\n");
        for _ in 0..self.random.usize(..4) {
            self.declaration();
        }
        if self.random.u8(..3) == 0 {
            self.out.push_str("graph {");
            self.end();
            for _ in 0..self.random.usize(1..12) {
                self.raw(0);
            }
            self.out.push('}');
            self.end();
        } else {
            for _ in 0..self.random.usize(1..8) {
                self.statement(0);
            }
        }
        self.out
    }

    fn pick(&mut self, words: &[&str]) {
        let word = words[self.random.usize(..words.len())];
        self.out.push_str(word);
    }

    /// The end of a statement: with or without comments and blank lines.
    fn end(&mut self) {
        self.pick(&["\n", "\n", "\n", " # a remark\n", "\n\n\n", " ; \n", "\n  # alone\n\n", "\r\n", "; "]);
    }

    fn number(&mut self) {
        self.pick(&["0", "1", "2", "3", "1_0", "1e1"]);
    }

    fn expression(&mut self, depth: usize) {
        match self.random.u8(..8) {
            0..=3 => self.number(),
            4 | 5 if self.loops > 0 => {
                let variable = self.random.usize(..self.loops);
                self.out.push_str(&format!("i{variable}"));
            }
            6 if depth < 3 => {
                self.out.push('(');
                self.expression(depth + 1);
                self.pick(&[" + ", "-", " * ", " / ", "%"]);
                self.expression(depth + 1);
                self.out.push_str(") % 3");
            }
            7 if depth < 3 => {
                self.expression(depth + 1);
                self.pick(&["+", " - ", "*"]);
                self.out.push_str("-0");
            }
            _ => self.out.push('1'),
        }
    }

    fn region(&mut self) {
        self.pick(&["u", "v", "w", "A", "B", "R", "u.b[", "v.b[", "R.p["]);
        if self.out.ends_with('[') {
            self.expression(1);
            self.out.push(']');
        }
    }

    fn declaration(&mut self) {
        let number = self.random.u16(..);
        self.out.push_str(&format!("partition q{number} of "));
        self.pick(&[
            "cells = halo b 1",
            "cells = union b b",
            "cells = difference b cells.b",
            "cells = intersection b b",
            "cells = lists [0..5, 7] [3..9]\n[]",
            "cells = image points.x through m",
            "points = preimage b through m",
            "cells.b[0] = equal 2",
            "R = declared 2",
            "points = colours [0,1,0,1,0,1,0,1,0,1,0,1]",
            "cells = halo b through m",
        ]);
        self.end();
    }

    fn statement(&mut self, depth: usize) {
        match self.random.u8(..10) {
            0 if depth < 3 => {
                self.out.push_str(&format!("for i{} in 0..", self.loops));
                self.number();
                self.loops += 1;
                self.body(depth);
                self.loops -= 1;
            }
            1 if depth < 3 => {
                self.pick(&["repeat 3", "task again: repeat 1e3", "while A", "call", "task \"a b\"[1] cost 2: call"]);
                self.body(depth);
            }
            2 if depth < 3 => {
                self.pick(&["if ", "task choice: if "]);
                self.region();
                self.body(depth);
                // Without an end of statement before it, an alternative may follow.
                self.out.truncate(self.out.trim_end_matches([';', ' ', '\n', '\r']).len());
                if self.out.ends_with('}') && self.random.bool() {
                    self.out.push_str(" else ");
                    self.body(depth);
                } else {
                    self.out.push('\n');
                }
            }
            _ => self.call(),
        }
    }

    fn body(&mut self, depth: usize) {
        self.out.push_str(" {");
        self.end();
        for _ in 0..self.random.usize(..4) {
            self.statement(depth + 1);
        }
        self.out.push('}');
        self.end();
    }

    fn call(&mut self) {
        self.out.push_str("task ");
        self.pick(&["f", "g", "\"h i\"", "task", "for"]);
        if self.random.bool() {
            self.out.push('[');
            self.expression(0);
            self.out.push(']');
        }
        self.out.push('(');
        for _ in 0..self.random.usize(..4) {
            self.pick(&["read ", "write ", "update ", "reduce(+) ", "reduce(min)\t", "\n  read ", "# why\n update "]);
            self.region();
            self.out.push(',');
        }
        self.out.push(')');
        self.pick(&["", "", " cost 2.50", " cost 1e-3"]);
        self.end();
    }

    fn raw(&mut self, depth: usize) {
        let node = |w: &mut Self| w.pick(&["a", "b", "c", "\"d e\"", "5", "data"]);
        match self.random.u8(..6) {
            0 => {
                let number = self.random.u16(..);
                self.out.push_str(&format!("data x{number}"));
                self.pick(&[": A", ": R.p[1]", ": u.b[1 + 1]", ": nobody", "", ": B cost 3"]);
            }
            1 => {
                let number = self.random.u16(..);
                self.pick(&["task", "open", "close"]);
                self.out.push_str(&format!(" y{number}"));
                self.pick(&["", " cost 7"]);
            }
            2 if depth < 2 => {
                let number = self.random.u16(..);
                self.out.push_str(&format!("task z{number}: "));
                self.pick(&["repeat 2 {", "while A {", "call {", "if B {"]);
                self.end();
                for _ in 0..self.random.usize(..3) {
                    self.raw(depth + 1);
                }
                self.out.push('}');
            }
            _ => {
                node(self);
                self.out.push_str(" -> ");
                node(self);
                self.pick(&[
                    ": read",
                    ": write @2",
                    ": write reorderable",
                    ": reduce(+)",
                    ": reduce",
                    ": before",
                    ": use",
                    ": discard @0",
                ]);
            }
        }
        self.end();
    }
}
