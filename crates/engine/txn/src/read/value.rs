//! Reading long values: one round trip for all that are needed together.
//!
//! The row that the snapshot covers has the pointer, length and version of the value. Values never
//! change, and their memory is reused only after a horizon covers the row's next version. So a
//! snapshot that is not too old finds them intact; one that is too old finds another version there,
//! or a torn one.
//!
//! Decisions:
//! - docs/decisions/0038-a-long-value-never-changes-and-the-row-names-its-version.md
//! - docs/decisions/0041-long-values-are-fetched-on-request.md

use crate::abort::{Abort, TxnError};
use crate::catalog::{CatalogError, TableId};
use crate::database::Database;
use crate::lane::LaneInner;
use crate::read::access::{AccessId, State};
use crate::transaction::Isolation;
use fabric::{Env, Mutant, Note, Span};
use layout::row::Cover;
use layout::value::{BYTES, DATA, VERSION};
use layout::{Key, LongValues, OutOfLine, RecordRef, ValueLayout};
use std::collections::BTreeSet;

/// Maximal number of words of values that one round trip fetches (4 MiB), unless a single value has
/// more.
const FETCH_WORDS_MAX: u32 = 512 * 1024;

/// The visitor of a table's rows.
pub(crate) enum Visitor<'a> {
    /// Gets the rows one by one, without long values.
    Plain(&'a mut dyn FnMut(RecordRef<'_>)),
    /// Gets the rows with their long values, some rows at a time.
    Long {
        visit: &'a mut dyn FnMut(RecordRef<'_>),
        /// Images in the arena whose values are not fetched yet.
        rows: Vec<Span>,
    },
}

pub(crate) fn note_references(row: RecordRef<'_>, references: &mut Vec<Option<OutOfLine>>) {
    for &column in row.schema().long_columns() {
        let reference = row.out_of_line(column).expect("it is one of the columns out of line");
        references.push((!row.is_null(column)).then_some(reference));
    }
}

impl<E: Env> LaneInner<E> {
    /// [`Transaction::read_long_many`](crate::Transaction::read_long_many), by the rows'
    /// references.
    pub(crate) async fn read_values(
        &mut self,
        references: &[Option<OutOfLine>],
        values: &mut LongValues,
    ) -> Result<(), TxnError> {
        self.begin_statement()?;
        let fetched = self.fetch_values(references, values).await;
        self.end_statement(fetched)
    }

    /// Passes a row to the visitor, or keeps it until [`LaneInner::show_kept`].
    pub(crate) fn show(&mut self, access: AccessId, visitor: &mut Visitor<'_>) {
        let access = self.txn.accesses[access];
        if access.state != State::Read {
            return;
        }
        if self.env.takes_notes() {
            let words = self.open.info(access.table).row.key_words;
            let key = self.txn.batch.words(Span { at: access.key_at, words });
            self.scratch.shown.push(Key::from_words(key));
        }
        match visitor {
            Visitor::Plain(visit) => visit(self.record(access.table, access.image)),
            Visitor::Long { visit, rows } => {
                let record = self.record(access.table, access.image);
                // Rows are shown in their order.
                match rows.is_empty() && !record.refers_to_values() {
                    true => visit(record),
                    false => rows.push(access.image),
                }
            }
        }
    }

    /// Passes the kept rows, with their values, to the visitor. Their images are still in the
    /// arena.
    pub(crate) async fn show_kept(
        &mut self,
        table: TableId,
        visitor: &mut Visitor<'_>,
    ) -> Result<(), TxnError> {
        let Visitor::Long { visit, rows } = visitor else { return Ok(()) };
        let columns = self.open.info(table).schema.long_columns().len();
        let (mut references, mut values) = (Vec::new(), LongValues::default());
        let mut done = 0;
        while done < rows.len() {
            references.clear();
            let mut end = done;
            // Takes as many rows as one round trip fetches values for, to bound the memory for
            // values.
            while end < rows.len() && self.fetch_count(&references) == references.len() {
                note_references(self.record(table, rows[end]), &mut references);
                end += 1;
            }
            self.fetch_values(&references, &mut values).await?;
            for (number, &row) in rows[done..end].iter().enumerate() {
                values.begin_at(number * columns);
                visit(self.record(table, row).with_long(&values));
            }
            done = end;
        }
        rows.clear();
        Ok(())
    }

    /// The number of these values that one round trip fetches: at least one.
    fn fetch_count(&self, references: &[Option<OutOfLine>]) -> usize {
        let mut words = 0;
        let fits = |reference: &&Option<OutOfLine>| {
            words += reference.map_or(0, |reference| value_layout(&self.env, reference).words());
            words <= FETCH_WORDS_MAX
        };
        references.iter().take_while(fits).count().max(references.len().min(1))
    }

