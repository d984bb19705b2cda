//! Loops of tensor graphs do what their description says, as a direct interpreter of it does; and mistakes are named.

mod ends;
mod pieces;
mod random;
mod rules;
mod wrong;

use drawloom_tensor::{Fault, Inputs, LoopTurn, Outputs, Placement};

/// Rows along the first axis.
const ROWS: Placement = Placement::Rows { axis: 0 };

/// How many random cases to try: as many as the environment says, or so many.
fn cases(usual: u64) -> u64 {
    std::env::var("DRAWLOOM_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

/// A kernel that copies its first input.
fn copy(inputs: &Inputs<'_>, outputs: &mut Outputs<'_>) -> Result<(), Fault> {
    let input = inputs.get(0)?;
    outputs.copy(0, input, input.shape())
}

/// A loop over pieces of so many rows, whose output is the numbers of the rows, after those of earlier turns.
fn pieces(
    size: u64,
    total: u64,
) -> impl Fn(&Inputs<'_>, &mut Outputs<'_>, &mut LoopTurn<'_>) -> Result<(), Fault> + Send + Sync {
    move |inputs, outputs, turn| {
        let counts = inputs.counts();
        let current = size.min(total - counts.previous);
        let first = counts.previous + counts.previous_outer;
        let values = outputs.allocate::<i64>(0, &[current as usize])?;
        values.iter_mut().zip(first..).for_each(|(value, row)| *value = row as i64);
        turn.push(current, total);
        Ok(())
    }
}
