//! Visits of whole tables: every row that the snapshot covers, in storage order.

use crate::abort::TxnError;
use crate::catalog::{Primary, TableId};
use crate::lane::LaneInner;
use crate::read::same_words;
use crate::read::scan::KeyedRow;
use crate::read::value::Visitor;
use crate::transaction::Transaction;
use crate::write::Owner;
use fabric::{Batch, Env, Mutant, Span};
use index::tree::LeafView;
use layout::bucket::{self, Identity};
use layout::row::{Cover, KEY, VERSION};
use layout::{GlobalPtr, Key, RecordRef, VersionWord};

/// Minimal and maximal number of buckets in one part of a visit: each part takes some round trips.
const CHUNK_BUCKETS: std::ops::RangeInclusive<u64> = 16..=512;
/// Number of parts of a visit of a large table, within these bounds.
const CHUNKS: u64 = 256;

/// Number of buckets that a visit reads together, to share round trips.
const TOGETHER: usize = 32;

/// A row that a visit reads.
#[derive(Clone, Copy)]
struct Posted {
    row: GlobalPtr,
    /// Its words in the arena.
    span: Span,
    /// The key in its slot.
    key_at: u32,
}

/// The rows of a bucket and its chain, as read by a visit.
struct BucketRows {
    number: u64,
    /// The number of times the bucket was split.
    level: u32,
    rows: Vec<Posted>,
}

/// The directory when the visit began: it had `count` buckets, and every bucket had been split
/// `level` or `level + 1` times.
#[derive(Clone, Copy)]
pub struct VisitStart {
    count: u64,
    level: u32,
}

/// The position of a visit of a whole table. Each part may be visited by a transaction of its own.
/// Rows that do not change between the first and the last of these transactions are visited once;
/// others may be visited twice or not at all.
#[derive(Clone, Copy)]
pub enum VisitPart {
    /// The leaf that covers this key, from the key on.
    Leaf(Key),
    /// Some buckets, with the numbers that they had when the visit began.
    Buckets { first: u64, began: VisitStart },
}

impl<E: Env> Transaction<'_, E> {
    /// Like [`Transaction::for_each`], for a table or for a single part of it.
    pub(crate) async fn for_each_in(
        &mut self,
        table: TableId,
        visit: &mut dyn FnMut(RecordRef<'_>),
    ) -> Result<(), TxnError> {
        let lane = self.lane().begin_statement()?;
        let visited = lane.visit_all_of(table, &mut Visitor::Plain(visit)).await;
        lane.end_statement(visited)
    }
}

impl<E: Env> LaneInner<E> {
    /// [`Transaction::for_each`], and [`Transaction::for_each_long`].
    pub(crate) async fn for_each(
        &mut self,
        table: TableId,
        mut visitor: Visitor<'_>,
    ) -> Result<(), TxnError> {
        self.begin_statement()?;
        let visited = self.visit_table(table, &mut visitor).await;
        self.end_statement(visited)
    }

    /// [`Transaction::for_each_long_in_part`].
    pub(crate) async fn for_each_in_part(
        &mut self,
        table: TableId,
        part: Option<VisitPart>,
        mut visitor: Visitor<'_>,
    ) -> Result<Option<VisitPart>, TxnError> {
        self.begin_statement()?;
        let visited = self.visit_next_part(table, part, &mut visitor).await;
        self.end_statement(visited)
    }

    async fn visit_next_part(
        &mut self,
        table: TableId,
        part: Option<VisitPart>,
        visitor: &mut Visitor<'_>,
    ) -> Result<Option<VisitPart>, TxnError> {
        let part = match part {
            Some(part) => part,
            None => self.first_part(table).await?,
        };
        self.visit_part(table, part, visitor).await
    }

    /// Visits every row of a table that the snapshot covers.
    pub(crate) async fn visit_table(
        &mut self,
        table: TableId,
        visit: &mut Visitor<'_>,
    ) -> Result<(), TxnError> {
        self.open_table(table).await?;
        let parts = self.open.info(table).parts.clone();
        let numbers =
            parts.as_ref().map_or(std::slice::from_ref(&table.0), |all| all.of_all_rows());
        for &number in numbers {
            self.visit_all_of(TableId(number), visit).await?;
        }
        Ok(())
    }

