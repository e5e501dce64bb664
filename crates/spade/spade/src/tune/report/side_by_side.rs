//! Forecasts of one or several designs side by side, as text.

use super::reasons::bytes;
use super::text::{access, count, partition, put};
use crate::tune::forecast::design_forecast::{DesignForecast, ProcedureForecast, TableForecast};
use std::fmt::Write;

/// Widths of names and of a design's column.
const NAME_WIDTH: usize = 32;
const WIDTH: usize = 24;
/// Forecasts within this relative distance are shown as equal.
const EQUAL: f64 = 0.0005;
/// Stages below this utilization are left out.
const SHARE_MIN: f64 = 0.005;

pub type Named<'a> = (&'a str, &'a DesignForecast);

/// Forecasts of one workload on one cluster, with differences from the first. Designs are labelled
/// A, B, C and so on.
pub fn beside(all: &[Named<'_>]) -> String {
    let mut text = String::new();
    if all.is_empty() {
        return text;
    }
    head(&mut text, all);
    for (letter, (name, _)) in ('A'..).zip(all) {
        let _ = writeln!(text, "  {letter}  {name}");
    }
    text.push('\n');
    let letters = ('A'..).map(|letter| letter.to_string());
    cells(&mut text, "", letters.take(all.len()).collect());
    totals(&mut text, all);
    tables(&mut text, all);
    procedures(&mut text, all);
    notes(&mut text, all);
    text
}

fn head(text: &mut String, all: &[Named<'_>]) {
    let Some((_, first)) = all.first() else { return };
    let target = &first.target;
    put(text, &format!("{}, {}", target.workload, target.scale()));
    let remote = all.iter().find_map(|(_, of)| of.remote_calls);
    let remote = remote.map(|share| match all.iter().all(|(_, of)| of.remote_calls.is_some()) {
        true => format!(", {:.0} of 100 calls elsewhere", 100.0 * share),
        false => format!(", {:.0} of 100 calls elsewhere if they have a home", 100.0 * share),
    });
    put(text, &format!("{}{}", target.cluster(), remote.unwrap_or_default()));
    text.push('\n');
}

fn totals(text: &mut String, all: &[Named<'_>]) {
    let rates = all.iter().map(|(_, of)| of.forecast.transactions_per_s);
    let rates: Vec<[f64; 3]> = rates.collect();
    let middles: Vec<f64> = rates.iter().map(|rate| rate[1]).collect();
    cells(text, "transactions/s", compared(&middles, count));
    let between =
        rates.iter().map(|[least, _, most]| format!("{} to {}", count(*least), count(*most)));
    cells(text, "  interval", between.collect());
    let latency = |name: &str, figure: fn(&DesignForecast) -> f64, text: &mut String| {
        let figures: Vec<f64> = all.iter().map(|(_, of)| figure(of)).collect();
        cells(text, name, compared(&figures, micros));
    };
    latency("mean latency alone, us", |of| of.forecast.latency_us[1], text);
    latency("median latency alone, us", |of| of.median_latency_us, text);
    latency("mean with all lanes busy, us", |of| of.loaded_latency_us, text);
    let memory: Vec<f64> = all.iter().map(|(_, of)| of.memory.bytes_each as f64).collect();
    cells(text, "memory of each machine", compared(&memory, |count| bytes(count as u64)));
    let full = all.iter().map(|(_, of)| of.forecast.bottleneck.clone());
    cells(text, "bottleneck", full.collect());
    let Some((_, first)) = all.first() else { return };
    for (at, (stage, _)) in first.forecast.stages.iter().enumerate() {
        let shares = all.iter().filter_map(|(_, of)| Some(of.forecast.stages.get(at)?.1));
        let shares: Vec<f64> = shares.collect();
        if shares.iter().any(|share| *share >= SHARE_MIN) {
            let shares = shares.iter().map(|share| format!("{:.0} %", 100.0 * share));
            cells(text, &format!("  {stage} used"), shares.collect());
        }
    }
}

fn tables(text: &mut String, all: &[Named<'_>]) {
    let Some((_, first)) = all.first() else { return };
    let is_alone = all.len() == 1;
    text.push_str(if is_alone { "\nTables\n" } else { "\nTables that differ\n" });
    let mut differ = 0;
    for at in 0..first.tables.len() {
        let each = all.iter().filter_map(|(_, of)| Some(stored(of.tables.get(at)?)));
        let each: Vec<Vec<String>> = each.collect();
        if !is_alone && each.iter().all(|one| *one == each[0]) {
            continue;
        }
        differ += 1;
        let mut name = &*first.tables[at].table;
        for (letter, lines) in ('A'..).zip(each) {
            let mut letter = if is_alone { String::new() } else { format!("{letter}  ") };
            for line in lines {
                let _ = writeln!(text, "  {name:NAME_WIDTH$}{letter}{line}");
                name = "";
                letter = " ".repeat(letter.len());
            }
        }
    }
    if differ == 0 {
        text.push_str("  none\n");
    }
}

/// Describes the storage of a table, of each index, and its old versions, one per line.
fn stored(of: &TableForecast) -> Vec<String> {
    let place = partition(&of.partition, &of.table);
    let rows = format!("{}; {place}; {} on each machine", of.stored, bytes(of.bytes_each));
    let indexes = of.indexes.iter().map(|(index, stored)| format!("index {index}: {stored}"));
    let versions = of.versions.iter().map(|versions| format!("old versions: {versions}"));
    std::iter::once(rows).chain(indexes).chain(versions).collect()
}

fn procedures(text: &mut String, all: &[Named<'_>]) {
    let Some((_, first)) = all.first() else { return };
    text.push_str(
        "\nProcedures: mean latency alone in us; access to remote rows, and share of rows at home; share of the bottleneck stage\n",
    );
    for own in &first.procedures {
        let found = |of: &&DesignForecast| {
            of.procedures.iter().find(|one| one.procedure == own.procedure).cloned()
        };
        let each: Vec<ProcedureForecast> = all.iter().filter_map(|(_, of)| found(of)).collect();
        let latencies: Vec<f64> = each.iter().map(|of| of.latency_us[1]).collect();
        let name = format!("{} ({:.1} %)", own.procedure, 100.0 * own.share);
        cells(text, &name, compared(&latencies, micros));
        let reached =
            each.iter().map(|of| format!("{}, {:.0} % home", access(of.access), 100.0 * of.local));
        cells(text, "", reached.collect());
        let taken = all.iter().zip(&each).map(|((_, of), one)| {
            let full = &of.forecast.bottleneck;
            let stage = one.stages.iter().find(|stage| stage.stage == *full);
            stage
                .map_or_else(String::new, |stage| format!("{:.0} % of {full}", 100.0 * stage.share))
        });
        cells(text, "", taken.collect());
    }
}

/// Assumptions, which are the same for all designs, and warnings of each.
fn notes(text: &mut String, all: &[Named<'_>]) {
    let Some((_, first)) = all.first() else { return };
    if !first.assumptions.is_empty() {
        text.push_str("\nAssumptions\n");
        first.assumptions.iter().for_each(|line| put(text, &format!("  {line}")));
    }
    let mut told: Vec<(String, Vec<char>)> = Vec::new();
    for (letter, (_, of)) in ('A'..).zip(all) {
        for line in &of.warnings {
            match told.iter_mut().find(|(known, _)| known == line) {
                Some((_, letters)) => letters.push(letter),
                None => told.push((line.clone(), vec![letter])),
            }
        }
    }
    if !told.is_empty() {
        text.push_str("\nWarnings\n");
    }
    for (line, letters) in told {
        let letters: Vec<String> = letters.iter().map(char::to_string).collect();
        let whose =
            if letters.len() == all.len() { String::new() } else { letters.join(", ") + ": " };
        put(text, &format!("  {whose}{line}"));
    }
}

/// Figures of all designs, with relative differences from the first.
fn compared(figures: &[f64], shown: impl Fn(f64) -> String) -> Vec<String> {
    let first = figures.first().copied().unwrap_or_default();
    let each = figures.iter().enumerate().map(|(at, figure)| {
        let change = if first == 0.0 { 0.0 } else { figure / first - 1.0 };
        let told = match (at, change.abs() < EQUAL) {
            (0, _) => String::new(),
            (_, true) => " (same)".to_owned(),
            (_, false) => format!(" ({:+.1} %)", 100.0 * change),
        };
        format!("{}{told}", shown(*figure))
    });
    each.collect()
}

/// A line with a cell for each design.
fn cells(text: &mut String, name: &str, cells: Vec<String>) {
    let cells = cells.iter().map(|cell| format!("{cell:<WIDTH$}"));
    let line = format!("  {name:NAME_WIDTH$}{}", cells.collect::<String>());
    let _ = writeln!(text, "{}", line.trim_end());
}

fn micros(us: f64) -> String {
    format!("{us:.2}")
}
