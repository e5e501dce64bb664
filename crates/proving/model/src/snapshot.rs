//! Taking a snapshot: by one collect, by two that agree, or from the frozen vectors.

use crate::config::{Config, SnapshotWay};
use crate::state::{Counters, Frozen, SLOT_COUNT, State};

/// The words of a vector read so far.
type Seen = [Option<u8>; SLOT_COUNT];

const NOTHING_SEEN: Seen = [None; SLOT_COUNT];

/// The progress of a process in taking a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Taking {
    /// Reading the vector.
    Collecting {
        /// The result of the previous collect.
        previous: Option<Counters>,
        /// The words that this collect has read.
        seen: Seen,
    },
    /// About to take a frozen vector, or to freeze one.
    Choosing,
    /// Reading the vector under the freezing lock.
    Freezing {
        /// The words that have been read.
        seen: Seen,
    },
}

/// One step towards a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeMove {
    /// Read this word of the vector.
    ReadSlot(usize),
    /// Take the newest frozen vector.
    TakeNewest,
    /// Try the freezing lock; on success hold it.
    LockFreezing,
    /// Write the vector just read as the newest one, and unlock.
    WriteFrozen,
}

impl Taking {
    /// The start of taking a snapshot.
    pub fn start(way: SnapshotWay) -> Taking {
        match way {
            SnapshotWay::SingleCollect | SnapshotWay::DoubleCollect => {
                Taking::Collecting { previous: None, seen: NOTHING_SEEN }
            }
            SnapshotWay::Frozen => Taking::Choosing,
            SnapshotWay::Mixed => unreachable!("a process takes all its snapshots in one way"),
        }
    }

    /// Adds the steps possible from here. `floor` is the oldest state that the session accepts.
    pub fn moves(&self, config: &Config, state: &State, floor: Floor, moves: &mut Vec<TakeMove>) {
        match self {
            Taking::Collecting { seen, .. } => slots_to_read(config, seen, moves),
            Taking::Choosing => {
                if floor.is_reached_by(state.frozen.newest) {
                    moves.push(TakeMove::TakeNewest);
                }
                if !state.frozen.locked || !config.guards.freeze_under_lock {
                    moves.push(TakeMove::LockFreezing);
                }
            }
            Taking::Freezing { seen } if seen.iter().all(Option::is_some) => {
                moves.push(TakeMove::WriteFrozen);
            }
            Taking::Freezing { seen } => slots_to_read(config, seen, moves),
        }
    }

    /// Executes one step; returns the snapshot after the last one.
    pub fn step(
        &mut self,
        way: SnapshotWay,
        slots: Counters,
        frozen: &mut Frozen,
        take_move: TakeMove,
    ) -> Option<Counters> {
        match (&mut *self, take_move) {
            (
                Taking::Collecting { seen, .. } | Taking::Freezing { seen },
                TakeMove::ReadSlot(slot),
            ) => {
                seen[slot] = Some(slots[slot]);
                self.end_collect(way)
            }
            (Taking::Choosing, TakeMove::TakeNewest) => Some(frozen.newest),
            (Taking::Choosing, TakeMove::LockFreezing) => {
                frozen.locked = true;
                *self = Taking::Freezing { seen: NOTHING_SEEN };
                None
            }
            (Taking::Freezing { seen }, TakeMove::WriteFrozen) => {
                let vector = complete(seen).expect("every slot has been read");
                *frozen = Frozen { newest: vector, locked: false };
                Some(vector)
            }
            (taking, take_move) => unreachable!("{take_move:?} in {taking:?}"),
        }
    }

    /// Decides after a word of a collect: continue, finish, or repeat.
    fn end_collect(&mut self, way: SnapshotWay) -> Option<Counters> {
        let Taking::Collecting { previous, seen } = self else {
            return None;
        };
        let vector = complete(seen)?;
        if way == SnapshotWay::SingleCollect || *previous == Some(vector) {
            return Some(vector);
        }
        // A collect that disagrees with the previous one is the first of the next pair. This needs
        // no bound here: disagreement means that some process has published in between.
        *self = Taking::Collecting { previous: Some(vector), seen: NOTHING_SEEN };
        None
    }
}

/// The oldest snapshot that a session accepts: it covers the session's own commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Floor {
    pub slot: usize,
    pub counter: u8,
}

impl Floor {
    /// The floor of a session that has committed nothing.
    pub const NONE: Floor = Floor { slot: 0, counter: 0 };

    /// Whether the session may use this snapshot.
    pub fn is_reached_by(self, snapshot: Counters) -> bool {
        self.counter <= snapshot[self.slot]
    }
}

fn slots_to_read(config: &Config, seen: &Seen, moves: &mut Vec<TakeMove>) {
    let unread = (0..SLOT_COUNT).filter(|slot| seen[*slot].is_none());
    let count = if config.left_to_right { 1 } else { SLOT_COUNT };
    moves.extend(unread.take(count).map(TakeMove::ReadSlot));
}

fn complete(seen: &Seen) -> Option<Counters> {
    let mut vector = [0; SLOT_COUNT];
    for (counter, word) in vector.iter_mut().zip(seen) {
        *counter = (*word)?;
    }
    Some(vector)
}
