//! Derives table sizes and column statistics from `workload.toml`.
//!
//! Decision: docs/decisions/0163-tables-look-full-and-are-empty-when-plans-are-made.md

use crate::statistics::{ColumnSpread, TableSize};
use sql::Load;
use sql::load::{Alphabet, Distribution, Draw, Expectation, Range};

/// Maximum length of a chain of references between draws.
const REFERENCES_MAX: u32 = 8;
/// Number of different last names in TPC-C.
const LAST_NAMES: u64 = 1000;

/// The sizes of all tables at the workload's default scale, without tables of unknown size.
pub(crate) fn sizes(load: &Load) -> Vec<TableSize> {
    let expectation = Expectation::new(load, load.units);
    let size = |table: &sql::load::TableLoad| {
        let rows = expectation.rows(&table.table)?.round() as u64;
        let columns = table.columns.iter().filter_map(|(column, distribution)| {
            let distinct = distinct(expectation, &table.table, distribution, REFERENCES_MAX)?;
            let nulls = expectation.null_share(&table.table, distribution);
            Some(ColumnSpread {
                column: column.clone(),
                distinct: distinct.min(rows),
                null_fraction: nulls.unwrap_or(distribution.null),
            })
        });
        Some(TableSize { table: table.table.clone(), rows, columns: columns.collect() })
    };
    load.tables.iter().filter_map(size).collect()
}

/// The maximum number of distinct values of a column; `None` if unknown.
fn distinct(
    expectation: Expectation<'_>,
    table: &str,
    distribution: &Distribution,
    references: u32,
) -> Option<u64> {
    let references = references.checked_sub(1)?;
    let inner = |distribution| distinct(expectation, table, distribution, references);
    let of_column = |table: &str, column: &str| {
        let (table, drawn) = expectation.column(table, column)?;
        let values = distinct(expectation, table, drawn, references)?;
        Some(values.min(expectation.rows(table)?.round() as u64))
    };
    match &distribution.draw {
        Draw::Uniform { range, .. }
        | Draw::Nurand { range, .. }
        | Draw::Zipf { range, .. }
        | Draw::Sequence { range, .. } => width(expectation, range),
        Draw::Constant(_) | Draw::Now => Some(1),
        Draw::OneOf { values, .. } => Some(values.len() as u64),
        Draw::Chance(_) => Some(2),
        Draw::Text { length, alphabet, .. } => Some(texts(length.1, *alphabet)),
        Draw::Digits { of, .. } => inner(of),
        Draw::LastName(of) => inner(of).map(|numbers| numbers.min(LAST_NAMES)),
        Draw::Same(column) => of_column(table, column),
        Draw::Column { table, column, row } => {
            let values = of_column(table, column)?;
            match row {
                None => Some(values),
                Some(row) => Some(values.min(inner(row)?)),
            }
        }
        Draw::Mixture(draws) => sum(draws.iter().map(|(_, draw)| inner(draw))),
        Draw::Cases { cases, .. } => sum(cases.iter().map(|(_, draw)| inner(draw))),
        _ => None,
    }
}

fn width(expectation: Expectation<'_>, range: &Range) -> Option<u64> {
    let (low, high) = expectation.bounds(range)?;
    u64::try_from(high.checked_sub(low)?.checked_add(1)?).ok()
}

/// The number of texts of a length; shorter texts are negligible.
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
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(workload);
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
        assert_eq!(distinct_of(&tpcc, "order_line", &columns), [10, 10, 3000, 15, 100_000, 10]);
        // The number of possible texts is limited by the number of rows.
        assert_eq!(distinct_of(&tpcc, "item", &["i_name", "i_data"]), [100_000, 100_000]);
        assert_eq!(distinct_of(&tpcc, "customer", &["c_last", "c_credit"]), [1000, 2]);
        let date = lines.columns.iter().find(|spread| spread.column == "ol_delivery_d");
        let open = date.expect("it is known").null_fraction;
        assert!((open - 0.3).abs() < 1e-9, "{open}");
        let open = tpcc.iter().find(|size| size.table == "new_order").expect("it is there");
        assert_eq!(open.rows, 90_000);

        let tatp = shipped("tatp");
        let rows: Vec<u64> = tatp.iter().map(|size| size.rows).collect();
        assert_eq!(rows, [1_000_000, 2_500_000, 2_500_000, 3_750_000]);
        let columns = ["s_id", "sf_type", "start_time", "end_time"];
        assert_eq!(distinct_of(&tatp, "call_forwarding", &columns), [1_000_000, 4, 3, 24]);
    }
}
