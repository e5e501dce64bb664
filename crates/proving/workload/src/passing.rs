//! Passing tables: tables and indexes are created and dropped while others use them.
//!
//! Every table of every generation has a pair of rows that are written together: a transaction that
//! finds one finds the other, with the same value, by key and through every existing index. A table
//! may disappear at any moment, and then the transaction ends without effect; it may return under
//! its name, empty.

use crate::attempts::{self, Attempts, result_of};
use crate::catch_up::catch_up;
use crate::driver::{CheckResult, Finished, RunTotals, TransactionResult, Workload};
use crate::error::WorkloadError;
use crate::random::Random;
use fabric::Env;
use layout::{Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, PhysicalDesign, Schema};
use txn::{
    CatalogError, Database, IndexId, Isolation, Lane, TableId, TableSpec, Transaction, TxnError,
};

const VALUE: usize = 1;
const GROUP: usize = 2;
/// The names of the first index and of the one that is created and dropped.
const INDEXES: [&str; 2] = ["by_group", "by_group_too"];
/// The group of both rows.
const PAIR: i64 = 5;
const TYPES: [&str; 3] = ["put", "look", "change"];
const PUT: usize = 0;
const LOOK: usize = 1;
const CHANGE: usize = 2;
/// The random stream of the terminals.
const TERMINAL_STREAM: u32 = 250;
/// Memory; dropped tables and indexes keep theirs for a while.
const BASE_BYTES: u64 = 256 << 20;
/// The largest number of table names.
const TABLES_MAX: u32 = 8;
const NAMES: [&str; TABLES_MAX as usize] = [
    "passing0", "passing1", "passing2", "passing3", "passing4", "passing5", "passing6", "passing7",
];

#[derive(Clone, Debug)]
pub struct Passing {
    tables: u32,
    change_percent: u32,
    isolation: Isolation,
    design: PhysicalDesign,
}

impl Passing {
    /// A workload with this many table names; `change_percent` of the transactions change the
    /// catalog.
    pub fn new(
        tables: u32,
        change_percent: u32,
        isolation: Isolation,
        design: PhysicalDesign,
    ) -> Result<Self, WorkloadError> {
        if !(1..=TABLES_MAX).contains(&tables) || change_percent > 100 {
            let sentence = format!(
                "{tables} tables and {change_percent} percent: 1 to {TABLES_MAX} tables and at most 100 percent are possible"
            );
            return Err(WorkloadError::Configuration(sentence));
        }
        Ok(Self { tables, change_percent, isolation, design })
    }
}

/// The state of one thread between transactions.
pub struct Terminal<E: Env> {
    database: Database<E>,
    random: Random,
}

impl<E: Env> Workload<E> for Passing {
    type Terminal = Terminal<E>;

    fn name(&self) -> &'static str {
        "passing"
    }

    fn transaction_types(&self) -> &'static [&'static str] {
        &TYPES
    }

    fn table_names(&self) -> &'static [&'static str] {
        &NAMES[..self.tables as usize]
    }

    fn memory_bytes(&self) -> u64 {
        BASE_BYTES
    }

    async fn create_tables(&self, database: &Database<E>) -> Result<(), WorkloadError> {
        for name in &NAMES[..self.tables as usize] {
            database.create_table(spec(name, self.design.clone())?).await?;
        }
        Ok(())
    }

    fn terminal(
        &self,
        database: &Database<E>,
        thread: u32,
        _threads: u32,
        seed: u64,
    ) -> Result<Terminal<E>, WorkloadError> {
        let random = Random::stream(seed, TERMINAL_STREAM, u64::from(thread));
        Ok(Terminal { database: database.clone(), random })
    }

    async fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Terminal<E>,
    ) -> Result<Finished, WorkloadError> {
        let name = NAMES[terminal.random.below(u64::from(self.tables)) as usize];
        if terminal.random.percent(self.change_percent) {
            // A change waits until every lane has learned of it, including this one.
            lane.rest().await?;
            let result = self.change(terminal, name).await?;
            return Ok(Attempts::new().finish(CHANGE, result, 0));
        }
        let value = terminal.random.percent(60).then(|| terminal.random.below(1 << 30) as i64);
        let kind = if value.is_some() { PUT } else { LOOK };
        let use_it = async |lane: &mut Lane<E>| {
            unless_passed(use_table(lane, &terminal.database, self.isolation, name, value).await)
        };
        attempts::run(lane, kind, use_it).await
    }

    async fn check(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        _totals: &RunTotals,
        _after_load: bool,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        database.refresh().await?;
        catch_up(lane).await?;
        let told = self.look_at_all(database, lane).await;
        Ok(vec![CheckResult::of(PAIRS, told)?])
    }
}

