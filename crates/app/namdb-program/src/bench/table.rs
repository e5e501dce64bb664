//! The report as text for people, in 80 columns.

use super::report::{CheckReport, Report, TypeReport};
use super::text::{bytes, counted, duration_us, grouped, rate, wrapped};
use folder_benchmark::own_words;
use std::fmt::Write;

const COLUMNS: usize = 80;
/// Width of the longest name of a transaction type.
const NAME_COLUMNS: usize = 22;
/// Threads that get less of their processors than this share them with other programs.
const BUSY_SHARE_MIN: f64 = 0.9;
/// A smaller share of kernel time is not reported.
const KERNEL_SHARE_MIN: f64 = 0.02;

/// Draws the whole report.
pub fn draw(report: &Report) -> String {
    let mut text = String::new();
    heading(&mut text, report);
    if report.has_measured() {
        throughput(&mut text, report);
        by_type(&mut text, report, "transaction", &TIMES, "Times include retries.");
        match report.has_messages() {
            true => by_type(&mut text, report, "per transaction", &COSTS_BY_MESSAGE, MESSAGES_NOTE),
            false => by_type(&mut text, report, "per transaction", &COSTS, COSTS_NOTE),
        }
        failures(&mut text, report);
        by_process(&mut text, report);
        aborts(&mut text, report);
        upkeep(&mut text, report);
        directory(&mut text, report);
    }
    if !report.memory.now.per_table.is_empty() {
        memory(&mut text, report);
    }
    checks(&mut text, report);
    text
}

/// Writes a line.
#[macro_export]
macro_rules! line {
    ($text:expr) => { $text.push('\n') };
    ($text:expr, $($format:tt)+) => {
        writeln!($text, $($format)+).expect("a string takes all")
    };
}
pub use crate::line;

/// The title: what was measured, and where.
pub fn title(text: &mut String, workload: &str, parameters: &str, world: &[String]) {
    line!(text, "{}", "=".repeat(COLUMNS));
    let subject = match workload {
        "tpcc" => format!("TPC-C: {parameters}"),
        name => format!("{}: {parameters}", name.to_uppercase()),
    };
    let lines = std::iter::once(&subject).chain(world);
    for part in lines.flat_map(|line| wrapped(line, COLUMNS - 2)) {
        line!(text, " {part}");
    }
    line!(text, "{}", "=".repeat(COLUMNS));
    line!(text);
}

fn heading(text: &mut String, report: &Report) {
    let servers = counted(u64::from(report.servers), "server");
    let threads = counted(u64::from(report.threads), "thread");
    let lanes = match report.lanes > report.threads {
        true => format!(", {} lanes", report.lanes),
        false => String::new(),
    };
    let world = format!(
        "{} isolation, {} oracle, {threads}{lanes}, {servers}, {} fabric, {:.1} s",
        report.isolation, report.oracle, report.fabric, report.seconds
    );
    let mut lines = wrapped(&world, COLUMNS - 2);
    if let Some(limit) = report.rate {
        lines.push(format!("at most {} transactions per second", rate(limit)));
    }
    let after = match report.has_measured() {
        true => format!("after {:.1} s; all figures are up to then", report.seconds),
        false => "before anything was measured".to_owned(),
    };
    if report.is_unreachable {
        let sentence = format!("A MEMORY SERVER WAS LOST {after}.");
        lines.extend(wrapped(&sentence, COLUMNS - 2));
    } else if report.is_out_of_memory {
        let remedy = match report.is_of_this_process() {
            true => "Use --memory or shorten the run.",
            false => {
                "Raise `bytes` of the memory servers in the cluster's file, or shorten the run."
            }
        };
        let sentence = format!("MEMORY RAN OUT {after}. {remedy}");
        lines.extend(wrapped(&sentence, COLUMNS - 2));
    } else if !report.has_measured() {
        lines.push("ended before anything was measured".to_owned());
    } else if report.is_interrupted {
        lines.push("ended early by the user; all figures are up to then".to_owned());
    }
    for lost in &report.lost_compute_servers {
        let sentence =
            format!("COMPUTE SERVER {} WAS LOST; its transactions are not counted.", lost.number);
        lines.extend(wrapped(&sentence, COLUMNS - 2));
    }
    title(text, &report.workload, &report.parameters, &lines);
}

