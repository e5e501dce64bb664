//! Secondary indexes of records.

use crate::database::{Db, DbIdentity};
use crate::error::Result;
use crate::key::{FullKey, KeyRange};
use crate::range::Range;
use crate::record::Record;
use crate::statements::key_misfit;
use crate::transaction::Transaction;
use layout::{KEY_WORDS_MAX, KeyBuilder};
use std::marker::PhantomData;
use txn::{CatalogError, IndexId, TableId};

/// Marks an index in which two records may share a key.
/// [`RecordIndex`] has an example.
#[derive(Debug)]
pub struct Shared;

/// Marks an index in which every record has a key of its own.
/// [`RecordIndex`] has an example.
#[derive(Debug)]
pub struct Unique;

/// Handle of an index of records `R` with the columns `K`. [`record!`](crate::record!) declares
/// indexes, and a function per index to open it.
///
/// ```
/// use namdb::{Isolation, RecordTable, Retry, TransactionError, record};
///
/// record! {
///     pub struct Account in "account" {
///         key { number: u64 }
///         owner: String[40],
///         iban: String[34],
///     }
///     index by_owner(owner);
///     unique by_iban(iban);
/// }
///
/// let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// // Creates the table with its indexes.
/// let accounts = RecordTable::<Account>::open_or_create(&db, Default::default())?;
/// let (by_owner, by_iban) = (Account::by_owner(&db)?, Account::by_iban(&db)?);
/// let account = |number, owner: &str, iban: &str| Account {
///     number,
///     owner: owner.to_owned(),
///     iban: iban.to_owned(),
/// };
/// let mut session = db.session();
/// session.transaction(Isolation::Serializable, Retry::default(), |txn| {
///     txn.insert(accounts, &account(1, "Ada", "BE68"))?;
///     txn.insert(accounts, &account(2, "Bob", "BE71"))?;
///     txn.insert(accounts, &account(3, "Ada", "BE99"))?;
///     let of_ada = txn.index(by_owner).get("Ada")?;
///     assert_eq!(of_ada.iter().map(|account| account.number).collect::<Vec<_>>(), [1, 3]);
///     assert_eq!(txn.index(by_iban).get("BE71")?.expect("inserted").owner, "Bob");
///     let last = txn.index(by_owner).range("B"..).rev().next().transpose()?;
///     assert_eq!(last.expect("inserted").owner, "Bob");
///     namdb::Ok(())
/// })?;
/// let refused = session.transaction(Isolation::Serializable, Retry::default(), |txn| {
///     txn.insert(accounts, &account(4, "Eve", "BE68"))
/// });
/// assert!(matches!(refused, Err(TransactionError::UniqueViolation(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RecordIndex<R, K, U = Shared> {
    pub(crate) id: IndexId,
    pub(crate) table: TableId,
    pub(crate) columns: Columns,
    database: DbIdentity,
    types: Types<R, K, U>,
}

/// A handle has no values of these types.
type Types<R, K, U> = PhantomData<fn() -> (R, K, U)>;

/// Positions of the columns of an index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    positions: [usize; COLUMNS_MAX],
    count: usize,
}

/// Every column takes at least one byte of a key.
const COLUMNS_MAX: usize = KEY_WORDS_MAX * 8;

impl Columns {
    fn new(columns: &[usize]) -> Self {
        let mut positions = [0; COLUMNS_MAX];
        positions[..columns.len()].copy_from_slice(columns);
        Self { positions, count: columns.len() }
    }

    pub(crate) fn as_slice(&self) -> &[usize] {
        &self.positions[..self.count]
    }
}

impl<R, K, U> Clone for RecordIndex<R, K, U> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, K, U> Copy for RecordIndex<R, K, U> {}

impl<R: Record, K, U> RecordIndex<R, K, U> {
    /// Opens the declared index of this name.
    ///
    /// # Errors
    /// [`CatalogError::NoTable`] or [`CatalogError::NoIndex`], which say what to do, and
    /// [`CatalogError::Design`] if the index has other columns.
    #[doc(hidden)]
    pub fn open(db: &Db, name: &str) -> std::result::Result<Self, CatalogError> {
        let (table, id, columns) = crate::declared::open_index::<R>(db, name)?;
        let (columns, types) = (Columns::new(&columns), PhantomData);
        Ok(Self { id, table, columns, database: db.identity(), types })
    }

    /// The engine's identifier of the index, for [`Transaction::rows`].
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
    /// assert_eq!(Some(City::by_size(&db)?.id()), db.index("city", "by_size"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn id(&self) -> IndexId {
        self.id
    }
}

/// Reads of a transaction by an index; see [`Transaction::index`].
/// [`RecordIndex`] has an example.
pub struct IndexReads<'txn, 'lane, R, K, U> {
    transaction: &'txn mut Transaction<'lane>,
    index: RecordIndex<R, K, U>,
}

impl<'lane> Transaction<'lane> {
    /// Reads by an index. [`RecordIndex`] has an example.
    pub fn index<R: Record, K, U>(
        &mut self,
        index: RecordIndex<R, K, U>,
    ) -> IndexReads<'_, 'lane, R, K, U> {
        IndexReads { transaction: self, index }
    }

    pub(crate) fn check_index<R: Record, K, U>(&self, index: RecordIndex<R, K, U>) -> Result<()> {
        self.check_database(index.database, || R::TABLE.to_owned())
    }
}

impl<'txn, 'lane, R: Record, K, U> IndexReads<'txn, 'lane, R, K, U> {
    /// The records in a range of index keys, in the order of these keys, and of primary keys among
    /// equal ones.
    /// [`RecordIndex`] has an example.
    pub fn range(self, keys: impl KeyRange<K>) -> Range<'txn, 'lane, R> {
        Range::of_index(self.transaction, self.index, keys)
    }

    fn look_up(&mut self, key: impl FullKey<K>) -> Result<Vec<R>> {
        self.transaction.check_index(self.index)?;
        let key = key.append_prefix(KeyBuilder::new()).map_err(key_misfit::<R>)?;
        let (mut rows, mut found) = (self.transaction.rows(), Vec::new());
        rows.lookup(self.index.id, &key.key(), &mut found)?;
        found.into_iter().map(|row| rows.decode(row)).collect()
    }
}

impl<R: Record, K> IndexReads<'_, '_, R, K, Shared> {
    /// The records with this key, in the order of their primary keys.
    ///
    /// [`RecordIndex`] has an example.
    pub fn get(mut self, key: impl FullKey<K>) -> Result<Vec<R>> {
        self.look_up(key)
    }
}

impl<R: Record, K> IndexReads<'_, '_, R, K, Unique> {
    /// The record with this key; `None` if there is none. [`RecordIndex`] has an example.
    pub fn get(mut self, key: impl FullKey<K>) -> Result<Option<R>> {
        Ok(self.look_up(key)?.pop())
    }
}
