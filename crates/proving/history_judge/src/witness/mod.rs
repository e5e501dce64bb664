//! Witnesses: the few transactions that prove an anomaly, and why each comes before the next.
//!
//! ```text
//! words.rs    as sentences
//! dot.rs      as a graph for Graphviz
//! svg.rs      as a picture
//! ```

mod dot;
mod svg;
mod words;

pub use dot::write_dot;
pub use svg::write_svg;
pub(crate) use words::list_in_words;
pub use words::{operations_in_words, transaction_in_words};

use crate::anomaly::{Anomaly, Order};
use crate::graph::Relation;
use crate::graph::cycle::{Cycle, Dependency};
use crate::history::{KeyId, TransactionId};
use crate::infer::{INITIAL, NONE, Versions};

/// The proof of an anomaly. Its transactions are called `T1`, `T2` and so on, by their positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    pub anomaly: Anomaly,
    pub transactions: Vec<TransactionId>,
    /// A sentence that describes the anomaly.
    pub summary: String,
    /// The reasons why transactions come before others.
    pub links: Vec<Link>,
    /// The relevant keys.
    pub keys: Vec<KeyId>,
}

/// One transaction comes before another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The index of the first in [`Witness::transactions`].
    pub from: usize,
    /// The index of the second.
    pub to: usize,
    /// The kind of the reason.
    pub relation: Relation,
    /// The reason, in a sentence.
    pub why: String,
}

/// The witness of a cycle. It begins with the transaction that ended first.
pub(crate) fn of_cycle(versions: &Versions<'_>, anomaly: Anomaly, cycle: &Cycle) -> Witness {
    let history = versions.history();
    let ended = |dependency: &Dependency| {
        let id = TransactionId(dependency.from);
        (history.transaction(id).completed, id)
    };
    let first = (0..cycle.len()).min_by_key(|&place| ended(&cycle[place])).unwrap_or(0);
    let mut cycle = cycle.clone();
    cycle.rotate_left(first);
    let count = cycle.len();
    let links = cycle.iter().enumerate().map(|(place, dependency)| {
        let (from, to) = (place, (place + 1) % count);
        let why = reason(versions, dependency, from + 1, to + 1);
        Link { from, to, relation: dependency.relation, why }
    });
    let by = match anomaly.order {
        Order::Data => "",
        Order::Session => " (by the order of sessions)",
        Order::RealTime => " (by the order of real time)",
    };
    Witness {
        anomaly,
        transactions: cycle.iter().map(|dependency| TransactionId(dependency.from)).collect(),
        summary: format!("{}{by}", anomaly.meaning()),
        links: links.collect(),
        keys: keys_of(&cycle),
    }
}

fn keys_of(cycle: &[Dependency]) -> Vec<KeyId> {
    let is_data = |dependency: &&Dependency| {
        !matches!(dependency.relation, Relation::Session | Relation::RealTime)
    };
    let mut keys: Vec<KeyId> =
        cycle.iter().filter(is_data).map(|dependency| KeyId(dependency.key)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The title of a witness.
fn title(witness: &Witness) -> String {
    format!("{} [{}]", witness.anomaly, witness.anomaly.source())
}

/// The reason why `T{from}` comes before `T{to}`.
fn reason(versions: &Versions<'_>, dependency: &Dependency, from: usize, to: usize) -> String {
    let history = versions.history();
    let key = || history.key_name(KeyId(dependency.key));
    let value = |version: u32| versions.write(version).value;
    let Dependency { version, next, .. } = *dependency;
    match dependency.relation {
        Relation::WriteWrite => format!(
            "T{from} wrote {} to key {}, and T{to} wrote {} behind it",
            value(version),
            key(),
            value(next)
        ),
        Relation::WriteRead => {
            format!("T{from} wrote {} to key {}, which T{to} read", value(version), key())
        }
        Relation::ReadWrite => {
            let seen = match version {
                INITIAL => "before any write".to_owned(),
                NONE => "as it was".to_owned(),
                version => format!("with {} written last", value(version)),
            };
            format!(
                "T{from} read key {} {seen}, and did not see that T{to} wrote {}",
                key(),
                value(next)
            )
        }
        Relation::Session => format!("T{from} ended before T{to} began in the same session"),
        Relation::RealTime => format!("T{from} had ended before T{to} began"),
    }
}
