//! Sums and scalar products whose results are known exactly.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod` | [`Dots`]: a sum of indices, a scalar product through maps, and one of odd and even elements |
//! | `scalars` | programs without loops over sets: a sequence, a `while`, a repetition |
//! | `text` | the kernels as C text, for graph files |

pub mod scalars;
mod text;

pub use text::text;

use std::sync::Arc;

use drawloom_mesh::kernel::{Acc, Out};
use drawloom_mesh::raw::{RawMesh, Values};
use drawloom_mesh::{Dat, Error, Mesh, Program};
use parking_lot::Mutex;

/// The longest line: as many elements as the largest mesh that is generated has cells.
const LONGEST: usize = 1 << 26;

/// The results of one iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums {
    /// The sum of all indices.
    pub indices: i64,
    /// The sum of their squares, as a scalar product.
    pub squares: f64,
    /// The sum of the squares of the even ones.
    pub even: f64,
    /// The sum of the squares of the odd ones.
    pub odd: f64,
}

impl Sums {
    /// What they must be for the numbers below `n`.
    pub fn known(n: usize) -> Self {
        // The sum of the squares below `count`.
        let squares = |count: u128| count.saturating_sub(1) * count * (2 * count).saturating_sub(1) / 6;
        let n = n as u128;
        let even = 4 * squares(n.div_ceil(2));
        Self {
            indices: (n * n.saturating_sub(1) / 2) as i64,
            squares: squares(n) as f64,
            even: even as f64,
            odd: (squares(n) - even) as f64,
        }
    }

    /// The largest difference from other sums, relative to those.
    pub fn distance(&self, known: &Sums) -> f64 {
        let relative = |found: f64, known: f64| (found - known).abs() / known.abs().max(1.0);
        let indices = if self.indices == known.indices { 0.0 } else { 1.0 };
        let squares = relative(self.squares, known.squares);
        [squares, relative(self.even, known.even), relative(self.odd, known.odd)].into_iter().fold(indices, f64::max)
    }
}

/// The program, and the names of what it computes.
pub struct Dots {
    /// Its loops.
    pub program: Program,
    /// How many numbers there are.
    pub elements: usize,
    /// The square of each number.
    pub product: Dat<f64, 1>,
    /// What came of each iteration, as far as the program has run.
    pub sums: Arc<Mutex<Vec<Sums>>>,
}

fn add_index(index: usize, sum: &mut [Acc<i64>; 1]) {
    sum[0] += index as i64;
}

fn multiply(x: &[f64; 1], y: &[f64; 1], product: &mut Out<f64, 1>) {
    product.set([x[0] * y[0]]);
}

fn add(product: &[f64; 1], sum: &mut [Acc<f64>; 1]) {
    sum[0] += product[0];
}

fn zero(sum: &mut Out<f64, 1>) {
    sum.set([0.0]);
}

/// A line of points: sets `xs` and `pairs`, the map `same` from each pair to its point, and coordinates `p_x`.
///
/// # Errors
/// A sentence, when the line would be empty or too long.
pub fn line(elements: usize) -> Result<RawMesh, String> {
    if elements == 0 || elements > LONGEST {
        return Err(format!("a line has 1 to {LONGEST} elements, not {elements}"));
    }
    let mut mesh = RawMesh::new();
    mesh.add_set("xs", elements).add_set("pairs", elements);
    mesh.add_map("same", "pairs", "xs", 1, (0..elements as u32).collect());
    mesh.add_dat("p_x", "xs", 2, Values::F64((0..elements).flat_map(|x| [x as f64, 0.0]).collect()));
    Ok(mesh)
}

/// A mesh by its name: `line:8` for eight elements. `None` if the name is not one of those.
pub fn by_name(name: &str) -> Option<Result<RawMesh, String>> {
    let length = name.strip_prefix("line:")?;
    let wrong = || Err(format!("`{name}` has no length; write it as line:8, for 8 elements"));
    Some(length.parse().map_or_else(|_| wrong(), line))
}

impl Dots {
    /// The program on a [`line()`], for a number of iterations. `progress` is called after each.
    ///
    /// # Errors
    /// When the mesh is not a line.
    pub fn new(
        raw: &RawMesh,
        iterations: u64,
        progress: impl Fn(u64, Sums) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Self::with_progress(raw, iterations, Box::new(progress))
    }

    /// Not generic, so that the kernels are compiled once, and not for each function that looks on.
    fn with_progress(
        raw: &RawMesh,
        iterations: u64,
        progress: Box<dyn Fn(u64, Sums) + Send + Sync>,
    ) -> Result<Self, Error> {
        let mut mesh = Mesh::from_raw(raw)?;
        let (xs, pairs) = (mesh.find_set("xs")?, mesh.find_set("pairs")?);
        let same = mesh.find_map::<1>("same")?;
        let elements = mesh.size(xs)?;
        let halves = mesh.set("halves", 2)?;
        let half = mesh.map::<1>("half", xs, halves, (0..elements as u32).map(|x| x % 2).collect())?;
        let numbers = || (0..elements).map(|x| [x as f64]).collect();
        let (x, y) = (mesh.dat("x", xs, numbers())?, mesh.dat("y", xs, numbers())?);
        let product = mesh.dat_of("product", pairs, [0.0])?;
        let parts = mesh.dat_of("parts", halves, [0.0])?;
        let (indices, squares) = (mesh.global("indices", [0_i64])?, mesh.global("squares", [0.0])?);
        let both = mesh.global("both", [0.0; 2])?;
        let iteration = mesh.global("iteration", [0_i64])?;
        let sums = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&sums);

        let mut program = Program::new(mesh);
        program.repeat_with("iterations", iteration, iterations, |program| {
            let reset = program.scalar("reset").update(indices).update(squares).update(both);
            reset.run(|indices, squares, both| (*indices, *squares, *both) = ([0], [0.0], [0.0; 2]));
            program.each(xs, "iota").index().inc(indices).run(add_index);
            program.each(pairs, "multiply").read(x.at(same, 0)).read(y.at(same, 0)).write(product).run(multiply);
            program.each(pairs, "add").read(product).inc(squares).run(add);
            program.each(halves, "zero").write(parts).run(zero);
            program.each(xs, "halves").read(x).inc(parts.at(half, 0)).run(|x, sum| sum[0] += x[0] * x[0]);
            program.each(halves, "collect").index().read(parts).inc(both).run(|half, part, both| {
                both[half] += part[0];
            });
            let results = program.scalar("report").read(indices).read(squares).read(both).read(iteration);
            results.run(move |indices, squares, both, iteration| {
                let sums = Sums { indices: indices[0], squares: squares[0], even: both[0], odd: both[1] };
                noted.lock().push(sums);
                progress(iteration[0] as u64 + 1, sums);
            });
        });
        program.check()?;
        Ok(Self { program, elements, product, sums })
    }
}
