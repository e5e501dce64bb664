//! `pg_stats`: what `ANALYZE` knows about columns.

use crate::fill::{Filler, Row, text};
use crate::world::TableInfo;
use sql_session::{Constant, oid};
use sql_value::Value;

/// Columns with more distinct values than this fraction of the rows are expected to have more when
/// the table grows; PostgreSQL then shows a negative fraction.
const GROWING: f64 = 0.1;
/// Bytes of a value without a fixed length, about.
const WIDTH: i64 = 32;

impl Filler<'_> {
    pub fn statistics(&self) -> Vec<Row> {
        let analyzed = self
            .world
            .tables
            .iter()
            .filter(|table| table.statistics.rows.is_some() && self.world.may_read(table.oid));
        analyzed.flat_map(|table| self.table_statistics(table)).collect()
    }

    fn table_statistics(&self, table: &TableInfo) -> Vec<Row> {
        let count = table.statistics.rows.unwrap_or_default().max(1.0);
        let columns = table.statistics.columns.iter().zip(table.table.visible());
        let rows = columns.map(|(known, column)| {
            let distinct = known.distinct.unwrap_or(0.0);
            let distinct = if distinct > GROWING * count { -distinct / count } else { distinct };
            let width = i64::from(oid::length(&column.sql_type));
            let common = known.common.iter();
            self.row(&[
                ("schemaname", self.schema(&table.table.name)),
                ("tablename", text(&table.table.name)),
                ("attname", text(&column.name)),
                ("null_frac", Value::Float(known.null_fraction)),
                ("avg_width", Value::Int(if width > 0 { width } else { WIDTH })),
                ("n_distinct", Value::Float(distinct)),
                ("most_common_vals", list(common.clone().map(|(value, _)| shown(value)))),
                ("most_common_freqs", list(common.map(|(_, fraction)| fraction.to_string()))),
                ("histogram_bounds", list(known.histogram.iter().map(shown))),
            ])
        });
        rows.collect()
    }
}

/// An array as PostgreSQL prints it; null if it is empty.
fn list(values: impl Iterator<Item = String>) -> Value {
    let values: Vec<String> = values.collect();
    match values.is_empty() {
        true => Value::Null,
        false => text(format!("{{{}}}", values.join(","))),
    }
}

fn shown(value: &Constant) -> String {
    match value {
        Constant::Number(number) => number.to_string(),
        Constant::Text(text) => {
            let is_plain = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
            let is_null = text.eq_ignore_ascii_case("null");
            match !text.is_empty() && text.chars().all(is_plain) && !is_null {
                true => text.clone(),
                false => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            }
        }
    }
}
