//! The faults of a simulated disk, and how often each had an effect.

use std::collections::BTreeMap;
use std::fmt;

/// Every kind of fault of a disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DiskFault {
    /// The machine loses power. Counted per crash.
    PowerLoss,
    /// A process ends and its unsynced writes stay readable. Counted per kill.
    ProcessEnd,
    /// A write without a sync is lost, whole or in part. Counted per write.
    LostWrite,
    /// Some sectors of one write survive and others do not. Counted per write.
    TornWrite,
    /// A write survives that came after one that is lost. Counted per crash.
    ReorderedWrite,
    /// A file has an earlier length, so that what was written behind it is gone. Counted per file.
    LostLength,
    /// A file has its new length, but zeros in place of what was written there. Counted per file.
    LostExtension,
    /// A created name is lost. Counted per name.
    LostName,
    /// A rename is lost. Counted per rename.
    LostRename,
    /// Both names of a renamed file are there. Counted per rename.
    HalfRename,
    /// A removed name is there again. Counted per name.
    LostRemoval,
    /// A sync reports an error and drops what it did not write. Counted per sync.
    FailedSync,
    /// A write or an allocation finds the disk full. Counted per operation.
    Full,
    /// A bit of a file changes. Counted per bit.
    BitFlip,
    /// The end of a file is gone. Counted per file.
    CutFile,
}

impl DiskFault {
    pub const ALL: [Self; 15] = [
        Self::PowerLoss,
        Self::ProcessEnd,
        Self::LostWrite,
        Self::TornWrite,
        Self::ReorderedWrite,
        Self::LostLength,
        Self::LostExtension,
        Self::LostName,
        Self::LostRename,
        Self::HalfRename,
        Self::LostRemoval,
        Self::FailedSync,
        Self::Full,
        Self::BitFlip,
        Self::CutFile,
    ];

    /// The kind's name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PowerLoss => "power-loss",
            Self::ProcessEnd => "process-end",
            Self::LostWrite => "lost-write",
            Self::TornWrite => "torn-write",
            Self::ReorderedWrite => "reordered-write",
            Self::LostLength => "lost-length",
            Self::LostExtension => "lost-extension",
            Self::LostName => "lost-name",
            Self::LostRename => "lost-rename",
            Self::HalfRename => "half-rename",
            Self::LostRemoval => "lost-removal",
            Self::FailedSync => "failed-sync",
            Self::Full => "disk-full",
            Self::BitFlip => "bit-flip",
            Self::CutFile => "cut-file",
        }
    }
}

impl fmt::Display for DiskFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// For every kind of fault, how often one had an effect, in one run or in several.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DiskCoverage(BTreeMap<DiskFault, u64>);

impl DiskCoverage {
    pub(crate) fn count(&mut self, fault: DiskFault) {
        *self.0.entry(fault).or_insert(0) += 1;
    }

    pub fn of(&self, fault: DiskFault) -> u64 {
        self.0.get(&fault).copied().unwrap_or(0)
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (&fault, count) in &other.0 {
            *self.0.entry(fault).or_insert(0) += count;
        }
    }

    /// The kinds that had no effect yet.
    pub fn missing(&self) -> Vec<DiskFault> {
        DiskFault::ALL.into_iter().filter(|&fault| self.of(fault) == 0).collect()
    }
}
