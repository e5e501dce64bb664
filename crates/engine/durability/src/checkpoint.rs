//! A checkpoint: all rows, written while transactions run.
//!
//! ```text
//! 1 a durable group g            its snapshot and its place in the log are kept
//! 2 tables, chunk by chunk       each chunk in a snapshot of its own, later than that of g
//! 3 a durable group behind them  its snapshot covers that of the last chunk
//! 4 the control file             names the checkpoint; from now on it is the newest one
//! 5 old files are removed        segments before the place of g, files of older checkpoints
//! ```
//!
//! A scan in one snapshot would hold all garbage back, and end with `SnapshotTooOld`. The log from
//! g on makes the chunks one state again. Step 3 comes before step 4 because a chunk may have rows
//! of commits that are not durable yet: a restart must not know them from the checkpoint alone.

use crate::acknowledgement::{Acknowledgements, Refusal};
use crate::checkpoint_file::{BlockBuffer, CheckpointFile, FileIdentity, checkpoint_of};
use crate::control::{Control, StoredCheckpoint, StoredFile, StoredTable};
use crate::error::{DurabilityError, Result};
use layout::RecordRef;
use redo_log::{Incarnation, Position};
use storage::{Directory, Disk, PlantedBug};
use txn::{
    CatalogError, Database, EngineEnv, Isolation, Lane, RetryUntilDeadline, TableId, TxnError,
    VisitPart,
};

/// Usual size of a chunk: it ends with the first part of the table behind this many bytes.
const CHUNK_BYTES: usize = 256 * 1024;

/// A checkpoint that is being made: step 1 is done.
pub struct CheckpointStart {
    incarnation: Incarnation,
    replay_from: Position,
    counters: Vec<u64>,
    chunk_bytes: usize,
}

impl CheckpointStart {
    /// Waits for a durable group. The control file is read after that: a table that is created
    /// before the group may have rows that the group covers.
    pub async fn new(
        acknowledgements: &Acknowledgements,
        incarnation: Incarnation,
    ) -> Result<Self> {
        acknowledgements.durable(acknowledgements.of_next_group()).await.map_err(refused)?;
        // The last group of a database that is closed is not one to begin with.
        let Some((group, counters)) = acknowledgements.last_group() else {
            return Err(refused(Refusal::Closed));
        };
        let (replay_from, chunk_bytes) = (group.replay_from, CHUNK_BYTES);
        Ok(Self { incarnation, replay_from, counters, chunk_bytes })
    }

    /// Ends chunks behind this many bytes: small tables then have several chunks.
    #[must_use]
    pub fn with_chunk_bytes(self, chunk_bytes: usize) -> Self {
        Self { chunk_bytes, ..self }
    }
}

fn refused(refusal: Refusal) -> DurabilityError {
    DurabilityError::Refused(refusal)
}

/// Writes the files of a checkpoint, and waits until a durable group covers them. `control` is the
/// control file as it is after `start`, and `database` a handle without a redo log. `note` gets the
/// number of rows of each block; it may wait, so that transactions have the processors, and its
/// error ends the checkpoint. After an error the files are removed.
pub async fn write_checkpoint<E: EngineEnv, D: Disk>(
    start: CheckpointStart,
    control: &Control,
    database: &Database<E>,
    directory: &Directory<D>,
    acknowledgements: &Acknowledgements,
    note: impl FnMut(u64) -> Result<()>,
) -> Result<StoredCheckpoint> {
    remove_incomplete(directory, control).await?;
    let written = write_files(start, control, database, directory, acknowledgements, note).await;
    if written.is_err() {
        // The log may need their room. A disk that has failed keeps them until the next start.
        let _ = remove_incomplete(directory, control).await;
    }
    written
}

async fn write_files<E: EngineEnv, D: Disk>(
    start: CheckpointStart,
    control: &Control,
    database: &Database<E>,
    directory: &Directory<D>,
    acknowledgements: &Acknowledgements,
    mut note: impl FnMut(u64) -> Result<()>,
) -> Result<StoredCheckpoint> {
    let number = control.checkpoint.as_ref().map_or(0, |last| last.number) + 1;
    let lane = database.lane().await;
    let mut lane = lane.map_err(|error| CatalogError::Limit(error.to_string()))?;
    let mut files = Vec::new();
    for table in &control.tables {
        let identity =
            FileIdentity { database: control.identity(), checkpoint: number, table: table.number };
        let file = CheckpointFile::create(directory, identity).await?;
        let chunks = Chunks { lane: &mut lane, table, chunk_bytes: start.chunk_bytes };
        files.extend(chunks.write(file, directory, &mut note).await?);
    }
    directory.sync().await?;
    let last = lane.snapshot().map(|snapshot| acknowledgements.of_snapshot(snapshot));
    let last = last.unwrap_or_else(|| acknowledgements.of_next_group());
    if !directory.has_planted(PlantedBug::CheckpointNamedEarly) {
        acknowledgements.durable(last).await.map_err(refused)?;
    }
    let complete_group = acknowledgements.last_group().map_or(0, |(group, _)| group.number);
    let complete_group = match directory.has_planted(PlantedBug::CheckpointWithoutItsGroup) {
        true => 0,
        false => complete_group,
    };
    let CheckpointStart { incarnation, replay_from, counters, .. } = start;
    let (incarnation, replay_from) = (incarnation.0, (replay_from.segment, replay_from.offset));
    Ok(StoredCheckpoint { number, incarnation, replay_from, counters, complete_group, files })
}