fn throughput(text: &mut String, report: &Report) {
    let committed = rate(report.txn_per_s);
    line!(text, "  {committed:>12}  transactions committed per second");
    if let Some(new_orders) = report.new_order_per_s {
        let per_minute = grouped((new_orders * 60.0).round() as u64);
        let new_orders = rate(new_orders);
        line!(text, "  {new_orders:>12}  new orders per second, {per_minute} per minute");
    }
    let busy = report.cpu_seconds / report.seconds;
    let cost_us = report.cpu_seconds * 1e6 / (report.committed.max(1)) as f64;
    let cost = duration_us(cost_us);
    let spent = duration_us(report.cpu_seconds * 1e6);
    line!(text, "  {cost:>12}  of processor time per transaction");
    line!(text, "  {spent:>12}  of processor time in all, {busy:.2} processors busy");
    if report.kernel_seconds > KERNEL_SHARE_MIN * report.cpu_seconds {
        let kernel = duration_us(report.kernel_seconds * 1e6);
        let why = match report.has_messages() {
            true => "for messages",
            false => "for the first touch of memory",
        };
        line!(text, "  {kernel:>12}  of that in the kernel, mostly {why}");
    }
    // Over a network, a thread that waits is not busy.
    if report.rate.is_none()
        && report.is_of_this_process()
        && busy < BUSY_SHARE_MIN * f64::from(report.threads)
    {
        let threads = counted(u64::from(report.threads), "thread");
        line!(text, "{:16}other programs used the processors: {threads} ran", "");
    }
    if let Some(percent) = report.remote_percent {
        let percent = format!("{percent:.1} %");
        line!(text, "  {percent:>12}  run by a compute server that does not own their rows");
    }
    if let Some(percent) = report.shipped_percent {
        let percent = format!("{percent:.1} %");
        line!(text, "  {percent:>12}  shipped to the compute servers that own their rows");
    }
    if let Some(nothing) = report.found_nothing.filter(|nothing| *nothing > 0) {
        let (nothing, succeeded) = (grouped(nothing), rate(report.succeeded_per_s));
        line!(text, "  {nothing:>12}  of the committed found no row, which counts as failed");
        line!(text, "  {succeeded:>12}  transactions per second succeeded, without those");
    }
    if report.rolled_back > 0 {
        let rolled_back = grouped(report.rolled_back);
        line!(text, "  {rolled_back:>12}  rolled back by the workload's rules");
        let attempted = rate(report.attempted_per_s);
        line!(text, "  {attempted:>12}  transactions attempted per second, with those");
    }
    line!(text);
}

