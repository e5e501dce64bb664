//! The structural check of a database: hash tables, trees, rows behind pointers, and the lists of
//! old versions.

use crate::catalog::{CatalogError, Primary, Secondary};
use crate::database::Database;
use crate::read::value::{ValueReport, check_values};
use crate::write::copies::check_copies;
use fabric::{Batch, Env, Note};
use index::hash::HashReport;
use index::tree::TreeReport;
use layout::row::{ChainWord, HEADER, LINK, OVERFLOW_HEAD, VERSION};
use layout::{GlobalPtr, VersionWord};
use memory::mover::OVERFLOW_COUNT_MAX;
use std::collections::BTreeSet;
use std::fmt;

/// Number of rows whose headers are read together.
const ROWS_PER_BATCH: usize = 256;
/// A longer list of old versions is taken for a cycle.
const OVERFLOW_LENGTH_MAX: u32 = 2 * OVERFLOW_COUNT_MAX;

/// The result of the structural check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StructureReport {
    /// One line per structure, with its size.
    pub lines: Vec<String>,
    /// Errors found.
    pub errors: Vec<String>,
    /// Locks found held.
    pub locks: Vec<HeldLock>,
}

/// A lock found held; displayed as `table: kind address`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldLock {
    /// The name of the table, or `table.index`.
    pub structure: String,
    pub kind: LockKind,
    /// The locked word.
    pub word: GlobalPtr,
}

/// The kinds of locks: the header of a row, the insert word of a bucket or leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockKind {
    Row,
    Bucket,
    Leaf,
}

impl fmt::Display for HeldLock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            LockKind::Row => "row",
            LockKind::Bucket => "bucket",
            LockKind::Leaf => "leaf",
        };
        write!(formatter, "{}: {kind} {:?}", self.structure, self.word)
    }
}

impl StructureReport {
    /// The errors, then the locks: one line each. Empty for a sound database without commits under
    /// way.
    pub fn defects(&self) -> Vec<String> {
        let locks = self.locks.iter().map(HeldLock::to_string);
        self.errors.iter().cloned().chain(locks).collect()
    }

    fn add_hash(&mut self, name: &str, report: HashReport) {
        self.lines.push(format!(
            "{name}: {} buckets, {} overflow blocks, {} slots in use",
            report.buckets, report.overflow_blocks, report.used_slots
        ));
        self.add_errors(name, report.errors);
        self.add_locks(name, LockKind::Bucket, report.locked);
        self.add_locks(name, LockKind::Row, report.locked_rows);
    }

    fn add_values(&mut self, name: &str, report: ValueReport) {
        let ValueReport { count, errors } = report;
        self.lines.push(format!("{name}: {count} values out of line"));
        self.add_errors(name, errors);
    }

    fn add_tree(&mut self, name: &str, report: TreeReport) {
        self.lines.push(format!("{name}: {} leaves, {} entries", report.leaves, report.entries));
        self.add_errors(name, report.errors);
        self.add_locks(name, LockKind::Leaf, report.locked);
    }

    fn add_errors(&mut self, name: &str, errors: Vec<String>) {
        self.errors.extend(errors.into_iter().map(|error| format!("{name}: {error}")));
    }

    fn add_locks(&mut self, name: &str, kind: LockKind, words: Vec<GlobalPtr>) {
        let lock = |word| HeldLock { structure: name.to_owned(), kind, word };
        self.locks.extend(words.into_iter().map(lock));
    }
}

