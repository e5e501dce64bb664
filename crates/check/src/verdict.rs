//! The judge: which levels of isolation a history is of, and what it has that others forbid.

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

/// Whether a history is of a level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is: an order of all its transactions was found and played through.
    Holds,
    /// It is not: it has at least one anomaly that the level forbids.
    Violated,
    /// The history does not tell, for this reason.
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
    /// How often it was met; cycles count once.
    pub count: u64,
}

/// What was judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Transactions that committed.
    pub committed: usize,
    /// Transactions that aborted.
    pub aborted: usize,
    /// Transactions without a known outcome.
    pub unknown: usize,
    /// Those of them that took effect, because others have read what they wrote.
    pub unknown_seen: usize,
    /// Keys.
    pub keys: usize,
    /// Keys whose versions are not all in a known order.
    pub unordered_keys: usize,
    /// Sessions.
    pub sessions: usize,
}

/// What the judge has to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The verdict on each level, in the order of [`Level::ALL`].
    verdicts: Vec<Verdict>,
    /// What was found, worst first.
    pub findings: Vec<Finding>,
    /// How much was judged.
    pub counts: Counts,
    /// A key whose versions are not all in a known order.
    pub unordered_key: Option<String>,
}

impl Report {
    /// The verdict on a level.
    pub fn verdict(&self, level: Level) -> &Verdict {
        &self.verdicts[level as usize]
    }

    /// The anomalies that a level forbids.
    pub fn against(&self, level: Level) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| level.forbids(finding.witness.anomaly))
    }

    /// The anomalies found.
    pub fn anomalies(&self) -> impl Iterator<Item = Anomaly> + '_ {
        self.findings.iter().map(|finding| finding.witness.anomaly)
    }
}

/// Judges a history.
pub fn judge(history: &History) -> Result<Report, HistoryError> {
    let versions = infer::versions(history)?;
    let edges = Edges::new(&versions);
    let serial = cycle::weakest_cyclic(&edges, Form::Merged);
    // Without a cycle of transactions there is none of their halves.
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
    // Strong levels first: what holds there holds below, and is not played again.
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

const UNORDERED: &str = "nothing speaks against it, but the history does not tell the order of all \
                         versions, and the orders that were tried do not explain every read";
const NO_TIME: &str =
    "nothing speaks against it, but the history does not tell what ended before what began";
const NO_SESSIONS: &str = "nothing speaks against it, but the history has no sessions";

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
