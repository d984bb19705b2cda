//! A folder that lives as long as the measurement: the programs are written, compiled and run in it.
//!
//! Nothing is left behind: what a peer wants to keep between runs (StarPU's measurements of the machine) goes into the
//! same folder, and the folder goes when the workshop is dropped.

use std::env;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::time::Duration;

use serde_json::Value;

use super::process::{Failure, output};
use super::programs::{FILES, Library, Program};

/// Compiling a program, or asking pkg-config.
const BUILD_LIMIT: Duration = Duration::from_secs(60);

/// Variables with these beginnings change what a peer does. They are taken from its environment, so that a figure depends
/// on the machine and the command line only.
const PEERS_VARIABLES: [&str; 5] = ["STARPU_", "OMP_", "GOMP_", "KMP_", "OPENBLAS_"];

/// The smallest program that needs OpenMP.
const OPENMP_PROBE: &str = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n";

/// A folder with the programs in it, and the tools to build them.
#[derive(Debug)]
pub(super) struct Workshop {
    folder: PathBuf,
    compiler: String,
    finder: String,
}

impl Workshop {
    /// Makes the folder and writes the programs into it.
    pub(super) fn open() -> io::Result<Self> {
        let tool = |variable: &str, usual: &str| match env::var(variable) {
            Ok(name) if !name.trim().is_empty() => name.trim().to_owned(),
            _ => usual.to_owned(),
        };
        let folder = new_folder()?;
        let workshop = Self { folder, compiler: tool("CC", "cc"), finder: tool("PKG_CONFIG", "pkg-config") };
        for (name, text) in FILES {
            fs::write(workshop.folder.join(name), text)?;
        }
        fs::write(workshop.folder.join("openmp_probe.c"), OPENMP_PROBE)?;
        Ok(workshop)
    }

    /// Compiles a program. An error is a note for the user.
    pub(super) fn build(&self, program: Program, flags: &[&str]) -> Result<PathBuf, String> {
        let mut linking = vec!["-lm".to_owned()];
        for &library in program.libraries {
            linking.extend(self.flags_of(program, library)?);
        }
        let tuned = self.compile(program, &[flags, &["-march=native"]].concat(), &linking);
        // Not every compiler knows the machine it runs on by this name.
        tuned.or_else(|_| self.compile(program, flags, &linking)).map_err(|failure| match failure {
            Failure::Missing => self.no_compiler(program),
            _ => skipped(program, format_args!("{} does not compile: {failure}", program.source)),
        })
    }

