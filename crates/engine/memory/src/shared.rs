//! Free pieces of memory that all lanes of a compute server may take.
//!
//! Without them, a lane that deletes more than it inserts would collect memory that the others
//! lack.

use crate::extent::Label;
use layout::{GlobalPtr, NodeId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// The purpose of a piece. A piece never changes its purpose: a reader with its old address would
/// find an unexpected shape there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Purpose {
    /// Rows, and the overflow blocks of hash tables.
    Rows,
    /// Leaves of trees, and the overflow blocks of hash indexes.
    Nodes,
    /// Version buffers.
    Buffers,
    /// Values out of line.
    Values,
}

/// The kind of a piece. Pieces of one kind can replace each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PieceKind {
    pub label: Label,
    pub purpose: Purpose,
    /// The server, if the purpose needs memory of a certain one.
    pub server: Option<NodeId>,
    pub words: u32,
}

/// Free pieces that any lane may take. A lane looks here only when its own list is empty.
#[derive(Default)]
pub struct SharedPieces {
    count: AtomicU64,
    is_short: AtomicBool,
    pieces: Mutex<BTreeMap<PieceKind, Vec<GlobalPtr>>>,
}

impl SharedPieces {
    fn pieces(&self) -> MutexGuard<'_, BTreeMap<PieceKind, Vec<GlobalPtr>>> {
        self.pieces.lock().expect("no holder of free pieces panics")
    }

    /// Number of pieces of all kinds.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Whether a memory server had no room for a pool's next extent.
    #[inline]
    pub fn is_short(&self) -> bool {
        self.is_short.load(Relaxed)
    }

    /// From now on pools keep few free pieces for themselves.
    pub fn note_short(&self) {
        self.is_short.store(true, Relaxed);
    }

    /// Moves the latest pieces of a kind to `taken`, at most `count_max`.
    pub fn take(&self, kind: PieceKind, count_max: usize, taken: &mut Vec<GlobalPtr>) {
        if self.count() == 0 {
            return;
        }
        let mut pieces = self.pieces();
        let Some(free) = pieces.get_mut(&kind) else { return };
        let count = free.len().min(count_max);
        taken.extend(free.drain(free.len() - count..));
        self.count.fetch_sub(count as u64, Relaxed);
    }

    pub fn give(&self, kind: PieceKind, given: impl Iterator<Item = GlobalPtr>) {
        let mut pieces = self.pieces();
        let free = pieces.entry(kind).or_default();
        let before = free.len();
        free.extend(given);
        self.count.fetch_add((free.len() - before) as u64, Relaxed);
    }

    /// Removes the pieces of dropped tables and indexes.
    pub fn retain(&self, is_there: impl Fn(Label) -> bool) {
        if self.count() == 0 {
            return;
        }
        let mut pieces = self.pieces();
        pieces.retain(|kind, _| is_there(kind.label));
        let count: usize = pieces.values().map(Vec::len).sum();
        self.count.store(count as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::RegionId;

    #[test]
    fn pieces_are_taken_by_kind_and_removed_with_their_table() {
        let shared = SharedPieces::default();
        let piece = |number: u64| GlobalPtr::new(RegionId(0), number << 12);
        let rows = PieceKind { label: Label(1), purpose: Purpose::Rows, server: None, words: 8 };
        let buffers = PieceKind { purpose: Purpose::Buffers, ..rows };
        let others = PieceKind { label: Label(2), ..rows };
        shared.give(rows, (1..4).map(piece));
        shared.give(others, (4..5).map(piece));
        let mut taken = Vec::new();
        shared.take(buffers, 9, &mut taken);
        assert!(taken.is_empty(), "rows are no buffers");
        shared.take(rows, 2, &mut taken);
        assert_eq!((taken, shared.count()), (vec![piece(2), piece(3)], 2));
        shared.retain(|label| label == Label(2));
        let mut left = Vec::new();
        shared.take(rows, 9, &mut left);
        shared.take(others, 9, &mut left);
        assert_eq!((left, shared.count()), (vec![piece(4)], 0));
    }
}