    /// Like [`Self::visit_table`], for a table without parts or for a single part.
    async fn visit_all_of(
        &mut self,
        table: TableId,
        visit: &mut Visitor<'_>,
    ) -> Result<(), TxnError> {
        self.scratch.shown.clear();
        let mut next = Some(self.first_part(table).await?);
        while let Some(part) = next {
            next = self.visit_part(table, part, visit).await?;
        }
        self.note_visit(table);
        Ok(())
    }

    /// The start of a visit of a table.
    pub(crate) async fn first_part(&mut self, table: TableId) -> Result<VisitPart, TxnError> {
        self.open_table(table).await?;
        let hash = match &self.open.info(table).primary {
            Primary::Tree(tree) => return Ok(VisitPart::Leaf(Key::lowest(tree.layout.key_words))),
            Primary::Hash(hash) => hash.clone(),
        };
        let directory = index::hash::read_directory(&self.env, &hash).await?;
        let (count, level) = (hash.bucket_count(&directory), directory.level);
        self.open.table_mut(table).directory = directory;
        Ok(VisitPart::Buckets { first: 0, began: VisitStart { count, level } })
    }

    /// Visits a part of a table; returns the next part.
    pub(crate) async fn visit_part(
        &mut self,
        table: TableId,
        part: VisitPart,
        visit: &mut Visitor<'_>,
    ) -> Result<Option<VisitPart>, TxnError> {
        self.open_table(table).await?;
        match part {
            VisitPart::Leaf(from) => {
                Ok(self.visit_leaf(table, from, visit).await?.map(VisitPart::Leaf))
            }
            VisitPart::Buckets { first, began } => {
                let count = began.count;
                let chunk = (count / CHUNKS).clamp(*CHUNK_BUCKETS.start(), *CHUNK_BUCKETS.end());
                let end = (first + chunk).min(count);
                self.visit_buckets(table, began, first..end, visit).await?;
                Ok((end < count).then_some(VisitPart::Buckets { first: end, began }))
            }
        }
    }

    /// Visits the leaf that covers `from`, from this key on; returns the first key of the next
    /// leaf.
    async fn visit_leaf(
        &mut self,
        table: TableId,
        from: Key,
        visit: &mut Visitor<'_>,
    ) -> Result<Option<Key>, TxnError> {
        let owner = Owner::Table(table);
        let tree = self.open.tree(owner);
        let (arena, leaves) = (self.txn.batch.arena_words() as u32, self.txn.leaves_seen.len());
        let seen = self.leaf_for(owner, &from).await?;
        let batch = &*self.txn.batch;
        let view = LeafView::new(tree.layout, batch.words(self.txn.leaves_seen[seen].span));
        self.check_collected(view.collected())?;
        // The leaf may have absorbed its right neighbour after the last visit: then it begins with
        // entries that were already visited.
        let first = view.search(from.words()).unwrap_or_else(|position| position);
        let entries: Vec<KeyedRow> =
            (first..view.count()).map(|n| KeyedRow::of(&view, n)).collect();
        let next = view.high_key();
        self.witness_leaf(seen);
        self.visit_rows(table, &entries, visit).await?;
        self.txn.leaves_seen.truncate(leaves);
        self.txn.batch.clear_verbs();
        self.txn.batch.truncate(arena);
        Ok(next)
    }

