//! The C programs, as text, and the libraries they need.

/// The folder of the programs, from here.
macro_rules! source {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../benchmarks/peers/", $name)))
    };
}

/// Something installed that a program is compiled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    /// StarPU 1.3.
    StarPu,
    /// OpenBLAS with LAPACK.
    OpenBlas,
    /// What `-fopenmp` links.
    OpenMp,
}

impl Library {
    /// The name that pkg-config knows it by. OpenMP belongs to the compiler.
    pub(super) fn module(self) -> Option<&'static str> {
        match self {
            Library::StarPu => Some("starpu-1.3"),
            Library::OpenBlas => Some("openblas"),
            Library::OpenMp => None,
        }
    }

    /// What to call it in a note.
    pub(super) fn name(self) -> &'static str {
        match self {
            Library::StarPu => "starpu",
            Library::OpenBlas => "openblas",
            Library::OpenMp => "openmp",
        }
    }

    /// The package that has it.
    pub(super) fn package(self) -> &'static str {
        match self {
            Library::StarPu => "libstarpu-dev",
            Library::OpenBlas => "libopenblas-dev",
            Library::OpenMp => "gcc",
        }
    }
}

/// A program that measures a peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    /// The peer it measures, as its lines and notes name it.
    pub(super) peer: &'static str,
    /// The file that is compiled.
    pub(super) source: &'static str,
    /// What it is compiled with.
    pub(super) libraries: &'static [Library],
}

pub(super) const STARPU_TASKS: Program =
    Program { peer: "starpu", source: "starpu_tasks.c", libraries: &[Library::StarPu] };
pub(super) const STARPU_METG: Program =
    Program { peer: "starpu", source: "starpu_metg.c", libraries: &[Library::StarPu] };
pub(super) const STARPU_CHOLESKY: Program =
    Program { peer: "starpu", source: "starpu_cholesky.c", libraries: &[Library::StarPu, Library::OpenBlas] };
pub(super) const OPENMP_TASKS: Program =
    Program { peer: "openmp", source: "openmp_tasks.c", libraries: &[Library::OpenMp] };
pub(super) const OPENMP_METG: Program =
    Program { peer: "openmp", source: "openmp_metg.c", libraries: &[Library::OpenMp] };
pub(super) const OPENBLAS_POTRF: Program =
    Program { peer: "openblas", source: "openblas_potrf.c", libraries: &[Library::OpenBlas] };

/// Every file that a program is made of, with its name. They include each other by name, so all of them are written into
/// one folder.
pub(super) const FILES: [(&str, &str); 11] = [
    source!("cholesky.h"),
    source!("openblas_potrf.c"),
    source!("openmp_metg.c"),
    source!("openmp_tasks.c"),
    source!("patterns.h"),
    source!("peer.h"),
    source!("starpu_cholesky.c"),
    source!("starpu_metg.c"),
    source!("starpu_peer.h"),
    source!("starpu_tasks.c"),
    source!("taskbench.h"),
];
