//! The graph of a level of isolation.
//!
//! A serial order has one position per transaction. Snapshot isolation has two: the snapshot that
//! the transaction reads from, and the commit that makes its writes visible [Cerone and Gotsman
//! 2016]. In the split view a transaction is two nodes:
//!
//! ```text
//! snapshot(T) -> commit(T)     of the same transaction
//! commit(A) -> snapshot(B)     ww, wr, sessions, real time: B's snapshot includes A's writes
//! snapshot(A) -> commit(B)     rw: A's snapshot does not include B's write
//! ```
//!
//! After a commit a cycle continues only by an edge of the middle kind, so it has no two adjacent
//! rw edges; and every cycle of transactions without such a pair is a cycle here. A graph without
//! cycles therefore has an order of snapshots and commits as the definition requires.

use super::edges::{Edge, Edges};
use super::{Relation, Relations};

/// The step from a transaction's snapshot to its commit.
pub(crate) const OWN: u32 = u32::MAX;

/// The mapping from transactions to nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// One node per transaction.
    Merged,
    /// Two nodes per transaction: snapshot and commit.
    Split,
}

/// A graph of some of the edges, with the edges of each node adjacent in memory.
pub(crate) struct View<'e> {
    pub edges: &'e Edges,
    pub form: Form,
    starts: Vec<u32>,
    heads: Vec<u32>,
    /// The edge that each head belongs to, or [`OWN`].
    reasons: Vec<u32>,
}

impl<'e> View<'e> {
    pub(crate) fn new(edges: &'e Edges, form: Form, relations: Relations) -> Self {
        let mut view =
            Self { edges, form, starts: Vec::new(), heads: Vec::new(), reasons: Vec::new() };
        let own_count = if form == Form::Split { edges.transaction_count } else { 0 };
        let mut ends = vec![0_u32; view.node_count() + 1];
        let chosen =
            || edges.all.iter().enumerate().filter(|(_, edge)| relations.has(edge.relation));
        for (_, edge) in chosen() {
            ends[view.tail(edge) as usize] += 1;
        }
        for transaction in 0..own_count {
            ends[2 * transaction as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        view.heads = vec![0; sum as usize];
        view.reasons = vec![0; sum as usize];
        let mut put = |tail: u32, head: u32, reason: u32| {
            let place = &mut ends[tail as usize];
            *place -= 1;
            view.heads[*place as usize] = head;
            view.reasons[*place as usize] = reason;
        };
        for (reason, edge) in chosen() {
            put(tail(edges, form, edge), head(edges, form, edge), reason as u32);
        }
        for transaction in 0..own_count {
            put(2 * transaction, 2 * transaction + 1, OWN);
        }
        view.starts = ends;
        view
    }

    pub(crate) fn node_count(&self) -> usize {
        let edges = self.edges;
        match self.form {
            Form::Merged => edges.node_count as usize,
            Form::Split => edges.node_count as usize + edges.transaction_count as usize,
        }
    }

    /// The position of the edges out of a node.
    pub(crate) fn range(&self, node: u32) -> std::ops::Range<usize> {
        self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize
    }

    pub(crate) fn head_at(&self, place: usize) -> u32 {
        self.heads[place]
    }

    pub(crate) fn reason_at(&self, place: usize) -> u32 {
        self.reasons[place]
    }

    /// The node that an edge leaves.
    pub(crate) fn tail(&self, edge: &Edge) -> u32 {
        tail(self.edges, self.form, edge)
    }

    /// The node that an edge enters.
    pub(crate) fn head(&self, edge: &Edge) -> u32 {
        head(self.edges, self.form, edge)
    }

    /// The transaction of a node, and whether the node is its commit; `None` for hubs.
    pub(crate) fn transaction(&self, node: u32) -> Option<(u32, bool)> {
        match self.form {
            Form::Merged if self.edges.is_hub(node) => None,
            Form::Merged => Some((node, true)),
            Form::Split if node >= 2 * self.edges.transaction_count => None,
            Form::Split => Some((node / 2, node % 2 == 1)),
        }
    }
}

fn tail(edges: &Edges, form: Form, edge: &Edge) -> u32 {
    node(edges, form, edge.from, edge.relation != Relation::ReadWrite)
}

fn head(edges: &Edges, form: Form, edge: &Edge) -> u32 {
    node(edges, form, edge.to, edge.relation == Relation::ReadWrite)
}

fn node(edges: &Edges, form: Form, node: u32, is_commit: bool) -> u32 {
    match form {
        Form::Merged => node,
        Form::Split if edges.is_hub(node) => node + edges.transaction_count,
        Form::Split => 2 * node + u32::from(is_commit),
    }
}
