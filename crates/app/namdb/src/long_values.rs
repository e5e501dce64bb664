//! Values out of line in transactions of ordinary threads: columns whose maximal length is over 1024 bytes.
//!
//! Decision: docs/decisions/0041-long-values-are-fetched-on-request.md

use crate::session::{Transaction, wait};
use layout::{LongValues, RecordRef};
use txn::{RowId, TableId, TxnError};

impl Transaction<'_> {
    /// Reads the value of a column out of line into `value`; false if it is null. Such columns are set
    /// like any other.
    pub fn read_long(
        &mut self,
        row: RowId,
        column: usize,
        value: &mut Vec<u8>,
    ) -> Result<bool, TxnError> {
        wait!(self, running => running.read_long(row, column, value))
    }

    /// Reads values of columns out of line at once. `values` gets one entry for each.
    pub fn read_long_many(
        &mut self,
        wanted: &[(RowId, usize)],
        values: &mut LongValues,
    ) -> Result<(), TxnError> {
        wait!(self, running => running.read_long_many(wanted, values))
    }

    /// Reads all values of a row's columns out of line, for [`RecordRef::with_long`].
    pub fn read_long_row(&mut self, row: RowId, values: &mut LongValues) -> Result<(), TxnError> {
        wait!(self, running => running.read_long_row(row, values))
    }

    /// Every row of a table with its values out of line, without keeping any of them.
    pub fn for_each_long(
        &mut self,
        table: TableId,
        mut visit: impl FnMut(RecordRef<'_>),
    ) -> Result<(), TxnError> {
        wait!(self, running => running.for_each_long(table, &mut visit))
    }
}
