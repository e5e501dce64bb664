//! The order of a key's versions, as far as it follows from the history.
//!
//! Versions whose order is known form *blocks*. The first block of a key begins with the initial
//! version and comes before all others; the order of the others is unknown. A key with at most one
//! other block is totally ordered.
//!
//! - The longest list of a key is its first block.
//! - Version numbers that the engine exports put all versions into the first block. For lists they
//!   only order the versions after the longest read, because the read is more reliable. Writes of
//!   one transaction are in the transaction's order.
//! - A transaction that reads a version and writes the key makes the version directly after it: a
//!   version in between would have been a lost update. That holds in every history with snapshot
//!   isolation or serializability; in others the lost update is found.

use super::writes::Writes;
use super::{INITIAL, NONE, Read};
use crate::history::{History, Kind};

/// A run of versions of one key whose order is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    start: u32,
    end: u32,
}

/// The blocks of all keys.
pub(super) struct Orders {
    /// The versions of all blocks.
    chain: Vec<u32>,
    blocks: Vec<Block>,
    /// The start of each key's blocks, and their end.
    starts: Vec<u32>,
    /// For each version, the position of the next one in `chain`, if the same block continues; else
    /// 0.
    behind: Vec<u32>,
}

impl Orders {
    pub(super) fn blocks(&self, key: usize) -> &[Block] {
        &self.blocks[self.starts[key] as usize..self.starts[key + 1] as usize]
    }

    pub(super) fn chain(&self, block: Block) -> &[u32] {
        &self.chain[block.start as usize..block.end as usize]
    }

    pub(super) fn next(&self, key: usize, version: u32) -> Option<u32> {
        if version == INITIAL {
            return self.chain(self.blocks(key)[0]).first().copied();
        }
        match self.behind[version as usize] {
            0 => None,
            place => Some(self.chain[place as usize]),
        }
    }

    fn close_block(&mut self, start: usize) {
        let (start, end) = (start as u32, self.chain.len() as u32);
        for place in start + 1..end {
            self.behind[self.chain[place as usize - 1] as usize] = place;
        }
        self.blocks.push(Block { start, end });
    }
}

/// The orders of all keys.
pub(super) fn orders(
    history: &History,
    writes: &Writes,
    took_effect: &[bool],
    reads: &[Read],
) -> Orders {
    let mut sorter = Sorter {
        history,
        writes,
        took_effect,
        followers: Followers::new(history, writes, took_effect, reads),
        is_placed: vec![false; writes.len()],
        orders: Orders {
            chain: Vec::with_capacity(writes.len()),
            blocks: Vec::new(),
            starts: vec![0],
            behind: vec![0; writes.len()],
        },
    };
    for key in 0..history.key_count() {
        sorter.first_block(key);
        sorter.other_blocks(key);
        sorter.orders.starts.push(sorter.orders.blocks.len() as u32);
    }
    sorter.orders
}

/// The direct successor of each version, as updates show it; the first claim wins.
struct Followers {
    of_version: Vec<u32>,
    of_initial: Vec<u32>,
}

impl Followers {
    fn new(history: &History, writes: &Writes, took_effect: &[bool], reads: &[Read]) -> Self {
        let mut all = Self {
            of_version: vec![NONE; writes.len()],
            of_initial: vec![NONE; history.key_count()],
        };
        // The version of each key that the current transaction has read or written last.
        let mut last = vec![(0, NONE); history.key_count()];
        let mut reads = reads.iter().peekable();
        for id in history.ids() {
            while let Some(read) = reads.next_if(|read| read.transaction == id.0) {
                last[read.key as usize] = (id.0 + 1, read.version);
            }
            if !took_effect[id.index()] {
                continue;
            }
            for operation in history.operations(id) {
                let Some(value) = operation.action.written() else {
                    continue;
                };
                let key = operation.key.index();
                let version = writes.find(key, value).expect("it is a write");
                let before = std::mem::replace(&mut last[key], (id.0 + 1, version));
                if before.0 == id.0 + 1 {
                    all.claim(key, before.1, version);
                }
            }
        }
        all
    }

    fn claim(&mut self, key: usize, before: u32, version: u32) {
        let follower = self.slot(key, before);
        if *follower == NONE {
            *follower = version;
        }
    }

    fn slot(&mut self, key: usize, version: u32) -> &mut u32 {
        match version {
            INITIAL => &mut self.of_initial[key],
            version => &mut self.of_version[version as usize],
        }
    }
}

struct Sorter<'a> {
    history: &'a History,
    writes: &'a Writes,
    took_effect: &'a [bool],
    followers: Followers,
    is_placed: Vec<bool>,
    orders: Orders,
}

impl Sorter<'_> {
    fn is_real(&self, version: u32) -> bool {
        self.took_effect[self.writes.get(version).transaction as usize]
    }

    fn place(&mut self, version: u32) {
        self.is_placed[version as usize] = true;
        self.orders.chain.push(version);
    }

    fn first_block(&mut self, key: usize) {
        let start = self.orders.chain.len();
        if self.history.kind() == Kind::Lists {
            let writes = self.writes;
            for &version in writes.trunk(key) {
                if version != NONE && self.is_real(version) && !self.is_placed[version as usize] {
                    self.place(version);
                }
            }
        }
        for version in self.by_number(key).into_iter().flatten() {
            if !self.is_placed[version as usize] {
                self.place(version);
            }
        }
        let last = self.orders.chain[start..].last().copied().unwrap_or(INITIAL);
        self.follow(key, last);
        self.orders.close_block(start);
    }

    /// All versions in the order of the engine's numbers; `None` if a version has no number, or if
    /// two transactions have the same one: then one of them is wrong, and the history does not show
    /// which.
    fn by_number(&self, key: usize) -> Option<Vec<u32>> {
        let mut numbered = Vec::new();
        for version in self.writes.of_key(key).filter(|&version| self.is_real(version)) {
            let operation = self.writes.get(version).operation;
            numbered.push((self.history.version_at(operation)?, operation, version));
        }
        numbered.sort_unstable();
        let writer = |version: u32| self.writes.get(version).transaction;
        let is_doubtful = |pair: &[(i64, u32, u32)]| {
            pair[0].0 == pair[1].0 && writer(pair[0].2) != writer(pair[1].2)
        };
        let is_certain = !numbered.windows(2).any(is_doubtful);
        is_certain.then(|| numbered.into_iter().map(|(_, _, version)| version).collect())
    }

    /// Places the successor of a version, and its successor, as far as they are known and not yet
    /// placed.
    fn follow(&mut self, key: usize, mut version: u32) {
        loop {
            let next = *self.followers.slot(key, version);
            if next == NONE || self.is_placed[next as usize] {
                return;
            }
            self.place(next);
            version = next;
        }
    }

    fn other_blocks(&mut self, key: usize) {
        let range = self.writes.of_key(key);
        let mut is_follower = vec![false; range.len()];
        for version in range.clone() {
            let next = self.followers.of_version[version as usize];
            if next != NONE {
                is_follower[(next - range.start) as usize] = true;
            }
        }
        // A block begins with a version that succeeds none; the versions that remain succeed each
        // other in a cycle.
        for may_follow in [false, true] {
            for version in range.clone() {
                let is_free = !self.is_placed[version as usize] && self.is_real(version);
                if is_free && is_follower[(version - range.start) as usize] <= may_follow {
                    let start = self.orders.chain.len();
                    self.place(version);
                    self.follow(key, version);
                    self.orders.close_block(start);
                }
            }
        }
    }
}
