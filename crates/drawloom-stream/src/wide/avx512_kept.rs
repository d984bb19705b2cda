//! AVX-512, to count the items that were kept before places: bits of words, sixteen places at once.

use std::arch::x86_64::{
    __m512i, _mm_setr_epi8, _mm512_add_epi8, _mm512_add_epi32, _mm512_alignr_epi32, _mm512_and_si512,
    _mm512_andnot_si512, _mm512_broadcast_i32x4, _mm512_cmpge_epu32_mask, _mm512_loadu_si512, _mm512_madd_epi16,
    _mm512_maddubs_epi16, _mm512_permutex2var_epi32, _mm512_permutexvar_epi32, _mm512_popcnt_epi32, _mm512_set1_epi8,
    _mm512_set1_epi16, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_sllv_epi32,
    _mm512_srli_epi32, _mm512_storeu_si512, _mm512_sub_epi32,
};

use super::kept::{WINDOW, one};

/// Notes how many bits of some words are set before each of some places. There is space for how many there are before each half of a
/// word.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn kept_before(words: &[u64], before: &mut [u32], places: &[u32], noted: &mut [u32]) {
    if is_x86_feature_detected!("avx512vpopcntdq") {
        // SAFETY: the processor has the instruction that counts bits, and all the rest as the caller has.
        unsafe { note_counted(words, before, places, noted) };
    } else {
        note(words, before, places, noted, |bits| count_ones(bits));
    }
}

/// As [`note`], with an instruction that counts bits.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
fn note_counted(words: &[u64], before: &mut [u32], places: &[u32], noted: &mut [u32]) {
    note(words, before, places, noted, |bits| _mm512_popcnt_epi32(bits));
}

/// As [`kept_before`], if it is said how bits are counted.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
fn note(words: &[u64], before: &mut [u32], places: &[u32], noted: &mut [u32], ones: impl Fn(__m512i) -> __m512i) {
    count_bits(words, before, &ones);
    // Then sixteen of them need no more than two thirds of a register as a rule, and hardly any need more than one.
    let close = |(first, last): (&u32, &u32)| last.wrapping_sub(*first) as usize <= CLOSE * places.len();
    if places.first().zip(places.last()).is_some_and(close) {
        note_each(words, before, places, noted, |places, noted| {
            if !kept_before_each::<1>(words, before, places, noted, &ones) {
                note_far(words, before, places, noted, &ones);
            }
        });
    } else {
        note_each(words, before, places, noted, |places, noted| {
            if !kept_before_each::<2>(words, before, places, noted, &ones) {
                *noted = places.map(|place| one(words, before, place));
            }
        });
    }
}

/// Places are close to each other if as a rule there is one of them in so many.
const CLOSE: usize = 20;

/// Notes what is before places, sixteen at a time where there are as many.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
fn note_each(
    words: &[u64],
    before: &[u32],
    places: &[u32],
    noted: &mut [u32],
    sixteen: impl Fn(&[u32; 16], &mut [u32; 16]),
) {
    let (chunks, rest) = places.as_chunks();
    for (places, noted) in chunks.iter().zip(noted.as_chunks_mut().0) {
        sixteen(places, noted);
    }
    match (places.last_chunk(), noted.last_chunk_mut()) {
        _ if rest.is_empty() => {}
        // Some of the last sixteen once more, and none alone.
        (Some(places), Some(noted)) => sixteen(places, noted),
        _ => noted.iter_mut().zip(places).for_each(|(noted, place)| *noted = one(words, before, *place)),
    }
}

/// Notes what is before sixteen places, if they are farther from each other than most. It is out of the way of those.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
fn note_far(
    words: &[u64],
    before: &[u32],
    places: &[u32; 16],
    noted: &mut [u32; 16],
    ones: &impl Fn(__m512i) -> __m512i,
) {
    if !kept_before_each::<2>(words, before, places, noted, ones) {
        *noted = places.map(|place| one(words, before, place));
    }
}

