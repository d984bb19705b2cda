//! Programs without loops over sets: only scalar code, and the control flow around it.

use drawloom_mesh::{Error, Global, Mesh, Program};

/// A program with two numbers, both integers.
pub struct Scalars {
    /// Its scalar code.
    pub program: Program,
    /// The first number.
    pub x: Global<i64, 1>,
    /// The second number.
    pub y: Global<i64, 1>,
}

impl Scalars {
    /// One piece of code after the other: x becomes 1, and y twice that.
    ///
    /// # Errors
    /// None that are known.
    pub fn sequence() -> Result<Self, Error> {
        let (mut program, x, y) = begin(0)?;
        program.scalar("one").update(x).run(|x| x[0] = 1);
        program.scalar("two").read(x).update(y).run(|x, y| y[0] = 2 * x[0]);
        Ok(Self { program, x, y })
    }

    /// While x is not zero, one goes from x to y. In the beginning x is 10 and y is 0.
    ///
    /// # Errors
    /// None that are known.
    pub fn while_positive() -> Result<Self, Error> {
        let (mut program, x, y) = begin(10)?;
        program.while_true(x, |program| {
            program.scalar("move").update(x).update(y).run(|x, y| (x[0], y[0]) = (x[0] - 1, y[0] + 1));
        });
        Ok(Self { program, x, y })
    }

    /// x counts the runs of a repetition, and y is the sum of the numbers of the runs.
    ///
    /// # Errors
    /// None that are known.
    pub fn repetition(count: u64) -> Result<Self, Error> {
        let (mut program, x, y) = begin(0)?;
        program.repeat_with("runs", x, count, |program| {
            program.scalar("add").read(x).update(y).run(|x, y| y[0] += x[0]);
        });
        Ok(Self { program, x, y })
    }
}

/// A program that first sets its two numbers, so that it can run again.
fn begin(first: i64) -> Result<(Program, Global<i64, 1>, Global<i64, 1>), Error> {
    let mut mesh = Mesh::new();
    let (x, y) = (mesh.global("x", [0_i64])?, mesh.global("y", [0_i64])?);
    let mut program = Program::new(mesh);
    program.scalar("begin").update(x).update(y).run(move |x, y| (x[0], y[0]) = (first, 0));
    Ok((program, x, y))
}
