//! Notes of the engine to a simulated world about its transactions, outside the protocol.

use layout::VersionWord;

/// A step of a transaction, for the shadow history of a simulated world.
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
}