    /// The compiler. `CC` may name one with arguments, such as `ccache gcc`.
    fn compiler(&self) -> Command {
        let mut words = self.compiler.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("cc"));
        command.args(words);
        command
    }

    fn no_compiler(&self, program: Program) -> String {
        skipped(program, format_args!("no C compiler `{}` (Debian: gcc libc6-dev)", self.compiler))
    }

    fn compile(&self, program: Program, flags: &[&str], linking: &[String]) -> Result<PathBuf, Failure> {
        let executable = self.folder.join(program.source).with_extension("exe");
        let mut command = self.compiler();
        command.current_dir(&self.folder).args(["-O2", "-std=gnu11"]).args(flags);
        // Libraries come after what uses them.
        command.arg(program.source).arg("-o").arg(&executable).args(linking);
        output(&mut command, BUILD_LIMIT).map(|_| executable)
    }

    /// What the compiler needs to be told to use a library, or the note that it is not there.
    fn flags_of(&self, program: Program, library: Library) -> Result<Vec<String>, String> {
        match library.module() {
            Some(module) => self.ask_finder(program, library, module),
            None => self.try_openmp(program),
        }
    }

    fn ask_finder(&self, program: Program, library: Library, module: &str) -> Result<Vec<String>, String> {
        let package = library.package();
        match output(Command::new(&self.finder).args(["--cflags", "--libs", module]), BUILD_LIMIT) {
            Ok(flags) => Ok(flags.split_whitespace().map(str::to_owned).collect()),
            Err(Failure::Missing) => Err(skipped(
                program,
                format_args!(
                    "`{}`, which finds {module}, is not installed (Debian: pkg-config {package})",
                    self.finder
                ),
            )),
            Err(Failure::Failed(..)) if library.name() == program.peer => {
                Err(skipped(program, format_args!("not installed (Debian: {package})")))
            }
            Err(Failure::Failed(..)) => {
                Err(skipped(program, format_args!("{} is not installed (Debian: {package})", library.name())))
            }
            Err(failure) => Err(skipped(program, format_args!("`{}`: {failure}", self.finder))),
        }
    }

    /// OpenMP comes with the compiler or not at all; the smallest program tells.
    fn try_openmp(&self, program: Program) -> Result<Vec<String>, String> {
        let flag = "-fopenmp";
        let mut command = self.compiler();
        command.current_dir(&self.folder).args([flag, "openmp_probe.c", "-o", "openmp_probe.exe"]);
        match output(&mut command, BUILD_LIMIT) {
            Ok(_) => Ok(vec![flag.to_owned()]),
            Err(Failure::Missing) => Err(self.no_compiler(program)),
            Err(failure) => Err(skipped(
                program,
                format_args!(
                    "`{} {flag}` does not work (Debian: {}): {failure}",
                    self.compiler,
                    Library::OpenMp.package()
                ),
            )),
        }
    }

    /// Runs a program that was built, and reads the lines of JSON that it prints.
    pub(super) fn run(&self, built: &Path, arguments: &[String], limit: Duration) -> Result<Vec<Value>, String> {
        let mut command = Command::new(built);
        command.args(arguments).current_dir(&self.folder);
        for (name, _) in env::vars_os() {
            if PEERS_VARIABLES.iter().any(|beginning| name.to_string_lossy().starts_with(beginning)) {
                command.env_remove(name);
            }
        }
        // StarPU keeps measurements of the machine in its home, and a bound on submission keeps a long run in memory. It
        // is above the number of tasks in flight of every run that is meant to be compared.
        command.env("STARPU_HOME", &self.folder).env("STARPU_SILENT", "1");
        command.env("STARPU_LIMIT_MAX_SUBMITTED_TASKS", "400000").env("STARPU_LIMIT_MIN_SUBMITTED_TASKS", "300000");
        let text = output(&mut command, limit).map_err(|failure| failure.to_string())?;
        text.lines().map(measurement).collect()
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // A folder that cannot be removed is in the place for temporary files, and stays there.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A note that a peer is missing from the report.
fn skipped(program: Program, why: impl Display) -> String {
    format!("{}: {why}; skipped", program.peer)
}

/// A folder that nobody else has, in the place for temporary files.
fn new_folder() -> io::Result<PathBuf> {
    let place = env::temp_dir();
    for attempt in 0..1000 {
        let folder = place.join(format!("drawloom-peers-{}-{attempt}", process::id()));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&folder) {
            // Compilers and peers get a path that does not depend on where they run.
            Ok(()) => return folder.canonicalize(),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("every name for a new folder in {} is taken", place.display())))
}

