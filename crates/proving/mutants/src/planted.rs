//! All mutants, by the step of the protocol whose guard they remove.
//!
//! Decision: docs/decisions/0005-mutants-exist-only-in-simulated-worlds.md

use crate::kind::{
    CROWD, DEADLY, DEADLY_UPKEEP, FAR_BLOCKS, FAR_SLOTS, FETCHED_BESIDE, FETCHED_LATE, FROZEN,
    GROWING, GROWING_CARDS, GROWING_HOT, HOT, KEPT, KEPT_VERSIONS, Kind, LONG, LOSING, LOSING_BOTH,
    LOSING_FAR, LOSSY, MOVING, MOVING_CARDS, MOVING_FETCHED, MOVING_HASH, MOVING_KEPT,
    MOVING_PARKED, MOVING_SERIAL, ONE_BUCKET, OWNED, OWNED_BORN, OWNED_NEW, OWNED_OUTSIDE, PILED,
    PILED_BESIDE, PILED_SLOW, REBORN, REMADE, RESTING, RETURNING, ROOMY, SERIAL, SHARED, SLOW,
    SLOW_CARDS, STAGGERED, TIDAL, WIDE, WIDE_INDEXED, WRAP,
};
use crate::swarm::SWARM;
use fabric::Mutant;
use layout::Storage;
use sim::Carrier;

const ROOMY_HASH: Kind = ROOMY.storing(Storage::HashInlined);
const ROOMY_TREE: Kind = ROOMY.storing(Storage::Tree);
/// Hot rows whose lanes lose batches.
const LOSSY_HOT: Kind = Kind { lost_batch_one_in: 60, ..HOT };
/// The same with more losses, and long times between the words of a row that most sessions only
/// read.
const LOSSY_SLOW: Kind = Kind {
    lost_batch_one_in: 25,
    lists: 1,
    elements: 24,
    move_percent: 0,
    operations: 1,
    sessions: 8,
    pause_percent: 0,
    word_ns: 4_000,
    slow_factor: 20,
    time_max_ns: 1_000_000_000,
    carrier: Some(Carrier::Caller),
    ..LOSSY_HOT
};
/// Lanes are added while others collect.
const STAGGERED_TIGHT: Kind = Kind {
    time_max_ns: 1_000_000_000,
    is_staggered: true,
    sessions: 12,
    transactions: 20,
    operations: 2,
    pause_percent: 0,
    word_ns: 2_000,
    slow_factor: 20,
    ..MOVING
};
const MOVING_TREE: Kind = MOVING.storing(Storage::Tree);
const SERIAL_HASH: Kind = MOVING_SERIAL.storing(Storage::HashInlined);
const SERIAL_TREE: Kind = MOVING_SERIAL.storing(Storage::Tree);

/// A mutant, and the worlds in which clients detect it.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// The guard that is removed.
    pub mutant: Mutant,
    /// Further guards that are removed with it, because each of them suffices alone.
    pub also: &'static [Mutant],
    /// The function of the guard, in a few words.
    pub guard: &'static str,
    /// The worlds that detect it.
    pub kind: Kind,
    /// Whether the search goes on until the clients' history alone shows it.
    pub needs_judge: bool,
}

impl Planted {
    /// The name of the mutant.
    pub fn name(&self) -> &'static str {
        self.mutant.name()
    }

    /// A mutant that clients cannot detect: it wastes memory, or a transaction that reads around
    /// the hole is refused for another reason in the end. The shadow history detects it.
    const fn seen_by_shadow(self) -> Self {
        Self { needs_judge: false, ..self }
    }

    /// All guards that are removed.
    pub fn guards(&self) -> Vec<Mutant> {
        std::iter::once(self.mutant).chain(self.also.iter().copied()).collect()
    }

    /// The mutant with further guards removed, because each of them suffices alone.
    const fn without(self, also: &'static [Mutant]) -> Self {
        Self { also, ..self }
    }
}

