//! Features of this host that a server runs without; logged for its operator.

use crate::bench::text::bytes;
use fabric::Pages;
use rustix::process::{Resource, getrlimit};
use std::fs;

const PRIVATE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const RDMA_DEVICES: &str = "/sys/class/infiniband";

/// The missing features as text, such as `huge pages, RDMA devices`; `None` if none is missing.
/// `pages` is given for a shared region.
pub fn missing_features(pages: Option<Pages>, region_bytes: u64) -> Option<String> {
    let has_huge_pages = match pages {
        Some(pages) => pages != Pages::Small,
        None => fs::read_to_string(PRIVATE_PAGES).is_ok_and(|text| !text.contains("[never]")),
    };
    let has_devices = fs::read_dir(RDMA_DEVICES).is_ok_and(|mut devices| devices.next().is_some());
    let limit = getrlimit(Resource::Memlock).current;
    let mut lacks = Vec::new();
    if !has_huge_pages {
        lacks.push("huge pages".to_owned());
    }
    if let Some(limit) = limit.filter(|limit| *limit < region_bytes) {
        lacks.push(format!("locked memory (at most {})", bytes(limit)));
    }
    if !has_devices {
        lacks.push("RDMA devices".to_owned());
    }
    (!lacks.is_empty()).then(|| lacks.join(", "))
}
