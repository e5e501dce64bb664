//! Planted bugs: each removes one guard of the protocol, so that a test can show that it notices.
//!
//! Decision: docs/decisions/0005-mutants-exist-only-in-simulated-worlds.md

use std::fmt;

macro_rules! mutants {
    ($($mutant:ident = $name:literal,)*) => {
        /// A planted bug, named after the guard that it removes. Only simulated worlds ever switch
        /// one on; in worlds on real memory [`Env::mutant`](crate::Env::mutant) is `false` at
        /// compile time.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Mutant {
            $(#[doc = concat!("`", $name, "`")] $mutant,)*
        }

        impl Mutant {
            /// All mutants, in the order of their names.
            pub const ALL: &[Self] = &[$(Self::$mutant,)*];

            /// The name in scenario files, on the command line and in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$mutant => $name,)*
                }
            }
        }
    };
}

impl Mutant {
    /// The mutant with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mutant| mutant.name() == name)
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

// One line each, so that the name of a guard is written once.
mutants! {
    CatalogFillOldSnapshot = "catalog::fill_old_snapshot",
    CatalogKeepOverdue = "catalog::keep_overdue",
    CollectAdoptCandidate = "collect::adopt_candidate",
    CollectBuffersBeforeHorizon = "collect::buffers_before_horizon",
    CollectClockUnraised = "collect::clock_unraised",
    CollectDetachChanged = "collect::detach_changed",
    CollectForgetInsertWord = "collect::forget_insert_word",
    CollectForgetTombstoneBuffer = "collect::forget_tombstone_buffer",
    CollectGarbageBeforeHorizon = "collect::garbage_before_horizon",
    CollectHideUpkeepNumber = "collect::hide_upkeep_number",
    CollectIgnoreLanes = "collect::ignore_lanes",
    CollectLockRowTwice = "collect::lock_row_twice",
    CollectLowerBucketStamp = "collect::lower_bucket_stamp",
    CollectLowerWord = "collect::lower_word",
    CollectOverlookLanes = "collect::overlook_lanes",
    CollectRowUnmarked = "collect::row_unmarked",
    CollectSkipBucketStamp = "collect::skip_bucket_stamp",
    CollectSkipCollectedWord = "collect::skip_collected_word",
    CollectSkipLeafStamp = "collect::skip_leaf_stamp",
    CollectTellUnraised = "collect::tell_unraised",
    CollectTrustEntryKey = "collect::trust_entry_key",
    CollectTrustFirstLeaf = "collect::trust_first_leaf",
    CollectTrustKey = "collect::trust_key",
    CollectTrustMissingRow = "collect::trust_missing_row",
    CollectTrustNewestVersion = "collect::trust_newest_version",
    CollectTrustTombstone = "collect::trust_tombstone",
    CollectUnfencedBlock = "collect::unfenced_block",
    CollectUnlockedBucket = "collect::unlocked_bucket",
    CollectUnlockedLeaf = "collect::unlocked_leaf",
    CommitAnswerBeforePublish = "commit::answer_before_publish",
    CommitChainBeforeLock = "commit::chain_before_lock",
    CommitChainWithRow = "commit::chain_with_row",
    CommitFreeSlotEarly = "commit::free_slot_early",
    CommitMixLeafReadings = "commit::mix_leaf_readings",
    CommitNumberReused = "commit::number_reused",
    CommitOverwriteNeededSlot = "commit::overwrite_needed_slot",
    CommitPayloadBeforeOldVersion = "commit::payload_before_old_version",
    CommitPublishBeforeInstall = "commit::publish_before_install",
    CommitPublishPastGap = "commit::publish_past_gap",
    CommitPublishWithInstall = "commit::publish_with_install",
    CommitReleaseUnheld = "commit::release_unheld",
    CommitSkipEntry = "commit::skip_entry",
    CommitSkipInsertWord = "commit::skip_insert_word",
    CommitSkipLeafLock = "commit::skip_leaf_lock",
    CommitSkipLeafVersion = "commit::skip_leaf_version",
    CommitSkipMark = "commit::skip_mark",
    CommitSkipOtherLeaves = "commit::skip_other_leaves",
    CommitSkipReaders = "commit::skip_readers",
    CommitSkipRowLocks = "commit::skip_row_locks",
    CommitSkipSnapshotCheck = "commit::skip_snapshot_check",
    CommitSkipThirdCopy = "commit::skip_third_copy",
    CommitSkipUniqueCheck = "commit::skip_unique_check",
    CommitSkipUniqueLock = "commit::skip_unique_lock",
    CommitSkipValidation = "commit::skip_validation",
    CommitTakeKeyFromUnpublished = "commit::take_key_from_unpublished",
    CommitTakeMissingKey = "commit::take_missing_key",
    CommitTrustHalfInstalled = "commit::trust_half_installed",
    CommitTrustLeafInsertWord = "commit::trust_leaf_insert_word",
    CommitTrustOldChain = "commit::trust_old_chain",
    CommitTrustOwnBucketLock = "commit::trust_own_bucket_lock",
    CommitUnfencedBlock = "commit::unfenced_block",
    CommitUnfencedBuffer = "commit::unfenced_buffer",
    CommitUnlockBeforeInstall = "commit::unlock_before_install",
    CommitUnlockBucketFirst = "commit::unlock_bucket_first",
    CommitUnlockLeafFirst = "commit::unlock_leaf_first",
    CommitValidateBeforeLocks = "commit::validate_before_locks",
    DecideRewriteUnlocked = "decide::rewrite_unlocked",
    DecideSaveAgain = "decide::save_again",
    DecideWithoutSettling = "decide::without_settling",
    FabricNewbornRefused = "fabric::newborn_refused",
    FabricOneVerbRefused = "fabric::one_verb_refused",
    FabricUntornRows = "fabric::untorn_rows",
    FillForgetCatalog = "fill::forget_catalog",
    FillSkipLastCopy = "fill::skip_last_copy",
    HashCheckHeldSlots = "hash::check_held_slots",
    HashCopyUnlocked = "hash::copy_unlocked",
    HashForgetCollected = "hash::forget_collected",
    HashMoveHalfInstalled = "hash::move_half_installed",
    HashMovedRowUnlocked = "hash::moved_row_unlocked",
    HashRedirectFirst = "hash::redirect_first",
    HashSplitUnlocked = "hash::split_unlocked",
    HashStealRowLocks = "hash::steal_row_locks",
    HashTrustFirstCopy = "hash::trust_first_copy",
    LanePassLastNumber = "lane::pass_last_number",
    LaneReusedAfterUnknown = "lane::reused_after_unknown",
    MoverDropNeeded = "mover::drop_needed",
    MoverSkipLink = "mover::skip_link",
    OracleCollectUnlocked = "oracle::collect_unlocked",
    OracleFreezeUnlocked = "oracle::freeze_unlocked",
    OracleMergeOwnSlot = "oracle::merge_own_slot",
    OracleOtherBase = "oracle::other_base",
    OracleOverlookOwnCommit = "oracle::overlook_own_commit",
    OracleSingleCollect = "oracle::single_collect",
    OracleSkipNewSlots = "oracle::skip_new_slots",
    OracleStaleSnapshot = "oracle::stale_snapshot",
    OracleTornCopy = "oracle::torn_copy",
    OracleTornFrozen = "oracle::torn_frozen",
    ParkUnpinned = "park::unpinned",
    PromoteUndrained = "promote::undrained",
    ReadAbsenceUnwitnessed = "read::absence_unwitnessed",
    ReadCollectedWithRow = "read::collected_with_row",
    ReadGapUnwitnessed = "read::gap_unwitnessed",
    ReadOldOfAnyRow = "read::old_of_any_row",
    ReadOldUnwitnessed = "read::old_unwitnessed",
    ReadOverflowHeadFirst = "read::overflow_head_first",
    ReadRowUnwitnessed = "read::row_unwitnessed",
    ReadSkipCollected = "read::skip_collected",
    ReadSkipOverflow = "read::skip_overflow",
    ReadSuccessorUnchecked = "read::successor_unchecked",
    ReadTrustChain = "read::trust_chain",
    ReadTrustDirectory = "read::trust_directory",
    ReadTrustFirstReading = "read::trust_first_reading",
    ReadTrustKeptAbsence = "read::trust_kept_absence",
    ReadTrustKeptLeaf = "read::trust_kept_leaf",
    ReadTrustSlotKey = "read::trust_slot_key",
    ReadTrustVersionAlone = "read::trust_version_alone",
    RecoverIgnoreMarks = "recover::ignore_marks",
    RecoverIgnoreReplicas = "recover::ignore_replicas",
    RecoverKeepUpkeepLocks = "recover::keep_upkeep_locks",
    RecoverPublished = "recover::published",
    RecoverRewriteUpkeep = "recover::rewrite_upkeep",
    RecoverSkipJournal = "recover::skip_journal",
    RecoverSkipUpkeep = "recover::skip_upkeep",
    RecoverStealAnyLock = "recover::steal_any_lock",
    RedoAfterPublish = "redo::after_publish",
    RedoBeforeLocks = "redo::before_locks",
    ReplicaForgetSwap = "replica::forget_swap",
    ReplicaRewriteArrived = "replica::rewrite_arrived",
    ReplicaUnfenced = "replica::unfenced",
    ReplicaUnwritten = "replica::unwritten",
    RetryByNumberOnly = "retry::by_number_only",
    ScanBucketUnwitnessed = "scan::bucket_unwitnessed",
    ScanRangeUnwitnessed = "scan::range_unwitnessed",
    ScanRepeatEntry = "scan::repeat_entry",
    ScanTrustEntry = "scan::trust_entry",
    TreeAbsorbForgetsCollected = "tree::absorb_forgets_collected",
    TreeAnyLife = "tree::any_life",
    TreeKeepRewriteCounter = "tree::keep_rewrite_counter",
    TreeLateBurial = "tree::late_burial",
    TreeLeftFirst = "tree::left_first",
    TreeSplitForgetsCollected = "tree::split_forgets_collected",
    TreeWholeLeaves = "tree::whole_leaves",
    UpkeepOmitWrites = "upkeep::omit_writes",
    UpkeepOnePlace = "upkeep::one_place",
    ValueSkipVersion = "value::skip_version",
    WriteMixBucketReadings = "write::mix_bucket_readings",
    WriteStealBucketLock = "write::steal_bucket_lock",
    WriteStealLeafLock = "write::steal_leaf_lock",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_its_mutant_and_they_are_in_order() {
        for &mutant in Mutant::ALL {
            assert_eq!(Mutant::named(mutant.name()), Some(mutant));
        }
        assert!(Mutant::ALL.windows(2).all(|pair| pair[0].name() < pair[1].name()));
        assert_eq!(Mutant::named("commit::nothing"), None);
    }
}
