//! Memory that this host has for the regions of memory servers.

use namdb::host;

/// Available memory of ordinary pages or free reserved huge pages, whichever is more, in bytes.
pub fn available_bytes() -> u64 {
    let table = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    host::available_memory_bytes().max(free_huge_bytes(&table))
}

/// Free huge pages in bytes, from the kernel's memory table.
fn free_huge_bytes(table: &str) -> u64 {
    let number = |name: &str| -> Option<u64> {
        let line = table.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let pages = number("HugePages_Free:").unwrap_or(0);
    pages.saturating_mul(number("Hugepagesize:").unwrap_or(0) * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_huge_pages_count_by_their_size() {
        let table = "HugePages_Total:    8\nHugePages_Free:      3\nHugepagesize:     2048 kB\n";
        assert_eq!(free_huge_bytes(table), 6 << 20);
        assert_eq!(free_huge_bytes("MemTotal: 9 kB\n"), 0);
        assert!(available_bytes() > 0);
    }
}
