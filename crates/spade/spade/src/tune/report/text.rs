//! The report as text.

use super::reasons::bytes;
use super::tuning::*;
use crate::design::{Access, Partition};
use crate::tune::{Goal, Objective};
use std::fmt::{Display, Write};

/// Number of statements and of rejected candidates shown per table.
const DRIVERS_SHOWN: usize = 3;
const REJECTED_SHOWN: usize = 4;
const ATTRIBUTES_SHOWN: usize = 3;
const NAME_WIDTH: usize = 24;
/// Width of a line, and indent of continuation lines.
const LINE_WIDTH: usize = 120;
const CONTINUED: usize = 24;

impl Tuning {
    /// The report as text. With `all`, it lists every rejected candidate with its reason.
    pub fn text(&self, all: bool) -> String {
        let mut text = String::new();
        self.head(&mut text);
        text.push_str("marks: * chosen, 2 runner-up\n");
        self.located(&mut text);
        self.placed(&mut text);
        text.push_str("\nTables (forecast of the workload with each option; stages: time of an average call)\n");
        self.tables.iter().for_each(|table| draw_table(&mut text, table, all));
        self.procedures(&mut text);
        for (title, lines) in [("Assumptions", &self.assumptions), ("Warnings", &self.warnings)] {
            if !lines.is_empty() {
                let _ = write!(text, "\n{title}\n");
                lines.iter().for_each(|line| put(&mut text, &format!("  {line}")));
            }
        }
        text
    }

    /// The objective, and how designs were compared.
    pub fn wanted(&self) -> String {
        let wanted = match self.objective {
            Objective::Throughput => "throughput",
            Objective::Latency => "latency",
        };
        let model = match self.model {
            Goal::ServiceTimes => "service times",
            Goal::WeightedAverages => "weighted averages",
        };
        format!("for {wanted}, by {model}")
    }

    fn head(&self, text: &mut String) {
        put(text, &format!("{}, {}", self.target.workload, self.target.scale()));
        put(text, &format!("{}, {}", self.wanted(), self.target.cluster()));
        text.push('\n');
        draw_forecast(text, "tuned", &self.forecast);
        draw_forecast(text, "untuned", &self.baseline);
        let full: Vec<String> = self
            .forecast
            .stages
            .iter()
            .filter(|(_, share)| *share >= 0.005)
            .map(|(stage, share)| format!("{stage} {:.0} %", 100.0 * share))
            .collect();
        put(text, &format!("  {:NAME_WIDTH$}{}", "utilization", full.join(", ")));
        let retries = format!("{:.1} %", self.retries_percent);
        put(text, &format!("  {:NAME_WIDTH$}{retries}", "retries"));
        let allowed = match self.memory.budget {
            Some(budget) => format!(" of {}", bytes(budget)),
            None => String::new(),
        };
        let memory = format!("{}{allowed} on each machine", bytes(self.memory.bytes_each));
        put(text, &format!("  {:NAME_WIDTH$}{memory}", "memory"));
    }

    fn located(&self, text: &mut String) {
        text.push_str("\nPartitions\n");
        for table in &self.tables {
            let place = partition(&table.partition, &table.table);
            put(text, &format!("  {:NAME_WIDTH$}{place}", table.table));
        }
        for attribute in self.attributes.iter().take(ATTRIBUTES_SHOWN) {
            let verdict = match attribute.verdict {
                Verdict::Chosen => "key",
                _ => "not",
            };
            put(
                text,
                &format!(
                    "  {verdict} {}: {:.0} % of operations have a value, {:.0} % find their rows locally; {}",
                    attribute.columns.join(" = "),
                    100.0 * attribute.covered,
                    100.0 * attribute.local,
                    attribute.reason
                ),
            );
        }
    }

    /// Forecasts with other partitionings.
    fn placed(&self, text: &mut String) {
        if !self.partitions.is_empty() {
            draw_candidates(text, "forecast", &self.partitions, true);
        }
    }

