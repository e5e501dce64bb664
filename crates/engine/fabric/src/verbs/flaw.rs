//! Known faults of devices that break locks.
//!
//! Decision: docs/decisions/0246-a-software-device-that-breaks-a-promise-is-reported.md

use std::fs::read_to_string;

/// First version and revision of Linux whose Soft-RoCE does not write after a failed swap.
///
/// Earlier, its responder stored the word that it had read, swapped or not (`atomic_reply` in the
/// kernel's `drivers/infiniband/sw/rxe/rxe_resp.c`), and an owner's plain write in between was
/// lost.
const MENDED: (u32, u32) = (6, 3);

/// Advice for a device that has a [`flaw`].
pub const FLAW_ADVICE: &str = "for trials only: use a card, another kernel, or the fabric `tcp`";

/// The fault of a device that breaks locks, in words; `None` for most devices.
///
/// A failed swap must write nothing (`docs/assumptions.md`, 8), since the owner of a lock releases
/// it with a plain write. Cards guarantee that; Soft-RoCE of older kernels does not.
pub fn flaw(device: &str) -> Option<String> {
    let folder = format!("/sys/class/infiniband/{device}");
    // The network interface that packets use: only software devices have one as their parent.
    let is_software = std::path::Path::new(&folder).join("parent").exists();
    let release = read_to_string("/proc/sys/kernel/osrelease").ok()?;
    of_software(device, is_software, release.trim())
}

fn of_software(device: &str, is_software: bool, release: &str) -> Option<String> {
    if !is_software || version(release)? >= MENDED {
        return None;
    }
    let (version, revision) = MENDED;
    Some(format!(
        "{device} is Soft-RoCE of Linux {release}, whose failed swaps write back what they found (until Linux \
         {version}.{revision}): occasionally a lock is not released, or a row loses its last version"
    ))
}

/// Version and revision of a kernel's release, such as `6.1.0-56-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_soft_roce_of_old_kernels_has_it() {
        let flaw = |is_software, release| of_software("rxe0", is_software, release);
        assert!(flaw(true, "6.1.0-56-amd64").is_some_and(|text| text.contains("Linux 6.3")));
        assert!(flaw(true, "5.15.0").is_some());
        assert_eq!(flaw(true, "6.3.0-rc1"), None);
        assert_eq!(flaw(true, "6.12.9-1"), None);
        assert_eq!(flaw(false, "6.1.0-56-amd64"), None);
        assert_eq!(flaw(true, "unknown"), None);
    }
}