    /// Fetches values; `values` gets one entry per reference, `None` if it is null.
    pub(crate) async fn fetch_values(
        &mut self,
        references: &[Option<OutOfLine>],
        values: &mut LongValues,
    ) -> Result<(), TxnError> {
        values.clear();
        let mut rest = references;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(self.fetch_count(rest));
            let arena = self.txn.batch.arena_words() as u32;
            let spans = self.post_values(now).await?;
            for (&reference, span) in now.iter().zip(spans) {
                let Some(reference) = reference else {
                    values.push(None);
                    continue;
                };
                if let Some(number) = reference.staged_number() {
                    values.push(Some(self.txn.stage.bytes(number)));
                    continue;
                }
                let image = self.txn.batch.words(span);
                if !is_value(image, reference) && !self.env.mutant(Mutant::ValueSkipVersion) {
                    return Err(Abort::SnapshotTooOld.into());
                }
                let data = image.get(DATA as usize..).unwrap_or_default();
                values.push_words(data, reference.bytes as usize);
            }
            self.txn.batch.clear_verbs();
            self.txn.batch.truncate(arena);
            rest = later;
        }
        Ok(())
    }

    /// Reads those of these values that are stored; returns a span for each reference.
    async fn post_values(
        &mut self,
        references: &[Option<OutOfLine>],
    ) -> Result<Vec<Span>, TxnError> {
        self.txn.batch.clear_verbs();
        let mut spans = Vec::with_capacity(references.len());
        for reference in references {
            let stored = reference.and_then(|reference| Some((reference, reference.stored()?)));
            spans.push(stored.map_or(Span::default(), |(reference, ptr)| {
                let words = value_layout(&self.env, reference).words();
                self.txn.batch.read_row(ptr, words, Cover::All)
            }));
        }
        if !self.txn.batch.is_empty() {
            self.execute().await?;
        }
        Ok(spans)
    }
}

/// The layout of the value of a reference.
pub(crate) fn value_layout<E: Env>(env: &E, reference: OutOfLine) -> ValueLayout {
    ValueLayout::of(reference.bytes, !env.is_coherent())
}

/// Whether the words are the value of this reference. An empty value has no memory.
fn is_value(image: &[u64], reference: OutOfLine) -> bool {
    reference.stored().is_none()
        || (image[VERSION as usize] == reference.version.word()
            && image[BYTES as usize] == reference.bytes)
}

/// The result of a check of long values.
pub(crate) struct ValueReport {
    /// Number of long values.
    pub count: u64,
    /// Errors found.
    pub errors: Vec<String>,
}

/// Reads every long value of these parts of a table at rest.
pub(crate) async fn check_values<E: Env>(
    database: &Database<E>,
    parts: &[u32],
) -> Result<ValueReport, CatalogError> {
    let unreachable = |error: TxnError| CatalogError::Unreachable(error.to_string());
    let lane = database.lane().await;
    let mut lane = lane.map_err(|error| CatalogError::Limit(error.to_string()))?;
    let mut txn =
        lane.begin(Isolation::Snapshot).await.map_err(|abort| unreachable(abort.into()))?;
    let mut references = Vec::new();
    let mut note = |row: RecordRef<'_>| note_references(row, &mut references);
    for &part in parts {
        txn.for_each_in(TableId(part), &mut note).await.map_err(unreachable)?;
    }
    let (mut count, mut errors, mut known) = (0, Vec::new(), BTreeSet::new());
    let mut values = LongValues::default();
    for reference in references.into_iter().flatten() {
        let Some(ptr) = reference.stored() else {
            if reference != OutOfLine::EMPTY {
                errors
                    .push(format!("a row refers to a value that was never stored: {reference:?}"));
            }
            continue;
        };
        count += 1;
        database.env.note(|| Note::Reaches { at: ptr });
        if !known.insert(ptr) {
            errors.push(format!("two rows refer to the value at {ptr:?}"));
        }
        match txn.lane().fetch_values(&[Some(reference)], &mut values).await {
            Ok(()) => {}
            Err(TxnError::Abort(Abort::SnapshotTooOld)) => {
                errors.push(format!("there is no value {reference:?}"));
            }
            Err(error) => return Err(unreachable(error)),
        }
    }
    lane.rest().await.map_err(|abort| unreachable(abort.into()))?;
    Ok(ValueReport { count, errors })
}