/// One line of a peer's output: an object that says which peer it is of.
fn measurement(line: &str) -> Result<Value, String> {
    match serde_json::from_str::<Value>(line) {
        Ok(value) if value.get("peer").is_some_and(Value::is_string) => Ok(value),
        _ => Err(format!("printed a line that is not a measurement: {line}")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::super::programs::{
        OPENBLAS_POTRF, OPENMP_METG, OPENMP_TASKS, Program, STARPU_CHOLESKY, STARPU_METG, STARPU_TASKS,
    };
    use super::{BUILD_LIMIT, Workshop, measurement, output};

    #[test]
    fn every_program_compiles_without_a_warning_where_its_libraries_are_installed() {
        let workshop = Workshop::open().unwrap();
        let strict = ["-Wall", "-Wextra", "-Werror"];
        for program in [OPENBLAS_POTRF, OPENMP_METG, OPENMP_TASKS, STARPU_CHOLESKY, STARPU_METG, STARPU_TASKS] {
            if let Err(note) = workshop.build(program, &strict) {
                assert!(!note.contains("does not compile"), "{note}");
                println!("{note}");
            }
        }
    }

    #[test]
    fn a_missing_compiler_and_a_missing_finder_are_notes_that_name_the_package() {
        let mut workshop = Workshop::open().unwrap();
        workshop.compiler = "drawloom-no-such-compiler".to_owned();
        assert_eq!(
            workshop.build(OPENMP_TASKS, &[]).unwrap_err(),
            "openmp: no C compiler `drawloom-no-such-compiler` (Debian: gcc libc6-dev); skipped"
        );
        workshop.finder = "drawloom-no-such-finder".to_owned();
        assert_eq!(
            workshop.build(STARPU_TASKS, &[]).unwrap_err(),
            "starpu: `drawloom-no-such-finder`, which finds starpu-1.3, is not installed (Debian: pkg-config libstarpu-dev); \
             skipped"
        );
    }

    /// Prints the pattern, step and point of every task with its inputs, for graphs of width 5 and 10 steps.
    const INPUTS: &str = r#"
        #include "taskbench.h"
        int main(void) {
            for (int shape = 0; shape < SHAPES; shape++) {
                struct bench *bench = new_bench(shape, 5, 10);
                for (long step = 0; step < 10; step++)
                    for (long point = 0; point < width_at(shape, 5, step); point++) {
                        struct point *task = &bench->points[step * 5 + point];
                        printf("%s %ld %ld:", shape_names[shape], step, point);
                        for (int i = 0; i < task->inputs; i++)
                            printf(" %ld", task->input[i]);
                        printf("\n");
                    }
            }
            return 0;
        }"#;

    #[test]
    fn inputs_are_those_of_the_patterns() {
        let workshop = Workshop::open().unwrap();
        fs::write(workshop.folder.join("inputs.c"), INPUTS).unwrap();
        let program = Program { peer: "inputs", source: "inputs.c", libraries: &[] };
        let built = match workshop.build(program, &["-Wall", "-Wextra", "-Werror"]) {
            Ok(built) => built,
            Err(note) => {
                assert!(!note.contains("does not compile"), "{note}");
                return println!("{note}");
            }
        };
        let text = output(&mut Command::new(built), BUILD_LIMIT).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for expected in [
            "trivial 9 4:",
            "stencil_1d 0 2:",
            "stencil_1d 1 0: 0 1",
            "stencil_1d 9 2: 1 2 3",
            // Three kinds of row, which reach 1, 2 and 4 points far.
            "fft 4 2: 1 2 3",
            "fft 5 2: 0 2 4",
            "fft 6 0: 0 4",
            "fft 6 1: 1",
            "tree 1 1: 0",
            "tree 3 4: 2",
            "tree 4 3: 1",
            "nearest 2 4: 3 4",
            // Thirds of the width apart, and one point further in every other row.
            "spread 2 0: 0 1 3",
            "spread 3 0: 0 2 4",
            "spread 3 4: 1 3 4",
        ] {
            assert!(lines.contains(&expected), "{expected} is not in\n{text}");
        }
        let random = lines.iter().filter_map(|line| line.strip_prefix("random_nearest "));
        let mut others = 0;
        for (line, at) in random.clone().zip(0..) {
            let (_, inputs) = line.split_once(':').unwrap();
            let inputs: Vec<i32> = inputs.split_whitespace().map(|input| input.parse().unwrap()).collect();
            let (step, point) = (at / 5, at % 5);
            assert!(inputs.iter().all(|input| (input - point).abs() <= 1), "{line}");
            assert_eq!(inputs.contains(&point), step > 0, "{line}");
            others += inputs.len().saturating_sub(1);
        }
        assert_eq!(random.count(), 50);
        assert!((1..72).contains(&others), "some of the 72 possible neighbours, and not all: {others}");
    }

    #[cfg(unix)]
    #[test]
    fn a_missing_library_is_a_note_that_names_the_package() {
        let mut workshop = Workshop::open().unwrap();
        workshop.finder = "false".to_owned();
        assert_eq!(
            workshop.build(STARPU_CHOLESKY, &[]).unwrap_err(),
            "starpu: not installed (Debian: libstarpu-dev); skipped"
        );
        assert_eq!(
            workshop.build(OPENBLAS_POTRF, &[]).unwrap_err(),
            "openblas: not installed (Debian: libopenblas-dev); skipped"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_compiler_without_openmp_is_a_note() {
        let mut workshop = Workshop::open().unwrap();
        workshop.compiler = "false".to_owned();
        assert_eq!(
            workshop.build(OPENMP_METG, &[]).unwrap_err(),
            "openmp: `false -fopenmp` does not work (Debian: gcc): exit status: 1; skipped"
        );
    }

    #[test]
    fn the_folder_goes_with_the_workshop() {
        let workshop = Workshop::open().unwrap();
        let folder = workshop.folder.clone();
        assert!(folder.join("peer.h").is_file());
        drop(workshop);
        assert!(!folder.exists());
    }

    #[test]
    fn only_objects_that_name_a_peer_are_measurements() {
        assert_eq!(measurement(r#"{"peer":"starpu","tasks":1}"#).unwrap()["tasks"], 1);
        assert!(measurement(r#"{"bench":"chain"}"#).is_err());
        assert!(measurement("warning: something").is_err());
    }
}
