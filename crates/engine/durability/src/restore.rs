//! Loading: the rows of the checkpoint and of the log become rows in memory, by ordinary
//! transactions that are not logged. Secondary indexes grow with them.

use crate::checkpoint_file::{BlockPlace, CheckpointReader, FileIdentity};
use crate::control::Control;
use crate::error::{DurabilityError, Result};
use crate::tail::{LoadedRow, Tail, words};
use layout::Key;
use redo_log::{ReplayedRow, Survey};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use storage::{Directory, Disk, PlantedBug};
use txn::{
    Abort, CatalogError, Database, EngineEnv, Isolation, Lane, Outcome, RetryUntilDeadline,
    TableId, TxnError,
};

/// Rows of a transaction.
const ROWS_MAX: usize = 64;

/// A block of the checkpoint.
#[derive(Clone, Copy, Debug)]
struct Block {
    table: u32,
    place: BlockPlace,
}

/// The rows that a restart loads, as jobs for any number of workers.
pub struct Restore<D: Disk> {
    directory: Directory<D>,
    control: Control,
    survey: Survey,
    tail: Tail,
    blocks: Vec<Block>,
    checkpoint_rows: u64,
    /// The next job of each phase.
    next: [AtomicUsize; Phase::ALL.len()],
    /// Rows of the checkpoint that were loaded, twice, and entries of the log: once when they are
    /// read and once when they are applied.
    half_steps: AtomicU64,
    /// Rows that were inserted.
    rows: AtomicU64,
    failed: Mutex<Option<DurabilityError>>,
}

/// The phases of the work. All workers finish one before one begins the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Read the entries of the log, a segment at a time.
    Read,
    /// Sort them by row.
    Sort,
    /// Load the rows of the checkpoint, each with its entries.
    LoadCheckpoint,
    /// Load the rows that only the log has.
    LoadLog,
}

impl Phase {
    /// All phases, in their order.
    pub const ALL: [Self; 4] = [Self::Read, Self::Sort, Self::LoadCheckpoint, Self::LoadLog];
}

impl<D: Disk> Restore<D> {
    pub(crate) async fn new(
        directory: Directory<D>,
        control: Control,
        survey: Survey,
    ) -> Result<Self> {
        let (mut blocks, mut checkpoint_rows) = (Vec::new(), 0);
        if let Some(checkpoint) = &control.checkpoint {
            for stored in &checkpoint.files {
                // The file of a table that was dropped later is not read.
                let Some(reader) = reader(&directory, &control, stored.table).await? else {
                    continue;
                };
                let places = reader.blocks().await?;
                checkpoint_rows += stored.rows;
                let table = stored.table;
                blocks.extend(places.into_iter().map(|place| Block { table, place }));
            }
        }
        let tail = Tail::new(&directory, &control, survey.rows)?;
        let (next, half_steps, rows) = (Default::default(), AtomicU64::new(0), AtomicU64::new(0));
        let failed = Mutex::new(None);
        Ok(Self {
            directory,
            control,
            survey,
            tail,
            blocks,
            checkpoint_rows,
            next,
            half_steps,
            rows,
            failed,
        })
    }

    /// Creates the tables, with the numbers that they had. `database` is empty and has no redo
    /// log.
    pub async fn create_tables<E: EngineEnv>(&self, database: &Database<E>) -> Result<()> {
        for table in &self.control.tables {
            database.skip_table_numbers(table.number).await?;
            let mut spec = table.spec()?;
            if self.directory.has_planted(PlantedBug::UniqueIndexPlain) {
                spec.indexes.iter_mut().for_each(|index| index.unique = false);
            }
            let created = database.create_table(spec).await?;
            assert_eq!(created.0, table.number, "nobody else creates tables");
        }
        database.skip_table_numbers(self.control.next_table).await?;
        Ok(())
    }

    /// Rows of the checkpoint and entries of the log that are done, and all of them. An entry that
    /// was read and not yet applied counts half.
    pub fn progress(&self) -> (u64, u64) {
        let all = self.checkpoint_rows + self.survey.rows;
        ((self.half_steps.load(Relaxed) / 2).min(all), all)
    }

    /// Rows that were loaded.
    pub fn rows(&self) -> u64 {
        self.rows.load(Relaxed)
    }

