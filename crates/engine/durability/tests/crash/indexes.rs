//! Secondary indexes: the tables of the worlds have some, and after a restart each must lead to
//! exactly the rows that are there. A unique one refuses a key that a row has, and no other.

use crate::ledger::Contents;
use crate::support::cluster::Cluster;
use crate::support::history::{Cell, State};
use crate::support::mix::{Dice, Mix, programs};
use crate::support::program::{KEY_MAX, Program, Step};
use crate::support::{GROUP, VALUE, group_key, index, key};
use durability::control::StoredTable;
use fabric::DynEnv;
use layout::{IndexDesign, IndexKind, KeyBuilder};
use std::collections::BTreeMap;
use txn::{
    Abort, IndexId, Isolation, Lane, Outcome, RowId, Scan, ScanSource, TableSpec, Transaction,
    TxnError,
};

/// The groups that rows have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Groups {
    /// Few groups, which many rows share.
    Shared,
    /// Most rows have groups of their own, so that at times no two rows share one.
    Own,
    /// No two rows share a group: its index is unique.
    Unique,
}

/// Look-ups of a transaction.
const LOOKUPS: usize = 6;
/// One of this many keys of a unique index is tried.
const TRIED: usize = 3;
/// Tries of a transaction.
const TRIES_MAX: u32 = 1000;

/// A table of a mix, with an index over groups and a unique one over values.
pub fn spec(mix: &Mix, groups: Groups, name: &str, dice: &mut Dice) -> TableSpec {
    let mut spec = mix.spec(name, dice);
    for design in &mut spec.indexes {
        design.unique = groups == Groups::Unique;
    }
    if let Some(kind) = mix.index {
        let other = if kind == IndexKind::Tree { IndexKind::Hash } else { IndexKind::Tree };
        let name = "by_value".to_owned();
        spec.indexes.push(IndexDesign { name, columns: vec![VALUE], ..index(other, true) });
    }
    spec
}

/// The programs of a mix: the first of them fills the table.
pub fn sessions(mix: &Mix, groups: Groups, dice: &mut Dice) -> Vec<Vec<Program>> {
    let setup = vec![mix.setup()];
    let mut sessions: Vec<_> = std::iter::once(setup).chain(programs(dice, mix)).collect();
    if groups != Groups::Shared {
        sessions.iter_mut().flatten().for_each(|program| own_groups(program, mix.keys));
    }
    sessions
}

/// Lets new rows have groups of their own, and updates exchange them now and then.
pub fn own_groups(program: &mut Program, keys: i32) {
    for step in &mut program.steps {
        match *step {
            Step::Put(id) => *step = Step::PutInto(id, i64::from(id)),
            Step::PutInto(id, 0) => *step = Step::PutInto(id, i64::from(id)),
            Step::Insert(id, group) => {
                *step = Step::Insert(id, (i64::from(id) + group) % i64::from(keys));
            }
            _ => {}
        }
    }
}

/// The value of an indexed column.
fn column(cell: Cell, column: usize) -> i64 {
    match column {
        VALUE => cell.value,
        GROUP => cell.group,
        other => panic!("no index is over column {other}"),
    }
}

/// Keys of an index that some row has or might have: all groups, the rows' values, and others.
fn keys(state: &State, design: &IndexDesign) -> Vec<i64> {
    let of_rows = state.values().map(|&cell| column(cell, design.columns[0]));
    let mut keys: Vec<i64> = of_rows.flat_map(|key| [key, key + 100]).collect();
    keys.extend(0..=i64::from(KEY_MAX));
    keys.sort_unstable();
    keys.dedup();
    keys
}

type Found = BTreeMap<i32, Cell>;

/// Compares all indexes of a table with its rows.
pub fn check_indexes(
    cluster: &Cluster,
    lane: &mut Lane<DynEnv>,
    stored: &StoredTable,
    state: &State,
) -> Result<(), String> {
    for design in &stored.indexes {
        let wrong = |what: String| format!("index {} of {}: {what}", design.name, stored.name);
        let id = cluster.database.index(&stored.name, &design.name);
        let id = id.ok_or_else(|| wrong("it is missing".to_owned()))?;
        let keys = keys(state, design);
        let mut answers = BTreeMap::new();
        for some in keys.chunks(LOOKUPS) {
            let found = retried(|| cluster.admin(lookup(lane, id, some))).map_err(&wrong)?;
            answers.extend(some.iter().copied().zip(found));
        }
        for (key, found) in answers {
            let has_key = |(_, cell): &(&i32, &Cell)| column(**cell, design.columns[0]) == key;
            let expected: Found =
                state.iter().filter(has_key).map(|(&id, &cell)| (id, cell)).collect();
            if design.unique && expected.len() > 1 {
                return Err(wrong(format!("rows share the key {key}: {expected:?}")));
            }
            if found != expected {
                return Err(wrong(format!("key {key} has {found:?}, expected {expected:?}")));
            }
        }
        if design.kind == IndexKind::Tree {
            let schema = stored.spec().map_err(|error| error.to_string())?.schema;
            let words = schema.index_key_words(&design.columns);
            let found = retried(|| cluster.admin(scan(lane, id, words))).map_err(&wrong)?;
            if found != *state {
                return Err(wrong(format!("a scan has {found:?}, expected {state:?}")));
            }
        }
    }
    Ok(())
}

