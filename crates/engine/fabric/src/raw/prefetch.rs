//! Hints to the cache, so that the misses of independent reads overlap.
//!
//! Decision: docs/decisions/0047-the-poster-of-a-verb-on-cold-words-announces-it-first.md

use std::sync::atomic::AtomicU64;

/// Words of a cache line.
const LINE_WORDS: usize = 8;

/// Prefetches every cache line of `words`.
#[inline]
pub fn prefetch_words(words: &[AtomicU64]) {
    let mut at = 0;
    while at < words.len() {
        prefetch(&raw const words[at]);
        at += LINE_WORDS;
    }
    if let Some(last) = words.last() {
        prefetch(&raw const *last);
    }
}

#[inline]
fn prefetch(word: *const AtomicU64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address (rule 4).
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(word.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}
