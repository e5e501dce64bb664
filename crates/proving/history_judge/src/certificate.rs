//! Proof that a level holds: an order of all transactions, replayed step by step.
//!
//! A graph without cycles shows that its edges do not contradict each other; it does not show that
//! the edges are complete. So the judge accepts a history only after it has put all snapshots and
//! commits into one order that the graph allows, and has replayed them: every read must return the
//! version that the order puts there, and under snapshot isolation no transaction may have
//! overwritten, since a transaction's snapshot, a key that this transaction writes. If the order of
//! versions is known, the replay succeeds whenever the graph has no cycle; otherwise it may fail
//! although another order would succeed, and the verdict is `Unknown`.
//!
//! Decision: docs/decisions/0063-an-isolation-level-holds-only-by-proof.md

use crate::graph::view::{Form, View};
use crate::history::{Kind, TransactionId};
use crate::infer::{INITIAL, Versions};
use crate::schedule::{self, Snapshots};

/// Whether the history can be replayed in an order that the graph allows.
pub(crate) fn certify(versions: &Versions<'_>, view: &View<'_>) -> bool {
    let is_played = |snapshots| {
        let order = schedule::order(versions, view, snapshots);
        order.len() == view.node_count() && Play::new(versions).run(view, &order)
    };
    let is_open = versions.unordered_keys().next().is_some();
    is_played(Snapshots::AtBegin) || is_open && is_played(Snapshots::Late)
}

/// The state of the database during the replay.
struct Play<'a, 'h> {
    versions: &'a Versions<'h>,
    /// The newest version of each key.
    newest: Vec<u32>,
    /// The step at which each key was last written, and at which each transaction took its
    /// snapshot.
    written_at: Vec<u32>,
    snapshot_at: Vec<u32>,
}

impl<'a, 'h> Play<'a, 'h> {
    fn new(versions: &'a Versions<'h>) -> Self {
        let history = versions.history();
        let count = history.transactions().len();
        let keys = history.key_count();
        Self {
            versions,
            newest: vec![INITIAL; keys],
            written_at: vec![0; keys],
            snapshot_at: vec![0; count],
        }
    }

    fn run(&mut self, view: &View<'_>, order: &[u32]) -> bool {
        let nodes = order.iter().filter_map(|&node| view.transaction(node));
        for (step, (transaction, is_commit)) in nodes.enumerate() {
            let id = TransactionId(transaction);
            if !self.versions.took_effect(id) {
                continue;
            }
            let step = step as u32 + 1;
            if view.form == Form::Merged || !is_commit {
                self.snapshot_at[id.index()] = step;
                if !self.sees_newest(id) {
                    return false;
                }
            }
            if is_commit && !self.commit(id, step) {
                return false;
            }
        }
        true
    }

    fn sees_newest(&self, id: TransactionId) -> bool {
        let mut reads = self.versions.reads_of(id).iter();
        reads.all(|read| self.newest[read.key as usize] == read.version)
    }

    /// Makes the transaction's versions the newest; returns false if they do not belong there.
    fn commit(&mut self, id: TransactionId, step: u32) -> bool {
        let versions = self.versions;
        let history = versions.history();
        for operation in history.operations(id) {
            let Some(value) = operation.action.written() else {
                continue;
            };
            let key = operation.key.index();
            if (self.snapshot_at[id.index()] + 1..step).contains(&self.written_at[key]) {
                return false;
            }
            let version = versions.writes().find(key, value).expect("every write has a version");
            let newest = self.newest[key];
            let is_next = match versions.next(key, newest) {
                Some(next) => next == version,
                // A list continues after its longest read; no read shows the order of later
                // elements.
                None if history.kind() == Kind::Lists => versions.writes().position(version) == 0,
                None => true,
            };
            if !is_next {
                return false;
            }
            self.newest[key] = version;
            self.written_at[key] = step;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::cycle::relations;
    use crate::graph::edges::Edges;
    use crate::{Order, infer, read_edn};

    /// Whether transactions, given by their operations, can be replayed in an order of nodes. In
    /// the merged form a node is a transaction; in the split form `2 * transaction` is its
    /// snapshot, and one more its commit.
    fn plays(form: Form, transactions: &[&str], order: &[u32]) -> bool {
        let line = |value: &&str| format!("{{:type :ok :value [{value}]}}\n");
        let text: String = transactions.iter().map(line).collect();
        let history = read_edn(text.as_bytes()).expect("the test wrote EDN");
        let versions = infer::versions(&history).expect("its values are unique");
        let edges = Edges::new(&versions);
        let view = View::new(&edges, form, relations(Order::Data));
        Play::new(&versions).run(&view, order)
    }

    #[test]
    fn reads_must_show_what_the_order_put_there() {
        let transactions = ["[:append 1 5]", "[:r 1 [5]]", "[:r 1 nil]"];
        assert!(plays(Form::Merged, &transactions, &[2, 0, 1]));
        assert!(!plays(Form::Merged, &transactions, &[0, 1, 2]));
        assert!(!plays(Form::Merged, &transactions, &[2, 1, 0]));
    }

    #[test]
    fn appends_must_come_as_they_were_read() {
        // In both orders the read returns the version written last, but only one makes the list.
        let transactions = ["[:append 1 5]", "[:append 1 6]", "[:append 1 7]", "[:r 1 [6 5 7]]"];
        assert!(plays(Form::Merged, &transactions, &[1, 0, 2, 3]));
        assert!(!plays(Form::Merged, &transactions, &[0, 1, 2, 3]));
    }

    #[test]
    fn of_concurrent_writers_one_commits() {
        let transactions = ["[:w 1 5]", "[:w 1 6]"];
        assert!(plays(Form::Split, &transactions, &[0, 1, 2, 3]));
        assert!(!plays(Form::Split, &transactions, &[0, 2, 1, 3]));
        // On different keys both can.
        assert!(plays(Form::Split, &["[:w 1 5]", "[:w 2 6]"], &[0, 2, 1, 3]));
    }
}
