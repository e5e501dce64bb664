//! Digests of values that may be too long for keys: a value shorter than its digest's bytes is
//! stored as it is; of a longer one, the first bytes and a hash of all of it.
//!
//! ```text
//! value              | digest of 38 bytes
//! up to 37 bytes     | the value
//! longer             | its first 22 bytes, then 16 bytes of SHA-256 of the value
//! ```
//!
//! A digest of all 38 bytes is always that of a longer value, so two values have the same digest
//! only if their hashes are equal. Digests order as values do up to the bytes before the hash.
//!
//! Decision: docs/decisions/0359-keys-have-digests-of-long-values.md

use sha2::{Digest as _, Sha256};

/// Most bytes of a hash; shorter digests are a shortened hash.
const HASH_BYTES: usize = 16;
/// Most bytes of a digest.
const BYTES_MAX: usize = 62;

/// How digests of a column are made, and where rows have them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Digests {
    /// The column of the row.
    pub at: usize,
    /// Bytes of a digest.
    pub bytes: u8,
    /// Whether it is part of the primary key.
    pub is_key: bool,
}

/// The digest of a value.
pub(crate) struct DigestBytes {
    bytes: [u8; BYTES_MAX],
    length: usize,
}

impl DigestBytes {
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Digests {
    pub fn of(self, value: &[u8]) -> DigestBytes {
        let (length, kept) = (usize::from(self.bytes), self.ordered_bytes() as usize);
        let mut bytes = [0; BYTES_MAX];
        if value.len() < length {
            bytes[..value.len()].copy_from_slice(value);
            return DigestBytes { bytes, length: value.len() };
        }
        bytes[..kept].copy_from_slice(&value[..kept]);
        let hash = Sha256::digest(value);
        bytes[kept..length].copy_from_slice(&hash[..length - kept]);
        DigestBytes { bytes, length }
    }

    /// The leading bytes by which digests have the order of their values.
    pub fn ordered_bytes(self) -> u32 {
        u32::from(self.bytes).saturating_sub(HASH_BYTES as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(bytes: u8) -> Digests {
        Digests { at: 0, bytes, is_key: false }
    }

    #[test]
    fn short_values_are_their_digests() {
        let of = |value: &[u8]| digests(20).of(value).as_slice().to_vec();
        assert_eq!(of(b""), b"");
        assert_eq!(of(&[7; 19]), [7; 19]);
        assert_eq!(of(&[7; 20])[..4], [7; 4]);
        assert_eq!(of(&[7; 20]).len(), 20);
        assert_ne!(of(&[7; 20]), of(&[7; 21]));
        assert_eq!(digests(11).of(&[7; 11]).as_slice(), &Sha256::digest([7; 11])[..11]);
    }

    #[test]
    fn digests_of_different_values_differ() {
        // A digest of all bytes is never that of a value which is stored as it is.
        for bytes in [11, 16, 17, 38] {
            let long = digests(bytes).of(&[7; 100]);
            assert_ne!(digests(bytes).of(long.as_slice()).as_slice(), long.as_slice());
        }
    }
}
