//! AVX2: vectors of eight numbers of 32 bits. What is kept is moved one by one.

use super::lanes::Lanes;
use super::level::Kernel;
use super::portable;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn call<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn select<L, O, F, W>(items: L, to: &mut Vec<O>, words: &mut W, code: &F)
where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    portable::select(items, to, words, code);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn split<L, O, F, W>(items: L, to: (&mut Vec<O>, &mut Vec<O>), words: &mut W, code: &F)
where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    portable::split(items, to, words, code);
}
