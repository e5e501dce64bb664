//! Checks whether regions may be locked in memory, which RDMA devices require.

use super::code::LOCKED_MEMORY;
use super::files::Files;
use super::finding::Finding;
use super::site::Site;
use crate::bench::text::bytes;
use membership::FabricKind;

/// Locked memory besides the region: queues and buffers.
const SPARE_BYTES: u64 = 64 << 20;
/// Number of the capability to lock any amount of memory.
const CAP_IPC_LOCK: u32 = 14;
const MEND: &str = "echo '* - memlock unlimited' > /etc/security/limits.d/namdb.conf (then log in again), or \
                    LimitMEMLOCK=infinity in the systemd unit";

/// `limit_bytes` is the limit of a process; `None` without a limit.
pub fn check(files: &dyn Files, limit_bytes: Option<u64>, site: Option<&Site>) -> Finding {
    let Some(limit_bytes) = limit_bytes else {
        return LOCKED_MEMORY.ok("unlimited");
    };
    if may_exceed(&files.text("/proc/self/status").unwrap_or_default()) {
        return LOCKED_MEMORY.ok(format!("{}, which this user may exceed", bytes(limit_bytes)));
    }
    let limit = bytes(limit_bytes);
    match site {
        Some(site) if site.fabric == FabricKind::Verbs => {
            let wanted_bytes = site.regions.iter().max().copied().unwrap_or(0) + SPARE_BYTES;
            match limit_bytes >= wanted_bytes {
                true => LOCKED_MEMORY.ok(format!("{limit}, {} are wanted", bytes(wanted_bytes))),
                false => LOCKED_MEMORY.problem(
                    format!(
                        "the limit is {limit}, but the largest server of this host locks {}",
                        bytes(wanted_bytes)
                    ),
                    MEND,
                ),
            }
        }
        Some(site) => {
            let fabric = site.fabric.name();
            LOCKED_MEMORY
                .not_applicable(format!("`{fabric}` locks no memory (the limit is {limit})"))
        }
        None => LOCKED_MEMORY
            .not_applicable(format!("only `verbs` locks memory (the limit is {limit})")),
    }
}

fn may_exceed(status: &str) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = line.and_then(|line| u64::from_str_radix(line.trim(), 16).ok());
    capabilities.is_some_and(|capabilities| capabilities >> CAP_IPC_LOCK & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::super::files::FakeFiles;
    use super::super::finding::Grade;
    use super::*;

    const USER: FakeFiles =
        FakeFiles(&[("/proc/self/status", "Name:\tnamdb\nCapEff:\t0000000000000000\n")]);
    const ROOT: FakeFiles =
        FakeFiles(&[("/proc/self/status", "Name:\tnamdb\nCapEff:\t000001ffffffffff\n")]);

    #[test]
    fn the_limit_has_to_hold_the_largest_region() {
        let site = Site::example(FabricKind::Verbs);
        let grade = |limit_bytes| check(&USER, limit_bytes, Some(&site)).grade;
        assert_eq!(grade(None), Grade::Ok);
        assert_eq!(grade(Some((2 << 30) + SPARE_BYTES)), Grade::Ok);
        assert_eq!(grade(Some(2 << 30)), Grade::Problem);
        assert_eq!(check(&ROOT, Some(8 << 20), Some(&site)).grade, Grade::Ok);
    }

    #[test]
    fn other_fabrics_lock_nothing() {
        let site = Site::example(FabricKind::Shm);
        let finding = check(&USER, Some(8 << 20), Some(&site));
        assert_eq!(finding.grade, Grade::NotApplicable);
        assert!(finding.found.contains("8.00 MiB"), "{finding:?}");
    }
}
