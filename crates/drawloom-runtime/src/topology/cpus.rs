//! Processors by number, and sets of them.

use std::fmt;

/// No machine has a processor with a greater number, so a text that names one is wrong. Sets stay small that way.
pub(super) const GREATEST: u32 = (1 << 20) - 1;

/// A processor that threads can be bound to, by the number that the operating system gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuId(pub u32);

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cpu {}", self.0)
    }
}

/// A set of processors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSet {
    /// Ascending, each once.
    cpus: Vec<CpuId>,
}

impl CpuSet {
    /// Reads a list as the system writes it: `0-3,8,10-11`. Absent when the text is not such a list.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Some(Self::default());
        }
        let mut set = Vec::new();
        for run in text.split(',') {
            let (first, last) = run.split_once('-').unwrap_or((run, run));
            let number = |text: &str| text.trim().parse::<u32>().ok().filter(|&cpu| cpu <= GREATEST);
            let (first, last) = (number(first)?, number(last)?);
            // Also keeps a text that names everything many times from filling the memory.
            if first > last || set.len() > GREATEST as usize {
                return None;
            }
            set.extend((first..=last).map(CpuId));
        }
        Some(set.into_iter().collect())
    }

    /// Whether a processor is in the set.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.cpus.binary_search(&cpu).is_ok()
    }
}

/// The processors, ascending.
impl std::ops::Deref for CpuSet {
    type Target = [CpuId];

    fn deref(&self) -> &[CpuId] {
        &self.cpus
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        let mut cpus: Vec<CpuId> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        Self { cpus }
    }
}

/// As [`parse`](CpuSet::parse) reads it.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, run) in self.cpus.chunk_by(|one, two| one.0 + 1 == two.0).enumerate() {
            let comma = if place == 0 { "" } else { "," };
            match *run {
                [first, .., last] => write!(f, "{comma}{}-{}", first.0, last.0)?,
                _ => write!(f, "{comma}{}", run[0].0)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CpuId, CpuSet};

    #[test]
    fn lists_of_the_system_read_and_print() {
        for text in ["", "0", "0-3", "0-3,8,10-11", "1023-1025,4000"] {
            assert_eq!(CpuSet::parse(&format!(" {text}\n")).unwrap().to_string(), text);
        }
        let messy = CpuSet::parse("7,0-2,1-3,7").unwrap();
        assert_eq!((messy.to_string().as_str(), messy.len(), messy.first()), ("0-3,7", 5, Some(&CpuId(0))));
        assert!(messy.contains(CpuId(7)) && !messy.contains(CpuId(4)));
    }

    #[test]
    fn texts_that_are_no_lists_are_refused() {
        let endless = ["0-1048575"; 9].join(",");
        for text in ["a", "-1", "3-1", "1,,2", "0-4294967295", "99999999999", "0x1", &endless] {
            assert_eq!(CpuSet::parse(text), None, "{text:?}");
        }
    }
}
