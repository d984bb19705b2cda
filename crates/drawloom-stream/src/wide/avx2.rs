//! AVX2: vectors of eight numbers of 32 bits. What is kept is brought side by side by a permutation, which is looked up.

use std::arch::x86_64::{__m128i, __m256i};

use pulp::x86::V3;

use super::blocks::{Keep, Place, WORD};

/// For each eight flags, the places of those that are set, a byte for each.
static EIGHT: [u64; 256] = places::<256>(1);
/// For each four flags the same, where what they stand for takes two places.
static FOUR: [u64; 16] = places::<16>(2);

const fn places<const N: usize>(each: u32) -> [u64; N] {
    let mut all = [0; N];
    let mut flags = 0;
    while flags < N {
        let (mut lane, mut front) = (0, 0);
        while lane < 8 {
            if flags >> (lane / each) & 1 == 1 {
                all[flags] |= (lane as u64) << (8 * front);
                front += 1;
            }
            lane += 1;
        }
        flags += 1;
    }
    all
}

impl Keep for V3 {
    const SLACK: usize = super::SLACK;

    #[inline(always)]
    fn word(self, flags: &[bool; WORD]) -> u64 {
        let halves: [__m256i; 2] = pulp::cast(*flags);
        // The only bit that a flag may have becomes the highest of its byte.
        let lower = self.avx2._mm256_movemask_epi8(self.avx2._mm256_slli_epi16::<7>(halves[0]));
        let upper = self.avx2._mm256_movemask_epi8(self.avx2._mm256_slli_epi16::<7>(halves[1]));
        u64::from(lower as u32) | u64::from(upper as u32) << 32
    }

    #[inline(always)]
    unsafe fn keep<O: Copy>(self, values: &[O; WORD], flags: u64, _: usize, place: &mut Place<O>) {
        let lanes = size_of::<__m256i>() / size_of::<O>();
        for at in (0..WORD).step_by(lanes) {
            let mask = (flags >> at) as usize & ((1 << lanes) - 1);
            let places = if size_of::<O>() == 4 { &EIGHT[mask] } else { &FOUR[mask] };
            // SAFETY: a register of values from `at` on is in the array. There is space, as the caller says.
            unsafe {
                let places = self.sse2._mm_loadl_epi64(std::ptr::from_ref(places).cast::<__m128i>());
                let values = values.as_ptr().add(at).cast::<__m256i>().read_unaligned();
                let front = self.avx2._mm256_permutevar8x32_epi32(values, self.avx2._mm256_cvtepu8_epi32(places));
                place.start.add(place.len).cast::<__m256i>().write_unaligned(front);
            }
            place.len += mask.count_ones() as usize;
        }
    }
}
