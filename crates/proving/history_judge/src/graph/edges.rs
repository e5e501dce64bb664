//! Every dependency between transactions that took effect, with its reason.
//!
//! The graph has two kinds of nodes: transactions, and *hubs*. A hub represents "all of these come
//! before all of those", which would otherwise need an edge per pair: the order of real time, the
//! order of a session, and the readers of a version that several writes overwrote in an unknown
//! order. An edge into a hub and one out of it form one dependency.

use super::Relation;
use crate::history::{NEVER, Outcome};
use crate::infer::{INITIAL, NONE, Versions};

/// A dependency, or one half of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    pub from: u32,
    pub to: u32,
    pub relation: Relation,
    /// The version that `from` wrote or read; [`NONE`] if it is irrelevant, or if the other half
    /// has it.
    pub version: u32,
    /// The version that `to` wrote, likewise.
    pub next: u32,
    /// The key, for data dependencies.
    pub key: u32,
}

/// All dependencies of a history.
pub(crate) struct Edges {
    pub all: Vec<Edge>,
    /// Nodes below this are transactions.
    pub transaction_count: u32,
    /// Number of transactions and hubs.
    pub node_count: u32,
}

impl Edges {
    pub(crate) fn new(versions: &Versions<'_>) -> Self {
        let transaction_count = versions.history().transactions().len() as u32;
        let mut edges = Self { all: Vec::new(), transaction_count, node_count: transaction_count };
        edges.add_data(versions);
        edges.add_sessions(versions);
        edges.add_real_time(versions);
        edges
    }

    pub(crate) fn is_hub(&self, node: u32) -> bool {
        node >= self.transaction_count
    }

    fn hub(&mut self) -> u32 {
        self.node_count += 1;
        self.node_count - 1
    }

    fn add(&mut self, from: u32, to: u32, relation: Relation, key: usize, versions: (u32, u32)) {
        if from != to {
            let (version, next) = versions;
            self.all.push(Edge { from, to, relation, version, next, key: key as u32 });
        }
    }

    fn add_order(&mut self, from: u32, to: u32, relation: Relation) {
        self.add(from, to, relation, 0, (NONE, NONE));
    }

    fn add_data(&mut self, versions: &Versions<'_>) {
        let writer = |version: u32| versions.write(version).transaction;
        // For each key, the hub before the blocks after its first, if there are several.
        let mut hubs = vec![NONE; versions.history().key_count()];
        for (key, hub) in hubs.iter_mut().enumerate() {
            let blocks = versions.blocks(key);
            for &block in blocks {
                for pair in versions.chain(block).windows(2) {
                    let (from, to) = (writer(pair[0]), writer(pair[1]));
                    self.add(from, to, Relation::WriteWrite, key, (pair[0], pair[1]));
                }
            }
            let last = versions.chain(blocks[0]).last().copied();
            let others = blocks[1..].iter().map(|&block| versions.chain(block)[0]);
            if let Some(last) = last {
                for first in others.clone() {
                    self.add(writer(last), writer(first), Relation::WriteWrite, key, (last, first));
                }
            }
            if blocks.len() > 2 {
                *hub = self.hub();
                for first in others {
                    self.add(*hub, writer(first), Relation::ReadWrite, key, (NONE, first));
                }
            }
        }
        for read in versions.reads() {
            let (reader, key, version) = (read.transaction, read.key as usize, read.version);
            if version != INITIAL {
                self.add(writer(version), reader, Relation::WriteRead, key, (version, NONE));
            }
            if let Some(next) = versions.next(key, version) {
                self.add(reader, writer(next), Relation::ReadWrite, key, (version, next));
            } else if versions.is_end_of_first(key, version) && !read.is_update {
                match versions.blocks(key) {
                    [_, other] => {
                        let next = versions.chain(*other)[0];
                        self.add(reader, writer(next), Relation::ReadWrite, key, (version, next));
                    }
                    [_, _, ..] => {
                        self.add(reader, hubs[key], Relation::ReadWrite, key, (version, NONE));
                    }
                    _ => {}
                }
            }
        }
    }

    /// One hub after each transaction whose session saw its commit. A transaction with an unknown
    /// outcome may take effect at any later time, so it comes after others of its session, and
    /// before none.
    fn add_sessions(&mut self, versions: &Versions<'_>) {
        let history = versions.history();
        let mut last_hubs = vec![NONE; history.sessions().len()];
        for id in history.ids().filter(|&id| versions.took_effect(id)) {
            let transaction = history.transaction(id);
            let Some(session) = transaction.session else {
                continue;
            };
            let last_hub = last_hubs[session as usize];
            if last_hub != NONE {
                self.add_order(last_hub, id.0, Relation::Session);
            }
            if transaction.outcome == Outcome::Committed {
                let hub = self.hub();
                self.add_order(id.0, hub, Relation::Session);
                if last_hub != NONE {
                    self.add_order(last_hub, hub, Relation::Session);
                }
                last_hubs[session as usize] = hub;
            }
        }
    }

    /// One hub for each run of ends without a beginning between them.
    fn add_real_time(&mut self, versions: &Versions<'_>) {
        let history = versions.history();
        // The transaction that begins or ends at each position: twice its number, plus one for an
        // end.
        let mut events = vec![NONE; history.event_count() + 1];
        for id in history.ids().filter(|&id| versions.took_effect(id)) {
            let transaction = history.transaction(id);
            if transaction.invoked > 0 {
                events[transaction.invoked as usize] = 2 * id.0;
            }
            if transaction.completed != NEVER && transaction.outcome == Outcome::Committed {
                events[transaction.completed as usize] = 2 * id.0 + 1;
            }
        }
        let mut hub = NONE;
        let mut is_run = false;
        for event in events.into_iter().filter(|&event| event != NONE) {
            let (transaction, is_end) = (event / 2, event % 2 == 1);
            if is_end && !is_run {
                let next = self.hub();
                if hub != NONE {
                    self.add_order(hub, next, Relation::RealTime);
                }
                hub = next;
            }
            if is_end {
                self.add_order(transaction, hub, Relation::RealTime);
            } else if hub != NONE {
                self.add_order(hub, transaction, Relation::RealTime);
            }
            is_run = is_end;
        }
    }
}