    fn procedures(&self, text: &mut String) {
        text.push_str("\nProcedures (latency and rate of calls on another machine than the one with their rows)\n");
        for of in &self.procedures {
            let access = access(of.access);
            let by = of.by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
            put(
                text,
                &format!(
                    "  {:NAME_WIDTH$}{access}{by}; {:.1} % of calls, {:.0} % of rows at home, {:.1} us there",
                    of.procedure,
                    100.0 * of.share,
                    100.0 * of.local,
                    of.home_latency_us
                ),
            );
            for one in &of.candidates {
                let figures = match (one.latency_us, one.calls_per_s, &one.bottleneck) {
                    (Some(latency), Some(rate), Some(stage)) => {
                        format!("{latency:.1} us, {} calls/s ({stage})", count(rate))
                    }
                    _ => "-".to_owned(),
                };
                let reason =
                    if one.reason.is_empty() { "chosen".to_owned() } else { one.reason.clone() };
                put(text, &format!("    {:22}{figures:40} {reason}", self::access(one.access)));
                if let Some(workload) = &one.forecast {
                    put(text, &format!("    {:22}{}", "", workload_of(workload, &one.writes)));
                }
            }
        }
    }
}

/// Describes the forecast of the workload, and the cost of writes.
pub fn workload_of(of: &Brief, writes: &WriteCost) -> String {
    let between = of.interval.as_ref().map_or(String::new(), |of| format!(" ({})", interval(of)));
    let written = match writes.per_call > 0.0 {
        true => format!("; a write {:.1} verbs, {:.0} ns of cores", writes.verbs, writes.core_ns),
        false => String::new(),
    };
    let (rate, latency) = (count(of.transactions_per_s), of.latency_us);
    format!("all calls {rate}/s, {latency:.2} us{between}{written}")
}

fn draw_forecast(text: &mut String, name: &str, of: &Forecast) {
    let [least, rate, most] = of.transactions_per_s.map(count);
    let [_, latency, _] = of.latency_us;
    put(
        text,
        &format!(
            "  {name:NAME_WIDTH$}{rate} transactions/s ({least} to {most}), {latency:.1} us alone; bottleneck: {}",
            of.bottleneck
        ),
    );
}

fn draw_table(text: &mut String, table: &TableReport, all: bool) {
    put(
        text,
        &format!(
            "  {}: {} of {} bytes, {} on each machine",
            table.table,
            many(count(table.rows as f64), "row"),
            table.row_bytes,
            bytes(table.bytes_each)
        ),
    );
    draw_candidates(text, "rows", &table.candidates, all);
    for index in &table.indexes {
        draw_candidates(text, &index.index, &index.candidates, all);
    }
    if !table.versions.is_empty() {
        draw_candidates(text, "old versions", &table.versions, all);
    }
    let drivers = table.drivers.iter().filter(|driver| driver.per_call > 0.0);
    let drivers: Vec<String> = drivers
        .take(if all { usize::MAX } else { DRIVERS_SHOWN })
        .map(|of| format!("{} ({:.3} a call, {})", of.statement, of.per_call, of.what))
        .collect();
    if !drivers.is_empty() {
        put(text, &format!("    {:22}{}", "accessed by", drivers.join("; ")));
    }
    if table.writes.per_call > 0.0 {
        let of = &table.writes;
        put(
            text,
            &format!(
                "    {:22}{:.3} a call; each {:.1} verbs, {:.0} ns of cores, {:.0} ns of engines",
                "writes", of.per_call, of.verbs, of.core_ns, of.engine_ns
            ),
        );
    }
}

