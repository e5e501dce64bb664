//! Promises beyond isolation, which sessions hold the database to.
//!
//! - A snapshot is not too old before its transaction has run for the longest time E. Otherwise
//!   collectors would refuse readers at will, and no history would show it.
//! - A lane that commits and leaves garbage behind collects some of it now and then.

use crate::kind::Kind;
use fabric::Env;
use std::cell::RefCell;
use std::rc::Rc;
use txn::{Abort, Lane, Oracle};

/// A lane with this many commits must have run upkeep.
const COMMITS_MAX: u64 = 17;

/// The promises that sessions have found broken.
#[derive(Clone, Default)]
pub struct BrokenPromises(Rc<RefCell<Vec<String>>>);

impl BrokenPromises {
    pub fn take(&self) -> Vec<String> {
        self.0.take()
    }

    /// Judges the abort of a transaction that has run for `ran_ns`, where E is `longest_ns`.
    ///
    /// Fetched and frozen vectors may be older than the transactions that begin with them, and
    /// lanes that share a slot announce together, so only the other worlds promise E to each. A
    /// promoted replica refuses all snapshots that were taken before.
    pub fn judge_abort(&self, kind: &Kind, abort: Abort, ran_ns: u64, longest_ns: u64) {
        let promises = kind.oracle == Oracle::DoubleCollect && !kind.shares_slot;
        let promises = promises && kind.server_deaths == 0;
        if promises && abort == Abort::SnapshotTooOld && ran_ns < longest_ns {
            self.0.borrow_mut().push(format!("a snapshot was too old after {ran_ns} ns"));
        }
    }

    /// Judges the upkeep of a lane whose last commit has written. Lanes that share a slot may have
    /// nothing to write in their upkeep.
    pub fn judge_upkeep<E: Env>(&self, kind: &Kind, lane: &Lane<E>) {
        let Some(statistics) = lane.statistics().filter(|_| !kind.shares_slot) else { return };
        if statistics.commits >= COMMITS_MAX && statistics.upkeep_verbs == 0 {
            let commits = statistics.commits;
            self.0.borrow_mut().push(format!("no upkeep has followed {commits} commits"));
        }
    }
}
