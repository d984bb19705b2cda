//! Operators of the user's own, for models that have them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::operators::spec::Spec;
use drawloom_tensor::{Fact, Fault, Kernel, LoopControl, Operator, Tensor};

/// The attributes of a node. One that nobody asks for could change what the operator means, so it is refused.
pub struct Attributes<'a>(&'a Spec);

impl Attributes<'_> {
    /// An integer, or what it is when it is left out.
    pub fn int(&self, name: &'static str, default: i64) -> Result<i64, Fault> {
        self.0.int(name, default)
    }

    /// A number, or what it is when it is left out.
    pub fn float(&self, name: &'static str, default: f32) -> Result<f32, Fault> {
        self.0.float(name, default)
    }

    /// A text, or what it is when it is left out.
    pub fn text(&self, name: &'static str, default: &str) -> Result<String, Fault> {
        self.0.text(name, default)
    }

    /// A list of integers.
    pub fn ints(&self, name: &'static str) -> Result<Option<Vec<i64>>, Fault> {
        self.0.ints(name)
    }

    /// A list of numbers.
    pub fn floats(&self, name: &'static str) -> Result<Option<Vec<f32>>, Fault> {
        self.0.floats(name)
    }

    /// A tensor.
    pub fn tensor(&self, name: &'static str) -> Result<Option<Tensor>, Fault> {
        self.0.tensor(name)
    }
}

/// Makes the operator of a node.
type Make = Arc<dyn Fn(&Attributes<'_>) -> Result<Operator, Fault> + Send + Sync>;

/// What an operator does with rows: the facts of its outputs, or why its rows cannot be told apart.
pub(crate) type RowRule = Arc<dyn Fn(&[Option<&Fact>]) -> Result<Vec<Fact>, String> + Send + Sync>;

#[derive(Clone)]
struct Entry {
    make: Make,
    rule: Option<RowRule>,
}

/// Operators by their domain and name. They come before those that are built in.
#[derive(Clone, Default)]
pub struct Operators {
    entries: BTreeMap<(String, String), Entry>,
}

impl Operators {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// An operator that computes. `make` makes it for a node with its attributes.
    #[must_use]
    pub fn kernel<K: Kernel + 'static>(
        self,
        domain: &str,
        name: &str,
        make: impl Fn(&Attributes<'_>) -> Result<K, Fault> + Send + Sync + 'static,
    ) -> Self {
        self.with(domain, name, Arc::new(move |attributes| Ok(Operator::Kernel(Arc::new(make(attributes)?)))))
    }

    /// An operator that begins a loop: everything downstream of its nodes runs for each of its iterations.
    #[must_use]
    pub fn loop_control<L: LoopControl + 'static>(
        self,
        domain: &str,
        name: &str,
        make: impl Fn(&Attributes<'_>) -> Result<L, Fault> + Send + Sync + 'static,
    ) -> Self {
        self.with(domain, name, Arc::new(move |attributes| Ok(Operator::Loop(Arc::new(make(attributes)?)))))
    }

    /// Says what an operator does with the rows of a batch: from the facts of its inputs, those of its outputs, or why its
    /// rows cannot be computed apart. Without it, an operator of the user's own mixes rows.
    #[must_use]
    pub fn rows(
        mut self,
        domain: &str,
        name: &str,
        rule: impl Fn(&[Option<&Fact>]) -> Result<Vec<Fact>, String> + Send + Sync + 'static,
    ) -> Self {
        if let Some(entry) = self.entries.get_mut(&(domain.to_owned(), name.to_owned())) {
            entry.rule = Some(Arc::new(rule));
        }
        self
    }

    fn with(mut self, domain: &str, name: &str, make: Make) -> Self {
        self.entries.insert((domain.to_owned(), name.to_owned()), Entry { make, rule: None });
        self
    }

    /// Whether an operator is one of these.
    pub(super) fn has(&self, domain: &str, operator: &str) -> bool {
        self.entries.contains_key(&key(domain, operator))
    }

    /// The operator of a node, if it is one of these.
    pub(super) fn make(&self, domain: &str, spec: &mut Spec) -> Option<Result<Operator, Fault>> {
        let entry = self.entries.get(&key(domain, &spec.operator))?;
        spec.rule.clone_from(&entry.rule);
        spec.own = true;
        Some((entry.make)(&Attributes(spec)).and_then(|operator| spec.check_all_asked().map(|()| operator)))
    }
}

/// The standard's own domain has two names.
fn key(domain: &str, operator: &str) -> (String, String) {
    (if domain == "ai.onnx" { "" } else { domain }.to_owned(), operator.to_owned())
}
