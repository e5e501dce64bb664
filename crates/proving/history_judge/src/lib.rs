//! A judge of histories: from the operations that the clients of a database recorded, it determines
//! which levels of isolation the history satisfies and which it violates, with a proof that a
//! person can follow.
//!
//! It is independent of the database: of its code, its protocol and its clocks. A history has the
//! reads and writes of each transaction, its session, its beginning and end, and its outcome; an
//! unknown outcome is judged as whatever it may have been. See [`history`] for its parts, and
//! [`anomaly`] for the anomalies and their definitions.
//!
//! ```
//! let text = b"
//! {:type :ok, :process 0, :value [[:r :x nil] [:append :y 1]]}
//! {:type :ok, :process 1, :value [[:r :y nil] [:append :x 1]]}";
//! let history = history_judge::read_edn(text)?;
//! let report = history_judge::judge(&history)?;
//! // Each misses the other's write: snapshot isolation allows it, no serial order does.
//! assert_eq!(report.verdict(history_judge::Level::Snapshot), &history_judge::Verdict::Holds);
//! let serializable = report.verdict(history_judge::Level::Serializable);
//! assert_eq!(serializable, &history_judge::Verdict::Violated);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! file -> edn, text -> history -> infer -> graph -> cycles -> findings -> witness
//!                                  |         |
//!                                  |         +-> schedule, certificate -> verdict
//!                                  +-> slips of single transactions
//! ```
//!
//! All steps are linear in the size of the history, except for sorting and for the search for short
//! cycles, which has a budget.
//!
//! Decision: docs/decisions/0065-the-judge-does-not-depend-on-the-engine.md
#![forbid(unsafe_code)]

pub mod anomaly;
mod certificate;
mod edn;
mod error;
mod graph;
pub mod history;
mod infer;
mod merge;
mod schedule;
mod text;
mod verdict;
pub mod witness;

pub use anomaly::{Anomaly, Level, Order, Shape};
pub use edn::{read_edn, write_edn};
pub use error::{HistoryError, ParseError};
pub use graph::Relation;
pub use history::{History, HistoryBuilder, KeyId, Outcome, TransactionId};
pub use merge::merge;
pub use text::{TextError, read_text, write_text};
pub use verdict::{Counts, Finding, Report, Verdict, judge};
pub use witness::{Link, Witness};