const PAIRS: &str = "rows that are written together are seen together";

impl Passing {
    /// Checks every existing table, and returns their number.
    async fn look_at_all<E: Env>(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
    ) -> Result<String, WorkloadError> {
        let mut there = 0;
        for name in &NAMES[..self.tables as usize] {
            let look = async |lane: &mut Lane<E>| {
                unless_passed(use_table(lane, database, Isolation::Snapshot, name, None).await)
            };
            let result = attempts::insist(lane, look).await?;
            there += u32::from(result == TransactionResult::Committed);
        }
        Ok(format!("in {there} tables"))
    }

    /// Creates or drops a table, or one of its indexes.
    async fn change<E: Env>(
        &self,
        terminal: &mut Terminal<E>,
        name: &'static str,
    ) -> Result<TransactionResult, WorkloadError> {
        let database = &terminal.database;
        let tables_only = terminal.random.percent(60);
        let index = INDEXES[1];
        let changed = match (database.table(name), database.index(name, index)) {
            (None, _) => database.create_table(spec(name, self.design.clone())?).await.map(drop),
            (Some(_), _) if tables_only => database.drop_table(name).await,
            (Some(_), None) => {
                let design = index_design(index, IndexKind::Hash, &self.design);
                database.create_index(name, design).await.map(drop)
            }
            (Some(_), Some(_)) => database.drop_index(name, index).await,
        };
        match changed {
            Ok(()) => Ok(TransactionResult::Committed),
            Err(error) => passed(error).map(|()| TransactionResult::RolledBack),
        }
    }
}

/// A transaction whose table or index has disappeared ends without effect.
fn unless_passed(
    attempt: Result<TransactionResult, WorkloadError>,
) -> Result<TransactionResult, WorkloadError> {
    match attempt {
        Err(WorkloadError::Statement(TxnError::Catalog(error))) => {
            passed(*error).map(|()| TransactionResult::RolledBack)
        }
        other => other,
    }
}

/// Ignores the error of a concurrent change that came first.
fn passed(error: CatalogError) -> Result<(), WorkloadError> {
    match error {
        CatalogError::Exists(_)
        | CatalogError::NoTable(_)
        | CatalogError::NoIndex(_)
        | CatalogError::Unacknowledged => Ok(()),
        other => Err(other.into()),
    }
}

/// Reads the pair of a table, and rewrites it if a value is given.
async fn use_table<E: Env>(
    lane: &mut Lane<E>,
    database: &Database<E>,
    isolation: Isolation,
    name: &'static str,
    value: Option<i64>,
) -> Result<TransactionResult, WorkloadError> {
    let mut transaction = lane.begin(isolation).await?;
    let Some(table) = database.table(name) else {
        transaction.abort().await;
        return Ok(TransactionResult::RolledBack);
    };
    // Looked up together with the table, because an index of a later table of this name is not one
    // of its.
    let indexes = INDEXES.map(|index| (index, database.index(name, index)));
    let indexes = indexes.into_iter().filter_map(|(index, number)| Some((index, number?)));
    let reads = [(table, key(1)), (table, key(2))];
    let mut rows = Vec::new();
    transaction.read_many(&reads, &mut rows).await?;
    let seen: Vec<_> =
        rows.iter().map(|row| row.map(|row| transaction.row(row).int(VALUE))).collect();
    if seen[0] != seen[1] {
        let sentence = format!("a pair of table {name} is {:?} and {:?}", seen[0], seen[1]);
        return Err(WorkloadError::Inconsistent(sentence));
    }
    let expected = seen.iter().flatten().count();
    for (index, number) in indexes {
        look_up(&mut transaction, number, expected, (name, index)).await?;
    }
    if let Some(value) = value {
        put(&mut transaction, table, value).await?;
    }
    Ok(result_of(transaction.commit().await))
}

