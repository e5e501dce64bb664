//! The report as people read it, in 80 columns.

use super::report::{Report, TypeReport};
use super::text::{bytes, counted, duration_us, grouped, rate};
use std::fmt::Write;

const COLUMNS: usize = 80;

/// Draws the whole report.
pub fn draw(report: &Report) -> String {
    let mut text = String::new();
    heading(&mut text, report);
    throughput(&mut text, report);
    types(&mut text, report);
    aborts(&mut text, report);
    upkeep(&mut text, report);
    memory(&mut text, report);
    checks(&mut text, report);
    text
}

macro_rules! line {
    ($text:expr) => { $text.push('\n') };
    ($text:expr, $($format:tt)+) => {
        writeln!($text, $($format)+).expect("a string takes all")
    };
}

fn heading(text: &mut String, report: &Report) {
    line!(text, "{}", "=".repeat(COLUMNS));
    let subject = format!("{}: {}", report.workload.to_uppercase(), report.parameters);
    for part in broken(&subject, COLUMNS - 2) {
        line!(text, " {part}");
    }
    let servers = counted(u64::from(report.servers), "server");
    let threads = counted(u64::from(report.threads), "thread");
    line!(
        text,
        " {} isolation, {} oracle, {threads}, {servers}, {:.1} s",
        report.isolation,
        report.oracle,
        report.seconds
    );
    if report.is_interrupted {
        line!(text, " ended early by the user; what follows is of the time until then");
    }
    line!(text, "{}", "=".repeat(COLUMNS));
    line!(text);
}

fn throughput(text: &mut String, report: &Report) {
    let committed = rate(report.txn_per_s);
    line!(text, "  {committed:>12}  transactions committed per second");
    if let Some(new_orders) = report.new_order_per_s {
        let per_minute = grouped((new_orders * 60.0).round() as u64);
        let new_orders = rate(new_orders);
        line!(text, "  {new_orders:>12}  new orders per second, {per_minute} per minute");
    }
    let busy = report.cpu_seconds / report.seconds.max(1e-9);
    let cost_us = report.cpu_seconds * 1e6 / (report.committed.max(1)) as f64;
    let cost = duration_us(cost_us);
    line!(text, "  {cost:>12}  of processor time per transaction, {busy:.2} processors busy");
    if report.rolled_back > 0 {
        let rolled_back = grouped(report.rolled_back);
        line!(text, "  {rolled_back:>12}  more rolled back as the workload's rules want");
    }
    line!(text);
}

fn types(text: &mut String, report: &Report) {
    line!(
        text,
        "  {:<17} {:>10} {:>8} {:>8} {:>8} {:>8} {:>6} {:>5}",
        "transaction",
        "per second",
        "median",
        "99 %",
        "99.9 %",
        "slowest",
        "verbs",
        "trips"
    );
    rule(text);
    for name in &report.type_order {
        type_line(text, name, &report.per_type[name]);
    }
    rule(text);
    let per_type = report.per_type.values();
    let (ended, snapshot) = per_type.fold((0.0, 0.0), |(ended, snapshot), kind| {
        let weight = (kind.count + kind.rolled_back) as f64;
        (ended + weight, snapshot + weight * kind.snapshot_round_trips)
    });
    let snapshot = snapshot / f64::max(ended, 1.0);
    line!(
        text,
        "  Times include retries. Trips: round trips; {snapshot:.2} more for the snapshot."
    );
    line!(text);
}

fn type_line(text: &mut String, name: &str, kind: &TypeReport) {
    line!(
        text,
        "  {name:<17} {:>10} {:>8} {:>8} {:>8} {:>8} {:>6.1} {:>5.2}",
        rate(kind.per_s),
        duration_us(kind.p50_us),
        duration_us(kind.p99_us),
        duration_us(kind.p999_us),
        duration_us(kind.max_us),
        kind.verbs,
        kind.round_trips
    );
}

fn aborts(text: &mut String, report: &Report) {
    let ended = report.committed + report.rolled_back + report.given_up + report.unknown;
    let attempts = ended + report.retries;
    let percent = 100.0 * report.retries as f64 / attempts.max(1) as f64;
    line!(
        text,
        "  Conflicts: {} of {} attempts had to be repeated ({percent:.3} %)",
        grouped(report.retries),
        grouped(attempts)
    );
    for (reason, &count) in &report.aborts {
        line!(text, "    {reason:<22} {:>12}", grouped(count));
    }
    if report.given_up > 0 {
        line!(text, "    given up for good      {:>12}", grouped(report.given_up));
    }
    if report.unknown > 0 {
        line!(text, "    outcome unknown        {:>12}", grouped(report.unknown));
    }
    line!(text);
}

