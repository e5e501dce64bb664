//! A mapped region.

use super::window::Window;
use memmap2::{Advice, MmapOptions, MmapRaw};
use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Zeroed memory whose pages are allocated at the first touch.
pub struct Memory {
    base: *const AtomicU64,
    bytes: u64,
    /// The file that other processes can map, if there is one.
    file: Option<OwnedFd>,
    /// The mapping of the file.
    window: Option<Window>,
    /// The mapping without a file. Held only to unmap it on drop.
    _map: Option<MmapRaw>,
}

// SAFETY: the memory is only reachable as atomic words, which any thread may share; the mapping
// itself is never changed after construction and is unmapped when the last owner drops it.
unsafe impl Send for Memory {}
// SAFETY: as above; `&Memory` gives out `&[AtomicU64]` only.
unsafe impl Sync for Memory {}

impl Memory {
    /// Memory of this process alone: `bytes` bytes of address space, backed by huge pages if the
    /// host offers them.
    pub fn map(bytes: u64) -> io::Result<Self> {
        let length = usize::try_from(bytes).map_err(io::Error::other)?;
        let map = MmapOptions::new().len(length).no_reserve_swap().map_anon()?;
        // On a host without huge pages this fails without effect.
        let _ = map.advise(Advice::HugePage);
        let map = MmapRaw::from(map);
        Ok(Self { base: map.as_ptr().cast(), bytes, file: None, window: None, _map: Some(map) })
    }

    /// Maps the first `bytes` bytes of a file in memory, which other processes map too.
    ///
    /// # Errors
    /// If the file is shorter than that, or another process could truncate it: touching memory
    /// beyond its end would kill this process.
    pub fn map_file(file: OwnedFd, bytes: u64) -> io::Result<Self> {
        let file_bytes = u64::try_from(fstat(&file)?.st_size).unwrap_or(0);
        if file_bytes < bytes {
            let sentence = format!("expected {bytes} bytes, but the file has {file_bytes}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, sentence));
        }
        if !fcntl_get_seals(&file)?.contains(SealFlags::SHRINK) {
            let sentence = "the file is not sealed against shrinking";
            return Err(io::Error::new(io::ErrorKind::InvalidData, sentence));
        }
        // All of the file, since mappings of huge pages must end at the end of a page.
        let length = usize::try_from(file_bytes).map_err(io::Error::other)?;
        let window = Window::map(&file, length)?;
        let base = window.base().cast_const().cast();
        Ok(Self { base, bytes, file: Some(file), window: Some(window), _map: None })
    }

    /// Empty memory: every access is refused.
    pub const fn absent() -> Self {
        Self { base: NonNull::dangling().as_ptr(), bytes: 0, file: None, window: None, _map: None }
    }

    /// Start address, for devices that access the memory; they also know its size.
    pub fn address(&self) -> u64 {
        self.base.addr() as u64
    }

    /// Bytes that may be accessed.
    pub fn capacity_bytes(&self) -> u64 {
        self.bytes
    }

    /// The file, to pass it to other processes.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }

    /// Collapses the `bytes` bytes from `offset` on into huge pages. The range consists of whole
    /// huge pages, each of them touched before. Concurrent accesses only see a pause.
    ///
    /// # Errors
    /// `InvalidInput` if the host cannot do this, or the memory has no file; other errors are
    /// temporary.
    pub fn collapse(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let window = self.window.as_ref().ok_or(io::ErrorKind::InvalidInput)?;
        window.collapse(offset as usize, bytes as usize)
    }

    /// Address and number of the words, valid as long as `self`.
    pub(super) fn range(&self) -> (*const AtomicU64, u64) {
        (self.base, self.bytes / 8)
    }

    /// `count` words, beginning with the word that holds byte `offset`; `None` if they leave the
    /// memory.
    pub fn words(&self, offset: u64, count: u64) -> Option<&[AtomicU64]> {
        let first = offset / 8;
        if first.checked_add(count)? > self.bytes / 8 {
            return None;
        }
        // SAFETY: the range was checked against the mapping just now, which lives as long as
        // `self`, is aligned to pages, and is only ever accessed as atomic words (rule 2). The file
        // never gets shorter than it was when size and seal were checked (rule 7). The range of
        // absent memory is empty.
        Some(unsafe { std::slice::from_raw_parts(self.base.add(first as usize), count as usize) })
    }

    /// The first half of the word at byte `offset`, as a futex; `None` beyond the end. Such a word
    /// is never accessed as a whole: its second half stays unused.
    pub fn half(&self, offset: u64) -> Option<&AtomicU32> {
        let word = &self.words(offset, 1)?[0];
        // SAFETY: the half lies in the word, which is valid for as long as `self` is borrowed, and
        // is aligned since the word is. Callers promise that no thread accesses the word as a whole
        // (rule 6).
        Some(unsafe { AtomicU32::from_ptr(word.as_ptr().cast()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, fcntl_add_seals, ftruncate, memfd_create};
    use std::sync::atomic::Ordering::Relaxed;

    fn file(bytes: u64, seals: SealFlags) -> OwnedFd {
        let file = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
            .expect("files in memory can be made");
        ftruncate(&file, bytes).expect("and have a size");
        fcntl_add_seals(&file, seals).expect("and seals");
        file
    }

    #[test]
    fn files_that_are_too_short_or_could_get_shorter_are_refused() {
        let refused = |bytes, seals| Memory::map_file(file(4096, seals), bytes).map(|_| ());
        let short = refused(8192, SealFlags::SHRINK).expect_err("shorter than promised");
        assert_eq!(short.to_string(), "expected 8192 bytes, but the file has 4096");
        let open = refused(4096, SealFlags::GROW).expect_err("could be made shorter");
        assert_eq!(open.to_string(), "the file is not sealed against shrinking");
    }

    #[test]
    fn what_one_mapping_writes_the_other_reads() {
        let file = file(4096, SealFlags::SHRINK);
        let again = file.try_clone().expect("descriptors can be copied");
        let one = Memory::map_file(file, 4096).expect("a file");
        let other = Memory::map_file(again, 4096).expect("the same file");
        one.words(4088, 1).expect("the last word")[0].store(7, Relaxed);
        assert_eq!(other.words(0, 512).expect("all words")[511].load(Relaxed), 7);
        assert!(one.words(4088, 2).is_none() && one.words(8, u64::MAX).is_none());
    }
}