fn draw_candidates(text: &mut String, name: &str, candidates: &[Alternative], all: bool) {
    let shown = candidates.iter().filter(|one| all || one.forecast.is_some());
    let shown = shown.take(if all { usize::MAX } else { 1 + REJECTED_SHOWN });
    for (number, one) in shown.enumerate() {
        let name = if number == 0 { name } else { "" };
        let mark = match one.verdict {
            Verdict::Chosen => '*',
            Verdict::RunnerUp => '2',
            Verdict::Rejected => ' ',
        };
        let figures = one.forecast.as_ref().map_or_else(
            || "-".to_owned(),
            |of| {
                let average = of.average.map_or(String::new(), |(rate, latency)| {
                    format!(", averages {} and {latency:.2} us", count(rate))
                });
                let (rate, latency) = (count(of.transactions_per_s), of.latency_us);
                format!("{rate}/s, {latency:.2} us{average}, {}", bytes(one.bytes_each))
            },
        );
        let reason = match one.verdict {
            Verdict::Chosen => "",
            _ => &*one.reason,
        };
        put(text, &format!("    {name:20}{mark} {:34}{figures:32} {reason}", one.what));
        if let Some(between) = one.forecast.as_ref().and_then(|of| of.interval.as_ref()) {
            put(text, &format!("    {:22}{:34}{}", "", "", interval(between)));
        }
    }
    let refused: Vec<&Alternative> =
        candidates.iter().filter(|one| one.forecast.is_none()).collect();
    if let (false, [first, ..]) = (all, &refused[..]) {
        let count = refused.len();
        put(text, &format!("    {:22}{count} more cannot be chosen: {}", "", first.reason));
    }
}

pub fn interval(of: &Interval) -> String {
    let ([least, most], [soon, late]) = (of.transactions_per_s.map(count), of.latency_us);
    format!("{least} to {most}, {soon:.2} to {late:.2} us")
}

/// Adds a line; wraps it with an indent if it is long.
pub fn put(text: &mut String, line: &str) {
    let indent = line.len() - line.trim_start().len();
    let mut rest = line.trim_end();
    let mut first = true;
    while !rest.is_empty() {
        let before = if first { 0 } else { indent + CONTINUED };
        let room = LINE_WIDTH - before;
        // A name without blanks may be longer than a line.
        let blank = rest.get(..room).and_then(last_blank).filter(|at| *at > indent);
        let end = if rest.len() <= room { rest.len() } else { blank.unwrap_or(rest.len()) };
        let _ = writeln!(text, "{:before$}{}", "", rest[..end].trim_end());
        rest = rest[end..].trim_start();
        first = false;
    }
}

/// The last blank at which a line may be wrapped: not between a number and its unit.
fn last_blank(part: &str) -> Option<usize> {
    let blanks = part.rmatch_indices(' ').map(|(at, _)| at);
    let mut breaks = blanks.filter(|at| {
        let word = part[..*at].rsplit(' ').next().unwrap_or_default();
        let is_digit = |one: char| one.is_ascii_digit() || one == ',' || one == '.';
        !(word.ends_with(|end: char| end.is_ascii_digit()) && word.chars().all(is_digit))
    });
    breaks.next()
}

/// A number with a noun: `1 machine`, `2 machines`.
pub fn many(number: impl Display, one: &str) -> String {
    let number = number.to_string();
    let ending = if number == "1" { "" } else { "s" };
    format!("{number} {one}{ending}")
}

/// Describes the partitioning of a table. A group has the name of one of its tables.
pub fn partition(of: &Partition, table: &str) -> String {
    match of {
        Partition::RoundRobin => "spread over all machines".to_owned(),
        Partition::Replicated => "copied to all machines".to_owned(),
        Partition::By { columns, group } if group == table => format!("by {}", columns.join(", ")),
        Partition::By { columns, group } => format!("by {}, with {group}", columns.join(", ")),
    }
}

pub fn access(of: Access) -> &'static str {
    match of {
        Access::OneSided => "one-sided",
        Access::Shipped => "shipped",
    }
}

/// A number with three significant digits and a unit prefix.
pub fn count(number: f64) -> String {
    let units = [(1e9, " G"), (1e6, " M"), (1e3, " k")];
    match units.into_iter().find(|(size, _)| number >= *size) {
        Some((size, unit)) => format!("{:.2}{unit}", number / size),
        None => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_but_not_between_a_number_and_its_unit() {
        let mut text = String::new();
        put(&mut text, &format!("  {} 12.5 us alone", "a".repeat(LINE_WIDTH - 8)));
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines[1..], ["12.5 us alone"], "{text}");
    }
}
