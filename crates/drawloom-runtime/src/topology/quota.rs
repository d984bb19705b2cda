//! How much processor time the control group of this process may use.
//!
//! Linux limits groups of processes to a quota in each period, in two versions of the interface. A group's limit holds for
//! everything below it, so the least of all ancestors counts.

use std::path::{Component, Path, PathBuf};

use super::files::Files;

/// A limit on processor time: so many microseconds, of all processors together, in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Microseconds of processor time in each period.
    pub micros: u64,
    /// The length of a period in microseconds; not zero.
    pub period: u64,
}

impl Quota {
    /// How many processors the quota amounts to.
    pub fn cpus(self) -> f64 {
        self.micros as f64 / self.period as f64
    }

    /// How many processors are needed to use the quota up; at least one.
    pub fn whole_cpus(self) -> usize {
        usize::try_from(self.micros.div_ceil(self.period)).unwrap_or(usize::MAX).max(1)
    }

    /// The text of `cpu.max`, version 2 of the interface. Absent without a limit.
    fn parse_max(text: &str) -> Option<Self> {
        let (micros, period) = text.trim().split_once(' ')?;
        Self::parse(micros, period)
    }

    /// Version 1 of the interface has two files. A quota of -1 is none.
    fn parse(micros: &str, period: &str) -> Option<Self> {
        let (micros, period) = (micros.trim().parse().ok()?, period.trim().parse().ok()?);
        (period > 0 && micros > 0).then_some(Self { micros, period })
    }

    /// The lower of two.
    fn min(self, other: Self) -> Self {
        let [one, two] =
            [(self, other), (other, self)].map(|(one, two)| u128::from(one.micros) * u128::from(two.period));
        if two < one { other } else { self }
    }
}

/// The quota of this process, as files say.
pub(super) fn read(files: &impl Files) -> Option<Quota> {
    let groups = files.text("proc/self/cgroup")?;
    let mounts = Path::new("sys/fs/cgroup");
    let mut lowest: Option<Quota> = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        // The group's own folder and all above it, the mount itself last. Inside of a container the first may be missing.
        let group: PathBuf =
            Path::new(group).components().filter(|part| matches!(part, Component::Normal(_))).collect();
        let found = group.ancestors().flat_map(|folder| {
            if controllers.is_empty() {
                ["", "unified"].map(|mount| version_2(files, &mounts.join(mount).join(folder)))
            } else if controllers.split(',').any(|controller| controller == "cpu") {
                ["cpu", controllers].map(|mount| version_1(files, &mounts.join(mount).join(folder)))
            } else {
                [None; 2]
            }
        });
        lowest = found.flatten().chain(lowest).reduce(Quota::min);
    }
    lowest
}

fn version_2(files: &impl Files, folder: &Path) -> Option<Quota> {
    Quota::parse_max(&files.text(folder.join("cpu.max").to_str()?)?)
}

fn version_1(files: &impl Files, folder: &Path) -> Option<Quota> {
    let text = |file: &str| files.text(folder.join(file).to_str()?);
    Quota::parse(&text("cpu.cfs_quota_us")?, &text("cpu.cfs_period_us")?)
}

#[cfg(test)]
mod tests {
    use super::super::files::tests::Tree;
    use super::{Quota, read};

    #[test]
    fn the_lowest_quota_of_all_ancestors_counts() {
        let mut tree = Tree::default();
        tree.write("proc/self/cgroup", "0::/user/app\n");
        assert_eq!(read(&tree), None);
        tree.write("sys/fs/cgroup/user/app/cpu.max", "max 100000\n");
        assert_eq!(read(&tree), None);
        tree.write("sys/fs/cgroup/user/cpu.max", "250000 100000\n");
        let quota = read(&tree).unwrap();
        assert_eq!((quota, quota.whole_cpus(), quota.cpus()), (Quota { micros: 250_000, period: 100_000 }, 3, 2.5));
        tree.write("sys/fs/cgroup/cpu.max", "60000 20000\n");
        assert_eq!(read(&tree).unwrap().whole_cpus(), 3);
        tree.write("sys/fs/cgroup/user/app/cpu.max", "1000 100000\n");
        assert_eq!(read(&tree).unwrap().whole_cpus(), 1);
    }

    #[test]
    fn the_older_interface_is_understood_and_a_path_never_leaves_the_mount() {
        let mut tree = Tree::default();
        tree.write("proc/self/cgroup", "2:memory:/a\n1:cpu,cpuacct:/../../a\nnonsense\n0::/\n");
        tree.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
        tree.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
        assert_eq!(read(&tree), None);
        tree.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
        assert_eq!(read(&tree).unwrap().whole_cpus(), 4);
    }

    #[test]
    fn a_quota_that_makes_no_sense_is_none() {
        for text in ["", "max", "0 100000", "1 0", "-5 100000", "a b", "1 99999999999999999999"] {
            assert_eq!(Quota::parse_max(text), None, "{text:?}");
        }
        assert!(Quota::parse_max(&format!("{} 1", u64::MAX)).unwrap().whole_cpus() > 1);
    }
}
