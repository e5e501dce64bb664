//! The passing table: it is created and dropped while sessions use it. Its rows are no lists, so
//! the clients' history does not show them; the shadow history judges what is read.

use crate::dice::Dice;
use fabric::Env;
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, PhysicalDesign, Placement, Schema, Storage,
};
use txn::{Database, Isolation, Lane, TableSpec, TxnError};

pub const TABLE: &str = "passing";
const INDEX: &str = "by_value";
const VALUE: usize = 1;
/// Rows that the table can have.
const ROWS: u64 = 12;
/// The largest number of rows that a transaction uses.
const OPERATIONS_MAX: u64 = 4;
/// Values are below this, so that rows share one.
const VALUES: u64 = 4;

/// The table in a storage that is drawn.
pub fn table(dice: &mut Dice) -> TableSpec {
    let columns = vec![Column::new("id", ColumnType::Int8), Column::new("value", ColumnType::Int8)];
    let storages = [Storage::HashInlined, Storage::HashOutside, Storage::Tree];
    let kind = if dice.percent(50) { IndexKind::Hash } else { IndexKind::Tree };
    let index = IndexDesign {
        name: INDEX.to_owned(),
        columns: vec![VALUE],
        unique: false,
        kind,
        node_bytes: 64,
        size_hint: 4,
        hashed_columns: None,
    };
    TableSpec {
        schema: Schema::new(TABLE, columns, &[0]).expect("the schema is right"),
        design: PhysicalDesign {
            part: None,
            server: None,
            keeps_versions: dice.percent(15),
            storage: storages[dice.below(3) as usize],
            neighbourhood: 2,
            versions_beside: 1,
            size_hint: 1,
            node_bytes: 64,
            placement: Placement::Hashed { load_percent: 50 },
        },
        indexes: vec![index],
    }
}

/// Inserts, updates, deletes and looks up a few rows, if this compute server knows the table. Any
/// step may fail because the table is gone.
pub async fn use_rows<E: Env>(
    database: &Database<E>,
    lane: &mut Lane<E>,
    dice: &mut Dice,
) -> Result<(), TxnError> {
    let Some(table) = database.table(TABLE) else { return Ok(()) };
    let index = database.index(TABLE, INDEX);
    let mut txn = lane.begin(Isolation::Snapshot).await?;
    for _ in 0..1 + dice.below(OPERATIONS_MAX) {
        let (id, value) = (dice.below(ROWS) as i64, dice.below(VALUES) as i64);
        if let Some(index) = index.filter(|_| dice.percent(25)) {
            txn.lookup(index, &crate::lists::number(value), &mut Vec::new()).await?;
            continue;
        }
        match txn.read(table, &crate::lists::number(id)).await? {
            Some(row) if dice.percent(40) => txn.delete(row),
            Some(row) => txn.update(row).set_int(VALUE, value),
            None => {
                let row = txn.insert(table, &crate::lists::number(id)).await?;
                txn.update(row).set_int(VALUE, value);
            }
        }
    }
    txn.commit().await;
    Ok(())
}
