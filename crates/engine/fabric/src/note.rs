//! Notes of the engine to a simulated world about its transactions and its memory, outside the
//! protocol.

use layout::{GlobalPtr, VersionWord};

/// A list of numbers and keys: it calls back with each.
pub type Pairs<'a> = &'a dyn Fn(&mut dyn FnMut(u32, &[u64]));

/// The source of a search: a table or an index, without parts or one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    Table(u32),
    Index(u32),
}

/// A step of a transaction or of an allocator, for the shadow history of a simulated world.
#[derive(Clone, Copy)]
pub enum Note<'a> {
    /// A commit that can no longer abort writes this version of a row; the version of a deletion
    /// says so. `entries` calls back with each index, and the key of the row's entry.
    Writes { table: u32, key: &'a [u64], version: VersionWord, entries: Pairs<'a> },
    /// A transaction has read this version of a row; `None` or a deletion: the row is absent. The
    /// snapshot of the transaction has the versions that it `covers`.
    Reads {
        table: u32,
        key: &'a [u64],
        found: Option<VersionWord>,
        covers: &'a dyn Fn(VersionWord) -> bool,
    },
    /// A transaction has read all rows of a range, bounds included, of a table or an index; it has
    /// not written, or its own writes are not among the rows. `found` calls back with the table and
    /// the key of each row.
    Searches {
        source: Source,
        low: &'a [u64],
        high: &'a [u64],
        found: Pairs<'a>,
        covers: &'a dyn Fn(VersionWord) -> bool,
    },
    /// A survivor has released the locks of this number, whose compute server is dead: none of its
    /// writes was installed.
    Undoes { number: VersionWord },
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
