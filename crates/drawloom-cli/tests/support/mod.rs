//! Runs the real program.

// Every test file uses its own part of this module.
#![allow(dead_code, unreachable_pub)]

pub mod onnx;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// A valid graph: B is made from A, then A is overwritten.
pub const VALID: &str = "\
region A, B
disjoint A, B

graph {
    data A0: A
    data A1: A
    data B0: B
    data B1: B
    task reader
    task writer
    A0 -> reader: read
    B0 -> reader: discard
    reader -> B1: write
    A0 -> writer: discard
    writer -> A1: write
}
";

/// A race: two tasks make versions of A from the same version.
pub const RACE: &str = "\
region A

graph {
    data A0: A
    data A1: A
    data A2: A
    task t1
    task t2
    A0 -> t1: discard
    t1 -> A1: write
    A0 -> t2: discard
    t2 -> A2: write
}
";

/// No serial order, as JSON.
pub const SWAP_JSON: &str = r#"{"region_graph":{"regions":["A","B"],"subregion":[],"disjoint":[["A","B"]]},
"nodes":[{"id":1,"label":"Region","region":"A"},{"id":2,"label":"Region","region":"B"},{"id":3,"label":"Region","region":"A"},
{"id":4,"label":"Region","region":"B"},{"id":"t1","label":"Task"},{"id":"t2","label":"Task"}],
"edges":[{"from":1,"to":"t1","label":"Read"},{"from":2,"to":"t1","label":"Read"},{"from":"t1","to":3,"label":"Write"},
{"from":1,"to":"t2","label":"Read"},{"from":2,"to":"t2","label":"Read"},{"from":"t2","to":4,"label":"Write"}]}"#;

/// What a run of the program did.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Checks the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Each line of standard output, as JSON.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
    }

    /// Standard output as one line of JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.out.lines().count(), 1, "one line: {}", self.out);
        self.json_lines().remove(0)
    }
}

/// Runs the program.
pub fn drawloom(arguments: &[&str]) -> Ran {
    drawloom_in(Path::new("."), arguments, "")
}

/// Runs the program with text on standard input.
pub fn drawloom_with(arguments: &[&str], input: &str) -> Ran {
    drawloom_in(Path::new("."), arguments, input)
}

/// Runs the program in a folder.
pub fn drawloom_in(folder: &Path, arguments: &[&str], input: &str) -> Ran {
    let mut command = command(arguments);
    finish(command.current_dir(folder), input)
}

/// The program, ready to run, with an environment that does not depend on who runs the tests.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(crate::PROGRAM);
    command.args(arguments).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command to its end.
pub fn finish(command: &mut Command, input: &str) -> Ran {
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    let input = input.to_owned();
    // The program may print a lot before it has read everything, or end without reading.
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("standard input is written");
    Ran {
        code: output.status.code().expect("the program ends by itself"),
        out: String::from_utf8(output.stdout).expect("standard output is text"),
        err: String::from_utf8(output.stderr).expect("standard error is text"),
    }
}

/// A folder for one test, empty at first and removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("drawloom-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    /// Puts a file into the folder, and returns its path as text.
    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder can be made");
        std::fs::write(&path, contents).expect("a file can be written");
        self.path(name)
    }

    /// The path of something in the folder, as text.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("paths are text").to_owned()
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).expect("the file is there")
    }

    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A shipped example.
pub fn example(name: &str) -> String {
    format!("{}/../../examples/graphs/{name}", env!("CARGO_MANIFEST_DIR"))
}