/// Removes what the newest checkpoint has made superfluous: after its control file is durable.
pub async fn remove_obsolete<D: Disk>(directory: &Directory<D>, control: &Control) -> Result<()> {
    remove_incomplete(directory, control).await?;
    redo_log::remove_segments_before(directory, control.replay_from()).await?;
    Ok(())
}

/// Removes files of checkpoints other than the newest complete one.
pub(crate) async fn remove_incomplete<D: Disk>(
    directory: &Directory<D>,
    control: &Control,
) -> Result<()> {
    let newest = control.checkpoint.as_ref().map(|checkpoint| checkpoint.number);
    let mut has_removed = false;
    for entry in directory.list().await? {
        if checkpoint_of(&entry.name).is_some_and(|number| Some(number) != newest) {
            directory.remove(&entry.name).await?;
            has_removed = true;
        }
    }
    if has_removed {
        directory.sync().await?;
    }
    Ok(())
}

/// The state of the table behind a chunk.
enum Chunk {
    Next(Option<VisitPart>),
    Dropped,
}

/// A table that is read chunk by chunk.
struct Chunks<'a, E: EngineEnv> {
    lane: &'a mut Lane<E>,
    table: &'a StoredTable,
    chunk_bytes: usize,
}

impl<E: EngineEnv> Chunks<'_, E> {
    /// Writes the rows of the table; `None` if it was dropped meanwhile.
    async fn write<D: Disk>(
        mut self,
        mut file: CheckpointFile<D>,
        directory: &Directory<D>,
        note: &mut impl FnMut(u64) -> Result<()>,
    ) -> Result<Option<StoredFile>> {
        let (mut block, mut next) = (BlockBuffer::new(), None);
        loop {
            next = match self.append(next, &mut block).await? {
                Chunk::Next(next) => next,
                Chunk::Dropped => {
                    directory.remove(file.name()).await?;
                    return Ok(None);
                }
            };
            if block.rows > 0 {
                let rows = u64::from(block.rows);
                file.append(&mut block).await?;
                note(rows)?;
            }
            if next.is_none() {
                return file.finish().await.map(Some);
            }
        }
    }

    /// Reads parts of the table in one snapshot until the chunk is full.
    async fn append(&mut self, from: Option<VisitPart>, block: &mut BlockBuffer) -> Result<Chunk> {
        let env = self.lane.env().clone();
        let mut retry = RetryUntilDeadline::begin(&env);
        loop {
            block.clear();
            let reason = match self.visit(from, block).await {
                Ok(next) => return Ok(Chunk::Next(next)),
                Err(TxnError::Catalog(error)) if matches!(*error, CatalogError::NoTable(_)) => {
                    return Ok(Chunk::Dropped);
                }
                Err(error) => error,
            };
            let may_go_on = match reason.abort() {
                Some(abort) => retry.again(&env, abort).await,
                None => false,
            };
            if !may_go_on {
                let (table, reason) = (self.table.name.clone(), reason.to_string());
                return Err(DurabilityError::Table { table, reason });
            }
        }
    }

    async fn visit(
        &mut self,
        mut from: Option<VisitPart>,
        block: &mut BlockBuffer,
    ) -> std::result::Result<Option<VisitPart>, TxnError> {
        let mut txn = self.lane.begin(Isolation::Snapshot).await?;
        loop {
            let mut append = |row: RecordRef<'_>| {
                let columns = row.schema().long_columns().iter();
                // A short value is in the payload.
                let is_in_row = |column| row.is_null(column) || row.in_row(column).is_some();
                let value = |&column: &usize| {
                    if is_in_row(column) { &[][..] } else { row.bytes(column) }
                };
                block.append(row.key(), row.payload(), columns.map(value));
            };
            let table = TableId(self.table.number);
            let next = txn.for_each_long_in_part(table, from, &mut append).await?;
            if next.is_none() || block.byte_count() >= self.chunk_bytes {
                txn.abort_and_rest().await;
                return Ok(next);
            }
            from = next;
        }
    }
}
