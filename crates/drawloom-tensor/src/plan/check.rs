//! Trying out whether a batch can be computed in pieces: some rows are computed together and apart, and compared.

use std::sync::Arc;

use drawloom_runtime::Loom;

use crate::error::{Error, ErrorKind, Fault};
use crate::graph::Placement;
use crate::plan::learn::{Given, reading, sample};
use crate::plan::{PiecePlan, Pieces};
use crate::run::room::Room;
use crate::run::{Outcome, Settings};
use crate::slice::Rows;
use crate::tensor::element::Slice;
use crate::tensor::{Tensor, View};
use crate::with_type;

/// So many rows are tried.
const SAMPLE: u64 = 8;

/// How far results may be from each other where rounding is allowed, relative to the largest of them.
const ROUNDING: f32 = 1e-5;

/// The sizes of pieces that are tried.
const SIZES: [u64; 2] = [1, 3];

impl PiecePlan {
    /// Computes the first rows of the batch together, and in small pieces, and compares all outputs bit by bit, or up to
    /// rounding where states are handed on, which may change the shapes of products. Says how many rows were compared. All of
    /// it takes no more memory than the plan may.
    pub fn check(&self) -> Result<u64, Error> {
        let mut rows = self.planned.rows.min(SAMPLE);
        while rows >= 2 {
            match self.check_rows(rows) {
                Ok(()) => break,
                // Fewer rows may fit where so many do not.
                Err(error) if error.kind() == ErrorKind::Memory && rows > 2 => rows -= 1,
                Err(error) if error.kind() == ErrorKind::Memory => {
                    let needed = self.check_needs(rows as usize).map(|bytes| format!(": {bytes} bytes would do"));
                    let what = "two rows, and what they give, are too large to be tried out";
                    return Err(error.before(&format!("{what}{}", needed.unwrap_or_default())));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(rows)
    }

    fn check_rows(&self, rows: u64) -> Result<(), Error> {
        let mut memory = self.memory.unwrap_or(usize::MAX / 2);
        let too_few = |bytes: usize, left: usize| {
            Fault::of(ErrorKind::Memory, format!("{bytes} bytes are needed, and {left} are left"))
        };
        let mut take = |bytes: usize| {
            memory = memory.checked_sub(bytes).ok_or_else(|| too_few(bytes, memory))?;
            Ok::<usize, Error>(memory)
        };
        let mut samples: Vec<(&str, Option<usize>, Arc<dyn Rows>)> = Vec::new();
        let mut tensors: Vec<Arc<Tensor>> = Vec::new();
        for given in &self.inputs {
            let name = self.graph.tensor_name(given.tensor);
            let Some(axis) = given.axis else {
                samples.push((name, None, Arc::clone(&given.rows)));
                continue;
            };
            let left = take(given.bytes(axis, rows as usize))?;
            if given.rows.memory() > left {
                return Err(too_few(given.rows.memory(), left).into());
            }
            let tensor = Arc::new(sample(given, axis, rows as usize, 0)?);
            samples.push((name, Some(axis), Arc::clone(&tensor) as Arc<dyn Rows>));
            tensors.push(tensor);
        }
        let together =
            self.run_together(tensors.iter().map(|tensor| tensor.view()), &Settings::new().memory(take(0)?))?;
        let left = take(together.outputs().iter().map(Tensor::bytes).sum())?;
        for size in SIZES {
            let mut pieces = Pieces::new().piece(size.min(rows - 1));
            if self.memory.is_some() {
                pieces = pieces.memory(left);
            }
            for (state, next) in &self.planned.carries {
                pieces = pieces.carry(self.graph.tensor_name(*state), self.graph.tensor_name(*next));
            }
            let plan = Self::new(&self.graph, &self.graph.placements, &samples, &pieces, &[])?;
            let apart = plan.run(&Loom::serial())?;
            for (((name, apart), whole), placement) in
                apart.outputs().zip(together.outputs()).zip(&self.graph.placements)
            {
                compare(name, whole, apart, *placement, size, !self.planned.carries.is_empty())?;
            }
        }
        Ok(())
    }

    /// Computes rows of all inputs that have some all at once.
    fn run_together<'v>(
        &'v self,
        mut rows: impl Iterator<Item = View<'v>>,
        settings: &Settings,
    ) -> Result<Outcome, Error> {
        let views = self.inputs.iter().filter_map(|given| {
            let fixed =
                || self.planned.given.iter().find(|(id, _)| *id == given.tensor).map(|(_, tensor)| tensor.view());
            let view = if given.axis.is_some() { rows.next() } else { fixed() };
            Some((self.graph.tensor_name(given.tensor), view?))
        });
        let views: Vec<(&str, View<'_>)> = views.collect();
        self.graph.clone().check(0)?.run(&views, settings)
    }

    /// How many bytes are enough to compare so many rows, if that does not depend on values.
    fn check_needs(&self, rows: usize) -> Option<usize> {
        let absent = |(given, axis): (&Given, usize)| {
            let mut shape = given.rows.shape().to_vec();
            shape[axis] = rows;
            Tensor::absent(given.rows.element(), &shape).ok()
        };
        let cut = self.inputs.iter().filter_map(|given| Some((given, given.axis?)));
        let samples = cut.map(absent).collect::<Option<Vec<Tensor>>>()?;
        let bytes = |tensors: &[Tensor]| tensors.iter().map(Tensor::bytes).sum::<usize>();
        let counting = Settings::inside(&Room::counting(0), 0);
        let together = self.run_together(samples.iter().map(Tensor::view), &counting).ok()?;
        // Pieces of one row take no more than those of the plan.
        let results = self.planned.results.iter().map(|result| result.bytes_if_kept(rows)).sum::<usize>();
        let apart = results + self.kept_bytes + self.planned.layout.total();
        let most = together.peak_bytes().max(bytes(together.outputs()) + apart).max(reading(&self.inputs));
        Some(bytes(&samples) + most)
    }
}

fn compare(
    name: &str,
    whole: &Tensor,
    apart: &Tensor,
    placement: Placement,
    size: u64,
    rounding: bool,
) -> Result<(), Error> {
    let different = |what: String| {
        let message = format!(
            "rows cannot be computed apart from each other: output `{name}` {what}, in pieces of {size} and all at once"
        );
        Err(Error::new(ErrorKind::Batch, message))
    };
    if whole.shape() != apart.shape() || whole.element() != apart.element() {
        return different(format!("has the shapes {:?} and {:?}", apart.shape(), whole.shape()));
    }
    let place = match (whole.view().slice(), apart.view().slice()) {
        (Slice::F32(whole), Slice::F32(apart)) if rounding => {
            let largest = whole.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
            let near = |a: f32, b: f32| (a - b).abs() <= ROUNDING * largest.max(f32::MIN_POSITIVE);
            apart.iter().zip(whole).position(|(a, b)| !(near(*a, *b) || a.is_nan() && b.is_nan()))
        }
        _ => with_type!(all, whole.element(), T => {
            let same = |(a, b): &(&T, &T)| a == b || (!is_number(*a) && !is_number(*b));
            Ok(apart.values::<T>()?.iter().zip(whole.values::<T>()?).position(|pair| !same(&pair)))
        })?,
    };
    let Some(place) = place else { return Ok(()) };
    let row = match placement {
        Placement::Rows { axis } => {
            let inner: usize = whole.shape()[axis + 1..].iter().product();
            format!("differs in row {}", place / inner % whole.shape()[axis])
        }
        Placement::Fixed => format!("differs at element {place}"),
    };
    different(row)
}

/// What is not a number cannot be compared, not even with itself.
fn is_number<T: PartialOrd>(value: &T) -> bool {
    value.partial_cmp(value).is_some()
}
