//! Proof that a level holds: an order of all transactions, carried out step by step.
//!
//! That a graph has no cycle shows that its edges contradict nothing; not that there are no further ones.
//! So the judge acquits only after it has laid all snapshots and commits in one order that the graph
//! allows, and has played them through: every read must show the version that the order put there, and
//! under snapshot isolation nobody may have overwritten what a transaction writes since its snapshot.
//! Where the order of versions is known the play succeeds whenever the graph has no cycle; where it is
//! not, it may fail though some other order would do, and the judge says that it does not know.

use crate::graph::view::{Form, View};
use crate::history::{Kind, TransactionId};
use crate::infer::{INITIAL, Versions};
use crate::schedule::{self, Snapshots};

/// Whether the history can be played in an order that the graph allows.
pub(crate) fn certify(versions: &Versions<'_>, view: &View<'_>) -> bool {
    let is_played = |snapshots| {
        let order = schedule::order(versions, view, snapshots);
        order.len() == view.node_count() && Play::new(versions).run(view, &order)
    };
    let is_open = versions.unordered_keys().next().is_some();
    is_played(Snapshots::AtBegin) || is_open && is_played(Snapshots::Late)
}

/// The database as the order would have it.
struct Play<'a, 'h> {
    versions: &'a Versions<'h>,
    /// The newest version of each key.
    newest: Vec<u32>,
    /// The step at which each key was written last, and each transaction took its snapshot.
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

    /// Makes the transaction's versions the newest, unless that is not where they belong.
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
                // A list goes on where its longest ends; nobody has read what comes then.
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

    /// Whether transactions, given by their operations, can be played in an order of nodes: without a
    /// view of halves, of transactions; with it, `2 * transaction` is a snapshot, and one more a commit.
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
        // In both orders the read shows the version written last, but only one makes the list.
        let transactions = ["[:append 1 5]", "[:append 1 6]", "[:append 1 7]", "[:r 1 [6 5 7]]"];
        assert!(plays(Form::Merged, &transactions, &[1, 0, 2, 3]));
        assert!(!plays(Form::Merged, &transactions, &[0, 1, 2, 3]));
    }

    #[test]
    fn of_concurrent_writers_one_commits() {
        let transactions = ["[:w 1 5]", "[:w 1 6]"];
        assert!(plays(Form::Split, &transactions, &[0, 1, 2, 3]));
        assert!(!plays(Form::Split, &transactions, &[0, 2, 1, 3]));
        // Of different keys both do.
        assert!(plays(Form::Split, &["[:w 1 5]", "[:w 2 6]"], &[0, 2, 1, 3]));
    }
}