/// What keeping old versions has cost, if there were any.
fn upkeep(text: &mut String, report: &Report) {
    let engine = &report.engine;
    if engine.versions_moved + engine.buffers_collected + engine.old_version_reads == 0 {
        return;
    }
    line!(
        text,
        "  Old versions: {} read, {} moved away, {} buffers collected",
        grouped(engine.old_version_reads),
        grouped(engine.versions_moved),
        grouped(engine.buffers_collected)
    );
    line!(text);
}

fn memory(text: &mut String, report: &Report) {
    line!(
        text,
        "  {:<17} {:>13} {:>12} {:>12} {:>13}",
        "table",
        "rows",
        "data",
        "memory",
        "memory/data"
    );
    rule(text);
    let share = |used: u64, raw: u64| match raw {
        0 => "-".to_owned(),
        raw => format!("{:.2}", used as f64 / raw as f64),
    };
    for (name, table) in &report.memory.per_table {
        line!(
            text,
            "  {name:<17} {:>13} {:>12} {:>12} {:>13}",
            grouped(table.rows),
            bytes(table.raw_bytes),
            bytes(table.used_bytes),
            share(table.used_bytes, table.raw_bytes)
        );
    }
    rule(text);
    let rows = report.memory.per_table.values().map(|table| table.rows).sum();
    let (raw, used) = (report.memory.raw_bytes, report.memory.used_bytes);
    line!(
        text,
        "  {:<17} {:>13} {:>12} {:>12} {:>13}",
        "all, with system",
        grouped(rows),
        bytes(raw),
        bytes(used),
        share(used, raw)
    );
    line!(text);
}

fn checks(text: &mut String, report: &Report) {
    let held = report.checks.iter().filter(|check| check.ok).count();
    match report.is_sound() {
        true => line!(text, "  The database is consistent: all {held} checks hold."),
        false => line!(
            text,
            "  THE DATABASE IS DAMAGED: {} of {} checks fail.",
            report.checks.len() - held,
            report.checks.len()
        ),
    }
    rule(text);
    for check in &report.checks {
        let mark = if check.ok { "ok  " } else { "FAIL" };
        let detail = grouped_numbers(&check.detail);
        verdict(text, mark, &check.name, &detail);
    }
    line!(text);
    let commit = report.commit;
    line!(text, "  {}", report.machine);
    line!(text, "  commit {commit}, seed {}", report.seed);
}

/// The long numbers of a sentence with their digits grouped.
fn grouped_numbers(sentence: &str) -> String {
    let mut text = String::with_capacity(sentence.len());
    for part in sentence.split_inclusive(|character: char| !character.is_ascii_digit()) {
        let end = part.trim_end_matches(|character: char| !character.is_ascii_digit()).len();
        match part[..end].parse() {
            Ok(number) if end >= 4 => text.push_str(&grouped(number)),
            _ => text.push_str(&part[..end]),
        }
        text.push_str(&part[end..]);
    }
    text
}

fn rule(text: &mut String) {
    line!(text, "  {}", "-".repeat(COLUMNS - 4));
}

/// A mark, a sentence that is broken between words where the line ends, and behind its end, to the right,
/// the detail; a long detail gets lines of its own.
fn verdict(text: &mut String, mark: &str, sentence: &str, detail: &str) {
    let mut lines = broken(sentence, COLUMNS - 9);
    let last = lines.last_mut().expect("a sentence has a line");
    let room = COLUMNS - 9 - last.len();
    if detail.len() + 2 <= room {
        last.push_str(&format!("{detail:>room$}"));
    } else if detail.len() <= COLUMNS - 9 {
        lines.push(format!("{detail:>room$}", room = COLUMNS - 9));
    } else {
        lines.extend(broken(detail, COLUMNS - 13).into_iter().map(|line| format!("    {line}")));
    }
    for (index, line) in lines.iter().enumerate() {
        line!(text, "  {} {line}", if index == 0 { mark } else { "    " });
    }
}

/// A sentence in lines of at most `columns`, unless a word is longer.
fn broken(sentence: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in sentence.split_whitespace() {
        let line = lines.last_mut().expect("there is always one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
