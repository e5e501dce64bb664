//! Rows by columns: the statements of the engine without `await`.

use crate::error::{DuplicateKey, Result, TransactionError};
use crate::transaction::{ENDED_ONCE, Running, Transaction};
use layout::{Key, RecordMut, RecordRef};
use txn::{IndexId, RowId, Scan, TableId, TxnError};

/// Runs a statement, and waits for its result. The local path has one branch, which also tells
/// whether the transaction has ended.
macro_rules! wait {
    ($transaction:expr, $running:ident => $call:expr) => {
        match &mut $transaction.running {
            $crate::transaction::Running::Local($running) => fabric::run_now($call),
            $crate::transaction::Running::Remote(remote) => remote.run(|engine, mut statement| {
                let $running = &mut statement;
                engine.block_on($call)
            }),
            $crate::transaction::Running::Ended => {
                unreachable!("{}", $crate::transaction::ENDED_ONCE)
            }
        }
        .map_err(|error| $transaction.failed(error))
    };
}
pub(crate) use wait;

/// A transaction's rows by columns; see [`Transaction::rows`]. A [`RowId`] is valid until the
/// transaction ends.
/// [`Transaction::rows`] has an example.
pub struct Rows<'txn, 'lane> {
    pub(crate) transaction: &'txn mut Transaction<'lane>,
}

impl<'txn, 'lane> Rows<'txn, 'lane> {
    #[inline]
    pub(crate) fn new(transaction: &'txn mut Transaction<'lane>) -> Self {
        Self { transaction }
    }

