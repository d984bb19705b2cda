//! The numbers that the filters work on: a hash, divisibility without division, and glibc's random numbers.

/// A hash that mixes the bits of a number.
#[inline]
pub fn munge(key: u32) -> u32 {
    let mut k = (key << 15).wrapping_sub(key).wrapping_sub(1);
    k ^= k >> 12;
    k = k.wrapping_add(k << 2);
    k ^= k >> 4;
    k = k.wrapping_mul(2057);
    k ^ (k >> 16)
}

/// Tells multiples of a number without dividing, so that many numbers can be asked at once (Granlund and Montgomery 1994,
/// section 9).
#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    inverse: u32,
    shift: u32,
    most: u32,
}

impl Divisor {
    /// Multiples of `number`, which is not zero.
    pub fn new(number: u32) -> Self {
        let shift = number.trailing_zeros();
        let odd = number >> shift;
        // Newton's iteration for the inverse modulo 2^32: each step doubles the number of bits that are right, from three.
        let mut inverse = odd;
        for _ in 0..4 {
            inverse = inverse.wrapping_mul(2_u32.wrapping_sub(odd.wrapping_mul(inverse)));
        }
        Self { inverse, shift, most: u32::MAX / number }
    }

    /// Whether the number divides another.
    #[inline]
    pub fn divides(self, other: u32) -> bool {
        other.wrapping_mul(self.inverse).rotate_right(self.shift) <= self.most
    }
}

/// The numbers of glibc's `rand()`: the additive feedback generator of degree 31.
#[derive(Clone, Debug)]
pub struct Rand {
    state: [u32; 31],
    at: usize,
}

impl Rand {
    /// As after `srand(seed)`.
    pub fn new(seed: u32) -> Self {
        let mut state = [0_u32; 31];
        state[0] = seed.max(1);
        for i in 1..31 {
            // 16807 times the number before, modulo 2^31 - 1, which must not be negative.
            let before = i64::from(state[i - 1] as i32);
            state[i] = (16807 * before).rem_euclid(0x7fff_ffff) as u32;
        }
        // The first three numbers stand again behind the 31, so the first sum is that of the fourth.
        let mut rand = Self { state, at: 3 };
        for _ in 0..310 {
            rand.step();
        }
        rand
    }

    fn step(&mut self) -> u32 {
        // The oldest of 31 numbers is replaced by its sum with the one 28 places after it.
        let other = self.state[(self.at + 28) % 31];
        let sum = self.state[self.at].wrapping_add(other);
        self.state[self.at] = sum;
        self.at = (self.at + 1) % 31;
        sum
    }
}

impl Iterator for Rand {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        Some(self.step() >> 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{Divisor, Rand, munge};

    #[test]
    fn the_hash_has_its_known_values() {
        assert_eq!([0, 1, 2, 3, 4].map(munge), [3_399_731_875, 316_017_654, 632_037_349, 948_077_404, 1_264_072_643]);
    }

    #[test]
    fn random_numbers_are_those_of_glibc() {
        let first = |seed| Rand::new(seed).take(3).collect::<Vec<_>>();
        assert_eq!(first(1), [1_804_289_383, 846_930_886, 1_681_692_777]);
        assert_eq!(first(0), first(1));
        assert_ne!(first(1919), first(1));
    }

    #[test]
    fn a_divisor_divides_its_multiples_and_no_others() {
        for number in (1..50).chain([1 << 31, u32::MAX, 65_536 * 3]) {
            let divisor = Divisor::new(number);
            for other in (0..1000).chain((0..1000).map(|i| munge(i) / number * number)).chain((0..1000).map(munge)) {
                assert_eq!(divisor.divides(other), other % number == 0, "{number} {other}");
            }
        }
    }
}
