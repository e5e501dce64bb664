//! Loading: the rows of the checkpoint and of the log become rows in memory, by ordinary
//! transactions that are not logged. Secondary indexes grow with them.

use crate::checkpoint_file::{BlockPlace, CheckpointReader, FileIdentity};
use crate::control::Control;
use crate::error::{DurabilityError, Result};
use crate::tail::{LoadedRow, Tail, words};
use layout::Key;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use storage::{Directory, Disk, PlantedBug};
use txn::{
    Abort, CatalogError, Database, EngineEnv, Isolation, Lane, Outcome, RetryUntilDeadline,
    TableId, TxnError,
};

/// Rows of a transaction.
const ROWS_MAX: usize = 64;
/// Rows of the log that one worker takes at a time.
const TAIL_ROWS: usize = 4096;

/// A part of the work.
#[derive(Clone, Copy, Debug)]
enum Job {
    Block {
        table: u32,
        place: BlockPlace,
    },
    /// Rows of the log of a table, from this one on.
    Tail {
        table: u32,
        first: usize,
    },
}

/// The rows that a restart loads, as jobs for any number of workers.
pub struct Restore<D: Disk> {
    directory: Directory<D>,
    control: Control,
    tail: Tail,
    /// The keys in the log of each table, in one order for all workers.
    blocks: Vec<Job>,
    tails: Vec<Job>,
    next: AtomicUsize,
    loaded: AtomicU64,
    total: u64,
    failed: Mutex<Option<DurabilityError>>,
}

/// The two halves of the work. All workers finish the first before one begins the second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    Checkpoint,
    Log,
}

impl<D: Disk> Restore<D> {
    pub(crate) async fn new(directory: Directory<D>, control: Control, tail: Tail) -> Result<Self> {
        let (mut blocks, mut total) = (Vec::new(), 0);
        if let Some(checkpoint) = &control.checkpoint {
            for stored in &checkpoint.files {
                // The file of a table that was dropped later is not read.
                let Some(reader) = reader(&directory, &control, stored.table).await? else {
                    continue;
                };
                let places = reader.blocks().await?;
                total += stored.rows;
                let table = stored.table;
                blocks.extend(places.into_iter().map(|place| Job::Block { table, place }));
            }
        }
        let mut tails = Vec::new();
        for table in &control.tables {
            let count = tail.chains(table.number).count();
            total += count as u64;
            let firsts = (0..count).step_by(TAIL_ROWS);
            tails.extend(firsts.map(|first| Job::Tail { table: table.number, first }));
        }
        let (next, loaded) = (AtomicUsize::new(0), AtomicU64::new(0));
        let failed = Mutex::new(None);
        Ok(Self { directory, control, tail, blocks, tails, next, loaded, total, failed })
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

    /// Rows visited so far, and all of them.
    pub fn progress(&self) -> (u64, u64) {
        (self.loaded.load(Relaxed).min(self.total), self.total)
    }

    /// Entries of the log that are newer than the checkpoint.
    pub fn log_rows(&self) -> u64 {
        self.tail.rows
    }

    /// Works until no job of this half is left. For any number of workers, each with a handle of
    /// its own; the caller waits for all of them before the next half.
    pub async fn work<E: EngineEnv>(&self, database: &Database<E>, half: Half) -> Result<()> {
        let lane = database.lane().await;
        let mut lane = lane.map_err(|error| CatalogError::Limit(error.to_string()))?;
        let jobs = match half {
            Half::Checkpoint => &self.blocks,
            Half::Log => &self.tails,
        };
        while let Some(&job) = jobs.get(self.next.fetch_add(1, Relaxed)) {
            if let Some(error) = &*self.failed.lock().expect("no holder panics") {
                return Err(error.clone());
            }
            let done = match job {
                Job::Block { table, place } => self.load_block(&mut lane, table, place).await,
                Job::Tail { table, first } => self.load_tail(&mut lane, table, first).await,
            };
            if let Err(error) = done {
                *self.failed.lock().expect("no holder panics") = Some(error.clone());
                return Err(error);
            }
        }
        Ok(())
    }

    /// Begins the second half.
    pub fn begin_log(&self) {
        self.next.store(0, Relaxed);
    }

    async fn load_block<E: EngineEnv>(
        &self,
        lane: &mut Lane<E>,
        table: u32,
        place: BlockPlace,
    ) -> Result<()> {
        let reader = reader(&self.directory, &self.control, table).await?;
        let rows = reader.expect("the job names a table of the control file").read(place).await?;
        let mut batch = Vec::with_capacity(ROWS_MAX);
        for (key, row) in rows {
            let row = match self.tail.chain(table, &key) {
                None => Some(row),
                Some(chain) if chain.is_first() => self.tail.resolve(table, chain, Some(row))?,
                Some(_) => None,
            };
            batch.extend(row.map(|row| (Key::from_words(&words(&key)), row)));
            if batch.len() == ROWS_MAX {
                self.insert(lane, table, &batch).await?;
                batch.clear();
            }
        }
        self.insert(lane, table, &batch).await?;
        self.loaded.fetch_add(u64::from(place.rows), Relaxed);
        Ok(())
    }

    async fn load_tail<E: EngineEnv>(
        &self,
        lane: &mut Lane<E>,
        table: u32,
        first: usize,
    ) -> Result<()> {
        let mut batch = Vec::with_capacity(ROWS_MAX);
        let chains = self.tail.chains(table).skip(first).take(TAIL_ROWS);
        for (key, chain) in chains {
            self.loaded.fetch_add(1, Relaxed);
            if !chain.is_first() {
                continue;
            }
            let row = self.tail.resolve(table, chain, None)?;
            batch.extend(row.map(|row| (Key::from_words(&words(key)), row)));
            if batch.len() == ROWS_MAX {
                self.insert(lane, table, &batch).await?;
                batch.clear();
            }
        }
        self.insert(lane, table, &batch).await
    }

    /// Inserts rows in a transaction. A row that is there already was visited twice by the
    /// checkpoint and has not changed.
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
                Ok(()) => return Ok(()),
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

async fn insert_once<E: EngineEnv>(
    lane: &mut Lane<E>,
    table: TableId,
    rows: &[(Key, LoadedRow)],
) -> std::result::Result<(), TxnError> {
    let mut txn = lane.begin(Isolation::Snapshot).await?;
    let longs = txn.schema(table).map(|schema| schema.long_columns().to_vec());
    let mut longs = longs.unwrap_or_default();
    for (key, loaded) in rows {
        let row = match txn.insert(table, key).await {
            Err(TxnError::DuplicateKey { .. }) => continue,
            inserted => inserted?,
        };
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
        Outcome::Committed => Ok(()),
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