/// A mutant of one guard.
const fn guard(mutant: Mutant, guard: &'static str, kind: Kind) -> Planted {
    Planted { mutant, also: &[], guard, kind, needs_judge: true }
}

/// The planted bug with this name.
pub fn named(name: &str) -> Option<&'static Planted> {
    MUTANTS.iter().find(|planted| planted.name() == name)
}

/// All planted bugs.
pub const MUTANTS: &[Planted] = &[
    guard(Mutant::FabricUntornRows, "rows, leaves and old versions are read whole", ROOMY),
    guard(Mutant::OracleSingleCollect, "the vector is read until two reads agree", CROWD),
    guard(Mutant::OracleStaleSnapshot, "every transaction takes a snapshot of its own", ROOMY),
    guard(Mutant::OracleSkipNewSlots, "a vector that became longer is read whole", STAGGERED),
    guard(Mutant::CollectLowerWord, "the collector lowers no collected-up-to word", PILED_BESIDE),
    guard(
        Mutant::DecideSaveAgain,
        "a decision leaves old versions alone that are saved",
        LOSSY_SLOW,
    ),
    guard(Mutant::CollectTrustKey, "a row without a version may be on its way", REBORN),
    guard(Mutant::CollectOverlookLanes, "collectors look at lanes that are new", STAGGERED_TIGHT),
    guard(
        Mutant::OracleCollectUnlocked,
        "nobody freezes vectors beside the collector",
        FETCHED_BESIDE,
    ),
    guard(Mutant::OracleFreezeUnlocked, "vectors are frozen one at a time", FROZEN),
    guard(Mutant::OracleTornFrozen, "a frozen vector is intact", FROZEN),
    guard(Mutant::OracleOverlookOwnCommit, "a frozen vector has the session's own commits", FROZEN),
    guard(Mutant::OracleMergeOwnSlot, "own commits wait for a shared vector", FROZEN),
    guard(Mutant::ReadTrustDirectory, "a bucket is still where the key belongs", GROWING),
    guard(Mutant::ReadTrustChain, "no split took slots out of a chain while it was read", GROWING),
    guard(Mutant::ReadSkipCollected, "a missing row was not collected after the snapshot", MOVING),
    guard(Mutant::ReadSuccessorUnchecked, "the successor of an old version is not covered", HOT),
    guard(Mutant::ReadOldOfAnyRow, "an old version is of the wanted row", SLOW),
    guard(Mutant::ReadSkipOverflow, "old versions are also looked for in the overflow list", HOT),
    guard(Mutant::ReadTrustFirstReading, "conclusions about a row are read twice", SLOW),
    guard(Mutant::ReadRowUnwitnessed, "rows read are validated", SERIAL),
    guard(Mutant::ReadOldUnwitnessed, "old versions read are validated", SERIAL),
    guard(Mutant::ReadAbsenceUnwitnessed, "absent keys of buckets are validated", SERIAL_HASH),
    guard(Mutant::ReadGapUnwitnessed, "absent keys of leaves are validated", SERIAL_TREE),
    guard(Mutant::ScanRangeUnwitnessed, "scanned ranges are validated", SERIAL_TREE),
    guard(Mutant::ScanBucketUnwitnessed, "visited buckets are validated", SERIAL_HASH),
    guard(Mutant::ScanTrustEntry, "the row behind an entry has the entry's key", OWNED),
    guard(Mutant::WriteMixBucketReadings, "absences are proved by one reading of a bucket", MOVING),
    guard(Mutant::WriteStealBucketLock, "a locked bucket is not inserted into", GROWING),
    guard(Mutant::WriteStealLeafLock, "a locked leaf is not inserted into", MOVING_TREE),
    guard(Mutant::CommitSkipSnapshotCheck, "no old version is overwritten", ROOMY),
    guard(Mutant::CommitSkipEntry, "a changed row gets its index entry", OWNED),
    guard(Mutant::CommitSkipUniqueCheck, "rows with a unique key are checked", OWNED),
    guard(Mutant::CommitSkipUniqueLock, "a unique key is assigned under its leaf's lock", OWNED),
    guard(
        Mutant::CommitMixLeafReadings,
        "absences are proved by one reading of a leaf",
        MOVING_TREE,
    ),
    guard(Mutant::CommitSkipRowLocks, "the first committer wins", ROOMY),
    guard(Mutant::CommitSkipInsertWord, "an insert locks its bucket", ROOMY_HASH),
    guard(Mutant::CommitSkipLeafLock, "an insert locks its leaf", ROOMY_TREE),
    guard(Mutant::CommitChainBeforeLock, "the chain is read under the lock", HOT),
    guard(Mutant::CommitSkipValidation, "reads are validated", SERIAL),
    guard(Mutant::CommitSkipReaders, "read-only transactions validate, too", SERIAL),
    guard(Mutant::CommitValidateBeforeLocks, "reads are validated under all locks", SERIAL),
    guard(
        Mutant::CommitTrustLeafInsertWord,
        "validation reads rewrite counters of leaves",
        SERIAL_TREE,
    ),
    guard(
        Mutant::CommitTrustOwnBucketLock,
        "an own lock was taken from the state read",
        MOVING_SERIAL,
    ),
    guard(
        Mutant::CommitOverwriteNeededSlot,
        "a slot of old versions is free before it is written",
        HOT,
    ),
    guard(Mutant::CommitUnlockBeforeInstall, "rows stay locked until they are written", ROOMY),
    guard(
        Mutant::CommitUnlockBucketFirst,
        "a bucket stays locked until its slots are written",
        GROWING,
    ),
    guard(
        Mutant::CommitUnfencedBlock,
        "a bucket stays locked until its far blocks are written",
        FAR_BLOCKS,
    ),
    guard(
        Mutant::CommitUnfencedBuffer,
        "an old version is saved on another server before it is overwritten",
        FAR_BLOCKS,
    ),
    guard(Mutant::CommitUnlockLeafFirst, "a leaf stays locked until it is written", ROOMY_TREE),
    guard(
        Mutant::CommitPayloadBeforeOldVersion,
        "an old version is saved before it is overwritten",
        HOT,
    ),
    guard(Mutant::CommitPublishBeforeInstall, "publishing follows installing", ROOMY),
    guard(Mutant::CommitPublishWithInstall, "publishing waits for all installs", ROOMY),
    guard(Mutant::CommitPublishPastGap, "a shared slot publishes completed numbers only", SHARED),
    guard(Mutant::CommitAnswerBeforePublish, "a commit is reported when it is visible", ROOMY),
    guard(Mutant::CommitReleaseUnheld, "an abort releases its own locks only", ROOMY),
    guard(Mutant::CommitNumberReused, "a number serves one attempt", ROOMY),
    guard(Mutant::LaneReusedAfterUnknown, "a lane ends with an unknown outcome", LOSSY),
    guard(Mutant::LanePassLastNumber, "a lane takes a new slot before its numbers end", WRAP),
    guard(Mutant::ValueSkipVersion, "a value out of line is that of its row", LONG),
    guard(Mutant::CollectSkipCollectedWord, "collection is announced in advance", MOVING),
    guard(Mutant::CollectTellUnraised, "the collector announces it in advance", MOVING_FETCHED),
    guard(Mutant::CollectIgnoreLanes, "collection waits for older snapshots", MOVING)
        .without(&[Mutant::CollectSkipCollectedWord]),
    guard(Mutant::ParkUnpinned, "a parked transaction keeps its old versions", MOVING_PARKED)
        .without(&[Mutant::CollectSkipCollectedWord]),
    guard(
        Mutant::CollectClockUnraised,
        "a horizon's stamp is later than that of those before it",
        MOVING,
    ),
    guard(Mutant::CollectGarbageBeforeHorizon, "garbage waits for a horizon", MOVING),
    guard(Mutant::CollectBuffersBeforeHorizon, "old versions wait for a horizon", HOT),
    guard(Mutant::CollectDetachChanged, "a changed row keeps its old versions", HOT),
    guard(Mutant::CollectSkipBucketStamp, "a bucket records collections", MOVING_HASH),
    guard(Mutant::CollectSkipLeafStamp, "a leaf records collections", MOVING_TREE),
    guard(
        Mutant::CollectUnlockedBucket,
        "a bucket is locked before slots are emptied",
        MOVING_HASH,
    ),
    guard(
        Mutant::CollectUnfencedBlock,
        "a bucket stays locked until its far blocks are emptied",
        FAR_SLOTS,
    )
    .seen_by_shadow(),
    guard(Mutant::CollectTrustTombstone, "a tombstone is still the newest version", MOVING),
    guard(Mutant::CollectRowUnmarked, "a collected row is marked as gone", OWNED_OUTSIDE),
    guard(Mutant::MoverSkipLink, "a moved version is in the overflow list", HOT),
    guard(Mutant::MoverDropNeeded, "the overflow list keeps needed versions", PILED),
    guard(Mutant::HashSplitUnlocked, "a bucket is locked before it is split", GROWING),
    guard(Mutant::HashCopyUnlocked, "rows are locked before they move", GROWING_HOT),
    guard(Mutant::HashStealRowLocks, "rows under commit do not move", GROWING_HOT),
    guard(Mutant::HashTrustFirstCopy, "rows that move are read under their locks", GROWING_HOT),
    guard(Mutant::HashRedirectFirst, "readers are sent to a bucket that is complete", GROWING),
    guard(Mutant::HashMovedRowUnlocked, "a row that moved stays locked", GROWING_HOT),
    guard(Mutant::OracleTornCopy, "a packed vector is intact", FETCHED_LATE),
    guard(Mutant::OracleOtherBase, "a packed vector is unpacked over its own base", FETCHED_LATE),
    guard(Mutant::ReadTrustKeptAbsence, "absence in a cached leaf is for inserts only", KEPT),
    guard(Mutant::ReadTrustKeptLeaf, "reads do not use cached leaves", KEPT),
    guard(Mutant::CommitChainWithRow, "a new chain is written before the row", SLOW_CARDS),
    guard(Mutant::CommitTrustHalfInstalled, "a row with a unique key is installed", OWNED_NEW),
    guard(
        Mutant::CommitTrustOldChain,
        "the chain of a tombstone is read under the lock",
        MOVING_KEPT,
    ),
    guard(
        Mutant::CommitFreeSlotEarly,
        "every reader sees the version before a slot is free",
        KEPT_VERSIONS,
    ),
    guard(Mutant::CollectAdoptCandidate, "lanes adopt announced horizons only", MOVING_FETCHED),
    guard(Mutant::CollectUnlockedLeaf, "a leaf is locked before entries go", MOVING_TREE),
    guard(Mutant::CollectTrustFirstLeaf, "a leaf that loses entries is as read", MOVING_CARDS),
    guard(Mutant::HashMoveHalfInstalled, "rows that move are installed", GROWING_CARDS),
    guard(Mutant::TreeKeepRewriteCounter, "a split raises the rewrite counter", SERIAL_TREE),
    guard(Mutant::TreeSplitForgetsCollected, "the parts of a leaf keep its stamp", TIDAL)
        .seen_by_shadow(),
    guard(Mutant::TreeAbsorbForgetsCollected, "a leaf takes the later of two stamps", TIDAL)
        .seen_by_shadow(),
    guard(Mutant::CollectLowerBucketStamp, "a bucket's stamp never falls", ONE_BUCKET)
        .seen_by_shadow(),
    guard(Mutant::ReadCollectedWithRow, "the stamp is read after the row", RESTING),
    guard(Mutant::ReadOverflowHeadFirst, "the overflow list is read after the slots", PILED_SLOW),
    guard(Mutant::CommitTakeMissingKey, "a missing row does not free its unique key", OWNED_BORN),
    guard(Mutant::CommitSkipOtherLeaves, "all leaves of a unique key are locked", SWARM),
    guard(Mutant::CommitSkipThirdCopy, "every copy is written", SWARM),
    guard(Mutant::CatalogFillOldSnapshot, "an index is filled from a fresh snapshot", REMADE),
    guard(Mutant::CollectForgetTombstoneBuffer, "a collected row frees its old versions", SWARM)
        .seen_by_shadow(),
    guard(Mutant::CollectHideUpkeepNumber, "numbers of upkeep are published", SWARM)
        .seen_by_shadow(),
    guard(Mutant::CollectLockRowTwice, "a batch locks a row once", LOSSY_HOT).seen_by_shadow(),
    guard(Mutant::CommitSkipMark, "batch 2 begins with a mark on each server", DEADLY),
    guard(Mutant::RecoverIgnoreMarks, "a commit with a mark is completed", DEADLY),
    guard(Mutant::RecoverPublished, "a published commit is left alone", DEADLY),
    guard(Mutant::RecoverSkipJournal, "the commits of the dead are decided", DEADLY),
    guard(Mutant::RecoverStealAnyLock, "only locks of the dead are released", DEADLY),
    guard(
        Mutant::RecoverSkipUpkeep,
        "the upkeep of the dead is completed or undone",
        DEADLY_UPKEEP,
    ),
    guard(Mutant::RecoverKeepUpkeepLocks, "the locks of undone upkeep are released", DEADLY_UPKEEP),
    guard(
        Mutant::RecoverRewriteUpkeep,
        "what an unlocked word proves is not repeated",
        DEADLY_UPKEEP,
    ),
    guard(
        Mutant::UpkeepOmitWrites,
        "an entry of upkeep has the writes of its batch",
        DEADLY_UPKEEP,
    ),
    guard(Mutant::UpkeepOnePlace, "half an entry leaves the one before whole", DEADLY_UPKEEP),
    guard(Mutant::ReplicaUnwritten, "what a batch writes is written to the replicas", LOSING)
        .seen_by_shadow(),
    guard(Mutant::ReplicaUnfenced, "replicas are written before a lock is released", LOSING)
        .seen_by_shadow(),
    guard(
        Mutant::ReplicaRewriteArrived,
        "a replica that a lost batch has reached is not written again",
        LOSING_BOTH,
    ),
    guard(
        Mutant::RecoverIgnoreReplicas,
        "a batch that has reached a replica is completed",
        LOSING_BOTH,
    )
    .seen_by_shadow(),
    guard(Mutant::ReplicaForgetSwap, "replicas of the oracle know who owns a slot", LOSING_FAR)
        .seen_by_shadow(),
    guard(Mutant::PromoteUndrained, "nobody holds a lock that a promotion ends", LOSING),
    guard(
        Mutant::FillSkipLastCopy,
        "what was written since it was copied is copied again",
        RETURNING,
    )
    .seen_by_shadow(),
    guard(
        Mutant::FillForgetCatalog,
        "a server that is filled gets the shards of the catalog",
        RETURNING,
    )
    .seen_by_shadow(),
    guard(Mutant::ReadTrustVersionAlone, "an old version is still there when it was read", RESTING),
    guard(Mutant::ReadTrustSlotKey, "a visited slot leads to the row with its key", WIDE),
    guard(Mutant::ScanRepeatEntry, "a lookup finds each entry once", WIDE_INDEXED),
    guard(Mutant::CatalogKeepOverdue, "a change frees what earlier ones left", SWARM)
        .seen_by_shadow(),
];
