//! The results of a measured point. Measured figures keep six digits, so that a file that is read
//! and written again has the same bytes.
//!
//! Decision: docs/decisions/0192-measured-points-contain-demands-not-only-rates.md

use serde::{Deserialize, Serialize};

/// Digits of a measured figure.
const DIGITS: usize = 6;

/// A figure over several repetitions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// The median; of an even number of repetitions, the mean of the middle two.
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// Results of one lane while all others are idle.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alone {
    /// Median latency in nanoseconds.
    pub median_ns: Spread,
    /// 99th percentile of the latency in nanoseconds.
    pub p99_ns: Spread,
}

/// Results while all lanes execute operations back to back.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loaded {
    /// Committed operations per second of the whole cluster.
    pub operations_per_s: Spread,
    /// Committed operations per second of each executing thread.
    pub per_thread_per_s: Spread,
    /// Median latency in nanoseconds.
    pub median_ns: Spread,
    /// 99th percentile of the latency in nanoseconds.
    pub p99_ns: Spread,
    /// Retries (aborted attempts) per operation.
    pub aborts: f64,
    /// The busiest stage of a simulated machine and the share of time that it is busy. `None` on
    /// real hardware.
    pub busiest: Option<(String, f64)>,
    /// Moves of old versions, if each lane updates few rows in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Moved>,
}

/// How often repeated updates of a row move old versions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// The share of updates that first had to move an old version to the overflow list, because a
    /// snapshot may still need it.
    pub share: f64,
    /// Nanoseconds from one update of a row to its next.
    pub again_ns: f64,
}

/// The service demands of one operation, measured while it is alone. They are the same under load,
/// except for retries.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Verbs of the requester, including calls.
    pub verbs: f64,
    /// Bytes that these verbs move in both directions, without headers.
    pub bytes: f64,
    /// Sequential round trips of the requester.
    pub round_trips: f64,
    /// Calls among the verbs.
    pub calls: f64,
    /// Requests that the cards of all parties process for it: an installed row may need several; a
    /// message and its response are one each. `None` if no card executes verbs.
    pub card_requests: Option<f64>,
    /// The machine that executes the operation; on a real fabric, the process.
    pub requester: Demand,
    /// The machine with the rows. `None` if it is the requester, or could not be measured apart.
    pub owner: Option<Demand>,
    /// All further machines together: the oracle's, and those with replicas.
    pub others: Option<Demand>,
}

/// Service times of one operation at the stages of a machine, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// Processor cores.
    pub core_ns: f64,
    /// The card's processing units, for issued and served verbs.
    pub engine_ns: f64,
    /// The card's unit for atomics.
    pub atomics_ns: f64,
    /// Outbound link.
    pub link_out_ns: f64,
    /// Inbound link.
    pub link_in_ns: f64,
    /// Bus, from memory to the card.
    pub from_memory_ns: f64,
    /// Bus, from the card to memory.
    pub to_memory_ns: f64,
}

/// All results of a point.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    pub alone: Alone,
    /// All lanes busy.
    pub loaded: Loaded,
    /// Service demands of one operation.
    pub service: Service,
}

impl Spread {
    /// Median and range of repetitions.
    ///
    /// # Panics
    /// If `repetitions` is empty.
    pub fn of(repetitions: &[f64]) -> Self {
        let mut sorted = repetitions.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
        let middle = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        Self { median: rounded(middle), min: rounded(first), max: rounded(last) }
    }
}

impl Demand {
    /// Rounds each figure as files do.
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

/// Rounds to six digits, as files do.
pub fn rounded(value: f64) -> f64 {
    let text = format!("{value:.*e}", DIGITS - 1);
    text.parse().expect("a formatted number is one")
}
