//! Rows of random numbers.

use drawloom_tensor::{ElementType, Fault, Rows, Tensor};

/// Rows of random numbers, the same for each row in whatever piece it is: real numbers from -1 to 1, and for integers 0 and
/// 1, which are places in any table and codes of any alphabet.
pub(super) struct RandomRows {
    pub(super) element: ElementType,
    pub(super) shape: Vec<usize>,
}

impl Rows for RandomRows {
    fn element(&self) -> ElementType {
        self.element
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read(&self, axis: usize, first: usize, into: &mut Tensor) -> Result<(), Fault> {
        let shape = into.shape().to_vec();
        let rows = shape.get(axis).copied().unwrap_or(1);
        let inner: usize = shape.get(axis + 1..).unwrap_or(&[]).iter().product();
        let length = self.shape.get(axis).copied().unwrap_or(1);
        let number = |place: usize| {
            let (block, row, at) = (place / inner / rows, place / inner % rows, place % inner);
            // A few rounds of shifts and products make neighbours differ.
            let row = block.wrapping_mul(length).wrapping_add(first + row);
            let mut bits = row.wrapping_mul(inner).wrapping_add(at) as u64;
            for factor in [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9_u64] {
                bits = (bits ^ bits >> 31).wrapping_mul(factor);
            }
            bits >> 40
        };
        let real = |place: usize| number(place) as f32 / (1 << 23) as f32 - 1.0;
        let bit = |place: usize| number(place) % 2;
        match self.element {
            ElementType::F32 => fill(into.values_mut::<f32>()?, real),
            ElementType::F64 => fill(into.values_mut::<f64>()?, |place| f64::from(real(place))),
            ElementType::I64 => fill(into.values_mut::<i64>()?, |place| bit(place) as i64),
            ElementType::I32 => fill(into.values_mut::<i32>()?, |place| bit(place) as i32),
            ElementType::U8 => fill(into.values_mut::<u8>()?, |place| bit(place) as u8),
            ElementType::I8 => fill(into.values_mut::<i8>()?, |place| bit(place) as i8),
            ElementType::Bool => fill(into.values_mut::<bool>()?, |place| bit(place) == 1),
        }
        Ok(())
    }
}

fn fill<T>(values: &mut [T], value: impl Fn(usize) -> T) {
    values.iter_mut().enumerate().for_each(|(place, into)| *into = value(place));
}

#[cfg(test)]
mod tests {
    use super::RandomRows;
    use drawloom_tensor::{ElementType, Rows, Tensor};

    #[test]
    fn random_integers_are_zeros_and_ones() {
        for element in [ElementType::I64, ElementType::I32, ElementType::U8, ElementType::I8] {
            let rows = RandomRows { element, shape: vec![50, 4] };
            let mut tensor = Tensor::zeros(element, &[50, 4]).unwrap();
            rows.read(0, 0, &mut tensor).unwrap();
            let values: Vec<i64> = match element {
                ElementType::I64 => tensor.values::<i64>().unwrap().to_vec(),
                ElementType::I32 => tensor.values::<i32>().unwrap().iter().map(|value| i64::from(*value)).collect(),
                ElementType::U8 => tensor.values::<u8>().unwrap().iter().map(|value| i64::from(*value)).collect(),
                _ => tensor.values::<i8>().unwrap().iter().map(|value| i64::from(*value)).collect(),
            };
            assert!(values.iter().all(|value| [0, 1].contains(value)), "{element}: {values:?}");
            assert!(values.contains(&0) && values.contains(&1), "{element}: {values:?}");
        }
    }
}
