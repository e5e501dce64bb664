//! Files in memory that several processes map: regions, and the segments of calls.
//!
//! Decision: docs/decisions/0072-shared-memory-has-no-name.md

use crate::local::huge;
use crate::raw::{HUGE_PAGE_BYTES, Memory};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::fs::{fallocate, fcntl_add_seals, ftruncate, memfd_create};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

/// The kind of pages of a shared region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pages {
    /// Huge pages from the host's reserve; all pages of the region are reserved at once.
    Reserved,
    /// Huge pages that the kernel collapses, a little ahead of the touched ones.
    Collapsed,
    /// Huge pages if the kernel finds some at the first touch, otherwise small ones.
    Transparent,
    /// Small pages, allocated at the first touch: the host offers no others.
    Small,
}

impl fmt::Display for Pages {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Reserved => "huge pages, reserved",
            Self::Collapsed => "huge pages, collapsed on demand",
            Self::Transparent => "transparent huge pages",
            Self::Small => "small pages",
        })
    }
}

/// Creates a region for several processes, of huge pages if the host has enough of them free.
///
/// The file has no name that a crash could leave behind: the kernel frees it with its last
/// descriptor and mapping. Reserved huge pages are set aside when the file is mapped, so either all
/// of them are available or this fails. All other pages are allocated at the first touch like
/// ordinary memory: if the host or the control group has none left, the kernel kills a process.
/// Only a kernel with strict overcommit would kill the process that touches a page, so there all
/// pages are allocated at once.
pub fn create_region(name: &str, bytes: u64) -> io::Result<(Memory, Pages)> {
    if let Ok(memory) = create_reserved(name, bytes) {
        return Ok((memory, Pages::Reserved));
    }
    let file_bytes = bytes.next_multiple_of(HUGE_PAGE_BYTES as u64);
    let file = create(name, file_bytes, MemfdFlags::empty())?;
    if setting("/proc/sys/vm/overcommit_memory").trim() == "2" {
        fallocate(&file, FallocateFlags::empty(), 0, file_bytes)?;
    }
    let memory = Memory::map_file(file, bytes)?;
    let offers = setting("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    let pages = match is_offered(&offers) {
        true => Pages::Transparent,
        false if huge::is_possible(&memory) => Pages::Collapsed,
        false => Pages::Small,
    };
    Ok((memory, pages))
}

/// Creates memory of this process alone, whose pages are all used soon. It has huge pages if it is
/// long enough and the host has enough free.
pub fn create_private(name: &str, bytes: u64) -> io::Result<(Memory, Pages)> {
    if bytes < HUGE_PAGE_BYTES as u64 {
        return Ok((Memory::map(bytes)?, Pages::Small));
    }
    if let Ok(memory) = create_reserved(name, bytes) {
        return Ok((memory, Pages::Reserved));
    }
    let offers = setting("/sys/kernel/mm/transparent_hugepage/enabled");
    let is_offered = ["[always]", "[madvise]"].iter().any(|offer| offers.contains(offer));
    let pages = if is_offered { Pages::Transparent } else { Pages::Small };
    Ok((Memory::map(bytes)?, pages))
}

/// Memory of reserved huge pages, if the host has enough of them.
fn create_reserved(name: &str, bytes: u64) -> io::Result<Memory> {
    let file_bytes = bytes.next_multiple_of(HUGE_PAGE_BYTES as u64);
    let file = create(name, file_bytes, MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB)?;
    Memory::map_file(file, bytes)
}

/// Creates a file of `bytes` zeros with a fixed size.
pub fn create(name: &str, bytes: u64, flags: MemfdFlags) -> io::Result<OwnedFd> {
    let flags = flags | MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = memfd_create(name, flags)?;
    ftruncate(&file, bytes)?;
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}

/// Reads a kernel setting; empty if the kernel does not have it.
fn setting(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Whether the selected mode gives huge pages to shared memory that requests them.
fn is_offered(offers: &str) -> bool {
    ["[always]", "[within_size]", "[advise]", "[force]"].iter().any(|offer| offers.contains(offer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_in_brackets_decides_about_huge_pages() {
        assert!(is_offered("always within_size [advise] never deny force"));
        assert!(!is_offered("always within_size advise [never] deny force"));
        assert!(!is_offered(""));
    }

    #[test]
    fn short_private_memory_takes_no_huge_page() {
        let (memory, pages) = create_private("test", 64 << 10).expect("memory");
        assert_eq!((memory.capacity_bytes(), pages), (64 << 10, Pages::Small));
        assert!(memory.file().is_none());
        let (memory, pages) = create_private("test", 3 << 20).expect("memory");
        assert_eq!(memory.capacity_bytes(), 3 << 20);
        assert!(memory.words((3 << 20) - 8, 1).is_some() && memory.words(3 << 20, 1).is_none());
        assert_eq!(pages == Pages::Reserved, memory.file().is_some());
    }

    #[test]
    fn nobody_changes_the_size_of_a_region() {
        let (memory, _) = create_region("test", 3 << 20).expect("memory");
        let file = memory.file().expect("a file");
        for bytes in [0, 1 << 30] {
            assert_eq!(ftruncate(file, bytes), Err(rustix::io::Errno::PERM), "{bytes}");
        }
        assert_eq!(memory.capacity_bytes(), 3 << 20);
        assert!(memory.words((3 << 20) - 8, 1).is_some());
        assert!(memory.words(3 << 20, 1).is_none());
    }
}
