//! Kernels on sixteen numbers at once, with the instructions that the machine has: the one place for `unsafe` code that
//! computes.
//!
//! The one idea: an element of a result is computed by the same operations in the same order, whatever else is computed in
//! the same call. A product adds up along `k` from the first to the last, and a tail shorter than a register goes through
//! the same instructions, so a batch in pieces gives the bits of the batch as a whole.
//!
//! | module | concept |
//! |---|---|
//! | [`lanes`] | sixteen numbers in the registers of a machine |
//! | [`activation`] | what is done to sums before they are stored, and functions of each element |
//! | [`product`], [`tile`] | products of matrices, as tiles of registers |
//! | [`dot`] | the same of matrices that both have their `k` next to each other |
//! | [`vector`] | products of a matrix with vectors |
//! | [`windows`] | elements under windows as a part of a matrix |
//! | [`depthwise`] | one window over one channel |

pub(crate) mod activation;
pub(crate) mod depthwise;
pub(crate) mod dot;
pub(crate) mod lanes;
pub(crate) mod product;
pub(crate) mod tile;
pub(crate) mod vector;
pub(crate) mod windows;

/// Runs a loop that was written for one element at a time as if for this machine: what the compiler makes of it uses wide
/// registers where there are some. Nothing is rounded differently, as products and sums are not joined.
pub(crate) fn wide<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(run);
    }
    run()
}
