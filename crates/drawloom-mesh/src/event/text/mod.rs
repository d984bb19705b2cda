//! Handlers as C text, so that other tools of the family can run a program: the same protocol as in `element` and
//! `controller`, in its plain form.
//!
//! What kernels and scalar code do is known here only as compiled code; who wants text must give theirs, as C functions. The
//! rest is made from the declarations.
//!
//! | file | what is in it |
//! |---|---|
//! | this one | [`HandlerText`]: the functions that are given, and whether all are there |
//! | `values` | copying, folding and pointing at values |
//! | `element` | the handlers of elements |
//! | `program` | the handlers of the device with the control flow |

mod element;
mod program;
mod values;

pub(super) use element::Words;
pub(super) use program::{ProgramWords, program_words};

use std::any::TypeId;
use std::collections::BTreeMap;
use std::panic::Location;

use super::involved::Invocation;
use super::names::identifier;
use crate::error::{Error, ErrorKind};
use crate::program::statement::{LoopDecl, ScalarDecl};
use crate::program::steps::Step;

/// Kernels and scalar code as C functions.
///
/// The function of a loop `flux` is called `kernel_flux`, that of scalar code `reset` is called `scalar_reset`; letters that
/// a name in C cannot have become underscores. They take what the Rust code takes, in the same order:
///
/// | argument | in C |
/// |---|---|
/// | a dat or global | a pointer to its first component |
/// | a dat through all columns of a map | a pointer to the first of as many arrays; to a number, if they have one component |
/// | a global with a payload | two pointers |
/// | the number of an element, the size of a set | `uint64_t` |
/// | an optional argument that is not there | a null pointer |
///
/// A `bool` is a `uint8_t` of 0 or 1. Two loops may share a function if they have the same name and the same kernel. Loops with
/// different kernels need names that stay different as names in C: `a b` and `a-b` are refused.
///
/// ```
/// use drawloom_mesh::{HandlerText, Mesh, Program};
///
/// let mut mesh = Mesh::new();
/// let xs = mesh.set("xs", 8)?;
/// let sum = mesh.global("sum", [0_i64])?;
/// let mut program = Program::new(mesh);
/// program.each(xs, "iota").index().inc(sum).run(|index, sum| sum[0] += index as i64);
/// let text = HandlerText::new()
///     .kernel("iota", "static void kernel_iota(uint64_t index, int64_t *sum) { *sum += (int64_t)index; }");
/// let instance = program.event_graph("iota", Some(&text))?;
/// assert!(instance.graph_type().shared_code().contains("kernel_iota"));
/// # Ok::<(), drawloom_mesh::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct HandlerText {
    shared: String,
    kernels: BTreeMap<String, String>,
    scalars: BTreeMap<String, String>,
}

/// A C function, and what it is for.
struct Function<'a> {
    what: &'static str,
    name: &'a str,
    location: &'a Location<'static>,
    code: TypeId,
    text: &'a str,
}

impl HandlerText {
    /// No functions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Text that comes before all functions.
    pub fn shared(mut self, text: impl Into<String>) -> Self {
        self.shared = text.into();
        self
    }

    /// The function of a loop, by the name of the loop.
    pub fn kernel(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.kernels.insert(name.into(), text.into());
        self
    }

    /// The function of scalar code, by its name.
    pub fn scalar(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.scalars.insert(name.into(), text.into());
        self
    }

    /// The text that all handlers share: every function once.
    ///
    /// # Errors
    /// When one is missing, and when two kernels, or two pieces of scalar code, would have a function of the same name.
    pub(super) fn shared_code<'a>(&'a self, invocations: &'a [Invocation], steps: &'a [Step]) -> Result<String, Error> {
        let missing = |what: &str, name: &str| {
            Error::new(ErrorKind::Argument, format!("{what} `{name}` has no C text, so its handlers cannot be written"))
        };
        let mut functions: BTreeMap<String, Function<'a>> = BTreeMap::new();
        let mut add = |name: String, function: Function<'a>| match functions.get(&name) {
            Some(other) if (&other.name, other.code) != (&function.name, function.code) => {
                let message = format!(
                    "{} `{}` at {} and `{}` at {} are different, and would both have the C function `{name}`: rename one",
                    function.what, other.name, other.location, function.name, function.location
                );
                Err(Error::new(ErrorKind::Argument, message))
            }
            _ => {
                functions.insert(name, function);
                Ok(())
            }
        };
        for LoopDecl { name, location, body, .. } in invocations.iter().map(|invocation| &*invocation.decl) {
            let text = self.kernels.get(name).ok_or_else(|| missing("loop", name))?;
            add(kernel_name(name), Function { what: "loops", name, location, code: body.kernel(), text })?;
        }
        for step in steps {
            let Step::Scalar(decl) = step else { continue };
            let ScalarDecl { name, location, code, .. } = &**decl;
            let text = self.scalars.get(name).ok_or_else(|| missing("scalar code", name))?;
            add(scalar_name(name), Function { what: "scalar code", name, location, code: *code, text })?;
        }
        let mut text = format!("{}\n", self.shared);
        functions.values().for_each(|function| {
            text.push_str(function.text);
            text.push('\n');
        });
        Ok(text)
    }
}

/// The name of the function of a loop.
fn kernel_name(name: &str) -> String {
    format!("kernel_{}", identifier(name))
}

/// The name of the function of scalar code.
fn scalar_name(name: &str) -> String {
    format!("scalar_{}", identifier(name))
}
