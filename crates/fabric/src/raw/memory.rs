//! A mapped region.

use memmap2::{Advice, MmapOptions, MmapRaw};
use std::sync::atomic::AtomicU64;

/// Zeroed memory that grows into being page by page as it is touched.
pub struct Memory {
    base: *const AtomicU64,
    words: u64,
    _map: MmapRaw,
}

// SAFETY: the memory is only reachable as atomic words, which any thread may share; the mapping itself
// is never changed after construction and is unmapped by whoever drops the last owner.
unsafe impl Send for Memory {}
// SAFETY: as above; `&Memory` gives out `&[AtomicU64]` only.
unsafe impl Sync for Memory {}

impl Memory {
    /// Reserves `bytes` bytes of address space, backed by huge pages where the host offers them.
    pub fn map(bytes: u64) -> std::io::Result<Self> {
        let length = usize::try_from(bytes).map_err(std::io::Error::other)?;
        let map = MmapOptions::new().len(length).no_reserve_swap().map_anon()?;
        // A host without huge pages answers with an error that changes nothing.
        let _ = map.advise(Advice::HugePage);
        let map = MmapRaw::from(map);
        Ok(Self { base: map.as_ptr().cast(), words: bytes / 8, _map: map })
    }

    /// Number of words.
    #[inline]
    pub fn len(&self) -> u64 {
        self.words
    }

    /// `count` words from the word that holds byte `offset` on, or `None` if they leave the region.
    #[inline(always)]
    pub fn words(&self, offset: u64, count: u64) -> Option<&[AtomicU64]> {
        let first = offset / 8;
        if first + count > self.words {
            return None;
        }
        // SAFETY: the range was checked against the mapping just now (an offset has 48 bits, a count 32, so
        // the sum does not wrap), the mapping lives as long as `self`, is aligned to pages, and is only
        // ever accessed as atomic words (rule 2).
        Some(unsafe { std::slice::from_raw_parts(self.base.add(first as usize), count as usize) })
    }
}
