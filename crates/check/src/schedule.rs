//! An order of all snapshots and commits of a history, laid from its end.
//!
//! The order agrees with a graph without cycles: a node has its place when all that comes after it has.
//! Commits come in the order in which clients learnt of them, as far as they may. Where the graph does
//! not tell the order of a key's versions, two rules do:
//!
//! - From the place of a read up to the place of the write that it shows, no other write of the key has
//!   its place: the key is *held*.
//! - Under snapshot isolation, from the place of a commit up to that of its snapshot, no other commit
//!   that writes the same key has its place: the key is *locked*.
//!
//! What may not come yet waits for the key. If all that is left waits, there may be other orders, and
//! none is given.

use crate::graph::view::{Form, View};
use crate::history::{History, Transaction, TransactionId};
use crate::infer::{NONE, Versions};
use std::collections::BinaryHeap;

/// Where snapshots have their places, as far as they may have them there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Snapshots {
    /// When their transactions began: so it was, or nearly so.
    AtBegin,
    /// As late as they can, so that few transactions overlap.
    Late,
}

/// Times that nodes may be looked at in vain.
const ATTEMPTS_MAX: usize = 20_000_000;

/// The nodes in their order; not all of them, if none was found.
pub(crate) fn order(versions: &Versions<'_>, view: &View<'_>, snapshots: Snapshots) -> Vec<u32> {
    let nodes = view.node_count() as u32;
    let keys = versions.history().key_count();
    let mut schedule = Schedule {
        versions,
        view,
        snapshots,
        // With all versions in order the graph says all that the rules do.
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
    /// How many of the nodes behind each node have no place yet.
    waits_for: Vec<u32>,
    /// What may come, with its place in time.
    timed: BinaryHeap<(u32, u32)>,
    /// What comes as soon as it may.
    at_once: Vec<u32>,
    /// The version of each key that a placed read shows, until its write is placed.
    held: Vec<u32>,
    /// The transaction whose commit writes each key, until its snapshot is placed.
    locks: Vec<u32>,
    /// What waits for each key.
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
            if self.has_rules && !self.obey(node) {
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
            // Who only reads is where its snapshot is.
            Snapshots::AtBegin if !is_commit || is_read() => self.timed.push((invoked, node)),
            _ => self.timed.push((completed, node)),
        }
    }

    fn pop(&mut self) -> Option<u32> {
        self.at_once.pop().or_else(|| self.timed.pop().map(|(_, node)| node))
    }

    /// Places a node by the rules, or lets it wait.
    fn obey(&mut self, node: u32) -> bool {
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
            // What it writes in the same place, it gives back before it reads.
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

    /// Lets those who wait for a key try again.
    fn release(&mut self, key: usize) {
        for node in std::mem::take(&mut self.waiting[key]) {
            self.push(node);
        }
    }
}

/// The edges of a graph, turned round.
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
