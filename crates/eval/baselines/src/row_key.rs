//! The keys of rows.

use crate::message::{Malformed, Reader, Writer};

/// The key of a row. Rows of a table and partition are ordered by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowKey {
    /// Determines the server that owns the row.
    pub partition: u32,
    pub table: u32,
    /// The row's number within the table's part in this partition.
    pub number: u64,
}

impl RowKey {
    pub const fn new(partition: u32, table: u32, number: u64) -> Self {
        Self { partition, table, number }
    }

    pub(crate) fn write(self, to: &mut Writer) {
        to.u32(self.partition);
        to.u32(self.table);
        to.u64(self.number);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { partition: from.u32()?, table: from.u32()?, number: from.u64()? })
    }
}