impl<E: Env> Database<E> {
    pub(crate) async fn check_tables_generic(
        &self,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<StructureReport, CatalogError> {
        let catalog = self.refresh().await?;
        let mut report = StructureReport::default();
        for (name, table) in catalog.names() {
            if !wanted(catalog.whole_name(name)) {
                continue;
            }
            let Some(info) = catalog.info(table) else { continue };
            let mut buffers = Vec::new();
            let outside = match &info.primary {
                Primary::Hash(hash) => {
                    let mut found = index::hash::check(&self.env, hash).await?;
                    let outside = std::mem::take(&mut found.leads_to);
                    buffers.append(&mut found.buffers);
                    report.add_hash(name, found);
                    outside
                }
                Primary::Tree(tree) => {
                    let mut found = index::tree::check(&self.env, tree).await?;
                    let outside = std::mem::take(&mut found.leads_to);
                    report.add_tree(name, found);
                    outside
                }
            };
            buffers.extend(self.check_rows(&mut report, name, outside).await?);
            self.check_old_versions(&mut report, name, buffers).await?;
            // The first part represents all; parts without the others are not readable.
            let is_first = info.design.part.as_ref().is_none_or(|part| part.number == 0);
            if is_first && catalog.table(name).is_some() {
                let parts = info.parts.as_ref();
                let parts = parts.map_or(std::slice::from_ref(&table.0), |parts| parts.numbers());
                if info.has_long_columns {
                    report.add_values(name, check_values(self, parts).await?);
                }
                if info.parts.as_ref().is_some_and(|parts| parts.are_copies()) {
                    let differing = check_copies(self, parts).await?;
                    report.add_errors(name, differing);
                }
            }
            for &number in &info.indexes {
                let Some(index) = catalog.index_info(number) else { continue };
                let name = format!("{name}.{}", index.design.name);
                match &index.storage {
                    Secondary::Hash(hash) => {
                        report.add_hash(&name, index::hash::check(&self.env, hash).await?);
                    }
                    Secondary::Tree(tree) => {
                        report.add_tree(&name, index::tree::check(&self.env, tree).await?);
                    }
                }
            }
        }
        Ok(report)
    }

    /// Checks the headers of rows behind pointers, and returns their version buffers. An
    /// interrupted split leaves two pointers to a row.
    async fn check_rows(
        &self,
        report: &mut StructureReport,
        name: &str,
        rows: Vec<GlobalPtr>,
    ) -> Result<Vec<GlobalPtr>, CatalogError> {
        let rows: BTreeSet<GlobalPtr> = rows.into_iter().filter(|row| !row.is_null()).collect();
        let rows: Vec<GlobalPtr> = rows.into_iter().collect();
        let mut buffers = Vec::with_capacity(rows.len());
        let mut batch = Batch::new();
        for rows in rows.chunks(ROWS_PER_BATCH) {
            batch.reset();
            let first = batch.arena_words() as u32;
            for &row in rows {
                batch.read(row, LINK + 1);
            }
            batch = self.env.execute(batch).await?;
            for (number, row) in rows.iter().enumerate() {
                self.env.note(|| Note::Reaches { at: *row });
                let at = first + number as u32 * (LINK + 1);
                buffers.push(ChainWord::from_word(batch.word(at + LINK)).buffer());
                let header = VersionWord::from_word(batch.word(at + HEADER));
                // Header and image may be one write, whose words arrive in any order: the write is
                // in flight.
                let is_half = !self.env.is_coherent() && header.word() != batch.word(at + VERSION);
                if header.is_locked() || is_half {
                    report.add_locks(name, LockKind::Row, vec![*row]);
                } else if header.word() != batch.word(at + VERSION) {
                    report.errors.push(format!("{name}: row {row:?}: header and version differ"));
                }
            }
        }
        Ok(buffers)
    }

    /// Checks that the overflow lists of version buffers end.
    async fn check_old_versions(
        &self,
        report: &mut StructureReport,
        name: &str,
        mut buffers: Vec<GlobalPtr>,
    ) -> Result<(), CatalogError> {
        buffers.retain(|buffer| !buffer.is_null());
        let mut batch = Batch::new();
        for buffers in buffers.chunks(ROWS_PER_BATCH) {
            buffers.iter().for_each(|&at| self.env.note(|| Note::Reaches { at }));
            let heads = buffers.iter().map(|buffer| buffer.add_words(u64::from(OVERFLOW_HEAD)));
            // Each word leads to the next entry of its list.
            let mut links: Vec<GlobalPtr> = heads.collect();
            let mut length = 0;
            while !links.is_empty() {
                batch.reset();
                for &link in &links {
                    batch.read(link, 1);
                }
                batch = self.env.execute(batch).await?;
                let entries =
                    (0..links.len() as u32).map(|at| GlobalPtr::from_word(batch.word(at)));
                links = entries.filter(|entry| !entry.is_null()).collect();
                links.iter().for_each(|&at| self.env.note(|| Note::Reaches { at }));
                length += 1;
                if length > OVERFLOW_LENGTH_MAX {
                    report.errors.push(format!("{name}: a list of old versions does not end"));
                    break;
                }
            }
        }
        Ok(())
    }
}