/// Repeats a transaction that is aborted.
fn retried<T>(mut run: impl FnMut() -> Result<T, TxnError>) -> Result<T, String> {
    let mut last = None;
    for _ in 0..TRIES_MAX {
        match run() {
            Ok(done) => return Ok(done),
            Err(error) if error.abort().is_some_and(Abort::is_retryable) => last = Some(error),
            Err(error) => return Err(error.to_string()),
        }
    }
    Err(format!("{TRIES_MAX} tries failed: {last:?}"))
}

async fn lookup(
    lane: &mut Lane<DynEnv>,
    index: IndexId,
    keys: &[i64],
) -> Result<Vec<Found>, TxnError> {
    let mut txn = lane.begin(Isolation::Snapshot).await?;
    let mut found = Vec::new();
    for &key in keys {
        let mut rows = Vec::new();
        txn.lookup(index, &group_key(key), &mut rows).await?;
        found.push(cells(&txn, &rows));
    }
    Ok(found)
}

/// The rows of an answer, by their keys.
fn cells(txn: &Transaction<'_, DynEnv>, rows: &[RowId]) -> Found {
    let cell = |&row: &RowId| {
        let record = txn.row(row);
        (record.int(0) as i32, Cell { value: record.int(VALUE), group: record.int(GROUP) })
    };
    let found: Found = rows.iter().map(cell).collect();
    assert_eq!(found.len(), rows.len(), "each row once");
    found
}

async fn scan(lane: &mut Lane<DynEnv>, index: IndexId, words: u32) -> Result<Found, TxnError> {
    let mut txn = lane.begin(Isolation::Snapshot).await?;
    let (low, high) = (KeyBuilder::new().prefix_low(words), KeyBuilder::new().prefix_high(words));
    let source = ScanSource::Index(index);
    let scan = Scan { source, low, high, reverse: words.is_multiple_of(2), limit: usize::MAX };
    let mut rows = Vec::new();
    txn.scan(&scan, &mut rows).await?;
    Ok(cells(&txn, &rows))
}

/// Inserts rows with taken and with free keys of each unique index. For a database that nobody
/// uses afterwards.
pub fn check_uniqueness(
    cluster: &Cluster,
    stored: &[StoredTable],
    contents: &Contents,
) -> Result<(), String> {
    let mut lane = cluster.lane();
    for table in stored {
        let Some(mut state) = contents.rows.get(&table.number).cloned() else { continue };
        // Apart from all keys that are tried.
        let (mut id, mut fresh) = (KEY_MAX, 1 << 40);
        for unique in table.indexes.iter().filter(|design| design.unique) {
            let keys = keys(&state, unique).into_iter().skip(state.len() % TRIED).step_by(TRIED);
            for key in keys {
                (id, fresh) = (id + 1, fresh + (1 << 20));
                let cell = match unique.columns[0] {
                    VALUE => Cell { value: key, group: fresh },
                    _ => Cell { value: fresh, group: key },
                };
                let has_key = |cell: &Cell| column(*cell, unique.columns[0]) == key;
                let owner = state.iter().find(|(_, cell)| has_key(cell)).map(|(&id, _)| id);
                let outcome = insert(cluster, &mut lane, table, id, cell)?;
                if outcome == Outcome::Aborted(Abort::OutOfMemory) {
                    return Ok(()); // The memory of these worlds is small.
                }
                let expected = match owner {
                    Some(_) => Outcome::Aborted(Abort::UniqueViolation),
                    None => Outcome::Committed,
                };
                if outcome != expected {
                    return Err(format!(
                        "unique index {} of {}: key {key} of row {owner:?}: {outcome:?}",
                        unique.name, table.name
                    ));
                }
                if outcome == Outcome::Committed {
                    state.insert(id, cell);
                }
            }
        }
    }
    Ok(())
}

/// Inserts a row, again and again while the transaction may be retried.
fn insert(
    cluster: &Cluster,
    lane: &mut Lane<DynEnv>,
    table: &StoredTable,
    id: i32,
    cell: Cell,
) -> Result<Outcome, String> {
    let table = txn::TableId(table.number);
    retried(|| {
        cluster.admin(async {
            let mut txn = lane.begin(Isolation::Snapshot).await?;
            let row = txn.insert(table, &key(id)).await?;
            let mut record = txn.update(row);
            record.set_int(VALUE, cell.value);
            record.set_int(GROUP, cell.group);
            match txn.commit().await {
                Outcome::Aborted(abort) if abort.is_retryable() => Err(abort.into()),
                outcome => Ok(outcome),
            }
        })
    })
}
