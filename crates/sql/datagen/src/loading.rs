//! Loads rows into namdb.
//!
//! Decision: docs/decisions/0248-rows-are-checked-when-they-are-loaded.md

use crate::population::Population;
use fabric::Env;
use layout::{Key, RecordRef, Schema, SchemaError};
use sql::SqlType;
use sql::catalog::HIDDEN_KEY;
use sql_value::{Decimal, Value};
use std::sync::Arc;
use txn::{Abort, Database, Isolation, Lane, Outcome, RetryUntilDeadline, TableId, TxnError};

/// Additional rows of the next transaction after a success.
const GROWTH: usize = 1;
/// Minimum number of leaves of a part, if leaves are to keep free space.
const LEAVES_MIN: u64 = 32;
/// Low bits of hidden keys, which number the rows of a part; the other bits have the part's number.
/// Hidden keys of loaded rows are negative and those of rows that procedures insert are not, so
/// they never collide.
const HIDDEN_COUNT_BITS: u32 = 32;

/// Why rows cannot be loaded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A table is missing in the database.
    #[error(
        "the database has no table {0}; create the tables of the workload before they are loaded"
    )]
    NoTable(String),
    /// A table has other columns than the workload's.
    #[error(
        "the table {0} of the database has other columns than in the workload; load into an empty database"
    )]
    OtherColumns(String),
    /// A row violates the schema.
    #[error("{table} cannot be loaded, because of its row with {row}: {problem}")]
    Row {
        table: String,
        /// The row's key with its values; all columns if there is no key.
        row: String,
        /// The problem, and the remedy.
        problem: String,
    },
    /// A value does not fit its column.
    #[error(transparent)]
    Value(#[from] SchemaError),
    #[error(transparent)]
    Statement(TxnError),
    /// A transaction was aborted too often.
    #[error("{attempts} attempts to {doing} {table} failed; the last one: {reason}")]
    Aborted {
        /// The attempted operation.
        doing: &'static str,
        table: String,
        attempts: u32,
        /// The last abort's reason.
        reason: Abort,
    },
    /// The outcome of a transaction is unknown.
    #[error("it is unknown whether rows of {0} were inserted: a memory server was lost meanwhile")]
    Unknown(String),
}

impl LoadError {
    pub(crate) fn aborted(
        doing: &'static str,
        table: &str,
        attempts: &RetryUntilDeadline,
        reason: Abort,
    ) -> Self {
        Self::Aborted { doing, table: table.to_owned(), attempts: attempts.failed(), reason }
    }
}

struct StoredRow {
    key: Key,
    values: Vec<layout::Value>,
}

/// How rows are divided into transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batches {
    /// Maximum number of rows per transaction.
    pub rows: usize,
    /// Rows per leaf, for tables that are loaded in key order and whose leaves are to keep free
    /// space: two thirds of the rows fill the leaves first; the remaining rows then split the
    /// leaves in the middle.
    pub leaf_rows: Option<u64>,
}

impl Batches {
    /// Transactions of `rows` rows, in row order.
    pub fn of(rows: usize) -> Self {
        Self { rows, leaf_rows: None }
    }

    /// The number of parts to divide `rows` rows into. The leaves at a part's end do not get free
    /// space, so each part must have many leaves.
    fn parts(&self, parts: u64, rows: u64) -> u64 {
        self.leaf_rows.map_or(parts, |of| (rows / (of * LEAVES_MIN).max(1)).clamp(1, parts))
    }

    /// The rounds of insertion: all rows; or first the rows other than every third one, then every
    /// third one.
    fn rounds(&self) -> &'static [Option<bool>] {
        if self.leaf_rows.is_some() { &[Some(false), Some(true)] } else { &[None] }
    }
}

