//! Instruction sets that kernels are compiled for.

use pulp::Arch;
#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};

/// All that this processor has, the slowest first. The fastest one is what [`Arch::new`] gives.
pub fn levels() -> Vec<Arch> {
    #[allow(unused_mut)]
    let mut levels = vec![Arch::Scalar];
    #[cfg(target_arch = "x86_64")]
    levels.extend(V3::try_new().map(Arch::V3).into_iter().chain(V4::try_new().map(Arch::V4)));
    levels
}

/// The name of a level in lower case.
pub fn level_name(level: Arch) -> &'static str {
    match level {
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) => "avx2",
        #[cfg(target_arch = "x86_64")]
        Arch::V4(_) => "avx512",
        _ => "portable",
    }
}