    /// The row with this key, if there is one.
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, Storage, record};
    /// # record! {
    /// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
    /// #     index by_size(inhabitants);
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
    /// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// # txn.insert(cities, &ghent)?;
    /// # let key = ghent.own_key()?;
    /// # let mut rows = txn.rows();
    /// let row = rows.read(cities.id(), &key)?.expect("it was inserted");
    /// assert_eq!(rows.row(row).int(1), 265_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowId>> {
        wait!(self.transaction, running => running.read(table, key))
    }

    /// Reads independent rows in shared round trips. `found` gets one entry per read.
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, Storage, record};
    /// # record! {
    /// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
    /// #     index by_size(inhabitants);
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
    /// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// # txn.insert(cities, &ghent)?;
    /// # let key = ghent.own_key()?;
    /// # let mut rows = txn.rows();
    /// let other = City { name: "Bruges".to_owned(), inhabitants: 0 }.own_key()?;
    /// let mut found = Vec::new();
    /// rows.read_many(&[(cities.id(), key), (cities.id(), other)], &mut found)?;
    /// assert_eq!([found[0].is_some(), found[1].is_some()], [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_many(
        &mut self,
        reads: &[(TableId, Key)],
        found: &mut Vec<Option<RowId>>,
    ) -> Result<()> {
        wait!(self.transaction, running => running.read_many(reads, found))
    }

    /// A row's columns, including this transaction's own writes.
    /// [`Rows::read`] has an example.
    pub fn row(&self, row: RowId) -> RecordRef<'_> {
        match &self.transaction.running {
            Running::Local(local) => local.row(row),
            Running::Remote(remote) => remote.row(row),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// Marks a row as updated and returns its columns for writing.
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, Storage, record};
    /// # record! {
    /// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
    /// #     index by_size(inhabitants);
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
    /// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// # txn.insert(cities, &ghent)?;
    /// # let key = ghent.own_key()?;
    /// # let mut rows = txn.rows();
    /// let row = rows.read(cities.id(), &key)?.expect("it was inserted");
    /// rows.update(row).set_int(1, 7);
    /// assert_eq!(rows.row(row).int(1), 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update(&mut self, row: RowId) -> RecordMut<'_> {
        match &mut self.transaction.running {
            Running::Local(local) => local.update(row),
            Running::Remote(remote) => remote.update(row),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// Inserts a row; set its columns with [`Rows::update`].
    /// [`Transaction::rows`] has an example.
    pub fn insert(&mut self, table: TableId, key: &Key) -> Result<RowId> {
        let inserted = wait!(self.transaction, running => running.insert(table, key));
        inserted.map_err(|error| self.name_duplicate(error, table, key))
    }

    /// Inserts several rows in shared round trips. `rows` gets one entry per row.
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, Storage, record};
    /// # record! {
    /// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
    /// #     index by_size(inhabitants);
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
    /// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// # txn.insert(cities, &ghent)?;
    /// # let key = ghent.own_key()?;
    /// # let mut rows = txn.rows();
    /// let key = |name: &str| City { name: name.to_owned(), inhabitants: 0 }.own_key();
    /// let mut inserted = Vec::new();
    /// let table = cities.id();
    /// rows.insert_many(&[(table, key("Bruges")?), (table, key("Delft")?)], &mut inserted)?;
    /// inserted.iter().for_each(|&row| rows.update(row).set_int(1, 7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_many(&mut self, inserts: &[(TableId, Key)], rows: &mut Vec<RowId>) -> Result<()> {
        let inserted = wait!(self.transaction, running => running.insert_many(inserts, rows));
        inserted.map_err(|error| match rows.len().checked_sub(1) {
            Some(last) => self.name_duplicate(error, inserts[last].0, &inserts[last].1),
            None => error,
        })
    }

    /// Deletes a row that this transaction has read or inserted.
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, Storage, record};
    /// # record! {
    /// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
    /// #     index by_size(inhabitants);
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
    /// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// # txn.insert(cities, &ghent)?;
    /// # let key = ghent.own_key()?;
    /// # let mut rows = txn.rows();
    /// let row = rows.read(cities.id(), &key)?.expect("it was inserted");
    /// rows.delete(row);
    /// assert_eq!(rows.read(cities.id(), &key)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(&mut self, row: RowId) {
        match &mut self.transaction.running {
            Running::Local(local) => local.delete(row),
            Running::Remote(remote) => remote.statement().1.delete(row),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// Scans a key range in key order, including this transaction's own writes.
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, Storage, record};
    /// # record! {
    /// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
    /// #     index by_size(inhabitants);
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
    /// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// # txn.insert(cities, &ghent)?;
    /// # let key = ghent.own_key()?;
    /// # let mut rows = txn.rows();
    /// use namdb::{Key, Scan, ScanSource};
    ///
    /// let (low, high) = (Key::lowest(4), Key::highest(4)); // Of 30 bytes, in 4 words.
    /// let source = ScanSource::Table(cities.id());
    /// let all = Scan { source, low, high, reverse: false, limit: 10 };
    /// let mut found = Vec::new();
    /// rows.scan(&all, &mut found)?;
    /// assert_eq!(found.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan(&mut self, scan: &Scan, rows: &mut Vec<RowId>) -> Result<()> {
        wait!(self.transaction, running => running.scan(scan, rows))
    }

    /// Scans independent key ranges in shared round trips.
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, Storage, record};
    /// # record! {
    /// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
    /// #     index by_size(inhabitants);
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
    /// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// # txn.insert(cities, &ghent)?;
    /// # let key = ghent.own_key()?;
    /// # let mut rows = txn.rows();
    /// use namdb::{Key, Scan, ScanSource};
    ///
    /// let (low, high) = (Key::lowest(4), Key::highest(4)); // Of 30 bytes, in 4 words.
    /// let source = ScanSource::Table(cities.id());
    /// let all = Scan { source, low, high, reverse: false, limit: 10 };
    /// let mut found = Vec::new();
    /// rows.scan_many(&[all.clone(), Scan { reverse: true, ..all }], &mut found)?;
    /// assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan_many(&mut self, scans: &[Scan], rows: &mut Vec<Vec<RowId>>) -> Result<()> {
        wait!(self.transaction, running => running.scan_many(scans, rows))
    }

    /// Finds the rows with a key of a secondary index: one value per column of the index, encoded
    /// by [`encode_columns`](layout::Schema::encode_columns).
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, Storage, record};
    /// # record! {
    /// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
    /// #     index by_size(inhabitants);
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
    /// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// # txn.insert(cities, &ghent)?;
    /// # let key = ghent.own_key()?;
    /// # let mut rows = txn.rows();
    /// let size = namdb::KeyBuilder::new().int8(265_000).key();
    /// let mut found = Vec::new();
    /// rows.lookup(City::by_size(&db)?.id(), &size, &mut found)?;
    /// assert_eq!(found.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lookup(&mut self, index: IndexId, key: &Key, rows: &mut Vec<RowId>) -> Result<()> {
        wait!(self.transaction, running => running.lookup(index, key, rows))
    }

    /// Visits every row of a table in the snapshot, without keeping the rows. The visit ignores
    /// this transaction's own changes.
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, Storage, record};
    /// # record! {
    /// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
    /// #     index by_size(inhabitants);
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
    /// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// # txn.insert(cities, &ghent)?;
    /// # let key = ghent.own_key()?;
    /// # let mut rows = txn.rows();
    /// let mut count = 0;
    /// rows.for_each(cities.id(), |_row| count += 1)?;
    /// assert_eq!(count, 0, "the city was inserted by this transaction");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_each(&mut self, table: TableId, mut visit: impl FnMut(RecordRef<'_>)) -> Result<()> {
        wait!(self.transaction, running => running.for_each(table, &mut visit))
    }

    /// The table that a row is of.
    pub(crate) fn table(&mut self, row: RowId) -> TableId {
        match &mut self.transaction.running {
            Running::Local(local) => local.table(row),
            Running::Remote(remote) => remote.statement().1.table(row),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// Names the key of an insert that another row has.
    #[cold]
    fn name_duplicate(
        &self,
        error: TransactionError,
        table: TableId,
        key: &Key,
    ) -> TransactionError {
        match (error, self.transaction.schema(table)) {
            (TransactionError::Statement(TxnError::DuplicateKey { table }), Some(schema)) => {
                let names = self.transaction.key_names;
                let key = names
                    .primary_key(&table, key.words())
                    .unwrap_or_else(|| txn::describe_key(schema, schema.key(), key));
                TransactionError::DuplicateKey(Box::new(DuplicateKey { table, key }))
            }
            (error, _) => error,
        }
    }
}