/// Inserts the rows of part `part` of `parts` of a table and calls `progress` with the number of
/// rows of each transaction. If parts would be too small, the rows of several parts are inserted as
/// one.
///
/// # Errors
/// The table is missing or has other columns, a row violates the schema or exists already, or
/// memory is full. [`crate::check_references`] checks foreign keys after all tables are loaded.
///
/// # Panics
/// The population has no table of this number, or there is no such part.
pub async fn load_part<E: Env>(
    population: &Population,
    database: &Database<E>,
    lane: &mut Lane<E>,
    table: usize,
    (part, parts): (u64, u64),
    batches: Batches,
    progress: &dyn Fn(u64),
) -> Result<(), LoadError> {
    assert!(part < parts, "parts are counted from 0");
    let (id, schema) = find(population, database, table)?;
    let batch = batches.rows.max(1);
    let fewer = batches.parts(parts, population.row_count(table));
    let of = (u128::from(part) * u128::from(fewer)).div_ceil(u128::from(parts)) as u64;
    if u128::from(of) * u128::from(parts) / u128::from(fewer) != u128::from(part) {
        return Ok(());
    }
    let first_hidden = i64::MIN + (i64::try_from(of).unwrap_or(0) << HIDDEN_COUNT_BITS);
    let mut loaded = Loaded { population, table, id, schema, batch, together: batch };
    for round in batches.rounds() {
        let is_now = |number: usize| round.is_none_or(|third| (number % 3 == 2) == third);
        let rows = population.rows(table, of, fewer).enumerate();
        let mut rows = rows.filter(|(number, _)| is_now(*number)).peekable();
        while rows.peek().is_some() {
            let (numbers, drawn): (Vec<usize>, Vec<Vec<Value>>) = rows.by_ref().take(batch).unzip();
            let mut stored = Vec::with_capacity(drawn.len());
            for (number, row) in numbers.into_iter().zip(&drawn) {
                stored.push(loaded.stored(row, first_hidden + number as i64)?);
            }
            loaded.insert(lane, &drawn, &stored, progress).await?;
        }
    }
    Ok(())
}

pub(crate) fn find<E: Env>(
    population: &Population,
    database: &Database<E>,
    table: usize,
) -> Result<(TableId, Arc<Schema>), LoadError> {
    let table = &population.tables[table];
    let id = database.table(&table.name);
    let found = id.and_then(|id| Some((id, database.schema(id)?)));
    let (id, schema) = found.ok_or_else(|| LoadError::NoTable(table.name.clone()))?;
    // A table without a primary key has a hidden key after its columns.
    let hidden = table.rules.key_name.is_empty().then_some(HIDDEN_KEY);
    let names = schema.columns().iter().map(|column| column.name.as_str());
    if !names.eq(table.names.iter().map(String::as_str).chain(hidden)) {
        return Err(LoadError::OtherColumns(table.name.clone()));
    }
    Ok((id, schema))
}

/// A table during its loading.
struct Loaded<'a> {
    population: &'a Population,
    table: usize,
    id: TableId,
    schema: Arc<Schema>,
    /// Maximum number of rows per transaction.
    batch: usize,
    /// Number of rows of the next transaction.
    together: usize,
}

impl Loaded<'_> {
    /// The stored form of a row, if the schema allows it. `hidden` is its key if the table has no
    /// other.
    fn stored(&self, row: &[Value], hidden: i64) -> Result<StoredRow, LoadError> {
        if let Some(problem) = self.population.fault(self.table, row) {
            return Err(self.refused(row, problem));
        }
        let values: Vec<layout::Value> = row.iter().map(plain).collect();
        let part = |at: &usize| values.get(*at).cloned().unwrap_or(layout::Value::Int(hidden));
        let parts: Vec<layout::Value> = self.schema.key().iter().map(part).collect();
        let key = self.schema.encode_key(&parts);
        let key = key.map_err(|error| self.refused(row, error.to_string()))?;
        Ok(StoredRow { key, values })
    }

    fn refused(&self, row: &[Value], problem: String) -> LoadError {
        let table = self.population.tables[self.table].name.clone();
        LoadError::Row { table, row: self.population.named(self.table, row), problem }
    }

    /// Inserts rows in order, several per transaction, and reports each number. If a transaction is
    /// refused, its rows are inserted one by one to find the row at fault.
    async fn insert<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        drawn: &[Vec<Value>],
        rows: &[StoredRow],
        progress: &dyn Fn(u64),
    ) -> Result<(), LoadError> {
        let mut done = 0;
        while done < rows.len() {
            let refusal = match self.insert_first(lane, &rows[done..]).await {
                Ok(count) => {
                    progress(count as u64);
                    done += count;
                    continue;
                }
                Err(refusal) => refusal,
            };
            let Some(problem) = self.fault(lane, &refusal, &drawn[done]) else {
                return Err(refusal);
            };
            if self.together(&rows[done..]) == 1 {
                return Err(self.refused(&drawn[done], problem));
            }
            self.together = 1;
        }
        Ok(())
    }

    /// How many of these rows are inserted in one transaction.
    fn together(&self, rows: &[StoredRow]) -> usize {
        self.together.min(rows.len())
    }

    /// Inserts the first of these rows in one transaction and returns their number. Rows at random
    /// positions of an index touch nearly as many leaves as there are rows, and lanes that lock
    /// each other's leaves would abort each other repeatedly. So each conflict halves the number of
    /// rows, down to one, and each success increases it.
    async fn insert_first<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        rows: &[StoredRow],
    ) -> Result<usize, LoadError> {
        let mut attempts = RetryUntilDeadline::begin(lane.env());
        loop {
            let count = self.together(rows);
            let name = &self.population.tables[self.table].name;
            let reason = match attempt(lane, self.id, &self.schema, &rows[..count]).await {
                Ok(Outcome::Committed) => {
                    self.together = self.batch.min(self.together + GROWTH);
                    return Ok(count);
                }
                Ok(Outcome::Unknown) => return Err(LoadError::Unknown(name.clone())),
                Ok(Outcome::Aborted(reason))
                | Err(LoadError::Statement(TxnError::Abort(reason))) => reason,
                Err(error) => return Err(error),
            };
            if !attempts.again(lane.env(), reason).await {
                return Err(LoadError::aborted("insert rows into", name, &attempts, reason));
            }
            self.together = count.div_ceil(2);
        }
    }

    /// The violation of the row that caused this refusal, if a row did.
    fn fault<E: Env>(&self, lane: &Lane<E>, refusal: &LoadError, row: &[Value]) -> Option<String> {
        match refusal {
            LoadError::Statement(TxnError::DuplicateKey { .. }) => {
                Some(self.population.same_key(self.table))
            }
            LoadError::Aborted { reason: Abort::UniqueViolation, .. } => {
                let index = &lane.last_unique_violation()?.index;
                Some(self.population.same_values(self.table, index, row))
            }
            LoadError::Value(error) => Some(error.to_string()),
            _ => None,
        }
    }
}

