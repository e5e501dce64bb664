//! An order of all snapshots and commits of a history, built from its end.
//!
//! The order agrees with a graph without cycles: a node is placed after all its successors are.
//! Commits are placed in the order in which clients learned of them, as far as possible. If the
//! graph does not determine the order of a key's versions, two rules do:
//!
//! - Between a read and the write whose version it returns, no other write of the key is placed:
//!   the key is *held*.
//! - Under snapshot isolation, between a commit and its snapshot, no other commit that writes the
//!   same key is placed: the key is *locked*.
//!
//! A node that may not be placed yet waits for the key. If all remaining nodes wait, other orders
//! may exist, but none is returned.

use crate::graph::view::{Form, View};
use crate::history::{History, Transaction, TransactionId};
use crate::infer::{NONE, Versions};
use std::collections::BinaryHeap;

/// The preferred position of snapshots, as far as the rules permit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Snapshots {
    /// At the beginnings of their transactions, which is close to the truth.
    AtBegin,
    /// As late as possible, so that few transactions overlap.
    Late,
}

/// The number of failed attempts to place a node before the search gives up.
const ATTEMPTS_MAX: usize = 20_000_000;

/// The nodes in their order; not all of them, if no order was found.
pub(crate) fn order(versions: &Versions<'_>, view: &View<'_>, snapshots: Snapshots) -> Vec<u32> {
    let nodes = view.node_count() as u32;
    let keys = versions.history().key_count();
    let mut schedule = Schedule {
        versions,
        view,
        snapshots,
        // If all versions are ordered, the graph implies the rules.
        has_rules: versions.unordered_keys().next().is_some(),
        waits_for: (0..nodes).map(|node| view.range(node).len() as u32).collect(),
        timed: BinaryHeap::new(),
        at_once: Vec::new(),
        held: vec![NONE; keys],
        locks: vec![NONE; keys],
        waiting: vec![Vec::new(); keys],
        attempts_left: ATTEMPTS_MAX,
    };
    let mut order = schedule.run();
    order.reverse();
    order
}

struct Schedule<'a, 'h> {
    versions: &'a Versions<'h>,
    view: &'a View<'a>,
    snapshots: Snapshots,
    has_rules: bool,
    /// The number of successors of each node that are not yet placed.
    waits_for: Vec<u32>,
    /// Nodes that may be placed, with their times.
    timed: BinaryHeap<(u32, u32)>,
    /// Nodes that are placed as soon as possible.
    at_once: Vec<u32>,
    /// The version of each key that a placed read returns, until its write is placed.
    held: Vec<u32>,
    /// The transaction whose commit writes each key, until its snapshot is placed.
    locks: Vec<u32>,
    /// The nodes that wait for each key.
    waiting: Vec<Vec<u32>>,
    attempts_left: usize,
}

