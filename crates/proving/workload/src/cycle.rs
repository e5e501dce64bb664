//! The cycle: rows that form one ring, each with the number of the next. A transaction removes a
//! row from the ring and inserts it one place later; in every snapshot all rows form one ring.
//!
//! A transaction writes every row that its result depends on, so snapshots suffice.

use crate::attempts::{self, result_of};
use crate::catch_up::catch_up;
use crate::driver::{CheckResult, Finished, RunTotals, TransactionResult, Workload};
use crate::error::WorkloadError;
use crate::loading::Numbered;
use crate::random::Random;
use fabric::Env;
use layout::{Column, ColumnType, Key, KeyBuilder, PhysicalDesign, RecordMut, RecordRef, Schema};
use txn::{Database, Isolation, Lane, RowId, TableId, TableSpec, Transaction};

const TABLE: &str = "ring";
const NEXT: usize = 1;
const TYPES: [&str; 2] = ["rotate", "walk"];
const ROTATE: usize = 0;
const WALK: usize = 1;
/// Rows per transaction of the load.
const LOAD_BATCH: u64 = 64;
/// The random stream of the terminals.
const TERMINAL_STREAM: u32 = 230;
/// Memory that is independent of the number of rows.
const BASE_BYTES: u64 = 16 << 20;
/// Memory of a row, including old versions.
const ROW_BYTES: u64 = 512;
/// The smallest number of rows: a rotation involves four.
const ROWS_MIN: u64 = 4;

#[derive(Clone, Debug)]
pub struct Cycle {
    /// Number of rows of the ring.
    rows: u64,
    /// Percentage of transactions that walk the whole ring.
    walk_percent: u32,
    isolation: Isolation,
    design: PhysicalDesign,
}

impl Cycle {
    /// A ring of `rows` rows; `walk_percent` of the transactions walk it.
    pub fn new(
        rows: u64,
        walk_percent: u32,
        isolation: Isolation,
        design: PhysicalDesign,
    ) -> Result<Self, WorkloadError> {
        if rows < ROWS_MIN || walk_percent > 100 {
            let sentence = format!("{rows} rows: a ring needs at least {ROWS_MIN} for a rotation");
            return Err(WorkloadError::Configuration(sentence));
        }
        Ok(Self { rows, walk_percent, isolation, design })
    }
}

/// The state of one thread between transactions.
#[derive(Debug)]
pub struct Terminal {
    table: TableId,
    random: Random,
}

impl<E: Env> Workload<E> for Cycle {
    type Terminal = Terminal;

    fn name(&self) -> &'static str {
        "cycle"
    }

    fn transaction_types(&self) -> &'static [&'static str] {
        &TYPES
    }

    fn table_names(&self) -> &'static [&'static str] {
        &[TABLE]
    }

    fn load_rows(&self) -> u64 {
        self.rows
    }

    fn load_parts(&self) -> u64 {
        self.rows.div_ceil(LOAD_BATCH)
    }

    fn memory_bytes(&self) -> u64 {
        BASE_BYTES + self.rows * ROW_BYTES
    }

    async fn create_tables(&self, database: &Database<E>) -> Result<(), WorkloadError> {
        let columns =
            vec![Column::new("r_id", ColumnType::Int8), Column::new("r_next", ColumnType::Int8)];
        let schema = Schema::new(TABLE, columns, &[0])?;
        let design = self.design.clone();
        database.create_table(TableSpec { schema, design, indexes: vec![] }).await?;
        Ok(())
    }

    async fn load_part(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        part: u64,
        parts: u64,
        progress: &dyn Fn(u64),
    ) -> Result<(), WorkloadError> {
        let ring = Numbered { table: find_table(database)?, rows: self.rows, batch: LOAD_BATCH };
        let fill = |number: u64, row: &mut RecordMut<'_>| {
            row.set_int(NEXT, ((number + 1) % self.rows) as i64);
        };
        ring.load_part(lane, (part, parts), progress, key, fill).await
    }

    fn terminal(
        &self,
        database: &Database<E>,
        thread: u32,
        _threads: u32,
        seed: u64,
    ) -> Result<Terminal, WorkloadError> {
        let random = Random::stream(seed, TERMINAL_STREAM, u64::from(thread));
        Ok(Terminal { table: find_table(database)?, random })
    }

    async fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Terminal,
    ) -> Result<Finished, WorkloadError> {
        let is_walk = terminal.random.percent(self.walk_percent);
        let first = terminal.random.below(self.rows);
        let table = terminal.table;
        match is_walk {
            true => attempts::run(lane, WALK, async |lane| self.walk(lane, table).await).await,
            false => {
                let rotate = async |lane: &mut Lane<E>| self.rotate(lane, table, first).await;
                attempts::run(lane, ROTATE, rotate).await
            }
        }
    }

    async fn check(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        _totals: &RunTotals,
        _after_load: bool,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        let table = find_table(database)?;
        catch_up(lane).await?;
        let walked = attempts::insist(lane, async |lane| self.walk(lane, table).await).await;
        let told = walked.map(|_| format!("{} rows", self.rows));
        Ok(vec![CheckResult::of(ONE_RING, told)?])
    }
}

