//! Addresses in the memory of all servers: a region, and a byte in it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of a word, the only unit that every world reads and writes atomically.
pub const WORD_BYTES: u64 = 8;

/// A process that serves verbs or calls: a memory server or a compute server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NodeId(pub u16);

/// The first node without a region: from here on nodes are compute servers that offer services.
const FIRST_COMPUTE_NODE: u16 = 1 << 15;

impl NodeId {
    /// The node of a compute server, by its number in the cluster.
    pub const fn of_compute_server(number: u16) -> Self {
        assert!(number < FIRST_COMPUTE_NODE);
        Self(FIRST_COMPUTE_NODE + number)
    }

    /// The compute server's number; `None` for a memory server.
    pub const fn compute_server(self) -> Option<u16> {
        self.0.checked_sub(FIRST_COMPUTE_NODE)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.compute_server() {
            Some(number) => write!(formatter, "compute server {number}"),
            None => write!(formatter, "node {}", self.0),
        }
    }
}

/// A registered area of memory. It is on one memory server and may have replicas.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RegionId(pub u16);

impl RegionId {
    /// The memory server whose own region it is. Calls for a region name this one: another server
    /// answers if a replica there has taken its place.
    #[inline]
    pub const fn server(self) -> NodeId {
        NodeId(self.0)
    }
}

impl NodeId {
    /// The own region of a memory server.
    #[inline]
    pub const fn region(self) -> RegionId {
        RegionId(self.0)
    }
}

/// The address of a word in any region; 8 bytes, so that pointers fit into words.
///
/// ```text
///  63        48 47                                    0
/// +------------+---------------------------------------+
/// |   region   |  byte offset in the region, 8-aligned |
/// +------------+---------------------------------------+
/// ```
///
/// # Invariants
/// The null pointer is region 0, offset 0: the first word of a region is its magic number, so no
/// structure ever has this address. The offset's three low bits are zero and free for tags in words
/// that hold a pointer (see [`crate::row::ChainWord`]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[repr(transparent)]
pub struct GlobalPtr(u64);

const OFFSET_BITS: u32 = 48;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;
const _: () = assert!(u64::BITS - OFFSET_BITS == u16::BITS);

impl GlobalPtr {
    pub const NULL: Self = Self(0);

    /// The address of the word at byte `offset` of `region`.
    #[inline]
    pub const fn new(region: RegionId, offset: u64) -> Self {
        debug_assert!(offset <= OFFSET_MASK);
        debug_assert!(offset.is_multiple_of(WORD_BYTES));
        Self((region.0 as u64) << OFFSET_BITS | offset)
    }

    /// Decodes a pointer from a word of remote memory.
    #[inline]
    pub const fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// The pointer as a word of remote memory.
    #[inline]
    pub const fn word(self) -> u64 {
        self.0
    }

    /// The region of the address.
    #[inline]
    pub const fn region(self) -> RegionId {
        RegionId((self.0 >> OFFSET_BITS) as u16)
    }

    /// The byte offset in the region.
    #[inline]
    pub const fn offset(self) -> u64 {
        self.0 & OFFSET_MASK
    }

    #[inline]
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The address `words` words further in the same region.
    #[inline]
    pub const fn add_words(self, words: u64) -> Self {
        debug_assert!(self.offset() + words * WORD_BYTES <= OFFSET_MASK);
        Self(self.0 + words * WORD_BYTES)
    }
}

impl fmt::Debug for GlobalPtr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{:#x}", self.region().0, self.offset())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_survive_packing() {
        let ptr = GlobalPtr::new(RegionId(65_535), OFFSET_MASK & !7);
        assert_eq!(ptr.region(), RegionId(65_535));
        assert_eq!(ptr.offset(), OFFSET_MASK & !7);
        assert_eq!(GlobalPtr::from_word(ptr.word()), ptr);
        assert!(GlobalPtr::NULL.is_null() && !ptr.is_null());
    }

    #[test]
    fn words_step_by_eight_bytes() {
        let ptr = GlobalPtr::new(RegionId(1), 64);
        assert_eq!(ptr.add_words(3), GlobalPtr::new(RegionId(1), 88));
    }
}
