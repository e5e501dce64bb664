//! Measurements as a table: the same points in a quarter of the bytes, to be shipped with a
//! program.
//!
//! ```text
//! {"format":1,
//!  "same":{"parameters.world.fabric":"sim", ..},      fields with one value in all points
//!  "columns":["parameters.operation", ..],            the other fields
//!  "rows":[["lookup",..], ..]}                        one row per point; null: no such field
//! ```

use super::{FORMAT, MeasurementError, Measurements, Point};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The table as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    format: u32,
    same: BTreeMap<String, Value>,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl Measurements {
    /// The points as a table. Equal measurements give equal bytes; [`Measurements::parse`] reads
    /// them.
    pub fn table_json(&self) -> String {
        let rows: Vec<BTreeMap<String, Value>> = self.points().iter().map(flat).collect();
        let paths: BTreeSet<&String> = rows.iter().flat_map(BTreeMap::keys).collect();
        let is_same = |path: &&&String| {
            let first = rows.first().and_then(|row| row.get(**path));
            rows.iter().all(|row| row.get(**path) == first)
        };
        let (same, columns): (Vec<&String>, Vec<&String>) =
            paths.iter().partition(|path| is_same(path));
        let of = |row: &BTreeMap<String, Value>, path: &String| {
            row.get(path).cloned().unwrap_or_default()
        };
        let same = same
            .into_iter()
            .filter_map(|path| Some((path.clone(), rows.first()?.get(path)?.clone())));
        let same: BTreeMap<String, Value> = same.collect();
        let lines = rows.iter().map(|row| {
            let cells: Vec<Value> = columns.iter().map(|path| of(row, path)).collect();
            Value::from(cells).to_string()
        });
        let lines: Vec<String> = lines.collect();
        let (same, columns) = (serde_json::to_string(&same), serde_json::to_string(&columns));
        format!(
            "{{\"format\":{FORMAT},\n\"same\":{},\n\"columns\":{},\n\"rows\":[\n{}\n]}}\n",
            same.expect("names can be written"),
            columns.expect("names can be written"),
            lines.join(",\n")
        )
    }
}

/// Parses a table.
pub fn read(value: Value) -> Result<Measurements, MeasurementError> {
    let table: Table = serde_json::from_value(value)?;
    let mut all = Measurements::default();
    for row in table.rows {
        let named = table.columns.iter().cloned().zip(row);
        let same = table.same.iter().map(|(path, value)| (path.clone(), value.clone()));
        let mut point = Value::Object(Map::new());
        for (path, value) in same.chain(named).filter(|(_, value)| !value.is_null()) {
            put(&mut point, &path, value);
        }
        all.put(serde_json::from_value(point)?);
    }
    Ok(all)
}

/// The fields of a point by their paths, without nulls.
fn flat(point: &Point) -> BTreeMap<String, Value> {
    let mut fields = BTreeMap::new();
    let mut open = vec![(
        String::new(),
        serde_json::to_value(point).expect("numbers and names can be written"),
    )];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(of) => {
                let inner =
                    |name: String| if path.is_empty() { name } else { format!("{path}.{name}") };
                open.extend(of.into_iter().map(|(name, value)| (inner(name), value)));
            }
            Value::Null => {}
            leaf => drop(fields.insert(path, short(leaf))),
        }
    }
    fields
}

/// Writes an integral float as an integer.
fn short(leaf: Value) -> Value {
    match leaf.as_f64() {
        Some(number) if leaf.is_f64() && number.fract() == 0.0 && number.abs() < 1e15 => {
            Value::from(number as i64)
        }
        _ => leaf,
    }
}

/// Stores a value at its path.
fn put(point: &mut Value, path: &str, value: Value) {
    let mut at = point;
    for name in path.split('.') {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[name];
    }
    *at = value;
}
