//! Rows of a table by their numbers: what a product with rows of zeros and a one comes to.

use crate::operators::support::WithScratch;
use drawloom_tensor::operator::Number;
use drawloom_tensor::{Fault, Inputs, Kernel, Outputs, Scratch, with_type};

/// A kernel that writes a row of its second input for each number of its first one, whose last axis has the length 1. The
/// last row of the table is for numbers that it has no row for.
pub(crate) fn lookup() -> Box<dyn Kernel> {
    Box::new(WithScratch(|inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, _: &mut Scratch| -> Result<(), Fault> {
        let (numbers, table) = (inputs.get(0)?, inputs.get(1)?);
        let (Some((1, head)), &[rows, columns]) = (numbers.shape().split_last(), table.shape()) else {
            return Err(Fault::new(format!(
                "numbers of shape {:?} cannot be looked up in a table of shape {:?}",
                numbers.shape(),
                table.shape()
            )));
        };
        let last = rows.checked_sub(1).ok_or_else(|| Fault::new("a table has no rows"))?;
        let shape: Vec<usize> = head.iter().copied().chain([columns]).collect();
        with_type!(integers, numbers.element(), T => {
            let results = outputs.allocate_unset::<f32>(0, &shape)?;
            let (numbers, values) = (numbers.values::<T>()?, table.values::<f32>()?);
            for (result, number) in results.chunks_exact_mut(columns.max(1)).zip(numbers) {
                let row = usize::try_from(number.to_i64()).map_or(last, |number| number.min(last));
                result.copy_from_slice(&values[row * columns..][..columns]);
            }
            Ok(())
        })
    }))
}