/// Reports an error if an index does not lead to all rows of the pair.
async fn look_up<E: Env>(
    transaction: &mut Transaction<'_, E>,
    number: IndexId,
    expected: usize,
    (name, index): (&'static str, &'static str),
) -> Result<(), WorkloadError> {
    let group = KeyBuilder::new().int8(PAIR).key();
    let mut rows = Vec::new();
    transaction.lookup(number, &group, &mut rows).await?;
    if rows.len() == expected {
        return Ok(());
    }
    let sentence =
        format!("index {index} of {name} leads to {} rows and not to {expected}", rows.len());
    Err(WorkloadError::Inconsistent(sentence))
}

async fn put<E: Env>(
    transaction: &mut Transaction<'_, E>,
    table: TableId,
    value: i64,
) -> Result<(), WorkloadError> {
    for id in [1, 2] {
        let row = match transaction.read(table, &key(id)).await? {
            Some(row) => row,
            None => transaction.insert(table, &key(id)).await?,
        };
        let mut record = transaction.update(row);
        record.set_int(VALUE, value);
        record.set_int(GROUP, PAIR);
    }
    Ok(())
}

fn key(id: i64) -> Key {
    KeyBuilder::new().int8(id).key()
}

fn spec(name: &str, design: PhysicalDesign) -> Result<TableSpec, WorkloadError> {
    let columns = vec![
        Column::new("p_id", ColumnType::Int8),
        Column::new("p_value", ColumnType::Int8),
        Column::new("p_group", ColumnType::Int8),
    ];
    let schema = Schema::new(name, columns, &[0])?;
    let indexes = vec![index_design(INDEXES[0], IndexKind::Tree, &design)];
    Ok(TableSpec { schema, design, indexes })
}

fn index_design(name: &str, kind: IndexKind, design: &PhysicalDesign) -> IndexDesign {
    IndexDesign {
        name: name.to_owned(),
        columns: vec![GROUP],
        unique: false,
        kind,
        node_bytes: design.node_bytes,
        size_hint: design.size_hint,
        hashed_columns: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Trial;
    use fabric::run_now;

    fn passing() -> Passing {
        let design = PhysicalDesign { size_hint: 4, ..PhysicalDesign::default() };
        Passing::new(3, 15, Isolation::Snapshot, design).expect("it can be")
    }

    #[test]
    fn pairs_stay_pairs_while_tables_pass() {
        let mut trial = Trial::load(passing());
        trial.run(600);
        assert_eq!(trial.failures(), [""; 0]);
        let kinds = [PUT, LOOK, CHANGE].map(|kind| trial.totals.kind(kind));
        assert!(kinds.iter().all(|kind| kind.committed > 30), "{kinds:?}");
        assert!(kinds[PUT].rolled_back > 20, "no table was missed: {kinds:?}");
    }

    #[test]
    fn half_a_pair_is_noticed() {
        let mut trial = Trial::load(passing());
        let table = trial.database.table(NAMES[0]).expect("it was made");
        trial.damage(|transaction| {
            let row = run_now(transaction.insert(table, &key(1))).expect("it is empty");
            transaction.update(row).set_int(GROUP, PAIR);
        });
        assert_eq!(trial.failures(), [PAIRS]);
    }

    #[test]
    fn nine_tables_are_refused() {
        let refused = Passing::new(9, 10, Isolation::Snapshot, PhysicalDesign::default());
        assert!(refused.is_err_and(|error| error.to_string().starts_with("9 tables")));
    }
}