/// A column of the table of transaction types: title, width, and cells.
type TypeColumn = (&'static str, usize, fn(&TypeReport) -> String);

const TIMES: [TypeColumn; 6] = [
    ("committed", 11, |kind| grouped(kind.count)),
    ("per second", 10, |kind| rate(kind.per_s)),
    ("median", 7, |kind| duration_us(kind.p50_us)),
    ("99 %", 7, |kind| duration_us(kind.p99_us)),
    ("99.9 %", 7, |kind| duration_us(kind.p999_us)),
    ("slowest", 7, |kind| duration_us(kind.max_us)),
];

/// Network costs per transaction type.
const COSTS: [TypeColumn; 4] = [
    ("round trips", 11, |kind| format!("{:.2}", kind.round_trips)),
    ("for snapshot", 12, |kind| format!("{:.2}", kind.snapshot_round_trips)),
    ("verbs", 14, |kind| format!("{:.1}", kind.verbs)),
    ("bytes", 13, |kind| grouped(kind.bytes.round() as u64)),
];

/// Network costs per transaction type if verbs travel in messages.
const COSTS_BY_MESSAGE: [TypeColumn; 5] = [
    ("round trips", 11, |kind| format!("{:.2}", kind.round_trips)),
    ("for snapshot", 12, |kind| format!("{:.2}", kind.snapshot_round_trips)),
    ("messages", 8, |kind| format!("{:.2}", kind.messages)),
    ("verbs", 8, |kind| format!("{:.1}", kind.verbs)),
    ("bytes", 11, |kind| grouped(kind.bytes.round() as u64)),
];

const MESSAGES_NOTE: &str = "Includes retries. A message is a request with its response.";

const COSTS_NOTE: &str = "Includes retries. Snapshots have their own column of round trips.";

fn by_type(text: &mut String, report: &Report, title: &str, columns: &[TypeColumn], note: &str) {
    let heads = columns.iter().map(|(head, width, _)| format!(" {head:>width$}"));
    line!(text, "  {title:<NAME_COLUMNS$}{}", heads.collect::<String>());
    rule(text);
    for name in &report.type_order {
        let kind = &report.per_type[name];
        let cells = columns.iter().map(|(_, width, cell)| format!(" {:>width$}", cell(kind)));
        line!(text, "  {name:<NAME_COLUMNS$}{}", cells.collect::<String>());
    }
    rule(text);
    line!(text, "  {note}");
    line!(text);
}

/// Share of transactions that failed by the workload's rules, per type.
fn failures(text: &mut String, report: &Report) {
    let failed = report.type_order.iter().filter_map(|name| {
        let kind = &report.per_type[name];
        let nothing = report.found_nothing.map_or(0, |_| kind.skipped);
        let parts = [(nothing, "found nothing"), (kind.rolled_back, "rolled back")];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> =
            parts.map(|(count, what)| format!("{} {what}", grouped(*count))).collect();
        let percent = 100.0 * (nothing + kind.rolled_back) as f64
            / (kind.count + kind.rolled_back).max(1) as f64;
        (!parts.is_empty()).then(|| format!("{name}: {} ({percent:.2} %)", parts.join(", ")))
    });
    let failed: Vec<String> = failed.collect();
    if failed.is_empty() {
        return;
    }
    line!(text, "  Failed by the workload's rules:");
    failed
        .iter()
        .flat_map(|told| wrapped(told, COLUMNS - 6))
        .for_each(|part| line!(text, "    {part}"));
    line!(text);
}

/// Results per compute server, if there are several.
fn by_process(text: &mut String, report: &Report) {
    if report.compute_servers.is_empty() {
        return;
    }
    line!(
        text,
        "  {:<17} {:>12} {:>12} {:>12} {:>10}",
        "compute server",
        "threads",
        "committed",
        "per second",
        "99 %"
    );
    rule(text);
    for server in &report.compute_servers {
        line!(
            text,
            "  {:<17} {:>12} {:>12} {:>12} {:>10}",
            server.number,
            server.threads,
            grouped(server.committed),
            rate(server.txn_per_s),
            duration_us(server.p99_us)
        );
    }
    rule(text);
    line!(text);
}

fn aborts(text: &mut String, report: &Report) {
    let ended = report.committed + report.rolled_back + report.given_up + report.unknown;
    let attempts = ended + report.retries;
    let percent = 100.0 * report.retries as f64 / attempts.max(1) as f64;
    line!(
        text,
        "  Conflicts: {} of {} attempts were retried ({percent:.3} %)",
        grouped(report.retries),
        grouped(attempts)
    );
    for (reason, &count) in &report.aborts {
        line!(text, "    {reason:<22} {:>12}", grouped(count));
    }
    for name in &report.type_order {
        let reasons = report.per_type[name].aborts.iter();
        let reasons: Vec<String> =
            reasons.map(|(reason, &count)| format!("{reason} {}", grouped(count))).collect();
        if !reasons.is_empty() {
            let lines = wrapped(&format!("in {name}: {}", reasons.join(", ")), COLUMNS - 6);
            lines.iter().for_each(|part| line!(text, "    {part}"));
        }
    }
    if report.given_up > 0 {
        line!(text, "    given up for good      {:>12}", grouped(report.given_up));
    }
    if report.unknown > 0 {
        line!(text, "    outcome unknown        {:>12}", grouped(report.unknown));
    }
    line!(text);
}

/// The cost of keeping old versions, if any were kept.
fn upkeep(text: &mut String, report: &Report) {
    let engine = &report.engine;
    if engine.buffers_given + engine.buffers_in_use + engine.old_version_reads == 0 {
        return;
    }
    line!(
        text,
        "  Old versions: {} read, {} moved to overflow lists",
        grouped(engine.old_version_reads),
        grouped(engine.versions_moved)
    );
    let sentence = format!(
        "Version buffers: {} given to rows, {} collected, {} in use at the end",
        grouped(engine.buffers_given),
        grouped(engine.buffers_collected),
        grouped(engine.buffers_in_use)
    );
    for part in wrapped(&sentence, COLUMNS - 2) {
        line!(text, "  {part}");
    }
    line!(text);
}

fn directory(text: &mut String, report: &Report) {
    let Some(directory) = &report.directory else { return };
    line!(
        text,
        "  Directory: {}, {:.1} transactions in each, {:.2} ms each",
        counted(directory.groups, "sync"),
        directory.txn_per_group,
        directory.group_ms
    );
    let age = match directory.checkpoint_age_s {
        Some(age_s) => format!(", the last one {age_s:.0} s ago"),
        None => String::new(),
    };
    line!(
        text,
        "  Redo log: {} bytes per transaction; {}{age}",
        grouped(directory.log_bytes_per_txn.round() as u64),
        counted(directory.checkpoints, "checkpoint")
    );
    line!(text);
}

fn memory(text: &mut String, report: &Report) {
    line!(text, "  {:<17} {:>40} {:>17}", "", "after the run", "after the load");
    line!(
        text,
        "  {:<17} {:>12} {:>10} {:>10} {:>5} {:>11} {:>5}",
        "table",
        "rows",
        "data",
        "memory",
        "/data",
        "memory",
        "/data"
    );
    rule(text);
    let (now, loaded) = (&report.memory.now, &report.memory.after_load);
    let mut line = |name: &str, rows, (raw, used), (loaded_raw, loaded_used)| {
        line!(
            text,
            "  {name:<17} {:>12} {:>10} {:>10} {:>5} {:>11} {:>5}",
            grouped(rows),
            bytes(raw),
            bytes(used),
            share(used, raw),
            bytes(loaded_used),
            share(loaded_used, loaded_raw)
        );
    };
    for (name, table) in &now.per_table {
        let before = loaded.per_table.get(name);
        let before = before.map_or((0, 0), |table| (table.raw_bytes, table.used_bytes));
        let name = match (table.parts, table.copies) {
            (..=1, ..=1) => name.clone(),
            (..=1, copies) => format!("{name} x {copies}"),
            (parts, _) => format!("{name} in {parts}"),
        };
        line(&name, table.rows, (table.raw_bytes, table.used_bytes), before);
    }
    let rows = now.per_table.values().map(|table| table.rows).sum();
    let before = (loaded.raw_bytes, loaded.used_bytes);
    line("all, with system", rows, (now.raw_bytes, now.used_bytes), before);
    if now.per_table.values().any(|table| table.parts > 1) {
        line!(text, "  NAME in N: a table in N parts, each on a memory server of its own");
    }
    if now.per_table.values().any(|table| table.copies > 1) {
        line!(text, "  NAME x N: a table that N memory servers have all of, each a copy");
    }
    rule(text);
    line!(text);
}

/// Memory as a multiple of the data in it.
fn share(used: u64, raw: u64) -> String {
    match (used as f64 / raw as f64, raw) {
        (_, 0) => "-".to_owned(),
        (share, _) if share > 999.0 => "> 999".to_owned(),
        (share, _) => format!("{share:.2}").chars().take(5).collect(),
    }
}

fn checks(text: &mut String, report: &Report) {
    verdicts(text, &report.checks, &report.problems, report.found_nothing.is_some());
    line!(text);
    let commit = report.commit;
    for part in wrapped(&report.machine, COLUMNS - 4) {
        line!(text, "  {part}");
    }
    line!(text, "  commit {commit}, seed {}", report.seed);
}

/// Results of the checks, and checks that failed to run.
pub fn verdicts(text: &mut String, checks: &[CheckReport], problems: &[String], of_folder: bool) {
    for problem in problems {
        let lines = wrapped(&format!("NOT DONE: {problem}"), COLUMNS - 4);
        lines.iter().for_each(|part| line!(text, "  {part}"));
    }
    let failed = |shows: fn(&CheckReport) -> bool| checks.iter().filter(|&it| shows(it)).count();
    let damages = failed(CheckReport::shows_damage);
    let unexpected = failed(CheckReport::shows_rate);
    let count = checks.len();
    let of_data = checks.iter().filter(|check| !check.is_rate && !check.is_lock).count();
    if damages > 0 {
        line!(text, "  THE DATABASE IS DAMAGED: {damages} of {of_data} checks of its data fail.");
    } else if checks.iter().any(CheckReport::shows_lock) {
        line!(text, "  LEFT LOCKED: a process that has left the cluster or stands still holds");
        line!(text, "  locks. All {of_data} checks of the data hold.");
    } else if !problems.is_empty() {
        line!(text, "  {} could be run and held.", counted((count - unexpected) as u64, "check"));
    } else if unexpected == 0 {
        let checks = match count {
            1 => "its check holds".to_owned(),
            several => format!("all {several} checks hold"),
        };
        line!(text, "  The database is consistent: {checks}.");
    } else {
        line!(text, "  The database is consistent: all {of_data} checks of its data hold.");
    }
    rates(text, unexpected, of_folder);
    rule(text);
    for check in checks {
        let mark = match check {
            check if check.ok => "ok  ",
            check if check.is_rate => "RATE",
            check if check.is_lock => "LOCK",
            _ => "FAIL",
        };
        verdict(text, mark, &check.name, &shown(&check.detail));
    }
}

/// Reports that transactions do not succeed as often as expected, which is no damage.
fn rates(text: &mut String, unexpected: usize, of_folder: bool) {
    if unexpected == 0 {
        return;
    }
    let which = match unexpected {
        1 => "A RATE IS NOT AS EXPECTED".to_owned(),
        several => format!("{several} RATES ARE NOT AS EXPECTED"),
    };
    let why = match of_folder {
        true => {
            "than `succeeds` of workload.toml says. No data are wrong: change it, or what is drawn, or the procedures."
        }
        false => "than the specification says. No data are wrong.",
    };
    let sentence = format!("{which}: transactions succeed more or less often {why}");
    wrapped(&sentence, COLUMNS - 4).iter().for_each(|part| line!(text, "  {part}"));
}

/// The detail of a check, with grouped digits in counts and unchanged row values.
fn shown(detail: &str) -> String {
    let (own, found) = own_words(detail);
    grouped_numbers(own) + found
}

/// Groups the digits of long numbers in a sentence, except after a decimal point.
fn grouped_numbers(sentence: &str) -> String {
    let mut text = String::with_capacity(sentence.len());
    for part in sentence.split_inclusive(|character: char| !character.is_ascii_digit()) {
        let end = part.trim_end_matches(|character: char| !character.is_ascii_digit()).len();
        match part[..end].parse() {
            Ok(number) if end >= 4 && !text.ends_with('.') => text.push_str(&grouped(number)),
            _ => text.push_str(&part[..end]),
        }
        text.push_str(&part[end..]);
    }
    text
}

fn rule(text: &mut String) {
    line!(text, "  {}", "-".repeat(COLUMNS - 4));
}

/// A mark and a sentence wrapped between words, with the detail right-aligned behind its end; a
/// long detail gets its own lines.
fn verdict(text: &mut String, mark: &str, sentence: &str, detail: &str) {
    let mut lines = wrapped(sentence, COLUMNS - 9);
    let last = lines.last_mut().expect("a sentence has a line");
    let room = COLUMNS - 9 - last.len();
    if detail.len() + 2 <= room {
        last.push_str(&format!("{detail:>room$}"));
    } else if detail.len() <= COLUMNS - 9 {
        lines.push(format!("{detail:>room$}", room = COLUMNS - 9));
    } else {
        lines.extend(wrapped(detail, COLUMNS - 13).into_iter().map(|line| format!("    {line}")));
    }
    for (index, line) in lines.iter().enumerate() {
        line!(text, "  {} {line}", if index == 0 { mark } else { "    " });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_but_for_those_behind_a_point() {
        for (sentence, grouped) in [
            ("12345 of 1000 calls", "12,345 of 1,000 calls"),
            ("a share of 0.6723; 0.59 to 1234.5678", "a share of 0.6723; 0.59 to 1,234.5678"),
            ("999 rows.", "999 rows."),
        ] {
            assert_eq!(grouped_numbers(sentence), grouped);
        }
    }

    #[test]
    fn rows_are_shown_as_they_are() {
        for (detail, expected) in [
            (
                "12000 rows are wrong: first id 11999, code 004912345678, opened 2024-02-29",
                "12,000 rows are wrong: first id 11999, code 004912345678, opened 2024-02-29",
            ),
            (
                "it ends with SQLSTATE 22003: 123456 is too large",
                "it ends with SQLSTATE 22003: 123456 is too large",
            ),
            ("12000 before the run", "12,000 before the run"),
        ] {
            assert_eq!(shown(detail), expected);
        }
    }
}