/// A value as rows store it. Decimals must have the scale of their column, as drawn ones do.
pub(crate) fn plain(value: &Value) -> layout::Value {
    match value {
        Value::Bool(truth) => layout::Value::Int(i64::from(*truth)),
        Value::Int(number) | Value::Timestamp(number) => layout::Value::Int(*number),
        Value::Date(days) => layout::Value::Int(i64::from(*days)),
        // Decimals of columns have at most 18 digits.
        Value::Numeric(decimal) => {
            i64::try_from(decimal.units).map_or(layout::Value::Null, layout::Value::Int)
        }
        Value::Float(number) => layout::Value::Float(*number),
        Value::Text(text) => layout::Value::Text(text.to_string()),
        Value::Bytes(bytes) => layout::Value::Bytes(bytes.to_vec()),
        _ => layout::Value::Null,
    }
}

/// The values of a stored row whose first columns have these types.
pub fn read_row(row: RecordRef<'_>, types: &[SqlType]) -> Vec<Value> {
    types.iter().enumerate().map(|(at, sql_type)| typed(row.value(at), sql_type)).collect()
}

/// A stored value as a value of its SQL type.
fn typed(value: layout::Value, sql_type: &SqlType) -> Value {
    match (value, sql_type) {
        (layout::Value::Int(number), SqlType::Bool) => Value::Bool(number != 0),
        (layout::Value::Int(units), SqlType::Numeric(numeric)) => {
            let (units, scale) = (i128::from(units), numeric.scale().unwrap_or(0));
            Value::Numeric(Decimal { units, scale })
        }
        (layout::Value::Int(days), SqlType::Date) => Value::Date(days as i32),
        (layout::Value::Int(time), SqlType::Timestamp(_) | SqlType::TimestampTz(_)) => {
            Value::Timestamp(time)
        }
        (layout::Value::Int(number), _) => Value::Int(number),
        (layout::Value::Float(number), _) => Value::Float(number),
        (layout::Value::Text(text), _) => Value::text(&text),
        (layout::Value::Bytes(bytes), _) => Value::Bytes(bytes.into()),
        (layout::Value::Null, _) => Value::Null,
    }
}

async fn attempt<E: Env>(
    lane: &mut Lane<E>,
    table: TableId,
    schema: &Schema,
    rows: &[StoredRow],
) -> Result<Outcome, LoadError> {
    let failed = LoadError::Statement;
    let mut transaction =
        lane.begin(Isolation::Snapshot).await.map_err(|abort| failed(abort.into()))?;
    let keys: Vec<(TableId, Key)> = rows.iter().map(|row| (table, row.key)).collect();
    let mut inserted = Vec::with_capacity(rows.len());
    transaction.insert_many(&keys, &mut inserted).await.map_err(failed)?;
    for (row, id) in rows.iter().zip(inserted) {
        let mut record = transaction.update(id);
        for (column, value) in row.values.iter().enumerate() {
            if !schema.key().contains(&column) {
                record.set(column, value)?;
            }
        }
    }
    Ok(transaction.commit().await)
}
