//! AVX-512 with F, BW, DQ and VL: vectors of sixteen numbers of 32 bits. What is kept is compressed, a register at a time.

use std::arch::x86_64::__m512i;

use pulp::x86::V4;

use super::blocks::{Keep, Place, WORD};

impl Keep for V4 {
    const SLACK: usize = super::SLACK;

    #[inline(always)]
    fn word(self, flags: &[bool; WORD]) -> u64 {
        let flags: __m512i = pulp::cast(*flags);
        self.avx512bw._mm512_test_epi8_mask(flags, flags)
    }

    #[inline(always)]
    unsafe fn keep<O: Copy>(self, values: &[O; WORD], flags: u64, _: usize, place: &mut Place<O>) {
        let lanes = size_of::<__m512i>() / size_of::<O>();
        for at in (0..WORD).step_by(lanes) {
            let mask = (flags >> at) & ((1 << lanes) - 1);
            // SAFETY: a register of values from `at` on is in the array. There is space, as the caller says.
            unsafe {
                let values = values.as_ptr().add(at).cast::<__m512i>().read_unaligned();
                let front = match lanes {
                    16 => self.avx512f._mm512_maskz_compress_epi32(mask as u16, values),
                    _ => self.avx512f._mm512_maskz_compress_epi64(mask as u8, values),
                };
                place.start.add(place.len).cast::<__m512i>().write_unaligned(front);
            }
            place.len += mask.count_ones() as usize;
        }
    }
}
