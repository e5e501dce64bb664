//! Rows into a database of our own.

use crate::population::Population;
use fabric::Env;
use layout::{Key, RecordRef, Schema, SchemaError};
use sql::SqlType;
use std::sync::Arc;
use txn::{Abort, Database, Isolation, Lane, Outcome, TableId, TxnError};
use value::{Decimal, Value};

/// Attempts at one transaction of the load: other loaders write to the same leaves and buckets.
const ATTEMPTS_MAX: u32 = 200;
/// Attempts that follow at once.
const ATTEMPTS_AT_ONCE: u32 = 3;
/// The longest wait before another attempt.
const WAIT_NS_MAX: u64 = 1_000_000;

/// Why rows cannot be loaded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The database has no such table.
    #[error(
        "the database has no table {0}; create the tables of the workload before they are loaded"
    )]
    NoTable(String),
    /// The table has other columns than the workload's.
    #[error(
        "the table {0} of the database has other columns than the workload says; load into an empty database"
    )]
    OtherColumns(String),
    /// A value has no place in its column.
    #[error(transparent)]
    Value(#[from] SchemaError),
    /// A statement cannot be carried out.
    #[error(transparent)]
    Statement(TxnError),
    /// A transaction was given up.
    #[error(
        "{attempts} attempts to insert rows into {table} have failed, the last one since {reason}"
    )]
    Aborted {
        /// The table.
        table: String,
        /// How many.
        attempts: u32,
        /// Why.
        reason: Abort,
    },
    /// Nobody knows whether rows are there.
    #[error("whether rows of {0} were inserted is not known: a memory server was lost on the way")]
    Unknown(String),
}

/// A row as it is stored.
struct StoredRow {
    key: Key,
    values: Vec<layout::Value>,
}

/// Inserts the rows of part `part` of `parts` of a table, `batch` in a transaction, and says after each how many there were.
///
/// # Errors
/// If the table is not there or not as the workload says, there are rows already, or memory is full.
///
/// # Panics
/// If the population has no table of this number, or there is no such part.
pub async fn load_part<E: Env>(
    population: &Population,
    database: &Database<E>,
    lane: &mut Lane<E>,
    table: usize,
    (part, parts): (u64, u64),
    batch: usize,
    progress: &dyn Fn(u64),
) -> Result<(), LoadError> {
    let name = population.tables[table].name.as_str();
    let (id, schema) = find(population, database, table)?;
    let mut rows = population.rows(table, part, parts).peekable();
    while rows.peek().is_some() {
        let stored = rows.by_ref().take(batch.max(1)).map(|row| stored(&schema, &row));
        let stored = stored.collect::<Result<Vec<_>, _>>()?;
        insert(lane, (id, name), &schema, &stored).await?;
        progress(stored.len() as u64);
    }
    Ok(())
}

fn find<E: Env>(
    population: &Population,
    database: &Database<E>,
    table: usize,
) -> Result<(TableId, Arc<Schema>), LoadError> {
    let table = &population.tables[table];
    let id = database.table(&table.name);
    let found = id.and_then(|id| Some((id, database.schema(id)?)));
    let (id, schema) = found.ok_or_else(|| LoadError::NoTable(table.name.clone()))?;
    // A table without a primary key has its hidden one behind the others, and nothing draws that.
    let names = schema.columns().iter().map(|column| &column.name);
    if !names.eq(&table.names) {
        return Err(LoadError::OtherColumns(table.name.clone()));
    }
    Ok((id, schema))
}

fn stored(schema: &Schema, row: &[Value]) -> Result<StoredRow, SchemaError> {
    let values: Vec<layout::Value> = row.iter().map(plain).collect();
    let parts: Vec<layout::Value> = schema.key().iter().map(|at| values[*at].clone()).collect();
    Ok(StoredRow { key: schema.encode_key(&parts)?, values })
}

/// A value as rows store it: decimals with the digits of their column, which is how columns are drawn.
fn plain(value: &Value) -> layout::Value {
    match value {
        Value::Bool(truth) => layout::Value::Int(i64::from(*truth)),
        Value::Int(number) | Value::Timestamp(number) => layout::Value::Int(*number),
        Value::Date(days) => layout::Value::Int(i64::from(*days)),
        // Decimals of columns have 18 digits at most.
        Value::Numeric(decimal) => {
            i64::try_from(decimal.units).map_or(layout::Value::Null, layout::Value::Int)
        }
        Value::Float(number) => layout::Value::Float(*number),
        Value::Text(text) => layout::Value::Text(text.to_string()),
        Value::Bytes(bytes) => layout::Value::Bytes(bytes.to_vec()),
        _ => layout::Value::Null,
    }
}

/// The values of a stored row, whose first columns have these types.
pub fn read_row(row: RecordRef<'_>, types: &[SqlType]) -> Vec<Value> {
    types.iter().enumerate().map(|(at, sql_type)| typed(row.value(at), sql_type)).collect()
}

/// A stored value as one of its type.
fn typed(value: layout::Value, sql_type: &SqlType) -> Value {
    match (value, sql_type) {
        (layout::Value::Int(number), SqlType::Bool) => Value::Bool(number != 0),
        (layout::Value::Int(units), SqlType::Numeric(numeric)) => {
            let (units, scale) = (i128::from(units), numeric.scale().unwrap_or(0));
            Value::Numeric(Decimal { units, scale })
        }
        (layout::Value::Int(days), SqlType::Date) => Value::Date(days as i32),
        (layout::Value::Int(time), SqlType::Timestamp | SqlType::TimestampTz) => {
            Value::Timestamp(time)
        }
        (layout::Value::Int(number), _) => Value::Int(number),
        (layout::Value::Float(number), _) => Value::Float(number),
        (layout::Value::Text(text), _) => Value::text(&text),
        (layout::Value::Bytes(bytes), _) => Value::Bytes(bytes.into()),
        (layout::Value::Null, _) => Value::Null,
    }
}

async fn insert<E: Env>(
    lane: &mut Lane<E>,
    (table, name): (TableId, &str),
    schema: &Schema,
    rows: &[StoredRow],
) -> Result<(), LoadError> {
    let mut attempts = 0;
    loop {
        let reason = match attempt(lane, table, schema, rows).await {
            Ok(Outcome::Committed) => return Ok(()),
            Ok(Outcome::Unknown) => return Err(LoadError::Unknown(name.to_owned())),
            Ok(Outcome::Aborted(reason)) | Err(LoadError::Statement(TxnError::Abort(reason))) => {
                reason
            }
            Err(error) => return Err(error),
        };
        attempts += 1;
        if !reason.is_retryable() || attempts == ATTEMPTS_MAX {
            return Err(LoadError::Aborted { table: name.to_owned(), attempts, reason });
        }
        wait(lane.env(), attempts).await;
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

/// Longer with each attempt, and a random part of it, so that two losers do not meet again and again.
async fn wait<E: Env>(env: &E, attempts: u32) {
    if attempts <= ATTEMPTS_AT_ONCE {
        return env.yield_now().await;
    }
    let longest = WAIT_NS_MAX.min(1_000 << (attempts - ATTEMPTS_AT_ONCE).min(16));
    env.sleep_ns(longest / 2 + env.random() % (longest / 2)).await;
}
