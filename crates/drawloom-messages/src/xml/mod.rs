//! Graph files: the XML of the published family of graph tools, in its versions 3 and 4.
//!
//! A file holds a graph type, as declarations, and an instance. What handlers do cannot be read from a file: its device
//! types are bound, by the names of the graph type and of the device type, to handlers in a [`Registry`], whose
//! declarations must be the same. C text of handlers is written if a type has it, and not looked at when reading.
//!
//! | | version 3 | version 4 |
//! |---|---|---|
//! | declarations | elements `Scalar`, `Array`, `Tuple` | text, as members of a C struct |
//! | values | JSON members in elements `P` and `S` | C initialisers in attributes `P` and `S` |
//! | defaults | yes | none: what is not said is zero |
//! | truth values and letters | `bool`, `char` | bytes |
//!
//! As in other tools of the family, properties that a file does not give and that have no default are zero. External
//! devices and supervisors are refused by name.
//!
//! | file | concept |
//! |---|---|
//! | [`registry`] | the graph types that a program knows |
//! | [`stream`] | XML as a stream of elements with lines |
//! | [`declare`] | declarations in files |
//! | [`read`](mod@read), [`write`](mod@write) | whole files |
//! | [`source`] | a graph type as one C file |

pub(crate) mod declare;
pub(crate) mod read;
pub mod registry;
pub mod source;
pub(crate) mod stream;
pub(crate) mod write;

pub use read::read;
pub use registry::Registry;
pub use source::c_source;
pub use write::write;

/// A version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Version 3: JSON values.
    V3,
    /// Version 4: C initialisers.
    V4,
}

impl Version {
    /// The name space of the version's elements.
    pub fn namespace(self) -> &'static str {
        match self {
            Version::V3 => "https://poets-project.org/schemas/virtual-graph-schema-v3",
            Version::V4 => "https://poets-project.org/schemas/virtual-graph-schema-v4",
        }
    }
}
