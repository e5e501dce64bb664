//! The judge: which levels of isolation a history satisfies, and which anomalies violate the
//! others.
//!
//! Decision: docs/decisions/0063-an-isolation-level-holds-only-by-proof.md

use crate::anomaly::{Anomaly, Level, Order};
use crate::certificate;
use crate::error::HistoryError;
use crate::graph::cycle;
use crate::graph::edges::Edges;
use crate::graph::view::{Form, View};
use crate::history::{History, KeyId, Outcome};
use crate::infer::{self, Versions};
use crate::witness::{self, Witness};
use std::fmt;

/// The verdict on a level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The history satisfies it: an order of all its transactions was found and replayed.
    Holds,
    /// The history violates it: it has at least one anomaly that the level forbids.
    Violated,
    /// The history does not determine it, for this reason.
    Unknown(&'static str),
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::Unknown(_) => "unknown",
        })
    }
}

/// An anomaly that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The shortest witness found.
    pub witness: Witness,
    /// The number of occurrences; cycles count once.
    pub count: u64,
}

/// Counts of a judged history.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub committed: usize,
    pub aborted: usize,
    /// Transactions without a known outcome.
    pub unknown: usize,
    /// Those of them that took effect, because other transactions have read their writes.
    pub unknown_seen: usize,
    pub keys: usize,
    /// Keys whose versions are not totally ordered.
    pub unordered_keys: usize,
    pub sessions: usize,
}

/// The result of the judge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The verdict on each level, in the order of [`Level::ALL`].
    verdicts: Vec<Verdict>,
    /// The anomalies, worst first.
    pub findings: Vec<Finding>,
    pub counts: Counts,
    /// A key whose versions are not totally ordered.
    pub unordered_key: Option<String>,
}

impl Report {
    pub fn verdict(&self, level: Level) -> &Verdict {
        &self.verdicts[level as usize]
    }

    /// The findings that a level forbids.
    pub fn against(&self, level: Level) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| level.forbids(finding.witness.anomaly))
    }

    pub fn anomalies(&self) -> impl Iterator<Item = Anomaly> + '_ {
        self.findings.iter().map(|finding| finding.witness.anomaly)
    }
}

pub fn judge(history: &History) -> Result<Report, HistoryError> {
    let versions = infer::versions(history)?;
    let edges = Edges::new(&versions);
    let serial = cycle::weakest_cyclic(&edges, Form::Merged);
    // A graph without cycles of transactions has none of snapshots and commits.
    let snapshot = serial.and_then(|_| cycle::weakest_cyclic(&edges, Form::Split));
    let mut findings: Vec<Finding> = versions
        .slips()
        .map(|(witness, count)| Finding { witness: witness.clone(), count })
        .collect();
    let cycles = cycle::find(&edges, snapshot, serial);
    findings.extend(cycles.into_iter().map(|(anomaly, cycle)| {
        let witness = witness::of_cycle(&versions, anomaly, &cycle);
        Finding { witness, count: 1 }
    }));
    let verdicts = verdicts(&versions, &edges, &findings);
    let unordered_key = versions.unordered_keys().next();
    let unordered_key = unordered_key.map(|key| history.key_name(KeyId(key as u32)).to_owned());
    Ok(Report { verdicts, findings, counts: counts(&versions), unordered_key })
}

fn verdicts(versions: &Versions<'_>, edges: &Edges, findings: &[Finding]) -> Vec<Verdict> {
    let history = versions.history();
    let mut holds: Vec<Level> = Vec::new();
    let mut verdicts = vec![Verdict::Violated; Level::ALL.len()];
    // Strong levels first: a level that holds implies the weaker ones, which need no replay.
    for level in Level::ALL.into_iter().rev() {
        let is_violated = findings.iter().any(|finding| level.forbids(finding.witness.anomaly));
        if is_violated {
            continue;
        }
        let is_certain = holds.iter().any(|stronger| stronger.implies(level)) || {
            let form = if level.is_serial() { Form::Merged } else { Form::Split };
            let view = View::new(edges, form, cycle::relations(level.order()));
            certificate::certify(versions, &view)
        };
        if is_certain {
            holds.push(level);
        }
        verdicts[level as usize] = match level.order() {
            _ if !is_certain => Verdict::Unknown(UNORDERED),
            Order::RealTime if !history.has_real_time() => Verdict::Unknown(NO_TIME),
            Order::Session if history.sessions().is_empty() => Verdict::Unknown(NO_SESSIONS),
            _ => Verdict::Holds,
        };
    }
    verdicts
}

const UNORDERED: &str = "no anomaly was found, but the history does not determine the order of all \
                         versions, and the orders that were tried do not explain every read";
const NO_TIME: &str =
    "no anomaly was found, but the history does not order ends and beginnings in time";
const NO_SESSIONS: &str = "no anomaly was found, but the history has no sessions";

fn counts(versions: &Versions<'_>) -> Counts {
    let history = versions.history();
    let mut counts = Counts {
        keys: history.key_count(),
        unordered_keys: versions.unordered_keys().count(),
        sessions: history.sessions().len(),
        ..Counts::default()
    };
    for id in history.ids() {
        match history.transaction(id).outcome {
            Outcome::Committed => counts.committed += 1,
            Outcome::Aborted => counts.aborted += 1,
            Outcome::Unknown => {
                counts.unknown += 1;
                counts.unknown_seen += usize::from(versions.took_effect(id));
            }
        }
    }
    counts
}
