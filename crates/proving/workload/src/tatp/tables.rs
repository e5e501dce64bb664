//! The physical design of the four tables, and their numbers in an open database.
//!
//! The keys of subscribers, types of access and special facilities are dense, so their buckets are
//! addressed without hashing ([`Placement::Dense`]), with a single slot each: a read fetches one
//! slot, and no neighbours of the row. A place for each of four types costs memory that 1.5 of them
//! do not use.
//!
//! An updated row keeps the memory of its old version: the few hot subscribers are updated again
//! and again, and freeing and reallocating that memory would take four verbs each time.
//!
//! Call forwardings are inserted and deleted, with sparse keys: they are hashed. A transaction that
//! needs those of a facility up to a time reads at most three keys in one round trip, which needs
//! no key order.
//!
//! Decision: docs/decisions/0188-tatps-forwardings-are-read-by-key.md

use super::config::TatpConfig;
use super::population::TYPES;
use super::schema::{schemas, subscriber};
use crate::error::WorkloadError;
use fabric::Env;
use layout::{IndexDesign, IndexKind, PhysicalDesign, Placement, Storage};
use txn::{Database, IndexId, TableId, TableSpec};

/// The tables, in the order in which they are created.
pub const TABLE_NAMES: [&str; 4] =
    ["subscriber", "access_info", "special_facility", "call_forwarding"];
/// The index from a subscriber's number to the subscriber.
pub const SUBSCRIBER_NUMBER: &str = "subscriber_number";

/// Average number of rows of each table that the load makes for a hundred subscribers.
const ROWS_PER_HUNDRED: [u64; 4] = [100, 250, 250, 375];
/// Memory that is independent of the number of subscribers.
const BASE_BYTES: u64 = 64 << 20;
/// Bytes of a subscriber's slots in all tables, including the index and old versions, rounded up.
const SUBSCRIBER_BYTES: u64 = 3072;

/// The tables and the index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tables {
    pub subscriber: TableId,
    /// Their types of access.
    pub access_info: TableId,
    /// Their special facilities.
    pub special_facility: TableId,
    /// The calls that are forwarded.
    pub call_forwarding: TableId,
    /// From a subscriber's number to the subscriber.
    pub subscriber_number: IndexId,
}

impl Tables {
    /// Finds the tables by name.
    pub fn find<E: Env>(database: &Database<E>) -> Result<Self, WorkloadError> {
        Self::find_set(database, "")
    }

    /// Finds the tables whose names end with `suffix`.
    ///
    /// # Errors
    /// If one of them does not exist.
    pub fn find_set<E: Env>(database: &Database<E>, suffix: &str) -> Result<Self, WorkloadError> {
        let table = |name| {
            let found = database.table(&format!("{name}{suffix}"));
            found.ok_or(WorkloadError::NoTable(name))
        };
        let index = database.index(&format!("subscriber{suffix}"), SUBSCRIBER_NUMBER);
        Ok(Self {
            subscriber: table("subscriber")?,
            access_info: table("access_info")?,
            special_facility: table("special_facility")?,
            call_forwarding: table("call_forwarding")?,
            subscriber_number: index.ok_or(WorkloadError::NoTable(SUBSCRIBER_NUMBER))?,
        })
    }
}

/// Creates the tables and the index.
pub async fn create<E: Env>(
    database: &Database<E>,
    config: &TatpConfig,
) -> Result<(), WorkloadError> {
    let designs = std::array::from_fn(|position| design(position, config));
    let number = number_index(rows_of(0, config));
    create_set(database, "", designs, number).await
}

/// Creates the tables, with `suffix` appended to their names, and the index, by these designs. This
/// function sets the index's name and column.
///
/// # Errors
/// If a design is refused, or if there is no room.
pub async fn create_set<E: Env>(
    database: &Database<E>,
    suffix: &str,
    designs: [PhysicalDesign; 4],
    number: IndexDesign,
) -> Result<(), WorkloadError> {
    let (name, columns) = (SUBSCRIBER_NUMBER.to_owned(), vec![subscriber::SUB_NBR]);
    let mut indexes = vec![IndexDesign { name, columns, unique: true, ..number }];
    for (schema, design) in schemas(suffix)?.into_iter().zip(designs) {
        // The index belongs to the first table.
        let indexes = std::mem::take(&mut indexes);
        database.create_table(TableSpec { schema, design, indexes }).await?;
    }
    Ok(())
}

/// Average number of rows that the load inserts.
pub fn load_rows(config: &TatpConfig) -> u64 {
    (0..TABLE_NAMES.len()).map(|table| rows_of(table, config)).sum()
}

/// Bytes of remote memory to plan for the loaded database.
pub fn memory_bytes(config: &TatpConfig) -> u64 {
    BASE_BYTES + u64::from(config.subscribers) * SUBSCRIBER_BYTES
}

fn rows_of(table: usize, config: &TatpConfig) -> u64 {
    u64::from(config.subscribers) * ROWS_PER_HUNDRED[table] / 100
}

fn number_index(size_hint: u64) -> IndexDesign {
    IndexDesign { kind: IndexKind::Hash, size_hint, ..IndexDesign::default() }
}

fn design(table: usize, config: &TatpConfig) -> PhysicalDesign {
    let subscribers = (1, u64::from(config.subscribers));
    let types = (1, TYPES as u64);
    let size_hint = rows_of(table, config);
    match table {
        0 => dense(vec![subscribers], size_hint),
        1 | 2 => dense(vec![subscribers, types], size_hint),
        _ => PhysicalDesign { size_hint, ..PhysicalDesign::default() },
    }
}

fn dense(columns: Vec<(i64, u64)>, size_hint: u64) -> PhysicalDesign {
    PhysicalDesign {
        storage: Storage::HashInlined,
        neighbourhood: 1,
        keeps_versions: true,
        size_hint,
        placement: Placement::Dense { columns },
        ..PhysicalDesign::default()
    }
}
