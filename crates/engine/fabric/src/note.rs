//! Notes of the engine to a simulated world about its transactions and its memory, outside the
//! protocol.

use layout::{GlobalPtr, VersionWord};

/// A step of a transaction or of an allocator, for the shadow history of a simulated world.
#[derive(Clone, Copy)]
pub enum Note<'a> {
    /// A commit that can no longer abort writes this version of a row; the version of a deletion
    /// says so.
    Writes { table: u32, key: &'a [u64], version: VersionWord },
    /// A transaction has read this version of a row; `None` or a deletion: the row is absent. The
    /// snapshot of the transaction has the versions that it `covers`.
    Reads {
        table: u32,
        key: &'a [u64],
        found: Option<VersionWord>,
        covers: &'a dyn Fn(VersionWord) -> bool,
    },
    /// A pool has given this piece of memory away.
    Allocates { at: GlobalPtr, words: u32 },
    /// A pool has got this piece back, and may give it away again.
    Frees { at: GlobalPtr, words: u32 },
    /// This piece is lost for good, which the protocol accepts.
    Loses { at: GlobalPtr },
    /// A memory server has got this extent back, with all pieces in it.
    FreesExtent { at: GlobalPtr, bytes: u64 },
    /// The structural check has found that a structure leads to this piece.
    Reaches { at: GlobalPtr },
}
