//! How much processor time the control group of this process may use.
//!
//! Linux limits groups of processes to a quota in each period, in two versions of the interface. A group's limit holds for
//! everything below it, so the least of all ancestors counts.

use std::path::{Component, Path, PathBuf};

use super::Text;

/// The limit on processor time, as a number of processors; none without a limit.
pub(super) fn quota(text: Text<'_>) -> Option<f64> {
    let mut lowest: Option<f64> = None;
    for line in text("proc/self/cgroup")?.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        // The group's own folder and all above it, the mount itself last. Inside of a container the first may be missing.
        let group: PathBuf =
            Path::new(group).components().filter(|part| matches!(part, Component::Normal(_))).collect();
        for folder in group.ancestors() {
            let file = |mount: &str, name: &str| {
                text(Path::new("sys/fs/cgroup").join(mount).join(folder).join(name).to_str()?)
            };
            let version_2 = |mount| parse_max(&file(mount, "cpu.max")?);
            let version_1 = |mount| parse(&file(mount, "cpu.cfs_quota_us")?, &file(mount, "cpu.cfs_period_us")?);
            let found = if controllers.is_empty() {
                ["", "unified"].map(version_2)
            } else if controllers.split(',').any(|controller| controller == "cpu") {
                ["cpu", controllers].map(version_1)
            } else {
                [None; 2]
            };
            lowest = found.into_iter().flatten().chain(lowest).reduce(f64::min);
        }
    }
    lowest
}

/// The text of `cpu.max`, version 2 of the interface.
fn parse_max(text: &str) -> Option<f64> {
    let (micros, period) = text.trim().split_once(' ')?;
    parse(micros, period)
}

/// Version 1 of the interface has two files. A quota of -1 is none.
fn parse(micros: &str, period: &str) -> Option<f64> {
    let (micros, period): (u64, u64) = (micros.trim().parse().ok()?, period.trim().parse().ok()?);
    (period > 0 && micros > 0).then(|| micros as f64 / period as f64)
}

#[cfg(test)]
mod tests {
    use super::super::machine::tests::Tree;
    use super::{parse_max, quota};

    #[test]
    fn the_lowest_quota_of_all_ancestors_counts() {
        let mut tree = Tree::default();
        tree.write("proc/self/cgroup", "0::/user/app\n");
        assert_eq!(quota(&|path| tree.text(path)), None);
        tree.write("sys/fs/cgroup/user/app/cpu.max", "max 100000\n");
        assert_eq!(quota(&|path| tree.text(path)), None);
        tree.write("sys/fs/cgroup/user/cpu.max", "250000 100000\n");
        assert_eq!(quota(&|path| tree.text(path)), Some(2.5));
        tree.write("sys/fs/cgroup/cpu.max", "60000 20000\n");
        assert_eq!(quota(&|path| tree.text(path)), Some(2.5));
        tree.write("sys/fs/cgroup/user/app/cpu.max", "1000 100000\n");
        assert_eq!(quota(&|path| tree.text(path)), Some(0.01));
    }

    #[test]
    fn the_older_interface_is_understood_and_a_path_never_leaves_the_mount() {
        let mut tree = Tree::default();
        tree.write("proc/self/cgroup", "2:memory:/a\n1:cpu,cpuacct:/../../a\nnonsense\n0::/\n");
        tree.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
        tree.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
        assert_eq!(quota(&|path| tree.text(path)), None);
        tree.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
        assert_eq!(quota(&|path| tree.text(path)), Some(4.0));
    }

    #[test]
    fn a_quota_that_makes_no_sense_is_none() {
        for text in ["", "max", "0 100000", "1 0", "-5 100000", "a b", "1 99999999999999999999"] {
            assert_eq!(parse_max(text), None, "{text:?}");
        }
        assert!(parse_max(&format!("{} 1", u64::MAX)).unwrap() > 1e19);
    }
}
