//! The calls that read and set the affinity of the calling thread.
//!
//! The system takes a mask as an array of words of any length. The type that the C library offers for it has room for 1024
//! processors, and there are machines with more, so the masks here are vectors that grow until the system is content.

pub(super) use system::{current_mask, set_current_mask};

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the C library has no safe interface to affinity masks")]
mod system {
    use std::ffi::c_ulong;
    use std::io;

    use super::super::cpus::{CpuId, CpuSet, GREATEST};

    const BITS: usize = c_ulong::BITS as usize;

    /// The processors on which the calling thread may run.
    pub(in super::super) fn current_mask() -> io::Result<CpuSet> {
        let mut words: Vec<c_ulong> = vec![0; 1024 / BITS];
        loop {
            let bytes = size_of_val(words.as_slice());
            // SAFETY: the call writes at most `bytes` bytes behind the pointer. `words` owns exactly that many, they are
            // initialised, and nothing else refers to them. `cpu_set_t` is an array of the same words, so the pointer is
            // aligned for it, and the call touches no more of it than `bytes` says. Thread 0 means the calling thread.
            let status = unsafe { libc::sched_getaffinity(0, bytes, words.as_mut_ptr().cast()) };
            if status >= 0 {
                return Ok(members(&words));
            }
            let error = io::Error::last_os_error();
            // That is how the system says that its mask has more words.
            if error.raw_os_error() != Some(libc::EINVAL) || words.len() * BITS > GREATEST as usize {
                return Err(error);
            }
            words = vec![0; 2 * words.len()];
        }
    }

    /// Restricts the calling thread to these processors.
    pub(in super::super) fn set_current_mask(cpus: &CpuSet) -> io::Result<()> {
        let words = words(cpus);
        let bytes = size_of_val(words.as_slice());
        // SAFETY: the call reads at most `bytes` bytes behind the pointer, which are exactly those that `words` owns, and
        // keeps no reference. `cpu_set_t` is an array of the same words, so the pointer is aligned for it, and the call
        // touches no more of it than `bytes` says. Thread 0 means the calling thread.
        let status = unsafe { libc::sched_setaffinity(0, bytes, words.as_ptr().cast()) };
        if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn members(words: &[c_ulong]) -> CpuSet {
        let set = (0..words.len() * BITS).filter(|cpu| words[cpu / BITS] >> (cpu % BITS) & 1 == 1);
        set.map(|cpu| CpuId(cpu as u32)).collect()
    }

    fn words(cpus: &CpuSet) -> Vec<c_ulong> {
        let last = cpus.last().map_or(0, |&CpuId(cpu)| cpu as usize);
        let mut words = vec![0; last / BITS + 1];
        for &CpuId(cpu) in cpus.iter() {
            words[cpu as usize / BITS] |= 1 << (cpu as usize % BITS);
        }
        words
    }

    #[cfg(test)]
    mod tests {
        use super::{CpuSet, members, words};

        #[test]
        fn masks_hold_more_than_1024_processors() {
            for text in ["0", "0-3,63-64,127", "1023-1030,4095", ""] {
                let set = CpuSet::parse(text).unwrap();
                assert_eq!(members(&words(&set)), set, "{text:?}");
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    use super::super::cpus::CpuSet;

    pub(in super::super) fn current_mask() -> io::Result<CpuSet> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in super::super) fn set_current_mask(_: &CpuSet) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