    /// Reads rows by address, visits those that the snapshot covers, and drops their accesses.
    async fn visit_rows(
        &mut self,
        table: TableId,
        rows: &[KeyedRow],
        visit: &mut Visitor<'_>,
    ) -> Result<(), TxnError> {
        let words = self.open.info(table).row.words();
        self.txn.batch.clear_verbs();
        let mut reads = Vec::with_capacity(rows.len());
        for KeyedRow { key, row } in rows {
            self.env.prefetch(*row, words);
            let key_span = self.txn.batch.put(key.words());
            let span = self.txn.batch.read_row(*row, words, Cover::AllButLink);
            reads.push((key_span, span));
        }
        if rows.is_empty() {
            return Ok(());
        }
        self.execute().await?;
        let accesses = self.txn.accesses.len();
        for (KeyedRow { row, .. }, (key, span)) in rows.iter().zip(reads) {
            let access = self.txn.add_passing_access(table, key.at);
            if !self.finish_row(access, *row, span) {
                Box::pin(self.settle_old(access, *row, span)).await?;
            }
            self.show(access, visit);
            self.txn.accesses.truncate(accesses);
        }
        self.show_kept(table, visit).await
    }

    /// Visits buckets by the numbers that they had when the visit began, although lookups of moved
    /// rows use newer directories. Buckets that were split off later are visited together with
    /// their original bucket.
    async fn visit_buckets(
        &mut self,
        table: TableId,
        began: VisitStart,
        buckets: std::ops::Range<u64>,
        visit: &mut Visitor<'_>,
    ) -> Result<(), TxnError> {
        let info = self.open.info(table).clone();
        let Primary::Hash(hash) = &info.primary else {
            unreachable!("the caller knows it is hashed")
        };
        let mut numbers: Vec<u64> = buckets.rev().collect();
        while !numbers.is_empty() {
            let some = numbers.split_off(numbers.len().saturating_sub(TOGETHER));
            self.visit_some(table, hash, began, some, &mut numbers, visit).await?;
        }
        Ok(())
    }

    /// Visits some buckets with their chains; lists the buckets that were split off them since the
    /// visit began.
    async fn visit_some(
        &mut self,
        table: TableId,
        hash: &index::hash::HashTable,
        began: VisitStart,
        numbers: Vec<u64>,
        split_off: &mut Vec<u64>,
        visit: &mut Visitor<'_>,
    ) -> Result<(), TxnError> {
        let (arena, accesses) = (self.txn.batch.arena_words() as u32, self.txn.accesses.len());
        for BucketRows { number, level, rows } in self.read_buckets(table, hash, numbers).await? {
            for level in began.level..level {
                let child = number + (hash.initial_buckets << level);
                if child >= began.count && child % (hash.initial_buckets << level) == number {
                    split_off.push(child);
                }
            }
            for Posted { row, span, key_at } in rows {
                let access = self.txn.add_passing_access(table, key_at);
                if !self.finish_row(access, row, span) {
                    Box::pin(self.settle_old(access, row, span)).await?;
                }
                self.show(access, visit);
                self.txn.accesses.truncate(accesses);
            }
        }
        self.show_kept(table, visit).await?;
        self.txn.batch.clear_verbs();
        self.txn.batch.truncate(arena);
        Ok(())
    }

    /// Reads all used slots of some buckets and their chains; repeats a bucket until its identity
    /// does not change while it is read.
    async fn read_buckets(
        &mut self,
        table: TableId,
        hash: &index::hash::HashTable,
        mut numbers: Vec<u64>,
    ) -> Result<Vec<BucketRows>, TxnError> {
        let mut done = Vec::with_capacity(numbers.len());
        while let Some(&last) = numbers.iter().max() {
            let directory = &self.open.table_mut(table).directory;
            if last >> hash.segment_shift >= directory.segments.len() as u64 {
                let directory = index::hash::read_directory(&self.env, hash).await?;
                self.open.table_mut(table).directory.segments = directory.segments;
                continue;
            }
            let reading = |number| Reading::new(number, hash.bucket(directory, number), hash);
            let mut readings: Vec<Reading> = numbers.drain(..).map(reading).collect();
            self.read_witnesses(&mut readings).await?;
            self.read_chains(table, hash, &mut readings).await?;
            self.txn.batch.clear_verbs();
            let read_again = |reading: &Reading| self.txn.batch.read(reading.bucket, bucket::SLOTS);
            let again: Vec<Span> = readings.iter().map(read_again).collect();
            self.execute().await?;
            for (mut reading, again) in readings.into_iter().zip(again) {
                match self.finish_reading(hash, &mut reading, again)? {
                    Some(level) => {
                        let Reading { number, rows, .. } = reading;
                        done.push(BucketRows { number, level, rows });
                    }
                    None => numbers.push(reading.number),
                }
            }
        }
        Ok(done)
    }

