//! Ranges: the records between two keys, as an iterator that reads them in chunks.

use crate::error::{Result, TransactionError};
use crate::index::RecordIndex;
use crate::key::KeyRange;
use crate::record::{Record, RecordTable};
use crate::statements::key_misfit;
use crate::transaction::Transaction;
use layout::Key;
use std::collections::VecDeque;
use std::iter::FusedIterator;
use txn::{CatalogError, RowId, Scan, ScanSource};

/// Records of the first chunk. Each further one is larger: a caller who has read a whole chunk
/// probably reads on.
const CHUNK_FIRST: usize = 32;
const CHUNK_GROWTH: usize = 4;
const CHUNK_MAX: usize = 1024;

/// The records of a range, in the order of the keys of the table or index. It includes the
/// transaction's own writes.
///
/// An error is an item; the iterator ends behind it. With `?` on each item, or `collect` into a
/// `Result`, none is missed. The transaction cannot be used while the iterator is.
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
/// txn.insert(cities, &ghent)?;
/// for city in txn.range(cities, "A".."H").rev() {
///     println!("{}", city?.name);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Range<'txn, 'lane, R> {
    transaction: &'txn mut Transaction<'lane>,
    source: Source,
    /// The keys that were not read yet; `None` if there are no more.
    unread: Option<(Key, Key)>,
    /// Records that were read from the beginning and the end of the range, and not yielded yet;
    /// those of `back` in descending order.
    front: VecDeque<R>,
    back: VecDeque<R>,
    rows: Vec<RowId>,
    chunk: usize,
    /// How many records may still be yielded.
    limit: usize,
    /// Why the range cannot be read at all.
    error: Option<TransactionError>,
}

/// Where the rows of a range come from.
#[derive(Clone, Copy)]
struct Source {
    scan: ScanSource,
    /// The columns of the index.
    index: Option<crate::index::Columns>,
}

impl<'txn, 'lane, R: Record> Range<'txn, 'lane, R> {
    pub(crate) fn of_table(
        transaction: &'txn mut Transaction<'lane>,
        table: RecordTable<R>,
        keys: impl KeyRange<R::Key>,
    ) -> Self {
        let source = Source { scan: ScanSource::Table(table.id), index: None };
        let words = transaction.check_table(table).and_then(|()| {
            let schema = transaction.schema(table.id).ok_or_else(|| dropped::<R>())?;
            Ok(schema.key_words())
        });
        Self::new(transaction, source, words, keys)
    }

    pub(crate) fn of_index<K, U>(
        transaction: &'txn mut Transaction<'lane>,
        index: RecordIndex<R, K, U>,
        keys: impl KeyRange<K>,
    ) -> Self {
        let source = Source { scan: ScanSource::Index(index.id), index: Some(index.columns) };
        let words = transaction.check_index(index).and_then(|()| {
            let schema = transaction.schema(index.table).ok_or_else(|| dropped::<R>())?;
            Ok(schema.index_key_words(index.columns.as_slice()))
        });
        Self::new(transaction, source, words, keys)
    }

    fn new<K>(
        transaction: &'txn mut Transaction<'lane>,
        source: Source,
        words: Result<u32>,
        keys: impl KeyRange<K>,
    ) -> Self {
        let bounds = |words| Ok(keys.bounds(words).map_err(key_misfit::<R>)?);
        let (unread, error) = match words.and_then(bounds) {
            Ok(unread) => (unread, None),
            Err(error) => (None, Some(error)),
        };
        Self {
            transaction,
            source,
            unread,
            front: VecDeque::new(),
            back: VecDeque::new(),
            rows: Vec::new(),
            chunk: CHUNK_FIRST,
            limit: usize::MAX,
            error,
        }
    }

    /// Yields at most `limit` records, and reads no more. `take` yields as many, but reads whole
    /// chunks.
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
    /// txn.insert(cities, &ghent)?;
    /// assert_eq!(txn.range(cities, ..).limit(1).count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Reads the next chunk from the beginning or the end of the keys not read yet.
    fn fetch(&mut self, reverse: bool) -> Result<()> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let Some((low, high)) = self.unread.take() else { return Ok(()) };
        let limit = self.chunk.min(self.limit);
        self.chunk = (self.chunk * CHUNK_GROWTH).min(CHUNK_MAX);
        let Self { transaction, rows: found, .. } = self;
        let mut rows = transaction.rows();
        let source = self.source.scan;
        rows.scan(&Scan { source, low, high, reverse, limit }, found)?;
        if let Some(&last) = found.last().filter(|_| found.len() == limit) {
            let row = rows.row(last);
            let key = match &self.source.index {
                Some(columns) => row.index_key(columns.as_slice()),
                None => Key::from_words(row.key()),
            };
            let rest = match reverse {
                true => key.predecessor().map(|high| (low, high)),
                false => key.successor().map(|low| (low, high)),
            };
            self.unread = rest.filter(|(low, high)| low <= high);
        }
        let end = if reverse { &mut self.back } else { &mut self.front };
        for &row in &*found {
            end.push_back(rows.decode(row)?);
        }
        Ok(())
    }

    /// The next record from one end.
    fn step(&mut self, reverse: bool) -> Option<Result<R>> {
        if self.limit == 0 {
            return None;
        }
        let (near, _) = self.ends(reverse);
        if near.is_empty()
            && let Err(error) = self.fetch(reverse)
        {
            self.limit = 0;
            return Some(Err(error));
        }
        let (near, far) = self.ends(reverse);
        let record = near.pop_front().or_else(|| far.pop_back())?;
        self.limit -= 1;
        Some(Ok(record))
    }

    fn ends(&mut self, reverse: bool) -> (&mut VecDeque<R>, &mut VecDeque<R>) {
        match reverse {
            true => (&mut self.back, &mut self.front),
            false => (&mut self.front, &mut self.back),
        }
    }
}

impl<R: Record> Iterator for Range<'_, '_, R> {
    type Item = Result<R>;

    fn next(&mut self) -> Option<Result<R>> {
        self.step(false)
    }
}

impl<R: Record> DoubleEndedIterator for Range<'_, '_, R> {
    fn next_back(&mut self) -> Option<Result<R>> {
        self.step(true)
    }
}

impl<R: Record> FusedIterator for Range<'_, '_, R> {}

/// The table of a range was dropped.
#[cold]
pub(crate) fn dropped<R: Record>() -> TransactionError {
    CatalogError::NoTable(R::TABLE.to_owned()).into()
}