    /// Bytes of the log that it reads.
    pub fn log_bytes(&self) -> u64 {
        self.survey.bytes()
    }

    /// Entries of the log that are newer than the checkpoint. Known after the first phase.
    pub fn log_entries(&self) -> u64 {
        self.tail.entries()
    }

    /// Works until no job of this phase is left. For any number of workers, each with a handle of
    /// its own; the caller waits for all of them before the next phase.
    pub async fn work<E: EngineEnv>(&self, database: &Database<E>, phase: Phase) -> Result<()> {
        let done = match phase {
            Phase::Read => self.read().await,
            Phase::Sort => self.sort(),
            Phase::LoadCheckpoint => self.load_checkpoint(database).await,
            Phase::LoadLog => self.load_log(database).await,
        };
        if let Err(error) = &done {
            *self.failed.lock().expect("no holder panics") = Some(error.clone());
        }
        done
    }

    /// The next job of a phase with `count` jobs; an error if another worker has failed.
    fn job(&self, phase: Phase, count: usize) -> Result<Option<usize>> {
        if let Some(error) = &*self.failed.lock().expect("no holder panics") {
            return Err(error.clone());
        }
        let job = self.next[phase as usize].fetch_add(1, Relaxed);
        Ok((job < count).then_some(job))
    }

    async fn read(&self) -> Result<()> {
        let (tail, survey, database) = (&self.tail, &self.survey, self.control.identity());
        let mut pieces = tail.pieces();
        while let Some(segment) = self.job(Phase::Read, survey.segment_count())? {
            let mut half_steps = 0;
            let add = |row: ReplayedRow<'_>| {
                // Others are not applied later.
                half_steps += if tail.add(&mut pieces, &self.control, &row)? { 1 } else { 2 };
                Ok::<_, DurabilityError>(())
            };
            survey.replay(&self.directory, database, segment, add).await?;
            self.half_steps.fetch_add(half_steps, Relaxed);
        }
        tail.keep(pieces);
        Ok(())
    }

    fn sort(&self) -> Result<()> {
        while let Some(part) = self.job(Phase::Sort, self.tail.part_count())? {
            self.tail.sort(part);
        }
        Ok(())
    }

    async fn load_checkpoint<E: EngineEnv>(&self, database: &Database<E>) -> Result<()> {
        let mut lane = lane(database).await?;
        while let Some(job) = self.job(Phase::LoadCheckpoint, self.blocks.len())? {
            self.load_block(&mut lane, self.blocks[job]).await?;
        }
        Ok(())
    }

    async fn load_log<E: EngineEnv>(&self, database: &Database<E>) -> Result<()> {
        let mut lane = lane(database).await?;
        while let Some(part) = self.job(Phase::LoadLog, self.tail.part_count())? {
            self.load_part(&mut lane, part).await?;
        }
        Ok(())
    }

    async fn load_block<E: EngineEnv>(&self, lane: &mut Lane<E>, block: Block) -> Result<()> {
        let Block { table, place } = block;
        let reader = reader(&self.directory, &self.control, table).await?;
        let rows = reader.expect("the job names a table of the control file").read(place).await?;
        let mut half_steps = 2 * u64::from(place.rows);
        let mut batch = Vec::with_capacity(ROWS_MAX);
        for (key, row) in rows {
            let row = match self.tail.chain(table, &key) {
                None => Some(row),
                Some(chain) if chain.is_first() => {
                    half_steps += chain.entries();
                    self.tail.resolve(chain, Some(row))?
                }
                Some(_) => None,
            };
            batch.extend(row.map(|row| (Key::from_words(&words(&key)), row)));
            if batch.len() == ROWS_MAX {
                self.insert(lane, table, &batch).await?;
                batch.clear();
            }
        }
        self.insert(lane, table, &batch).await?;
        self.half_steps.fetch_add(half_steps, Relaxed);
        Ok(())
    }

    async fn load_part<E: EngineEnv>(&self, lane: &mut Lane<E>, part: usize) -> Result<()> {
        let (mut table, mut half_steps) = (0, 0);
        let mut batch = Vec::with_capacity(ROWS_MAX);
        for chain in self.tail.chains(part) {
            if !chain.is_first() {
                continue;
            }
            half_steps += chain.entries();
            if batch.len() == ROWS_MAX || chain.table() != table {
                self.insert(lane, table, &batch).await?;
                batch.clear();
                table = chain.table();
            }
            let row = self.tail.resolve(chain, None)?;
            batch.extend(row.map(|row| (Key::from_words(&words(chain.key())), row)));
        }
        self.insert(lane, table, &batch).await?;
        self.half_steps.fetch_add(half_steps, Relaxed);
        Ok(())
    }

    /// Inserts rows in a transaction, and counts them. A row that is there already was visited
    /// twice by the checkpoint and has not changed.
    async fn insert<E: EngineEnv>(
        &self,
        lane: &mut Lane<E>,
        table: u32,
        rows: &[(Key, LoadedRow)],
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let env = lane.env().clone();
        let mut retry = RetryUntilDeadline::begin(&env);
        loop {
            let error = match insert_once(lane, TableId(table), rows).await {
                Ok(inserted) => {
                    self.rows.fetch_add(inserted, Relaxed);
                    return Ok(());
                }
                Err(error) => error,
            };
            let may_go_on = match error.abort() {
                Some(abort) => retry.again(&env, abort).await,
                None => false,
            };
            if !may_go_on {
                return Err(self.not_loaded(lane, table, &error));
            }
        }
    }

    #[cold]
    fn not_loaded<E: EngineEnv>(
        &self,
        lane: &Lane<E>,
        table: u32,
        error: &TxnError,
    ) -> DurabilityError {
        let name = self.control.table(table).map_or_else(String::new, |table| table.name.clone());
        let reason = match (error.abort(), lane.last_unique_violation()) {
            (Some(Abort::OutOfMemory), _) => {
                "memory is full; open the database with more memory".to_owned()
            }
            (Some(Abort::UniqueViolation), Some(violation)) => violation.to_string(),
            _ => error.to_string(),
        };
        DurabilityError::Load { table: name, reason }
    }
}

