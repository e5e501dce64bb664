//! The flusher: takes a snapshot, writes the lanes' entries as a group, and acknowledges it.

use crate::acknowledgement::{Acknowledgements, Planted, Refusal};
use crate::error::{DurabilityError, Result};
use redo_log::{Group, Incarnation, Lanes, Log, LogError};
use storage::{Directory, Disk, PlantedBug};
use txn::{CatalogError, Database, EngineEnv, Isolation, Lane, Oracle};

/// Attempts at a snapshot before the flusher gives up.
const SNAPSHOT_TRIES_MAX: u32 = 1000;

/// Sums over all groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlushStatistics {
    /// Groups. Each is one sync.
    pub groups: u64,
    /// Bytes written, with group records and checksums.
    pub bytes: u64,
}

/// Makes commits durable, a group at a time. A database has one flusher.
pub struct Flusher<E: EngineEnv, D: Disk> {
    lane: Lane<E>,
    log: Log<D>,
    acknowledgements: Acknowledgements,
    statistics: FlushStatistics,
}

impl<E: EngineEnv, D: Disk> Flusher<E, D> {
    /// A flusher of this log. `database` is a handle without a redo log, on the same memory; the
    /// flusher takes a lane of it for its snapshots.
    ///
    /// Each snapshot must have everything that was published before, which a frozen vector may
    /// lack: a group would acknowledge commits that it does not cover, and a chunk of a checkpoint
    /// could be older than the checkpoint's first group.
    pub async fn new(database: &Database<E>, log: Log<D>) -> Result<Self> {
        if database.config().oracle != Oracle::DoubleCollect {
            let reason = "a database with a directory needs current snapshots; choose the oracle \
                          double-collect";
            return Err(CatalogError::WrongKind(reason).into());
        }
        let lane = database.lane().await;
        let lane = lane.map_err(|error| CatalogError::Limit(error.to_string()))?;
        let acknowledgements = Acknowledgements::default();
        if D::IS_SIMULATED {
            acknowledgements.plant(Planted {
                any_group_under_way: log.has_planted(PlantedBug::AnyGroupUnderWay),
                readers_not_held: log.has_planted(PlantedBug::ReadersNotHeld),
            });
        }
        let statistics = FlushStatistics::default();
        Ok(Self { lane, log, acknowledgements, statistics })
    }

    /// The acknowledgements of its groups.
    pub fn acknowledgements(&self) -> &Acknowledgements {
        &self.acknowledgements
    }

    /// The lanes of its log, for [`Database::logging_to`].
    pub fn lanes(&self) -> Lanes {
        self.log.lanes()
    }

    pub fn statistics(&self) -> FlushStatistics {
        self.statistics
    }

    /// Whether there are commits that no durable group covers. Those that are between the entry and
    /// the publication count.
    pub fn has_work(&self) -> bool {
        self.log.has_uncovered()
    }

    /// The start of the database to which its groups belong.
    pub fn incarnation(&self) -> Incarnation {
        self.log.incarnation()
    }

    /// Makes everything durable that is published by now. If the disk is full, the acknowledgements
    /// say so, and the next call tries again; after any other error no call succeeds.
    pub async fn flush(&mut self) -> Result<()> {
        let flushed = self.flush_numbered().await;
        match &flushed {
            Ok(group) => self.acknowledgements.completed(Some(*group)),
            Err(error) => self.acknowledgements.refuse(refusal(error)),
        }
        flushed.map(drop)
    }

    async fn flush_numbered(&mut self) -> Result<Group> {
        let is_late = self.log.has_planted(PlantedBug::NumberedAfterSnapshot);
        if !is_late {
            self.acknowledgements.begin();
        }
        let counters = self.snapshot().await?;
        if is_late {
            self.acknowledgements.begin();
        }
        self.acknowledgements.taken(&counters);
        let is_early = self.log.has_planted(PlantedBug::AcknowledgedBeforeSync);
        if is_early && self.acknowledgements.last_group().is_some() {
            self.acknowledgements.completed(None);
            self.acknowledgements.taken(&counters);
        }
        let group = self.log.commit_group(&counters).await?;
        self.statistics.groups += 1;
        self.statistics.bytes += group.bytes;
        Ok(group)
    }

    /// An ordinary snapshot.
    async fn snapshot(&mut self) -> Result<Vec<u64>> {
        let mut last = None;
        for _ in 0..SNAPSHOT_TRIES_MAX {
            let begun = match self.lane.begin(Isolation::Snapshot).await {
                Ok(transaction) => {
                    let counters = transaction.snapshot().counters().to_vec();
                    transaction.abort_and_rest().await;
                    Ok(counters)
                }
                Err(abort) => Err(abort),
            };
            match begun {
                Ok(counters) => return Ok(counters),
                Err(abort) => last = Some(abort),
            }
        }
        let reason = last.map_or_else(String::new, |abort| abort.to_string());
        Err(CatalogError::Unreachable(format!("no snapshot can be had: {reason}")).into())
    }

    /// Refuses new commits while the disk has no room for the next segment and the current one is
    /// half full: what is published by then still fits, so that readers need not wait for room.
    pub async fn check_room(&mut self, directory: &Directory<D>) -> Result<()> {
        let needed = self.log.segment_bytes();
        let mut full = None;
        if self.log.position().offset * 2 >= needed {
            let free = directory.free_bytes().await.map_err(DurabilityError::from);
            let free = free.inspect_err(|error| self.acknowledgements.refuse(refusal(error)))?;
            full = (free < needed).then(|| {
                let label = directory.label();
                Refusal::Full(format!(
                    "`{label}` has {free} bytes left, and the redo log needs {needed}"
                ))
            });
        }
        self.acknowledgements.set_room(full);
        Ok(())
    }

    /// Writes that the last group is durable, so that its damage is noticed. For a flusher that has
    /// nothing else to do.
    pub async fn mark(&mut self) -> Result<()> {
        let marked = self.log.mark().await.map_err(DurabilityError::from);
        if let Err(error) = &marked {
            self.acknowledgements.refuse(refusal(error));
        }
        marked
    }

    /// Makes everything durable and closes the log.
    pub async fn close(self) -> Result<()> {
        self.acknowledgements.begin();
        let acknowledgements = self.acknowledgements.clone();
        match self.close_begun().await {
            Ok(()) => {
                acknowledgements.completed(None);
                acknowledgements.refuse(Refusal::Closed);
                Ok(())
            }
            Err(error) => {
                acknowledgements.refuse(Refusal::Ended(error.to_string()));
                Err(error)
            }
        }
    }

    async fn close_begun(mut self) -> Result<()> {
        let counters = self.snapshot().await?;
        self.acknowledgements.taken(&counters);
        Ok(self.log.close(&counters).await?)
    }
}

fn refusal(error: &DurabilityError) -> Refusal {
    match error {
        DurabilityError::Log(log) if log.is_full() => Refusal::Full(log.to_string()),
        DurabilityError::Log(LogError::Disk(disk)) => Refusal::Ended(disk.to_string()),
        other => Refusal::Ended(other.to_string()),
    }
}
