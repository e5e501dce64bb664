//! Reads the values of columns out of line, long ones and those in the row, in transactions of
//! ordinary threads.
//!
//! Decision: docs/decisions/0041-long-values-are-fetched-on-request.md

use crate::error::Result;
use crate::rows::{Rows, wait};
use layout::{LongValues, RecordRef};
use txn::{RowId, TableId};

impl Rows<'_, '_> {
    /// Reads the long value of a column into `value`; false if it is null. Such a column is written
    /// like any other.
    pub fn read_long(&mut self, row: RowId, column: usize, value: &mut Vec<u8>) -> Result<bool> {
        wait!(self.transaction, running => running.read_long(row, column, value))
    }

    /// Reads several long values in shared round trips. `values` gets one entry per wanted value.
    pub fn read_long_many(
        &mut self,
        wanted: &[(RowId, usize)],
        values: &mut LongValues,
    ) -> Result<()> {
        wait!(self.transaction, running => running.read_long_many(wanted, values))
    }

    /// Reads all long values of a row, for [`RecordRef::with_long`].
    pub fn read_long_row(&mut self, row: RowId, values: &mut LongValues) -> Result<()> {
        wait!(self.transaction, running => running.read_long_row(row, values))
    }

    /// Like [`Rows::for_each`], with the rows' long values.
    pub fn for_each_long(
        &mut self,
        table: TableId,
        mut visit: impl FnMut(RecordRef<'_>),
    ) -> Result<()> {
        wait!(self.transaction, running => running.for_each_long(table, &mut visit))
    }
}
