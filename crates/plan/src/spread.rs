//! How large tables are and how often values repeat, as `workload.toml` says it.

use crate::statistics::{ColumnSpread, TableSize};
use sql::Load;
use sql::load::{Alphabet, Amount, Distribution, Draw, Range};

/// How often a draw may refer to another column's.
const REFERENCES_MAX: u32 = 8;
/// The last names that TPC-C makes.
const LAST_NAMES: u64 = 1000;

/// The sizes of all tables at the workload's own scale; tables whose size cannot be told are left out.
pub(crate) fn sizes(load: &Load) -> Vec<TableSize> {
    let size = |table: &sql::load::TableLoad| {
        let rows = rows(load, &table.table)?;
        let columns = table.columns.iter().filter_map(|(column, distribution)| {
            let distinct = distinct(load, &table.table, distribution, REFERENCES_MAX)?;
            let distinct = distinct.min(rows);
            Some(ColumnSpread {
                column: column.clone(),
                distinct,
                null_fraction: distribution.null.clamp(0.0, 1.0),
            })
        });
        Some(TableSize { table: table.table.clone(), rows, columns: columns.collect() })
    };
    load.tables.iter().filter_map(size).collect()
}

fn rows(load: &Load, table: &str) -> Option<u64> {
    amount(load, &load.tables.iter().find(|size| size.table == table)?.rows, REFERENCES_MAX)
        .and_then(|rows| u64::try_from(rows).ok())
}

fn amount(load: &Load, amount: &Amount, references: u32) -> Option<i64> {
    let references = references.checked_sub(1)?;
    amount.evaluate(load.units, &|table| {
        let size = load.tables.iter().find(|size| size.table == table)?;
        self::amount(load, &size.rows, references)
    })
}

/// How many different values a column of a table may have; none if nobody knows.
fn distinct(load: &Load, table: &str, distribution: &Distribution, references: u32) -> Option<u64> {
    let references = references.checked_sub(1)?;
    let inner = |distribution| distinct(load, table, distribution, references);
    match &distribution.draw {
        Draw::Uniform { range, .. }
        | Draw::Nurand { range, .. }
        | Draw::Zipf { range, .. }
        | Draw::Sequence { range, .. } => width(load, range),
        Draw::Constant(_) | Draw::Now => Some(1),
        Draw::OneOf { values, .. } => Some(values.len() as u64),
        Draw::Chance(_) => Some(2),
        Draw::Text { length, alphabet } => Some(texts(length.1, *alphabet)),
        Draw::Digits { of, .. } => inner(of),
        Draw::LastName(of) => inner(of).map(|numbers| numbers.min(LAST_NAMES)),
        Draw::Same(column) => distinct(load, table, drawn(load, table, column)?, references),
        Draw::Column { table, column, row } => {
            let values = distinct(load, table, drawn(load, table, column)?, references)?;
            let rows = match row {
                None => rows(load, table)?,
                Some(row) => inner(row)?,
            };
            Some(values.min(rows))
        }
        Draw::Mixture(draws) => sum(draws.iter().map(|(_, draw)| inner(draw))),
        Draw::Cases { cases, .. } => sum(cases.iter().map(|(_, draw)| inner(draw))),
        _ => None,
    }
}

fn drawn<'a>(load: &'a Load, table: &str, column: &str) -> Option<&'a Distribution> {
    let table = load.tables.iter().find(|size| size.table == table)?;
    table.columns.iter().find(|(name, _)| name == column).map(|(_, distribution)| distribution)
}

fn width(load: &Load, range: &Range) -> Option<u64> {
    let (low, high) =
        (amount(load, &range.low, REFERENCES_MAX)?, amount(load, &range.high, REFERENCES_MAX)?);
    u64::try_from(high.checked_sub(low)?.checked_add(1)?).ok()
}

/// How many texts of a length there are; shorter ones hardly count.
fn texts(length: u32, alphabet: Alphabet) -> u64 {
    let characters: u64 = match alphabet {
        Alphabet::Digits => 10,
        Alphabet::Letters => 26,
        _ => 36,
    };
    characters.saturating_pow(length)
}

fn sum(mut numbers: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    numbers.try_fold(0, |sum: u64, number| Some(sum.saturating_add(number?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn shipped(workload: &str) -> Vec<TableSize> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(workload);
        let workload = sql::WorkloadFolder::read(&folder).expect("the workload is fine");
        sizes(&workload.load)
    }

    fn distinct_of(sizes: &[TableSize], table: &str, columns: &[&str]) -> Vec<u64> {
        let size = sizes.iter().find(|size| size.table == table).expect("there is such a table");
        let distinct = |name: &&str| {
            let spread = size.columns.iter().find(|spread| spread.column == **name);
            spread.expect("it is known how the column is drawn").distinct
        };
        columns.iter().map(distinct).collect()
    }

    #[test]
    fn values_repeat_as_often_as_they_are_drawn() {
        let tpcc = shipped("tpcc");
        let lines = tpcc.iter().find(|size| size.table == "order_line").expect("it is there");
        assert_eq!(lines.rows, 3_000_000);
        let columns = ["ol_w_id", "ol_d_id", "ol_o_id", "ol_number", "ol_i_id", "ol_supply_w_id"];
        assert_eq!(distinct_of(&tpcc, "order_line", &columns), [10, 10, 3000, 10, 100_000, 10]);
        // More texts than anybody can count are as many as there are rows.
        assert_eq!(distinct_of(&tpcc, "item", &["i_name", "i_data"]), [100_000, 100_000]);
        assert_eq!(distinct_of(&tpcc, "customer", &["c_last", "c_credit"]), [1000, 2]);
        let date = lines.columns.iter().find(|spread| spread.column == "ol_delivery_d");
        assert_eq!(date.map(|spread| spread.null_fraction), Some(1.0));

        let tatp = shipped("tatp");
        let columns = ["s_id", "sf_type", "start_time", "end_time"];
        assert_eq!(distinct_of(&tatp, "call_forwarding", &columns), [1_000_000, 4, 3, 24]);
    }
}
