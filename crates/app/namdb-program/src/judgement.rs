//! The report of the history judge, as text and as JSON.
//!
//! Decision: docs/decisions/0249-an-unexpected-success-rate-is-no-damage-exit-code-5.md

use crate::bench::text::{counted, grouped};
use history_judge::witness::{operations_in_words, transaction_in_words};
use history_judge::{Finding, History, Level, Report, Verdict};
use serde::Serialize;
use std::fmt::Write;

/// Maximal number of operations of a witness's transaction in the text.
const OPERATIONS_MAX: usize = 20;

/// The report as JSON.
#[derive(Serialize)]
pub struct Judgement {
    history: String,
    transactions: usize,
    committed: usize,
    aborted: usize,
    unknown: usize,
    unknown_seen: usize,
    sessions: usize,
    keys: usize,
    keys_without_version_order: usize,
    levels: Vec<JudgedLevel>,
    findings: Vec<JudgedFinding>,
}

#[derive(Serialize)]
struct JudgedLevel {
    level: &'static str,
    verdict: String,
    forbidden: Vec<String>,
    reason: Option<&'static str>,
}

#[derive(Serialize)]
struct JudgedFinding {
    anomaly: String,
    source: &'static str,
    summary: String,
    count: u64,
    transactions: Vec<JudgedTransaction>,
    links: Vec<JudgedLink>,
}

#[derive(Serialize)]
struct JudgedTransaction {
    name: String,
    line: u32,
    process: Option<i64>,
    operations: Vec<String>,
}

#[derive(Serialize)]
struct JudgedLink {
    from: String,
    to: String,
    relation: &'static str,
    why: String,
}

impl Judgement {
    /// The report on the requested levels.
    pub fn new(name: &str, history: &History, report: &Report, levels: &[Level]) -> Self {
        let counts = report.counts;
        Self {
            history: name.to_owned(),
            transactions: history.transactions().len(),
            committed: counts.committed,
            aborted: counts.aborted,
            unknown: counts.unknown,
            unknown_seen: counts.unknown_seen,
            sessions: counts.sessions,
            keys: counts.keys,
            keys_without_version_order: counts.unordered_keys,
            levels: levels.iter().map(|&level| JudgedLevel::new(report, level)).collect(),
            findings: told(report, levels)
                .map(|found| JudgedFinding::new(history, found))
                .collect(),
        }
    }
}

impl JudgedLevel {
    fn new(report: &Report, level: Level) -> Self {
        let verdict = report.verdict(level);
        let against = report.against(level);
        Self {
            level: level.name(),
            verdict: verdict.to_string(),
            forbidden: against.map(|found| found.witness.anomaly.to_string()).collect(),
            reason: match verdict {
                Verdict::Unknown(reason) => Some(reason),
                Verdict::Holds | Verdict::Violated => None,
            },
        }
    }
}

impl JudgedFinding {
    fn new(history: &History, found: &Finding) -> Self {
        let witness = &found.witness;
        let transactions = witness.transactions.iter().zip(1..).map(|(&id, number)| {
            let transaction = history.transaction(id);
            JudgedTransaction {
                name: format!("T{number}"),
                line: transaction.line,
                process: transaction.session.map(|session| history.sessions()[session as usize]),
                operations: operations_in_words(history, id, &[]),
            }
        });
        let links = witness.links.iter().map(|link| JudgedLink {
            from: format!("T{}", link.from + 1),
            to: format!("T{}", link.to + 1),
            relation: link.relation.name(),
            why: link.why.clone(),
        });
        Self {
            anomaly: witness.anomaly.to_string(),
            source: witness.anomaly.source(),
            summary: witness.summary.clone(),
            count: found.count,
            transactions: transactions.collect(),
            links: links.collect(),
        }
    }
}

/// The findings that violate one of the levels.
pub fn told<'r>(report: &'r Report, levels: &[Level]) -> impl Iterator<Item = &'r Finding> {
    report
        .findings
        .iter()
        .filter(move |found| levels.iter().any(|level| level.forbids(found.witness.anomaly)))
}

/// The report as text.
pub fn in_words(name: &str, history: &History, report: &Report, levels: &[Level]) -> String {
    let mut text = String::new();
    tell_history(&mut text, name, history, report);
    tell_levels(&mut text, report, levels);
    text.push_str(&findings_in_words(history, report, levels));
    text
}

/// The findings that violate one of the levels: the transactions, and why each precedes the next.
pub fn findings_in_words(history: &History, report: &Report, levels: &[Level]) -> String {
    let mut text = String::new();
    for found in told(report, levels) {
        tell_finding(&mut text, history, found);
    }
    text
}

fn tell_history(text: &mut String, name: &str, history: &History, report: &Report) {
    let counts = report.counts;
    let transactions = counted(history.transactions().len() as u64, "transaction");
    let sessions = counted(counts.sessions as u64, "session");
    let keys = counted(counts.keys as u64, "key");
    let _ = writeln!(text, "{name}: {transactions} in {sessions} on {keys}");
    let _ = write!(
        text,
        "  {} committed, {} aborted",
        grouped(counts.committed as u64),
        grouped(counts.aborted as u64)
    );
    if counts.unknown > 0 {
        let _ = write!(
            text,
            ", {} of unknown outcome ({} certainly took effect)",
            grouped(counts.unknown as u64),
            grouped(counts.unknown_seen as u64)
        );
    }
    text.push('\n');
    if let Some(key) = &report.unordered_key {
        let unordered = counted(counts.unordered_keys as u64, "key");
        let _ = writeln!(
            text,
            "  the history does not determine the version order of {unordered}, such as {key}"
        );
    }
}

fn tell_levels(text: &mut String, report: &Report, levels: &[Level]) {
    let _ = writeln!(text, "\n{:<28} {:<9} forbids, and found", "isolation", "verdict");
    let mut reasons = Vec::new();
    for &level in levels {
        let judged = JudgedLevel::new(report, level);
        let line =
            format!("{:<28} {:<9} {}", level.name(), judged.verdict, judged.forbidden.join(" "));
        let _ = writeln!(text, "{}", line.trim_end());
        if let Some(reason) = judged.reason
            && !reasons.contains(&reason)
        {
            reasons.push(reason);
        }
    }
    for reason in reasons {
        let _ = writeln!(text, "unknown: {reason}");
    }
}

fn tell_finding(text: &mut String, history: &History, found: &Finding) {
    let witness = &found.witness;
    let times = match found.count {
        1 => String::new(),
        count => format!(" ({} times; this is the first)", grouped(count)),
    };
    let (anomaly, source) = (witness.anomaly, witness.anomaly.source());
    let _ = writeln!(text, "\n{anomaly} [{source}]: {}{times}", witness.summary);
    for (&id, number) in witness.transactions.iter().zip(1..) {
        let _ = writeln!(text, "  T{number}: {}", transaction_in_words(history, id));
        let operations = operations_in_words(history, id, &[]);
        // Shortens a long transaction to its relevant operations.
        let operations = match operations.len() > OPERATIONS_MAX {
            true => operations_in_words(history, id, &witness.keys),
            false => operations,
        };
        for operation in operations.iter().take(OPERATIONS_MAX) {
            let _ = writeln!(text, "      {operation}");
        }
        if operations.len() > OPERATIONS_MAX {
            let more = counted((operations.len() - OPERATIONS_MAX) as u64, "operation");
            let _ = writeln!(text, "      and {more} more");
        }
    }
    for link in &witness.links {
        let (from, to) = (link.from + 1, link.to + 1);
        let _ = writeln!(text, "  T{from} -> T{to}  {}: {}", link.relation.name(), link.why);
    }
}
