//! `ANALYZE`: statistics of tables for the planner.

use super::SqlSession;
use super::rewrite::quoted;
use super::transaction::done;
use crate::access::object::Object;
use crate::catalog::Version;
use crate::catalog::version::Parsed;
use crate::error::{Severity, SqlError};
use crate::host::Host;
use crate::outcome::Outcome;
use crate::planned::compile_text;
use interpreter::Rows;
use planner::{ColumnStatistics, Constant, TableOrder, TableStatistics};
use sql::Table;
use sql_value::{GroupKey, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of rows that a table's sample has, on average; smaller tables are read whole.
const SAMPLE_ROWS: f64 = 30_000.0;
/// Maximum number of most common values.
const COMMON_MAX: usize = 100;
/// Maximum length of a text in statistics, as in PostgreSQL.
const TEXT_BYTES_MAX: usize = 1024;
/// Number of parts of a histogram.
const PARTS: usize = 100;

impl<H: Host> SqlSession<H> {
    /// Collects statistics of these tables, or of all.
    pub(super) async fn analyze(
        &mut self,
        names: &[String],
        tag: &'static str,
    ) -> Result<Outcome, SqlError> {
        let version = self.version();
        let all = || version.catalog.tables.iter().map(|table| table.name.clone()).collect();
        let names: Vec<String> = if names.is_empty() { all() } else { names.to_vec() };
        for name in &names {
            let found = version.table(name);
            let (at, definition) = found.ok_or_else(|| {
                SqlError::new("42P01", format!("relation \"{name}\" does not exist"))
            })?;
            if !self.may_analyze(&version, definition.id) {
                let message =
                    format!("skipping \"{name}\" --- only table or database owner can analyze it");
                self.notice(Severity::Warning, "01000", message);
                continue;
            }
            let statistics = self.statistics(&version, &version.catalog.tables[at]).await?;
            self.database.store_statistics(definition.id, &statistics).await?;
            self.database.set_analyzed(definition.id, statistics);
        }
        // Inside of a transaction block, the statistics take effect with the next version.
        if self.block.is_none() {
            self.database.begin_change(self)?;
            let replaced = self.replace_version();
            self.database.end_change();
            replaced?;
        }
        Ok(done(tag))
    }

    fn may_analyze(&self, version: &Version, table: i64) -> bool {
        let (role, object) = (self.acting_role(version), Object::Definition(table));
        let is_owner = |object| version.objects.is_owner(&version.roles, role, object);
        is_owner(object) || is_owner(Object::Database)
    }

    /// Publishes the catalog with new statistics, so that statements are planned again.
    fn replace_version(&self) -> Result<(), SqlError> {
        let current = self.database.version();
        let definitions = current.definitions.clone();
        let parsed = Parsed::read(&definitions, "")?;
        let analyzed = self.database.analyzed();
        let handle = self.database.host().handle();
        let next = Version::bind(&handle, current.epoch, definitions, parsed, &analyzed)?;
        self.database.publish(Arc::new(next));
        Ok(())
    }

    async fn statistics(
        &mut self,
        version: &Version,
        table: &Table,
    ) -> Result<TableStatistics, SqlError> {
        let name = quoted(&table.name);
        let count = format!("SELECT count(*) FROM {name}");
        let (count, _) = compile_text(version.knowledge(), &version.tables, &count)?;
        let count = self.run_once(&version.tables, &count).await?;
        let count = count.iter().next().and_then(|row| row[0].as_int()).unwrap_or(0) as f64;
        let columns = table.visible().iter().map(|column| quoted(&column.name));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let sampled = match count > SAMPLE_ROWS {
            true => format!(" WHERE random() < {}", SAMPLE_ROWS / count),
            false => String::new(),
        };
        let sample = format!("SELECT {columns} FROM {name}{sampled}");
        let (sample, _) = compile_text(version.knowledge(), &version.tables, &sample)?;
        let rows = self.run_once(&version.tables, &sample).await?;
        let columns = (0..table.visible().len()).map(|column| of_column(&rows, column, count));
        let columns = columns.collect();
        Ok(TableStatistics { rows: Some(count), columns, order: TableOrder::default() })
    }
}

/// Statistics of a column of a sample of a table with `count` rows.
fn of_column(rows: &Rows, column: usize, count: f64) -> ColumnStatistics {
    let mut values: BTreeMap<GroupKey, (usize, Option<Constant>)> = BTreeMap::new();
    let mut known = 0_usize;
    for row in rows.iter().filter(|row| !row[column].is_null()) {
        let key = GroupKey(vec![row[column].clone()]);
        values.entry(key).or_insert_with(|| (0, constant(&row[column]))).0 += 1;
        known += 1;
    }
    if known == 0 {
        let null_fraction = if rows.is_empty() { 0.0 } else { 1.0 };
        return ColumnStatistics { null_fraction, ..ColumnStatistics::default() };
    }
    let sample = rows.len() as f64;
    let found = values.len() as f64;
    let once = values.values().filter(|(times, _)| *times == 1).count() as f64;
    // The estimator of Haas and Stokes, as in PostgreSQL.
    let distinct = match count > sample {
        true => {
            let estimate = sample * found / (sample - once + once * sample / count);
            estimate.clamp(found, count)
        }
        false => found,
    };
    let mut counted: Vec<(usize, Constant)> =
        values.into_values().filter_map(|(times, value)| Some((times, value?))).collect();
    counted.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
    let average = known as f64 / found;
    let is_common = |times: usize| times > 1 && times as f64 > average * 1.25;
    let common = counted.iter().take(COMMON_MAX).take_while(|(times, _)| is_common(*times));
    let common: Vec<(Constant, f64)> =
        common.map(|(times, value)| (value.clone(), *times as f64 / sample)).collect();
    let rest = counted.split_off(common.len());
    let null_fraction = (rows.len() - known) as f64 / sample;
    ColumnStatistics { distinct: Some(distinct), null_fraction, common, histogram: histogram(rest) }
}

/// Bounds of parts with equally many rows.
fn histogram(mut values: Vec<(usize, Constant)>) -> Vec<Constant> {
    if values.len() < 2 {
        return Vec::new();
    }
    let order = |one: &Constant, other: &Constant| {
        one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal)
    };
    values.sort_by(|(_, one), (_, other)| order(one, other));
    let all: usize = values.iter().map(|(times, _)| times).sum();
    let parts = PARTS.min(values.len() - 1);
    let mut bounds = Vec::with_capacity(parts + 1);
    let mut before = 0;
    for (times, value) in &values {
        while bounds.len() <= parts && bounds.len() * (all - 1) / parts < before + times {
            bounds.push(value.clone());
        }
        before += times;
    }
    bounds
}

