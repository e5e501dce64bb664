//! The rows and calls of the shipped workloads satisfy their specifications.

mod calls;
mod defaults;
mod parts;
mod refused;
mod tatp;
mod tpcc;

use datagen::{Population, Scale};
use sql::{Program, WorkloadFolder};
use sql_value::Value;
use std::path::PathBuf;

const WORKLOADS: [&str; 4] = ["smallbank", "tatp", "tpcc", "ycsb"];

fn folder(workload: &str) -> WorkloadFolder {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(workload);
    WorkloadFolder::read(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// A workload in whose file `to` replaces `from`.
fn changed(workload: &str, from: &str, to: &str) -> WorkloadFolder {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(workload);
    let text = std::fs::read_to_string(path.join("workload.toml")).expect("it is there");
    assert!(text.contains(from), "{workload} has no {from} any more");
    let program = folder(workload).program;
    let source = sql::Source::new("workload.toml", &text.replace(from, to));
    let load = sql::read_load(&source, &program).unwrap_or_else(|error| panic!("{error}"));
    WorkloadFolder { program, load, checks: Program::default() }
}

fn scale(units: u64, seed: u64) -> Scale {
    Scale { units, seed, now_us: 0 }
}

fn population(workload: &str, units: u64, seed: u64) -> Population {
    let folder = folder(workload);
    Population::new(&folder.program, &folder.load, scale(units, seed))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn rows(population: &Population, table: &str) -> Vec<Vec<Value>> {
    population.rows(number(population, table), 0, 1).collect()
}

fn number(population: &Population, table: &str) -> usize {
    population.table(table).unwrap_or_else(|| panic!("there is a table {table}"))
}

fn columns<const COUNT: usize>(
    population: &Population,
    table: &str,
    names: [&str; COUNT],
) -> [usize; COUNT] {
    let all = population.column_names(number(population, table));
    names.map(|name| {
        all.iter().position(|column| column == name).unwrap_or_else(|| panic!("{name} is there"))
    })
}

fn int(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        Value::Numeric(decimal) => decimal.units as i64,
        other => panic!("{other:?} is no number"),
    }
}

fn text(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        other => panic!("{other:?} is no text"),
    }
}

/// Asserts that `hits` of `of` fit the probability `share` within three standard deviations.
#[track_caller]
fn assert_share(hits: usize, of: usize, share: f64) {
    let (expected, deviation) = (of as f64 * share, (of as f64 * share * (1.0 - share)).sqrt());
    let off = (hits as f64 - expected).abs();
    assert!(
        off <= 3.0 * deviation,
        "{hits} of {of}, where {expected:.0} +- {deviation:.0} are due"
    );
}

/// Asserts that the counts fit a uniform distribution: their sum of squares is below the value that
/// one in a thousand uniform draws exceeds, for up to ten degrees of freedom.
#[track_caller]
fn assert_even(counts: impl IntoIterator<Item = usize>) {
    let counts: Vec<f64> = counts.into_iter().map(|count| count as f64).collect();
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let squares: f64 = counts.iter().map(|count| (count - mean) * (count - mean) / mean).sum();
    assert!(counts.len() <= 11 && squares < 29.59, "{squares}: {counts:?}");
}