    /// The split level of a bucket whose header was read `again` after all slots; `None` if the
    /// bucket was split meanwhile.
    fn finish_reading(
        &mut self,
        hash: &index::hash::HashTable,
        reading: &mut Reading,
        again: Span,
    ) -> Result<Option<u32>, TxnError> {
        let batch = &*self.txn.batch;
        let first = reading.first.expect("a bucket has a first block");
        let same = |word: u32| batch.word(first.at + word) == batch.word(again.at + word);
        self.check_collected(batch.word(again.at + bucket::COLLECTED))?;
        if !same(bucket::IDENTITY) {
            return Ok(None);
        }
        let identity = Identity::from_word(batch.word(again.at + bucket::IDENTITY));
        let modulus = hash.initial_buckets << identity.level;
        let words = hash.layout.key_words;
        let trusts_key = self.env.mutant(Mutant::ReadTrustSlotKey);
        let (mut has_hole, mut has_torn) = (reading.has_null, false);
        reading.rows.retain(|&Posted { span, key_at, .. }| {
            // A row that a split has already copied is visited in its new bucket. A slot whose row
            // has no version or another key is a hole: it is being filled or was emptied, and its
            // words may be of two rows. No snapshot of this bucket has its row.
            let key = batch.words(Span { at: key_at, words });
            let is_here = hash.locator.hash(key).0 % modulus == reading.number;
            let version = VersionWord::from_word(batch.word(span.at + VERSION));
            let is_torn = version == VersionWord::TORN;
            let own = batch.words(Span { at: span.at + KEY, words });
            let is_other = !is_torn && !same_words(key, own) && !trusts_key;
            let is_hole = version.is_none() || is_other;
            has_hole |= is_here && is_hole;
            has_torn |= is_here && is_torn;
            is_here && !is_hole
        });
        if has_torn && !trusts_key {
            has_hole |= drop_repeated(&mut reading.rows, batch, words);
        }
        if self.txn.serializable && !self.env.mutant(Mutant::ScanBucketUnwitnessed) {
            // A row on another server may be in flight while the insert word of its bucket is
            // already unlocked. No word read here would witness it, so validation must fail.
            let expected = match has_hole {
                true => VersionWord::NONE.locked().word(),
                false => reading.insert,
            };
            self.witnesses.add_word(reading.bucket, expected);
        }
        Ok(Some(identity.level))
    }

    /// Reads the insert words of buckets whose slots will be read, if the transaction validates.
    /// They need a round trip of their own: in the same read they could be newer than tags and
    /// link.
    async fn read_witnesses(&mut self, readings: &mut [Reading]) -> Result<(), TxnError> {
        if !self.txn.serializable {
            return Ok(());
        }
        self.txn.batch.clear_verbs();
        let word = |reading: &Reading| reading.bucket.add_words(u64::from(bucket::INSERT));
        let read = |reading: &Reading| self.txn.batch.read(word(reading), 1);
        let inserts: Vec<Span> = readings.iter().map(read).collect();
        self.execute().await?;
        for (reading, insert) in readings.iter_mut().zip(inserts) {
            reading.insert = self.txn.batch.words(insert)[0];
        }
        Ok(())
    }

