//! Churn: rows are inserted, deleted and moved between the keys of their indexes, while surveys
//! read everything by every access path and must get the same result.
//!
//! Each row has a group, which many rows share, and a tag, which is unique. Both are indexed; the
//! tests cover each kind of index and storage. Read [`transaction`] (the changes) and [`survey`]
//! (the results that must agree).

mod survey;
mod transaction;

#[cfg(test)]
mod tests;

use crate::attempts::{self, Attempts};
use crate::catch_up::catch_up;
use crate::driver::{CheckResult, Finished, RunTotals, TransactionResult, Workload};
use crate::error::WorkloadError;
use crate::random::Random;
use fabric::Env;
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, PhysicalDesign, Schema, Storage,
};
use transaction::Change;
use txn::{Abort, Database, IndexId, Isolation, Lane, TableId, TableSpec};

const TABLE: &str = "item";
const BY_GROUP: &str = "by_group";
const BY_TAG: &str = "by_tag";
const GROUP: usize = 1;
const TAG: usize = 2;
const TYPES: [&str; 2] = ["change", "survey"];
const CHANGE: usize = 0;
const SURVEY: usize = 1;
/// The random stream of the terminals.
const TERMINAL_STREAM: u32 = 240;
/// Memory that is independent of the number of rows.
const BASE_BYTES: u64 = 16 << 20;
/// Memory of a row with its index entries and old versions.
const ROW_BYTES: u64 = 1024;

/// The parameters of the transactions.
#[derive(Clone, PartialEq, Debug)]
pub struct ChurnConfig {
    /// The largest number of rows.
    pub rows: u32,
    pub groups: u32,
    /// Number of tags that rows compete for; every other row has a tag of its own.
    pub tags: u32,
    /// The largest number of changes of a transaction.
    pub operations: u32,
    /// Percentage of surveys among all transactions.
    pub survey_percent: u32,
    /// Percentage of deletions among changes of existing rows.
    pub delete_percent: u32,
    /// Number of a terminal's transactions until the tide turns: until then rows are inserted one
    /// after another, and then deleted until it turns again, so that ranges fill and empty. 0: rows
    /// are inserted and deleted at any time.
    pub tide: u32,
    /// The isolation level.
    pub isolation: Isolation,
    /// The physical design of the table.
    pub design: PhysicalDesign,
    /// The kind of the index on groups.
    pub group_index: IndexKind,
    /// The kind of the index on tags.
    pub tag_index: IndexKind,
}

#[derive(Clone, Debug)]
pub struct Churn {
    config: ChurnConfig,
}

impl Churn {
    /// The workload of a configuration; an error if the configuration is invalid.
    pub fn new(config: ChurnConfig) -> Result<Self, WorkloadError> {
        let ChurnConfig { rows, groups, operations, survey_percent, delete_percent, .. } = config;
        if rows == 0 || groups == 0 || operations == 0 {
            let sentence = "rows, groups and operations are 1 at least".to_owned();
            return Err(WorkloadError::Configuration(sentence));
        }
        if survey_percent > 100 || delete_percent > 100 {
            let sentence = "a share is at most 100 percent".to_owned();
            return Err(WorkloadError::Configuration(sentence));
        }
        Ok(Self { config })
    }
}

/// The table and its indexes.
#[derive(Clone, Copy, Debug)]
struct Places {
    table: TableId,
    by_group: IndexId,
    by_tag: IndexId,
}

impl Places {
    fn open<E: Env>(database: &Database<E>) -> Result<Self, WorkloadError> {
        let index = |name| database.index(TABLE, name).ok_or(WorkloadError::NoTable(name));
        Ok(Self {
            table: database.table(TABLE).ok_or(WorkloadError::NoTable(TABLE))?,
            by_group: index(BY_GROUP)?,
            by_tag: index(BY_TAG)?,
        })
    }
}

/// The state of one thread between transactions.
#[derive(Debug)]
pub struct Terminal {
    places: Places,
    random: Random,
    /// Number of transactions drawn so far.
    drawn: u64,
    /// The row that the tide inserts or deletes next.
    next_row: u32,
    changes: Vec<Change>,
}

impl<E: Env> Workload<E> for Churn {
    type Terminal = Terminal;

    fn name(&self) -> &'static str {
        "churn"
    }

    fn transaction_types(&self) -> &'static [&'static str] {
        &TYPES
    }

    fn table_names(&self) -> &'static [&'static str] {
        &[TABLE]
    }

    fn memory_bytes(&self) -> u64 {
        BASE_BYTES + u64::from(self.config.rows) * ROW_BYTES
    }

    async fn create_tables(&self, database: &Database<E>) -> Result<(), WorkloadError> {
        let columns = vec![
            Column::new("i_id", ColumnType::Int8),
            Column::new("i_group", ColumnType::Int8),
            Column::new("i_tag", ColumnType::Int8),
        ];
        let schema = Schema::new(TABLE, columns, &[0])?;
        let ChurnConfig { design, group_index, tag_index, .. } = &self.config;
        let index = |name: &str, column: usize, unique: bool, kind: IndexKind| IndexDesign {
            name: name.to_owned(),
            columns: vec![column],
            unique,
            kind,
            node_bytes: design.node_bytes,
            size_hint: design.size_hint,
            hashed_columns: None,
        };
        let indexes =
            vec![index(BY_GROUP, GROUP, false, *group_index), index(BY_TAG, TAG, true, *tag_index)];
        let design = design.clone();
        database.create_table(TableSpec { schema, design, indexes }).await?;
        Ok(())
    }

    fn terminal(
        &self,
        database: &Database<E>,
        thread: u32,
        _threads: u32,
        seed: u64,
    ) -> Result<Terminal, WorkloadError> {
        let random = Random::stream(seed, TERMINAL_STREAM, u64::from(thread));
        let places = Places::open(database)?;
        Ok(Terminal { places, random, drawn: 0, next_row: 0, changes: Vec::new() })
    }

    async fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Terminal,
    ) -> Result<Finished, WorkloadError> {
        let is_survey = terminal.random.percent(self.config.survey_percent);
        transaction::draw(&self.config, terminal);
        if is_survey {
            let survey = async |lane: &mut Lane<E>| {
                survey::survey(lane, &self.config, terminal.places).await.map(|seen| seen.0)
            };
            return attempts::run(lane, SURVEY, survey).await;
        }
        let change =
            async |lane: &mut Lane<E>| transaction::change(lane, &self.config, terminal).await;
        let mut attempts = Attempts::new();
        let result = match attempts.repeat(lane, change).await? {
            TransactionResult::Aborted(Abort::UniqueViolation) => TransactionResult::RolledBack,
            result => result,
        };
        Ok(attempts.finish(CHANGE, result, 0))
    }

    async fn check(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        _totals: &RunTotals,
        _after_load: bool,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        let places = Places::open(database)?;
        catch_up(lane).await?;
        let mut seen = 0;
        let look = async |lane: &mut Lane<E>| {
            let (result, rows) = survey::survey(lane, &self.config, places).await?;
            seen = rows;
            Ok(result)
        };
        let looked = attempts::insist(lane, look).await;
        let told = looked.map(|_| format!("{seen} rows"));
        Ok(vec![CheckResult::of(AGREE, told)?])
    }
}

const AGREE: &str = "every way of reading sees the same rows";

fn key(row: u32) -> Key {
    KeyBuilder::new().int8(i64::from(row)).key()
}

fn is_tree(config: &ChurnConfig) -> bool {
    config.design.storage == Storage::Tree
}
