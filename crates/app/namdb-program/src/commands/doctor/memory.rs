//! Checks whether the host has memory for the regions of servers that do not run yet.

use super::code::MEMORY;
use super::files::Files;
use super::finding::Finding;
use super::site::Site;
use crate::bench::text::bytes;

/// `available_bytes` are available without swapping, within the limits of machine, control groups
/// and process.
pub fn check(files: &dyn Files, available_bytes: u64, site: Option<&Site>) -> Finding {
    let left_bytes =
        promised(files).map_or(available_bytes, |promised| promised.min(available_bytes));
    let left = bytes(left_bytes);
    let Some(site) = site else {
        return MEMORY.not_applicable(format!(
            "{left} are available; the need is only known with --cluster"
        ));
    };
    let wanted_bytes = site.missing_bytes();
    let wanted = bytes(wanted_bytes);
    if wanted_bytes == 0 {
        return MEMORY.ok(format!("{left} are available, and no server of this host is missing"));
    }
    let found =
        format!("{left} are available, but this host's servers that do not run yet need {wanted}");
    let fix = "reduce `bytes` of the servers in the cluster's file, or stop other processes (ps aux --sort=-rss)";
    if wanted_bytes > left_bytes {
        MEMORY.problem(found, fix)
    } else if wanted_bytes > left_bytes / 10 * 9 {
        MEMORY.warning(format!("{found}, which leaves little for everything else"), fix)
    } else {
        MEMORY.ok(found)
    }
}

/// Memory that the kernel still grants if it never overcommits.
fn promised(files: &dyn Files) -> Option<u64> {
    if files.number("/proc/sys/vm/overcommit_memory")? != 2 {
        return None;
    }
    let table = files.text("/proc/meminfo")?;
    let line = |name: &str| -> Option<u64> {
        let line = table.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
    };
    Some(line("CommitLimit:")?.saturating_sub(line("Committed_AS:")?))
}

#[cfg(test)]
mod tests {
    use super::super::files::FakeFiles;
    use super::super::finding::Grade;
    use super::*;
    use membership::FabricKind;

    const USUAL: FakeFiles = FakeFiles(&[("/proc/sys/vm/overcommit_memory", "0")]);
    const STRICT: FakeFiles = FakeFiles(&[
        ("/proc/sys/vm/overcommit_memory", "2"),
        (
            "/proc/meminfo",
            "MemTotal: 9 kB\nCommitLimit:     3145728 kB\nCommitted_AS:    2097152 kB\n",
        ),
    ]);

    #[test]
    fn what_is_missing_has_to_fit() {
        let site = Site::example(FabricKind::Shm);
        let grade = |available_bytes| check(&USUAL, available_bytes, Some(&site)).grade;
        assert_eq!(grade(4 << 30), Grade::Ok);
        assert_eq!(grade((2 << 30) + (100 << 20)), Grade::Warning);
        assert_eq!(grade((2 << 30) - 1), Grade::Problem);
        assert_eq!(check(&STRICT, 4 << 30, Some(&site)).grade, Grade::Problem, "1 GiB is left");
        let running = Site { is_running: vec![true; 2], ..site };
        assert_eq!(check(&USUAL, 0, Some(&running)).grade, Grade::Ok);
        assert_eq!(check(&USUAL, 0, None).grade, Grade::NotApplicable);
    }
}