    /// Reads the rows of the used slots of all blocks: those of the first blocks together, then
    /// those of the next blocks, and so on.
    async fn read_chains(
        &mut self,
        table: TableId,
        hash: &index::hash::HashTable,
        readings: &mut [Reading],
    ) -> Result<(), TxnError> {
        loop {
            let has_block = |reading: &&mut Reading| !reading.block.is_null();
            self.txn.batch.clear_verbs();
            let mut headers = Vec::with_capacity(readings.len());
            for reading in readings.iter_mut().filter(has_block) {
                headers.push(self.txn.batch.read(reading.block, bucket::SLOTS));
            }
            if headers.is_empty() {
                return Ok(());
            }
            self.execute().await?;
            self.txn.batch.clear_verbs();
            for (reading, &header) in readings.iter_mut().filter(has_block).zip(&headers) {
                reading.first.get_or_insert(header);
                self.post_slots(table, hash, reading, header);
            }
            if !self.txn.batch.is_empty() {
                self.execute().await?;
            }
            if !hash.rows {
                self.read_rows_outside(table, readings).await?;
            }
            for (reading, header) in readings.iter_mut().filter(has_block).zip(headers) {
                reading.block = GlobalPtr::from_word(self.txn.batch.word(header.at + bucket::LINK));
                reading.slots = hash.layout.overflow_slots;
            }
        }
    }

    /// Posts reads of the used slots of a block whose header was read.
    fn post_slots(
        &mut self,
        table: TableId,
        hash: &index::hash::HashTable,
        reading: &mut Reading,
        header: Span,
    ) {
        reading.known = reading.rows.len();
        let tags = self.txn.batch.word(header.at + bucket::TAGS);
        let words = self.open.info(table).row.words();
        let slots = reading.slots;
        for n in (0..slots).filter(|&n| bucket::tag_of(slots, tags, n) != 0) {
            let slot = reading.block.add_words(u64::from(hash.layout.slot(n)));
            let span = match hash.rows {
                true => self.txn.batch.read_row(slot, words, Cover::AllButLink),
                false => self.txn.batch.read(slot, hash.layout.slot_words),
            };
            let key_at = span.at + if hash.rows { KEY } else { 1 };
            reading.rows.push(Posted { row: slot, span, key_at });
        }
    }

    /// Reads the rows to which the slots read last point.
    async fn read_rows_outside(
        &mut self,
        table: TableId,
        readings: &mut [Reading],
    ) -> Result<(), TxnError> {
        let words = self.open.info(table).row.words();
        self.txn.batch.clear_verbs();
        let takes_null = self.env.mutant(Mutant::ReadTrustSlotKey);
        for reading in readings.iter_mut() {
            let mut known = reading.known;
            let unread = known..reading.rows.len();
            for n in unread {
                let Posted { span, key_at, .. } = reading.rows[n];
                let row = GlobalPtr::from_word(self.txn.batch.word(span.at));
                if row.is_null() && !takes_null {
                    // The slot is being emptied.
                    reading.has_null = true;
                    continue;
                }
                let span = self.txn.batch.read_row(row, words, Cover::AllButLink);
                reading.rows[known] = Posted { row, span, key_at };
                known += 1;
            }
            reading.rows.truncate(known);
            reading.known = known;
        }
        if !self.txn.batch.is_empty() {
            self.execute().await?;
        }
        Ok(())
    }
}

/// A bucket that a visit reads.
struct Reading {
    number: u64,
    bucket: GlobalPtr,
    /// Its insert word, read before anything else, if the transaction validates.
    insert: u64,
    /// Its header, read before any slot.
    first: Option<Span>,
    /// The block to read next (null behind the last), and the block's number of slots.
    block: GlobalPtr,
    slots: u32,
    rows: Vec<Posted>,
    /// Number of rows of the previous blocks.
    known: usize,
    /// Whether a slot had no pointer.
    has_null: bool,
}

impl Reading {
    fn new(number: u64, bucket: GlobalPtr, hash: &index::hash::HashTable) -> Self {
        let (block, slots) = (bucket, hash.layout.slots);
        let (insert, first, rows, known, has_null) = (0, None, Vec::new(), 0, false);
        Self { number, bucket, insert, first, block, slots, rows, known, has_null }
    }
}

