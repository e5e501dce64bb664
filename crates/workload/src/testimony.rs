//! What processes tell the one that checks for all, where it is only numbers.

use crate::error::WorkloadError;

/// So many little-endian words, and nothing else.
pub(crate) fn words<const N: usize>(testimony: &[u8]) -> Result<[u64; N], WorkloadError> {
    let (words, rest) = testimony.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
    <[u64; N]>::try_from(words).ok().filter(|_| rest.is_empty()).ok_or_else(|| {
        WorkloadError::Testimony(format!("{} bytes are not {N} numbers", testimony.len()))
    })
}
