//! All regions that a process may access, found by number.

use super::memory::Memory;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Regions by number; some may be absent or lost.
pub struct Regions {
    /// One for each of `memories`: the fields that verbs read, close together.
    views: Vec<View>,
    memories: Vec<Memory>,
}

/// Address and size of a region, for verbs.
struct View {
    base: *const AtomicU64,
    /// Number of accessible words: all of the region's, or 0 for ever once it is lost.
    words: AtomicU64,
}

// SAFETY: a view leads to atomic words only, which any thread may share.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl Regions {
    /// The regions 0, 1, ... in `memories`.
    pub fn new(memories: Vec<Memory>) -> Self {
        let view = |memory: &Memory| {
            let (base, words) = memory.range();
            View { base, words: words.into() }
        };
        Self { views: memories.iter().map(view).collect(), memories }
    }

    /// Number of regions, lost ones included.
    pub fn count(&self) -> usize {
        self.memories.len()
    }

    /// Memory of region `region`; `None` if the number is too high. It does not change when the
    /// region is lost.
    pub fn memory(&self, region: u16) -> Option<&Memory> {
        self.memories.get(usize::from(region))
    }

    /// Refuses every later access to `region`. Accesses that are running may still finish: the
    /// mapping stays as long as its owner.
    pub fn revoke(&self, region: u16) {
        if let Some(view) = self.views.get(usize::from(region)) {
            view.words.store(0, Release);
        }
    }

    /// Whether `region` is absent or lost.
    pub fn is_absent(&self, region: u16) -> bool {
        self.views.get(usize::from(region)).is_none_or(|view| view.words.load(Relaxed) == 0)
    }

    /// `count` words, beginning with the word that holds byte `offset` of `region`; `None` if they
    /// leave it.
    #[inline(always)]
    pub fn words(&self, region: u16, offset: u64, count: u32) -> Option<&[AtomicU64]> {
        let view = self.views.get(usize::from(region))?;
        let first = offset / 8;
        if first + u64::from(count) > view.words.load(Relaxed) {
            return None;
        }
        // SAFETY: the range was checked just now against the view's number of words, which is that
        // of its mapping or 0 (an offset has 48 bits, a count 32, so the sum does not wrap);
        // `memories` holds the mapping for as long as `self` lives, whether lost or not; it is
        // aligned to pages and only ever accessed as atomic words (rule 2).
        Some(unsafe { std::slice::from_raw_parts(view.base.add(first as usize), count as usize) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_own_limit_and_a_lost_region_none() {
        let memory = |bytes| Memory::map(bytes).expect("a little memory");
        let regions = Regions::new(vec![memory(4096), Memory::absent(), memory(8192)]);
        assert_eq!(regions.count(), 3);
        assert_eq!(regions.words(0, 0, 512).map(<[AtomicU64]>::len), Some(512));
        assert!(regions.words(0, 8, 512).is_none());
        let last = regions.words(2, 8184, 1).expect("the last word");
        last[0].store(5, Relaxed);
        for region in [1, 3, u16::MAX] {
            assert!(regions.words(region, 0, 1).is_none() && regions.is_absent(region));
        }
        regions.revoke(2);
        assert!(regions.words(2, 0, 1).is_none() && regions.is_absent(2));
        assert_eq!(last[0].load(Relaxed), 5, "who has words may finish");
        assert!(regions.words(0, 0, 1).is_some() && !regions.is_absent(0));
        assert_eq!(regions.memory(2).map(Memory::capacity_bytes), Some(8192));
        assert!(regions.memory(3).is_none());
    }
}
