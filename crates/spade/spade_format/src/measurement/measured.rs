//! What came out of measuring a point. Numbers that are not counted keep six digits, so that what is read from a file is
//! written again with the same bytes.
//!
//! Decision: docs/decisions/0192-measured-points-contain-demands-not-only-rates.md

use serde::{Deserialize, Serialize};

/// Digits that measured numbers keep.
const DIGITS: usize = 6;

/// A figure over several repetitions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// The middle one; of an even number the mean of both in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// One lane, while nobody else does anything.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alone {
    /// Half of the operations took at most so many nanoseconds.
    pub median_ns: Spread,
    /// 99 of 100 did.
    pub p99_ns: Spread,
}

/// All lanes, one operation after the other.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loaded {
    /// Operations that committed per second, of the whole cluster.
    pub operations_per_s: Spread,
    /// The same, of each thread that carries out operations.
    pub per_thread_per_s: Spread,
    /// Half of the operations took at most so many nanoseconds.
    pub median_ns: Spread,
    /// 99 of 100 did.
    pub p99_ns: Spread,
    /// Attempts that were aborted and made again, for each operation.
    pub aborts: f64,
    /// The stage of a simulated machine that is busiest, with the share of the time; nothing elsewhere.
    pub busiest: Option<(String, f64)>,
    /// What became of old versions, where lanes change few rows by turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Moved>,
}

/// What becomes of old versions where rows are changed again and again.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// The share of changes that had to move an old version away first, since somebody may still need it.
    pub share: f64,
    /// Nanoseconds from one change of a row to its next.
    pub again_ns: f64,
}

/// What one operation takes, measured while it is alone: what it takes of a party is the same under load, as long as it
/// need not be tried again.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Verbs of the requester, calls included.
    pub verbs: f64,
    /// Bytes moved by them, both ways, without headers.
    pub bytes: f64,
    /// Round trips of the requester, one after the other.
    pub round_trips: f64,
    /// Calls among the verbs.
    pub calls: f64,
    /// Requests that cards take for it, of all parties: a row that is installed may take several, a message and its
    /// answer take one each. None where no cards carry verbs.
    pub card_requests: Option<f64>,
    /// The machine whose lane it is; of fabrics that are not simulated, the process.
    pub requester: Demand,
    /// The machine that has the rows, where that is another; none where it is the same or could not be told apart.
    pub owner: Option<Demand>,
    /// All further machines together: the oracle's, and those with replicas.
    pub others: Option<Demand>,
}

/// Times that an operation takes of a machine, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// Of its cores.
    pub core_ns: f64,
    /// Of its card's engine, for what it issues and serves.
    pub engine_ns: f64,
    /// Of its card's unit for atomics.
    pub atomics_ns: f64,
    /// Of its link, outwards.
    pub link_out_ns: f64,
    /// Of its link, inwards.
    pub link_in_ns: f64,
    /// Of its bus, from memory to the card.
    pub from_memory_ns: f64,
    /// Of its bus, from the card to memory.
    pub to_memory_ns: f64,
}

/// All of a point.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// One lane alone.
    pub alone: Alone,
    /// All lanes.
    pub loaded: Loaded,
    /// What one operation takes.
    pub service: Service,
}

impl Spread {
    /// Of these repetitions.
    ///
    /// # Panics
    /// If there is none.
    pub fn of(repetitions: &[f64]) -> Self {
        let mut sorted = repetitions.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
        let middle = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        Self { median: rounded(middle), min: rounded(first), max: rounded(last) }
    }
}

impl Demand {
    /// The demand with all its figures rounded.
    pub fn rounded(self) -> Self {
        Self {
            core_ns: rounded(self.core_ns),
            engine_ns: rounded(self.engine_ns),
            atomics_ns: rounded(self.atomics_ns),
            link_out_ns: rounded(self.link_out_ns),
            link_in_ns: rounded(self.link_in_ns),
            from_memory_ns: rounded(self.from_memory_ns),
            to_memory_ns: rounded(self.to_memory_ns),
        }
    }
}

/// The number with six digits, as a file keeps it.
pub fn rounded(value: f64) -> f64 {
    let text = format!("{value:.*e}", DIGITS - 1);
    text.parse().expect("a formatted number is one")
}