/// A value as statistics have it; `None` if the planner does not compare values of its type.
fn constant(value: &Value) -> Option<Constant> {
    Some(match value {
        Value::Bool(truth) => Constant::Number(f64::from(u8::from(*truth))),
        Value::Int(number) => Constant::Number(*number as f64),
        Value::Float(number) if number.is_finite() => Constant::Number(*number),
        Value::Numeric(number) => {
            Constant::Number(number.units as f64 / 10_f64.powi(i32::from(number.scale)))
        }
        // Long texts are rarely equal, and would be kept in full.
        Value::Text(text) if text.len() <= TEXT_BYTES_MAX => Constant::Text(text.to_string()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_describe_the_values() {
        let mut rows = Rows::new(1);
        for number in 0..1000 {
            let value = if number < 500 { 7 } else { number };
            rows.push_values(&[if number % 10 == 9 { Value::Null } else { Value::Int(value) }]);
        }
        let found = of_column(&rows, 0, 1000.0);
        assert_eq!(found.distinct, Some(451.0));
        assert!((found.null_fraction - 0.1).abs() < 1e-9);
        assert_eq!(found.common, [(Constant::Number(7.0), 0.45)]);
        assert_eq!(found.histogram.len(), 101);
        assert_eq!(found.histogram[0], Constant::Number(500.0));
        assert_eq!(found.histogram[100], Constant::Number(998.0));
        let of_sample = of_column(&rows, 0, 100_000.0);
        assert!(of_sample.distinct > Some(800.0), "{of_sample:?}");
    }
}
