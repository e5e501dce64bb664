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
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, record};
    /// # record! {
    /// #     struct Note in "note" { key { number: u64 } text: String[5000], }
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let notes = RecordTable::<Note>::create(&db, Default::default())?;
    /// # let note = Note { number: 1, text: "long ".repeat(100) };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// # txn.insert(notes, &note)?;
    /// # let mut rows = txn.rows();
    /// # let row = rows.read(notes.id(), &note.own_key()?)?.expect("it was inserted");
    /// let mut text = Vec::new();
    /// assert!(rows.read_long(row, 1, &mut text)?);
    /// assert_eq!(text, note.text.as_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_long(&mut self, row: RowId, column: usize, value: &mut Vec<u8>) -> Result<bool> {
        wait!(self.transaction, running => running.read_long(row, column, value))
    }

    /// Reads several long values in shared round trips. `values` gets one entry per wanted value.
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, record};
    /// # record! {
    /// #     struct Note in "note" { key { number: u64 } text: String[5000], }
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let notes = RecordTable::<Note>::create(&db, Default::default())?;
    /// # let note = Note { number: 1, text: "long ".repeat(100) };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// # txn.insert(notes, &note)?;
    /// # let mut rows = txn.rows();
    /// # let row = rows.read(notes.id(), &note.own_key()?)?.expect("it was inserted");
    /// let mut values = namdb::LongValues::default();
    /// rows.read_long_many(&[(row, 1)], &mut values)?;
    /// assert_eq!(values.get(0), Some(note.text.as_bytes()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_long_many(
        &mut self,
        wanted: &[(RowId, usize)],
        values: &mut LongValues,
    ) -> Result<()> {
        wait!(self.transaction, running => running.read_long_many(wanted, values))
    }

    /// Reads all long values of a row, for [`RecordRef::with_long`].
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, record};
    /// # record! {
    /// #     struct Note in "note" { key { number: u64 } text: String[5000], }
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let notes = RecordTable::<Note>::create(&db, Default::default())?;
    /// # let note = Note { number: 1, text: "long ".repeat(100) };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// # txn.insert(notes, &note)?;
    /// # let mut rows = txn.rows();
    /// # let row = rows.read(notes.id(), &note.own_key()?)?.expect("it was inserted");
    /// let mut values = namdb::LongValues::default();
    /// rows.read_long_row(row, &mut values)?;
    /// assert_eq!(rows.row(row).with_long(&values).text(1), note.text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_long_row(&mut self, row: RowId, values: &mut LongValues) -> Result<()> {
        wait!(self.transaction, running => running.read_long_row(row, values))
    }

    /// Like [`Rows::for_each`], with the rows' long values.
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, record};
    /// # record! {
    /// #     struct Note in "note" { key { number: u64 } text: String[5000], }
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let notes = RecordTable::<Note>::create(&db, Default::default())?;
    /// # let note = Note { number: 1, text: "long ".repeat(100) };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// # txn.insert(notes, &note)?;
    /// txn.commit()?;
    /// let mut txn = session.begin(Isolation::Snapshot)?;
    /// txn.rows().for_each_long(notes.id(), |row| assert_eq!(row.text(1), note.text))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_each_long(
        &mut self,
        table: TableId,
        mut visit: impl FnMut(RecordRef<'_>),
    ) -> Result<()> {
        wait!(self.transaction, running => running.for_each_long(table, &mut visit))
    }
}