async fn lane<E: EngineEnv>(database: &Database<E>) -> Result<Lane<E>> {
    let lane = database.lane().await;
    lane.map_err(|error| CatalogError::Limit(error.to_string()).into())
}

async fn insert_once<E: EngineEnv>(
    lane: &mut Lane<E>,
    table: TableId,
    rows: &[(Key, LoadedRow)],
) -> std::result::Result<u64, TxnError> {
    let mut inserted = 0;
    let mut txn = lane.begin(Isolation::Snapshot).await?;
    let longs = txn.schema(table).map(|schema| schema.long_columns().to_vec());
    let mut longs = longs.unwrap_or_default();
    for (key, loaded) in rows {
        let row = match txn.insert(table, key).await {
            Err(TxnError::DuplicateKey { .. }) => continue,
            row => row?,
        };
        inserted += 1;
        if longs.is_empty() {
            // The first statement has opened the table.
            longs =
                txn.schema(table).map_or_else(Vec::new, |schema| schema.long_columns().to_vec());
        }
        let mut record = txn.update(row);
        record.copy_payload(&loaded.payload);
        for (&column, value) in longs.iter().zip(&loaded.values) {
            if !value.is_empty() {
                record.set_bytes(column, value);
            }
        }
    }
    match txn.commit_and_rest().await {
        Outcome::Committed => Ok(inserted),
        Outcome::Aborted(abort) => Err(abort.into()),
        Outcome::Unknown => Err(Abort::Unreachable.into()),
    }
}

/// Opens the file of a table in the newest checkpoint; `None` if the table was dropped.
async fn reader<D: Disk>(
    directory: &Directory<D>,
    control: &Control,
    table: u32,
) -> Result<Option<CheckpointReader<D>>> {
    let checkpoint = control.checkpoint.as_ref().expect("a file belongs to a checkpoint");
    let Some(stored) = control.table(table) else { return Ok(None) };
    let file = checkpoint.files.iter().find(|file| file.table == table);
    let Some(file) = file.cloned() else { return Ok(None) };
    let (database, number) = (control.identity(), checkpoint.number);
    let identity = FileIdentity { database, checkpoint: number, table };
    let schema = stored.spec()?.schema;
    CheckpointReader::open(directory, identity, file, &schema).await.map(Some)
}