/// Drops rows with torn images whose key is also in another slot; returns whether there were any.
/// The key words of a slot that is being filled again may be of two rows, and together they may be
/// the key of a third row, which is in a slot of its own. Only an intact image shows that. A row
/// with a torn image is found by its key in the end, so that the third row would be visited twice.
fn drop_repeated(rows: &mut Vec<Posted>, batch: &Batch, key_words: u32) -> bool {
    let key = |row: &Posted| batch.words(Span { at: row.key_at, words: key_words });
    let count = rows.len();
    for n in (0..count).rev() {
        let version = VersionWord::from_word(batch.word(rows[n].span.at + VERSION));
        let others = rows[..n].iter().chain(&rows[n + 1..]);
        if version == VersionWord::TORN && others.map(key).any(|other| other == key(&rows[n])) {
            rows.remove(n);
        }
    }
    rows.len() < count
}

#[cfg(test)]
mod tests {
    use super::{Posted, drop_repeated};
    use crate::local::{OpenConfig, open};
    use crate::{Isolation, Outcome, TableSpec};
    use fabric::{Batch, run_now};
    use layout::{
        Column, ColumnType, GlobalPtr, KeyBuilder, PhysicalDesign, Schema, SlotId, Storage,
        VersionWord,
    };

    /// Number of rows, in many leaves and buckets.
    const ROWS: i64 = 500;

    /// The positions that remain of rows with these keys in their slots, some of them torn.
    fn left_of(rows: &[(u64, bool)]) -> Vec<usize> {
        let mut batch = Batch::new();
        let whole = VersionWord::new(SlotId(1), 7);
        let mut posted: Vec<Posted> = rows
            .iter()
            .map(|&(key, is_torn)| {
                let version = if is_torn { VersionWord::TORN } else { whole };
                let span = batch.put(&[version.word(), version.word()]);
                Posted { row: GlobalPtr::NULL, span, key_at: batch.put(&[7, key]).at }
            })
            .collect();
        let ats: Vec<u32> = posted.iter().map(|row| row.span.at).collect();
        let has_dropped = drop_repeated(&mut posted, &batch, 2);
        assert_eq!(has_dropped, posted.len() < rows.len());
        let at = |row: &Posted| ats.iter().position(|&at| at == row.span.at);
        posted.iter().map(|row| at(row).expect("it was there before")).collect()
    }

    #[test]
    fn of_slots_with_the_same_key_one_is_left_whole_if_possible() {
        assert_eq!(left_of(&[(1, false), (2, true), (3, true)]), [0, 1, 2]);
        assert_eq!(left_of(&[(1, true), (2, false), (1, false)]), [1, 2]);
        assert_eq!(left_of(&[(1, false), (2, false), (1, true)]), [0, 1]);
        assert_eq!(left_of(&[(1, true), (1, true), (2, true), (1, true)]), [0, 2]);
    }

    #[test]
    fn a_visit_of_a_whole_table_leaves_nothing_in_the_arena() {
        let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
        let database = open(&config).expect("memory");
        for storage in [Storage::HashInlined, Storage::HashOutside, Storage::Tree] {
            let columns = vec![Column::new("id", ColumnType::Int8)];
            let schema = Schema::new(&format!("{storage:?}"), columns, &[0]);
            let schema = schema.expect("a valid schema");
            let design = PhysicalDesign { storage, ..PhysicalDesign::default() };
            let spec = TableSpec { schema, design, indexes: Vec::new() };
            let table = run_now(database.create_table(spec)).expect("created");
            let mut lane = run_now(database.lane()).expect("a lane");
            let mut transaction = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
            for id in 0..ROWS {
                let key = KeyBuilder::new().int8(id).key();
                run_now(transaction.insert(table, &key)).expect("is free");
            }
            assert_eq!(run_now(transaction.commit()), Outcome::Committed);

            let mut transaction = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
            let before = transaction.lane_ref().txn.batch.arena_words();
            let mut count = 0;
            run_now(transaction.for_each(table, &mut |_| count += 1)).expect("readable");
            let running = &transaction.lane_ref().txn;
            assert_eq!((count, running.batch.arena_words()), (ROWS, before), "{storage:?}");
            assert_eq!((running.accesses.len(), running.leaves_seen.len()), (0, 0), "{storage:?}");
        }
    }
}