impl<'h> Schedule<'_, 'h> {
    fn run(&mut self) -> Vec<u32> {
        let backward = Backward::new(self.view);
        for node in 0..self.view.node_count() as u32 {
            if self.waits_for[node as usize] == 0 {
                self.push(node);
            }
        }
        let mut order = Vec::with_capacity(self.view.node_count());
        while let Some(node) = self.pop() {
            if self.has_rules && !self.try_to_place(node) {
                continue;
            }
            order.push(node);
            for &tail in backward.tails(node) {
                self.waits_for[tail as usize] -= 1;
                if self.waits_for[tail as usize] == 0 {
                    self.push(tail);
                }
            }
        }
        order
    }

    fn history(&self) -> &'h History {
        self.versions.history()
    }

    fn push(&mut self, node: u32) {
        let Some((transaction, is_commit)) = self.view.transaction(node) else {
            return self.at_once.push(node);
        };
        let Transaction { invoked, completed, .. } =
            self.history().transactions()[transaction as usize];
        let is_read = || self.last_writes(TransactionId(transaction)).next().is_none();
        match self.snapshots {
            Snapshots::Late if !is_commit => self.at_once.push(node),
            // A read-only transaction commits at its snapshot.
            Snapshots::AtBegin if !is_commit || is_read() => self.timed.push((invoked, node)),
            _ => self.timed.push((completed, node)),
        }
    }

    fn pop(&mut self) -> Option<u32> {
        self.at_once.pop().or_else(|| self.timed.pop().map(|(_, node)| node))
    }

    /// Places a node if the rules permit it; otherwise lets it wait.
    fn try_to_place(&mut self, node: u32) -> bool {
        let Some((transaction, is_commit)) = self.view.transaction(node) else {
            return true;
        };
        let id = TransactionId(transaction);
        if !self.versions.took_effect(id) {
            return true;
        }
        let is_merged = self.view.form == Form::Merged;
        let obstacle = if is_commit { self.write_obstacle(id) } else { None };
        let obstacle = obstacle.or_else(|| {
            if is_merged || !is_commit { self.read_obstacle(id, is_merged) } else { None }
        });
        if let Some(key) = obstacle {
            self.attempts_left = self.attempts_left.saturating_sub(1);
            if self.attempts_left > 0 {
                self.waiting[key].push(node);
            }
            return false;
        }
        if is_commit {
            self.place_writes(id, is_merged);
        }
        if is_merged || !is_commit {
            self.place_reads(id, is_merged);
        }
        true
    }

    /// The last version that a transaction makes of each of its keys.
    fn last_writes(&self, id: TransactionId) -> impl Iterator<Item = (usize, u32)> + use<'_, 'h> {
        self.history().operations(id).iter().filter_map(move |operation| {
            let key = operation.key.index();
            let version = self.versions.writes().find(key, operation.action.written()?)?;
            self.versions.write(version).is_last.then_some((key, version))
        })
    }

    fn write_obstacle(&self, id: TransactionId) -> Option<usize> {
        let is_obstacle = |&(key, version): &(usize, u32)| {
            self.locks[key] != NONE || self.held[key] != NONE && self.held[key] != version
        };
        self.last_writes(id).find(is_obstacle).map(|(key, _)| key)
    }

    fn read_obstacle(&self, id: TransactionId, is_merged: bool) -> Option<usize> {
        let mut reads = self.versions.reads_of(id).iter();
        let obstacle = reads.find(|read| {
            // In the merged form its own write at the same position releases the key before it
            // reads.
            let is_own = is_merged && read.is_update;
            let held = self.held[read.key as usize];
            !is_own && held != NONE && held != read.version
        });
        obstacle.map(|read| read.key as usize)
    }

    fn place_writes(&mut self, id: TransactionId, is_merged: bool) {
        let writes: Vec<(usize, u32)> = self.last_writes(id).collect();
        for (key, _) in writes {
            self.held[key] = NONE;
            if is_merged {
                self.release(key);
            } else {
                self.locks[key] = id.0;
            }
        }
    }

    fn place_reads(&mut self, id: TransactionId, is_merged: bool) {
        if !is_merged {
            let writes: Vec<(usize, u32)> = self.last_writes(id).collect();
            for (key, _) in writes {
                self.locks[key] = NONE;
                self.release(key);
            }
        }
        for read in self.versions.reads_of(id) {
            self.held[read.key as usize] = read.version;
        }
    }

    /// Lets the nodes that wait for a key try again.
    fn release(&mut self, key: usize) {
        for node in std::mem::take(&mut self.waiting[key]) {
            self.push(node);
        }
    }
}

/// The edges of a graph, reversed.
struct Backward {
    starts: Vec<u32>,
    tails: Vec<u32>,
}

impl Backward {
    fn new(view: &View<'_>) -> Self {
        let nodes = view.node_count() as u32;
        let mut ends = vec![0_u32; nodes as usize + 1];
        let heads = |node: u32| view.range(node).map(|place| view.head_at(place));
        for head in (0..nodes).flat_map(heads) {
            ends[head as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        let mut tails = vec![0; sum as usize];
        for node in 0..nodes {
            for head in heads(node) {
                let place = &mut ends[head as usize];
                *place -= 1;
                tails[*place as usize] = node;
            }
        }
        Self { starts: ends, tails }
    }

    fn tails(&self, node: u32) -> &[u32] {
        let range = self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize;
        &self.tails[range]
    }
}
