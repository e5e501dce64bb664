//! Checks whether regions get huge pages, which avoid most TLB misses.

use super::code::HUGE_PAGES;
use super::files::Files;
use super::finding::Finding;
use super::site::Site;
use crate::bench::text::{bytes, grouped};
use fabric::local::{Replicas, ServerConfig, Sharing};
use fabric::{LocalWorld, Pages};
use layout::NodeId;
use membership::FabricKind;

const FREE: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
const TOTAL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
const SHARED: &str = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
const PRIVATE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const PAGE_BYTES: u64 = 2 << 20;

/// Configuration of a trial region.
const TRIAL: ServerConfig = ServerConfig {
    node: NodeId(0),
    server_count: 1,
    bytes: 16 << 20,
    replicas: Replicas::NONE,
    sharing: Sharing::File,
    seed: 0,
};

/// Creates a small region as servers do, and drops it. Returns whether the server itself gets huge
/// pages for it if the host's settings grant none.
pub fn attempt() -> bool {
    LocalWorld::memory_server(&TRIAL).is_ok_and(|(_, pages)| pages == Some(Pages::Collapsed))
}

/// Regions are shared memory on `shm` and private elsewhere. `is_collapsing` is the result of
/// [`attempt`].
pub fn check(files: &dyn Files, is_collapsing: bool, site: Option<&Site>) -> Finding {
    let (Some(free), Some(total)) = (files.number(FREE), files.number(TOTAL)) else {
        return HUGE_PAGES.not_applicable("this kernel lists no huge pages of 2 MiB");
    };
    let reserved = format!("{} of {} reserved ones are free", grouped(free), grouped(total));
    let is_shared = site.is_none_or(|site| site.fabric == FabricKind::Shm);
    let missing_bytes = site.map_or(0, Site::missing_bytes);
    let missing = missing_bytes.div_ceil(PAGE_BYTES);
    if is_shared && missing > 0 && free >= missing {
        return HUGE_PAGES.ok(format!("{reserved}, enough for {}", bytes(missing_bytes)));
    }
    let setting = if is_shared { SHARED } else { PRIVATE };
    let text = files.text(setting).unwrap_or_default();
    let offers = ["[always]", "[within_size]", "[advise]", "[madvise]", "[force]"];
    if offers.iter().any(|offer| text.contains(offer)) {
        return HUGE_PAGES.ok(format!("transparent ones are granted ({text}); {reserved}"));
    }
    if is_shared && is_collapsing {
        return HUGE_PAGES.ok(format!(
            "the kernel collapses small pages into huge ones while memory servers run; {reserved}"
        ));
    }
    let kind = if is_shared { "shared memory" } else { "private memory" };
    let word = if is_shared { "advise" } else { "madvise" };
    let mut fix = format!("echo {word} > {setting}");
    if is_shared && missing > 0 {
        fix += &format!(", or sysctl vm.nr_hugepages={}", total - free.min(total) + missing);
    }
    HUGE_PAGES.warning(format!("{kind} gets small pages only ({text}); {reserved}"), fix)
}

#[cfg(test)]
mod tests {
    use super::super::files::FakeFiles;
    use super::super::finding::Grade;
    use super::*;

    const NONE: FakeFiles = FakeFiles(&[
        (FREE, "0"),
        (TOTAL, "16"),
        (SHARED, "always within_size advise [never] deny force"),
        (PRIVATE, "always [madvise] never"),
    ]);

    #[test]
    fn small_pages_are_a_warning_with_two_ways_out() {
        let finding = check(&NONE, false, Some(&Site::example(FabricKind::Shm)));
        assert_eq!(finding.grade, Grade::Warning);
        let fix = finding.fix.expect("there is a way");
        assert!(
            fix.contains("echo advise > /sys/kernel") && fix.contains("nr_hugepages=1040"),
            "{fix}"
        );
    }

    #[test]
    fn servers_that_make_their_own_huge_pages_need_no_mending() {
        let finding = check(&NONE, true, Some(&Site::example(FabricKind::Shm)));
        assert!(
            finding.grade == Grade::Ok && finding.found.contains("collapses small pages"),
            "{finding:?}"
        );
        const PRIVATE_NONE: FakeFiles =
            FakeFiles(&[(FREE, "0"), (TOTAL, "0"), (PRIVATE, "always [never]")]);
        let private = check(&PRIVATE_NONE, true, Some(&Site::example(FabricKind::Tcp)));
        assert_eq!(private.grade, Grade::Warning, "a private region is left to the host");
    }

    #[test]
    fn private_regions_have_a_setting_of_their_own() {
        assert_eq!(check(&NONE, true, Some(&Site::example(FabricKind::Tcp))).grade, Grade::Ok);
        assert_eq!(check(&NONE, false, None).grade, Grade::Warning);
    }

    #[test]
    fn enough_reserved_pages_are_good() {
        const MANY: FakeFiles = FakeFiles(&[(FREE, "1024"), (TOTAL, "1024"), (SHARED, "[never]")]);
        assert_eq!(check(&MANY, false, Some(&Site::example(FabricKind::Shm))).grade, Grade::Ok);
        const FEW: FakeFiles = FakeFiles(&[(FREE, "1023"), (TOTAL, "1024"), (SHARED, "[never]")]);
        assert_eq!(check(&FEW, false, Some(&Site::example(FabricKind::Shm))).grade, Grade::Warning);
        assert_eq!(check(&FakeFiles(&[]), false, None).grade, Grade::NotApplicable);
    }
}
