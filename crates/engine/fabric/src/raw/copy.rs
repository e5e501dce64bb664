//! Copying words between shared memory and private memory, several words per instruction.
//!
//! The language's atomics copy one word at a time, and its plain copies must not race. The
//! instructions used here may race: each aligned word of a 16-byte move is read or written whole,
//! because no aligned word straddles a cache line and these processors move each part of a line at
//! once. The contract promises no more, and callers rely on no more: they order copies by fences
//! and version words.

use std::sync::atomic::AtomicU64;

/// Copies `to.len()` words out of shared memory; each word whole, in no particular order.
#[inline]
pub fn load_words(from: &[AtomicU64], to: &mut [u64]) {
    assert!(from.len() >= to.len());
    // SAFETY: both ranges are valid for `to.len()` words: `from` is a slice of at least that length
    // into mapped memory (rule 3), `to` is an exclusive slice; they cannot overlap, since no
    // exclusive slice ever points into a region (rule 2). The assembly may race with writers: see
    // above.
    unsafe { copy(from.as_ptr().cast(), to.as_mut_ptr(), to.len()) }
}

/// Copies `from.len()` words into shared memory; each word whole, in no particular order.
#[inline]
pub fn store_words(to: &[AtomicU64], from: &[u64]) {
    assert!(to.len() >= from.len());
    // SAFETY: as above with the roles exchanged; the words of `to` are atomics, so writing them
    // through a shared reference is allowed, and the assembly writes each word whole.
    unsafe { copy(from.as_ptr(), to.as_ptr().cast_mut().cast(), from.len()) }
}

/// Copies `count` words.
///
/// # Safety
/// `from` and `to` are valid for `count` words and do not overlap.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn copy(from: *const u64, to: *mut u64, count: usize) {
    // SAFETY: the loop touches exactly the words `0..count` of both ranges. The assembly may touch
    // memory that others access, which is why it is assembly: the compiler assumes nothing about
    // it.
    unsafe {
        std::arch::asm!(
            "sub {left}, 8",
            "jb 3f",
            "2:",
            "movups {a}, [{from} + 8*{at}]",
            "movups {b}, [{from} + 8*{at} + 16]",
            "movups {c}, [{from} + 8*{at} + 32]",
            "movups {d}, [{from} + 8*{at} + 48]",
            "movups [{to} + 8*{at}], {a}",
            "movups [{to} + 8*{at} + 16], {b}",
            "movups [{to} + 8*{at} + 32], {c}",
            "movups [{to} + 8*{at} + 48], {d}",
            "add {at}, 8",
            "sub {left}, 8",
            "jae 2b",
            // The remainder is negative now; its low bits are the number of words left to copy.
            "3:",
            "test {left:e}, 4",
            "jz 4f",
            "movups {a}, [{from} + 8*{at}]",
            "movups {b}, [{from} + 8*{at} + 16]",
            "movups [{to} + 8*{at}], {a}",
            "movups [{to} + 8*{at} + 16], {b}",
            "add {at}, 4",
            "4:",
            "test {left:e}, 2",
            "jz 5f",
            "movups {a}, [{from} + 8*{at}]",
            "movups [{to} + 8*{at}], {a}",
            "add {at}, 2",
            "5:",
            "test {left:e}, 1",
            "jz 6f",
            "mov {left}, [{from} + 8*{at}]",
            "mov [{to} + 8*{at}], {left}",
            "6:",
            left = inout(reg) count => _,
            at = inout(reg) 0_usize => _,
            from = in(reg) from,
            to = in(reg) to,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            options(nostack),
        );
    }
}

/// Copies `count` words, one atomic at a time.
///
/// # Safety
/// `from` and `to` are valid for `count` words and do not overlap.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
unsafe fn copy(from: *const u64, to: *mut u64, count: usize) {
    use std::sync::atomic::Ordering::Relaxed;
    for at in 0..count {
        // SAFETY: the word is in range and aligned; access as an atomic may race.
        unsafe {
            let word = AtomicU64::from_ptr(from.add(at).cast_mut()).load(Relaxed);
            AtomicU64::from_ptr(to.add(at)).store(word, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn every_length_is_copied_and_nothing_beside_it() {
        for count in 0..40_usize {
            let shared: Vec<AtomicU64> = (1..=40).map(AtomicU64::new).collect();
            let mut private = vec![0; 40];
            load_words(&shared, &mut private[..count]);
            let expected = |n: usize| if n < count { n as u64 + 1 } else { 0 };
            assert!((0..40).all(|n| private[n] == expected(n)), "{count}: {private:?}");
            let target: Vec<AtomicU64> = (0..40).map(|_| AtomicU64::new(7)).collect();
            store_words(&target, &private[..count]);
            let expected = |n: usize| if n < count { n as u64 + 1 } else { 7 };
            assert!((0..40).all(|n| target[n].load(Relaxed) == expected(n)), "{count}");
        }
    }
}
