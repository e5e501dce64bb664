//! All regions that a process may access, found by number.

use super::memory::Memory;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Regions by number, of which some may be absent or lost.
pub struct Regions {
    /// One for each of `memories`: what a verb needs of it, close together.
    views: Vec<View>,
    memories: Vec<Memory>,
}

/// What a verb needs of a region.
struct View {
    base: *const AtomicU64,
    /// How many words may be accessed: all that there are, or none, and then for good.
    words: AtomicU64,
}

// SAFETY: a view leads to atomic words only, which any thread may share.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl Regions {
    /// Regions 0 to as many as there are.
    pub fn new(memories: Vec<Memory>) -> Self {
        let view = |memory: &Memory| {
            let (base, words) = memory.range();
            View { base, words: words.into() }
        };
        Self { views: memories.iter().map(view).collect(), memories }
    }

    /// Number of regions, lost or not.
    pub fn count(&self) -> usize {
        self.memories.len()
    }

    /// Memory of region `region`; `None` if there is no such region. It stays what it was when the region is lost.
    pub fn memory(&self, region: u16) -> Option<&Memory> {
        self.memories.get(usize::from(region))
    }

    /// From now on every access to `region` is refused. What others are reading or writing at this moment
    /// they may still finish: the mapping stays as long as its owner.
    pub fn revoke(&self, region: u16) {
        if let Some(view) = self.views.get(usize::from(region)) {
            view.words.store(0, Release);
        }
    }

    /// Whether there is nothing to access in `region`, or nothing any more.
    pub fn is_absent(&self, region: u16) -> bool {
        self.views.get(usize::from(region)).is_none_or(|view| view.words.load(Relaxed) == 0)
    }

    /// `count` words from the word that holds byte `offset` of `region` on, or `None` if they leave it.
    #[inline(always)]
    pub fn words(&self, region: u16, offset: u64, count: u32) -> Option<&[AtomicU64]> {
        let view = self.views.get(usize::from(region))?;
        let first = offset / 8;
        if first + u64::from(count) > view.words.load(Relaxed) {
            return None;
        }
        // SAFETY: the range was checked just now against the words that the view has had since it was made,
        // or none (an offset has 48 bits, a count 32, so the sum does not wrap); base and number are those of
        // a mapping that `memories` holds for as long as `self` lives, whether lost or not; it is aligned to
        // pages and only ever accessed as atomic words (rule 2).
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