const ONE_RING: &str = "all rows form one ring";

impl Cycle {
    /// first -> second -> third -> fourth becomes first -> third -> second -> fourth.
    async fn rotate<E: Env>(
        &self,
        lane: &mut Lane<E>,
        table: TableId,
        first: u64,
    ) -> Result<TransactionResult, WorkloadError> {
        let mut transaction = lane.begin(self.isolation).await?;
        let (first, second_id) = follow(&mut transaction, table, first).await?;
        let (second, third_id) = follow(&mut transaction, table, second_id).await?;
        let (third, fourth_id) = follow(&mut transaction, table, third_id).await?;
        transaction.update(first).set_int(NEXT, third_id as i64);
        transaction.update(third).set_int(NEXT, second_id as i64);
        transaction.update(second).set_int(NEXT, fourth_id as i64);
        Ok(result_of(transaction.commit().await))
    }

    /// Reads all rows in one snapshot, and reports an error unless they form one ring.
    async fn walk<E: Env>(
        &self,
        lane: &mut Lane<E>,
        table: TableId,
    ) -> Result<TransactionResult, WorkloadError> {
        let mut transaction = lane.begin(Isolation::Snapshot).await?;
        let mut next = vec![None; self.rows as usize];
        let mut visit = |row: RecordRef<'_>| next[row.int(0) as usize] = Some(row.int(NEXT));
        transaction.for_each(table, &mut visit).await?;
        let result = result_of(transaction.commit().await);
        if result == TransactionResult::Committed
            && let Some(what) = broken(&next)
        {
            return Err(WorkloadError::Inconsistent(what));
        }
        Ok(result)
    }
}

/// Describes the defect of a ring, if it has one. Rows contain numbers of rows of the ring.
fn broken(next: &[Option<i64>]) -> Option<String> {
    let mut at = 0;
    for step in 1..=next.len() {
        let Some(following) = next[at] else { return Some(format!("row {at} is missing")) };
        let from = std::mem::replace(&mut at, following as usize);
        if at >= next.len() {
            return Some(format!("row {from} names row {following}, which is not in the ring"));
        }
        if at == 0 && step < next.len() {
            return Some(format!("row 0 is back after {step} of {} rows", next.len()));
        }
    }
    (at != 0).then(|| format!("row 0 does not come back within {} rows", next.len()))
}

async fn follow<E: Env>(
    transaction: &mut Transaction<'_, E>,
    table: TableId,
    row: u64,
) -> Result<(RowId, u64), WorkloadError> {
    let found = transaction.read(table, &key(row)).await?;
    let row = found.ok_or(WorkloadError::MissingRow { table: TABLE })?;
    Ok((row, transaction.row(row).int(NEXT) as u64))
}

fn find_table<E: Env>(database: &Database<E>) -> Result<TableId, WorkloadError> {
    database.table(TABLE).ok_or(WorkloadError::NoTable(TABLE))
}

fn key(row: u64) -> Key {
    KeyBuilder::new().int8(row as i64).key()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Trial;
    use fabric::run_now;

    fn cycle() -> Cycle {
        Cycle::new(9, 20, Isolation::Snapshot, PhysicalDesign::default()).expect("it can be")
    }

    #[test]
    fn a_ring_stays_one() {
        let mut trial = Trial::load(cycle());
        trial.run(500);
        assert_eq!(trial.failures(), [""; 0]);
        assert!(trial.totals.kind(ROTATE).committed > 300);
    }

    #[test]
    fn a_ring_that_is_broken_is_noticed() {
        let mut trial = Trial::load(cycle());
        let table = find_table(&trial.database).expect("it was loaded");
        trial.damage(|transaction| {
            let row = run_now(transaction.read(table, &key(4))).expect("quiet");
            transaction.update(row.expect("it was loaded")).set_int(NEXT, 0);
        });
        assert_eq!(trial.failures(), [ONE_RING]);
        assert!(broken(&[Some(1), Some(2), Some(1)]).is_some_and(|what| what.contains("within 3")));
        assert!(broken(&[Some(2), None]).is_some_and(|what| what.contains("names row 2")));
        assert!(broken(&[Some(1), None]).is_some_and(|what| what.contains("missing")));
    }

    #[test]
    fn a_ring_of_three_is_refused() {
        let refused = Cycle::new(3, 0, Isolation::Snapshot, PhysicalDesign::default());
        assert!(refused.is_err_and(|error| error.to_string().starts_with("3 rows")));
    }
}
