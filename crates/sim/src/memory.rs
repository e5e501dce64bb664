//! The memory of all memory servers: one truth, word by word. What is weak about memory here is when
//! and in which order its words are touched, which `verbs` decides.

use layout::{GlobalPtr, WORD_BYTES, region};

/// One region per memory server.
pub(crate) struct Memory {
    regions: Vec<Vec<u64>>,
}

impl Memory {
    /// Zeroed regions with the header words that a memory server writes.
    pub(crate) fn new(server_words: &[u64]) -> Self {
        Self { regions: server_words.iter().map(|&words| fresh(words)).collect() }
    }

    /// Zeroes a region and writes its header again.
    pub(crate) fn empty(&mut self, region: usize) {
        self.regions[region] = fresh(self.region_words(region));
    }

    pub(crate) fn region_count(&self) -> usize {
        self.regions.len()
    }

    pub(crate) fn region_words(&self, region: usize) -> u64 {
        self.regions[region].len() as u64
    }

    /// Whether `words` words from `at` on lie inside a region.
    #[inline]
    pub(crate) fn contains(&self, at: GlobalPtr, words: u32) -> bool {
        let Some(region) = self.regions.get(usize::from(at.region().0)) else {
            return false;
        };
        let first = at.offset() / WORD_BYTES;
        at.offset().is_multiple_of(WORD_BYTES) && first + u64::from(words) <= region.len() as u64
    }

    #[inline]
    pub(crate) fn load(&self, at: GlobalPtr) -> u64 {
        self.regions[usize::from(at.region().0)][(at.offset() / WORD_BYTES) as usize]
    }

    #[inline]
    pub(crate) fn store(&mut self, at: GlobalPtr, value: u64) {
        self.regions[usize::from(at.region().0)][(at.offset() / WORD_BYTES) as usize] = value;
    }
}

/// A zeroed region with its header.
fn fresh(words: u64) -> Vec<u64> {
    let header = region::header(words * WORD_BYTES);
    let words = usize::try_from(words).expect("a simulated region fits into this process");
    assert!(words >= header.len(), "a region is larger than its header");
    let mut memory = vec![0; words];
    memory[..header.len()].copy_from_slice(&header);
    memory
}