/// How many bits are set before each of sixteen places, if that is known for the beginning of each half of a word. False if the places
/// are not all in so many registers of such halves, one or two, from that of the first one.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
fn kept_before_each<const REGISTERS: usize>(
    words: &[u64],
    before: &[u32],
    places: &[u32; 16],
    noted: &mut [u32; 16],
    ones: &impl Fn(__m512i) -> __m512i,
) -> bool {
    let first = places[0] as usize / 32;
    if first + WINDOW > before.len().min(2 * words.len()) {
        return false;
    }
    // SAFETY: there are sixteen places.
    let places = unsafe { _mm512_loadu_si512(places.as_ptr().cast::<__m512i>()) };
    let half = _mm512_sub_epi32(_mm512_srli_epi32::<5>(places), _mm512_set1_epi32(first as i32));
    if _mm512_cmpge_epu32_mask(half, _mm512_set1_epi32(16 * REGISTERS as i32)) != 0 {
        return false;
    }
    let look_up = |all: *const u32| {
        // SAFETY: from the first half on there are as many, and as many numbers of what is before them, as two registers hold.
        let register = |at: usize| unsafe { _mm512_loadu_si512(all.add(first + at).cast::<__m512i>()) };
        match REGISTERS {
            1 => _mm512_permutexvar_epi32(half, register(0)),
            _ => _mm512_permutex2var_epi32(register(0), half, register(WINDOW / 2)),
        }
    };
    // The bits from the place on are taken away. Of a word the low half is where it begins.
    let behind = _mm512_sllv_epi32(_mm512_set1_epi32(-1), _mm512_and_si512(places, _mm512_set1_epi32(31)));
    let bits = _mm512_andnot_si512(behind, look_up(words.as_ptr().cast()));
    let all = _mm512_add_epi32(ones(bits), look_up(before.as_ptr()));
    // SAFETY: there is space for sixteen numbers.
    unsafe { _mm512_storeu_si512(noted.as_mut_ptr().cast::<__m512i>(), all) };
    true
}

/// Counts how many bits are set before each half of some words, eight of them at a time.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
fn count_bits(words: &[u64], before: &mut [u32], ones: &impl Fn(__m512i) -> __m512i) {
    let zero = _mm512_setzero_si512();
    let mut so_far = zero;
    for (words, before) in words.as_chunks::<8>().0.iter().zip(before.as_chunks_mut::<16>().0) {
        // SAFETY: there are eight words.
        let own = ones(unsafe { _mm512_loadu_si512(words.as_ptr().cast::<__m512i>()) });
        // Each adds the one that is one, two, four and eight places before it, as the sums of first numbers do (Hillis and Steele 1986).
        let mut all = _mm512_add_epi32(own, _mm512_alignr_epi32::<15>(own, zero));
        all = _mm512_add_epi32(all, _mm512_alignr_epi32::<14>(all, zero));
        all = _mm512_add_epi32(all, _mm512_alignr_epi32::<12>(all, zero));
        all = _mm512_add_epi32(all, _mm512_alignr_epi32::<8>(all, zero));
        // SAFETY: there is space for sixteen numbers.
        unsafe {
            let so_far = _mm512_add_epi32(so_far, _mm512_sub_epi32(all, own));
            _mm512_storeu_si512(before.as_mut_ptr().cast::<__m512i>(), so_far);
        }
        // One addition is all that the next ones wait for.
        so_far = _mm512_add_epi32(so_far, _mm512_permutexvar_epi32(_mm512_set1_epi32(15), all));
    }
}

/// How many bits are set in each of sixteen numbers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn count_ones(bits: __m512i) -> __m512i {
    // The bits of each half of a byte are looked up, and bytes added up (Mula, Kurz and Lemire 2018).
    let halves = _mm512_set1_epi8(0xf);
    let counts = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let low = _mm512_shuffle_epi8(counts, _mm512_and_si512(bits, halves));
    let high = _mm512_shuffle_epi8(counts, _mm512_and_si512(_mm512_srli_epi32::<4>(bits), halves));
    let pairs = _mm512_maddubs_epi16(_mm512_add_epi8(low, high), _mm512_set1_epi8(1));
    _mm512_madd_epi16(pairs, _mm512_set1_epi16(1))
}

#[cfg(test)]
mod tests {
    use std::mem::transmute;

    use fastrand::Rng;

    use super::super::Level;
    use super::{__m512i, count_ones};

    /// Not every processor counts bits with [`count_ones`], so it is tried alone.
    #[test]
    fn bits_are_counted_without_an_instruction_for_it() {
        let mut rng = Rng::with_seed(9);
        if !Level::all().contains(&Level::Avx512) {
            return;
        }
        for round in 0..1000 {
            let numbers: [u32; 16] = std::array::from_fn(|at| if round == at { u32::MAX } else { rng.u32(..) });
            // SAFETY: the processor has these parts of AVX-512, and sixteen numbers are a register.
            let counted =
                unsafe { transmute::<__m512i, [u32; 16]>(count_ones(transmute::<[u32; 16], __m512i>(numbers))) };
            assert_eq!(counted, numbers.map(u32::count_ones));
        }
    }
}
