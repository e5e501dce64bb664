//! Infers versions from reads: the writer and the readers of each version, and the order of
//! versions.
//!
//! ```text
//! writes.rs      every write by key and value; which transactions took effect
//! lists.rs       each transaction's external reads, and the anomalies of single reads: lists
//! registers.rs   the same for registers
//! order.rs       the order of a key's versions, as far as it follows from the history
//! ```
//!
//! A transaction without a known outcome took effect if a committed transaction has read a write of
//! it. Otherwise the history is judged as if it had aborted, which is always possible and requires
//! the least.

mod lists;
mod order;
mod registers;
mod slips;
mod writes;

use crate::error::HistoryError;
use crate::history::{History, Kind, Outcome, TransactionId};
use crate::witness::Witness;
pub(crate) use order::Block;
use order::Orders;
use slips::Slips;
pub(crate) use writes::Write;
use writes::Writes;

/// The version of a key before any write.
pub(crate) const INITIAL: u32 = u32::MAX;
/// No version at all.
pub(crate) const NONE: u32 = u32::MAX - 1;

/// An external read: the version of a key in a transaction's snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Read {
    pub transaction: u32,
    pub key: u32,
    /// A write, or [`INITIAL`].
    pub version: u32,
    /// Whether the transaction writes the key, too.
    pub is_update: bool,
}

/// The versions of a history, as far as they can be inferred.
pub(crate) struct Versions<'h> {
    history: &'h History,
    writes: Writes,
    took_effect: Vec<bool>,
    reads: Vec<Read>,
    /// The start of each transaction's reads, and their end.
    read_starts: Vec<u32>,
    orders: Orders,
    slips: Slips<'h>,
}

/// Infers all versions, their readers and their order.
pub(crate) fn versions(history: &History) -> Result<Versions<'_>, HistoryError> {
    let writes = Writes::new(history)?;
    let took_effect = took_effect(history, &writes);
    let mut slips = Slips::new(history);
    let reads = match history.kind() {
        Kind::Lists => lists::reads(history, &writes, &mut slips),
        Kind::Registers => registers::reads(history, &writes, &mut slips),
    };
    slips.add_lost_updates(&reads, &writes);
    let reads: Vec<Read> = reads
        .into_iter()
        .filter(|read| {
            read.version == INITIAL || {
                // Reads of a value without a writer are anomalies already.
                took_effect[writes.get(read.version).transaction as usize]
            }
        })
        .collect();
    let orders = order::orders(history, &writes, &took_effect, &reads);
    let mut read_starts = vec![0; history.transactions().len() + 1];
    for read in &reads {
        read_starts[read.transaction as usize + 1] += 1;
    }
    for transaction in 0..history.transactions().len() {
        read_starts[transaction + 1] += read_starts[transaction];
    }
    Ok(Versions { history, writes, took_effect, reads, read_starts, orders, slips })
}

/// Determines which transactions must have taken effect.
fn took_effect(history: &History, writes: &Writes) -> Vec<bool> {
    let outcomes = history.transactions().iter().map(|transaction| transaction.outcome);
    let mut took_effect: Vec<bool> =
        outcomes.clone().map(|outcome| outcome == Outcome::Committed).collect();
    if outcomes.clone().any(|outcome| outcome == Outcome::Unknown) {
        let mut note = |version: u32| {
            let writer = writes.get(version).transaction as usize;
            if history.transactions()[writer].outcome == Outcome::Unknown {
                took_effect[writer] = true;
            }
        };
        match history.kind() {
            Kind::Lists => lists::for_each_seen(history, writes, &mut note),
            Kind::Registers => registers::for_each_seen(history, writes, &mut note),
        }
    }
    took_effect
}

impl<'h> Versions<'h> {
    pub(crate) fn history(&self) -> &'h History {
        self.history
    }

    pub(crate) fn took_effect(&self, id: TransactionId) -> bool {
        self.took_effect[id.index()]
    }

    /// The write that made a version.
    pub(crate) fn write(&self, version: u32) -> &Write {
        self.writes.get(version)
    }

    pub(crate) fn writes(&self) -> &Writes {
        &self.writes
    }

    /// All external reads, by transaction.
    pub(crate) fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// The reads of one transaction.
    pub(crate) fn reads_of(&self, id: TransactionId) -> &[Read] {
        let starts = &self.read_starts[id.index()..id.index() + 2];
        &self.reads[starts[0] as usize..starts[1] as usize]
    }

    /// The blocks of versions of a key whose order is known; the first one begins with the initial
    /// version, the others come after it in unknown order.
    pub(crate) fn blocks(&self, key: usize) -> &[Block] {
        self.orders.blocks(key)
    }

    /// The versions of a block, in their order.
    pub(crate) fn chain(&self, block: Block) -> &[u32] {
        self.orders.chain(block)
    }

    /// The version directly after `version`, if it is known.
    pub(crate) fn next(&self, key: usize, version: u32) -> Option<u32> {
        self.orders.next(key, version)
    }

    /// Whether this version is the last one of the first block.
    pub(crate) fn is_end_of_first(&self, key: usize, version: u32) -> bool {
        self.chain(self.blocks(key)[0]).last().copied().unwrap_or(INITIAL) == version
    }

    /// The anomalies of single transactions and pairs, with their counts.
    pub(crate) fn slips(&self) -> impl Iterator<Item = (&Witness, u64)> {
        self.slips.iter()
    }

    /// Keys whose versions are not totally ordered.
    pub(crate) fn unordered_keys(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.history.key_count()).filter(|&key| self.blocks(key).len() > 2)
    }
}
