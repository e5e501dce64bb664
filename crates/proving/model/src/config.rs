//! The transactions that run, and the guards of the protocol that are in force.

use crate::state::{BUFFER_SLOT_COUNT, READER_COUNT, ROW_COUNT, SLOT_COUNT};

/// A set of rows; entry `r` is row `r`.
pub type RowSet = [bool; ROW_COUNT];

pub const NO_ROW: RowSet = [false, false];
/// The first row only.
pub const FIRST_ROW: RowSet = [true, false];
/// The second row only.
pub const SECOND_ROW: RowSet = [false, true];
pub const BOTH_ROWS: RowSet = [true, true];

/// The transaction of a writer. It reads every row that it writes.
#[derive(Clone, Copy, Debug)]
pub struct Transaction {
    /// Rows that are read and not written.
    pub reads: RowSet,
    /// Rows that are read and overwritten.
    pub writes: RowSet,
}

impl Transaction {
    /// A transaction that overwrites these rows and reads no others.
    pub const fn writing(writes: RowSet) -> Transaction {
        Transaction { reads: NO_ROW, writes }
    }
}

/// How a snapshot is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotWay {
    /// The vector read once, word by word. [ZB17 §4.1]
    SingleCollect,
    /// The vector is read word by word until two reads agree, the second begun after the first
    /// ended.
    DoubleCollect,
    /// The newest of a sequence of frozen vectors.
    Frozen,
    /// Readers and writers with index 0 use double collect, those with index 1 the frozen vectors.
    Mixed,
}

/// The order in which the words of a row are installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallOrder {
    /// Old version, chain, invalid version, payload, version, header: our protocol where memory is
    /// coherent.
    HeaderLast,
    /// Old version, chain, then header, version and payload in one write. [ZB17 §3.1, listing 1]
    SingleWrite,
    /// Payload before the old version is safe in the buffer.
    PayloadFirst,
    /// The header is unlocked with the new version, and then everything else is written.
    UnlockFirstToNew,
    /// The header is unlocked with the old version, then everything else is written, then the
    /// header.
    UnlockFirstToOld,
    /// Old version, chain, then chain, header, version and payload in one write: our protocol where
    /// memory is not coherent. The old version is one write as well, and readers check checksums.
    RowAtOnce,
    /// The same, with the chain only in the row's write.
    ChainInRow,
}

/// The use of a row's buffer of old versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferKind {
    /// Each displaced version gets a slot of its own.
    Fresh,
    /// One slot, overwritten by every update; its previous version is lost.
    Reused,
}

impl BufferKind {
    pub fn slot_count(self) -> usize {
        match self {
            BufferKind::Fresh => BUFFER_SLOT_COUNT,
            BufferKind::Reused => 1,
        }
    }
}

/// The guards of our protocol. Each mutant lacks one of them.
#[derive(Clone, Copy, Debug)]
pub struct Guards {
    /// How snapshots are taken.
    pub snapshot: SnapshotWay,
    /// No transaction changes its own slot in the snapshot that it was given.
    pub leave_own_slot: bool,
    /// A process freezes the vector under a try-lock.
    pub freeze_under_lock: bool,
    /// The header is swapped from the version that was read, which the snapshot covers.
    pub swap_from_version_read: bool,
    /// In which order a row is installed.
    pub install: InstallOrder,
    /// The slot is written after every install has completed.
    pub publish_waits: bool,
    /// Readers judge visibility by the version word beside the payload, not by the header.
    pub version_beside_payload: bool,
    /// Readers read the version word again after the payload.
    pub version_read_again: bool,
    /// Readers verify a checksum over version, successor and payload instead: for memory that is
    /// not coherent.
    pub checksum: bool,
    /// A reader accepts an old version only if its successor is not covered.
    pub successor_check: bool,
    /// Writers validate their reads with all locks held.
    pub writers_validate: bool,
    /// Readers validate too, after all their reads.
    pub readers_validate: bool,
}

impl Guards {
    /// Our protocol with snapshot isolation.
    pub const OURS: Guards = Guards {
        snapshot: SnapshotWay::DoubleCollect,
        leave_own_slot: true,
        freeze_under_lock: true,
        swap_from_version_read: true,
        install: InstallOrder::HeaderLast,
        publish_waits: true,
        version_beside_payload: true,
        version_read_again: true,
        checksum: false,
        successor_check: true,
        writers_validate: false,
        readers_validate: false,
    };

    /// Our protocol where memory is not coherent.
    pub const AT_ONCE: Guards =
        Guards { install: InstallOrder::RowAtOnce, checksum: true, ..Guards::OURS };

    pub const SERIALIZABLE: Guards =
        Guards { writers_validate: true, readers_validate: true, ..Guards::OURS };

    /// The published protocol. [ZB17 §3.1 listing 1, §4.1, §5.1]
    ///
    /// The paper does not say whether the slot is written before the installs have completed; here
    /// it waits, which is the better interpretation, and a test uses the other one.
    pub const PUBLISHED: Guards = Guards {
        snapshot: SnapshotWay::SingleCollect,
        swap_from_version_read: false,
        install: InstallOrder::SingleWrite,
        version_beside_payload: false,
        version_read_again: false,
        successor_check: false,
        ..Guards::OURS
    };
}

#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub guards: Guards,
    /// One transaction per writer; a writer without writes does not run.
    pub writers: [Transaction; SLOT_COUNT],
    pub reader_count: usize,
    /// The words of one verb take effect from the lowest address on; otherwise in any order. An
    /// anomaly under address order is stronger evidence, and a proof under it weaker.
    pub left_to_right: bool,
    /// Reader `i` continues the session of writer `i`, and must see its commit.
    pub sessions: bool,
    /// How often a writer tries, each time with a new snapshot and a new number.
    pub attempt_count_max: u8,
    /// How buffers of old versions are used.
    pub buffer: BufferKind,
    /// A writer may die before any of its steps; at most one does.
    pub crashes: bool,
    /// A writer may also die while it freezes a vector.
    pub freezer_crashes: bool,
}

impl Config {
    /// Our protocol on two writers that overwrite these rows.
    pub const fn ours(first: RowSet, second: RowSet) -> Config {
        Config {
            guards: Guards::OURS,
            writers: [Transaction::writing(first), Transaction::writing(second)],
            reader_count: READER_COUNT,
            left_to_right: false,
            sessions: false,
            attempt_count_max: 1,
            buffer: BufferKind::Fresh,
            crashes: false,
            freezer_crashes: false,
        }
    }

    /// The published protocol on two writers that overwrite these rows.
    pub const fn published(first: RowSet, second: RowSet) -> Config {
        Config { guards: Guards::PUBLISHED, left_to_right: true, ..Config::ours(first, second) }
    }

    /// How the process with this index, reader or writer, takes its snapshots.
    pub fn snapshot_way(&self, index: usize) -> SnapshotWay {
        match (self.guards.snapshot, index) {
            (SnapshotWay::Mixed, 0) => SnapshotWay::DoubleCollect,
            (SnapshotWay::Mixed, _) => SnapshotWay::Frozen,
            (way, _) => way,
        }
    }
}
