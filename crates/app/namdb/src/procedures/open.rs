//! Creates the tables of a folder and loads them.

use super::database::{Options, Tables};
use super::error::OpenFailure;
use crate::cluster::{Fault, Joined, Place, Remote, Seat};
use crate::config::{Config, SERVER_BYTES_MIN};
use crate::database::Db;
use crate::error::TransactionError;
use crate::host;
use fabric::{Env, run_now};
use folder_benchmark::Stored;
use layout::NodeId;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use txn::{Database, Lane};
use workload::{Workload, WorkloadError};

/// Memory per session on the memory servers: the extents of its lane and its garbage.
const SESSION_BYTES: u64 = 4 << 20;
/// This part (one in 4) of the available memory is left to the operating system and the program.
const SPARE_PART: u64 = 4;
/// Parts of the load per thread: enough that all threads finish at about the same time.
const PARTS_PER_THREAD: u64 = 16;

/// Where the tables are stored.
pub(super) enum World {
    /// In this process, or in memory servers of this host, whose regions are mapped.
    Local(Db),
    /// Where a network reaches.
    Remote(Arc<Remote>),
}

impl World {
    /// The nodes to which calls are shipped, per memory server; empty if no call is shipped.
    pub fn owners(&self) -> Vec<Option<NodeId>> {
        match self {
            Self::Local(db) => db.engine().place().map(Place::owner_nodes).unwrap_or_default(),
            Self::Remote(remote) => remote.place().owner_nodes(),
        }
    }
}

/// Opens the world and prepares its tables.
pub(super) fn open(stored: &Stored, options: &Options) -> Result<World, OpenFailure> {
    if let Some(file) = &options.cluster {
        return open_in_cluster(file, stored, options)
            .map_err(|fault| OpenFailure::Cluster { file: file.display().to_string(), fault });
    }
    let db = crate::database::open(config(stored, options)?)?;
    prepare(&db, stored, options)?;
    Ok(World::Local(db))
}

fn open_in_cluster(file: &Path, stored: &Stored, options: &Options) -> Result<World, Fault> {
    match Joined::open(file, options.sessions, |servers| stored.is_shipped(servers))? {
        Joined::Mapped(db) => {
            prepare(&db, stored, options)?;
            Ok(World::Local(db))
        }
        Joined::Remote(remote) => {
            prepare_remote(&remote, stored, options)?;
            Ok(World::Remote(remote))
        }
    }
}

/// Creates and loads tables in mapped memory, as the options say.
fn prepare(db: &Db, stored: &Stored, options: &Options) -> Result<(), OpenFailure> {
    if options.tables != Tables::Present {
        run_now(stored.create_tables(&db.handle())).map_err(OpenFailure::Tables)?;
    }
    if options.tables != Tables::Loaded {
        return Ok(());
    }
    // Each thread uses a lane of its own, which sessions use later.
    let work = |parts: &Parts| {
        let failed = |error: TransactionError| WorkloadError::Configuration(error.to_string());
        let mut lane = db.borrow_lane().map_err(failed)?;
        let loaded = run_now(parts.load(stored, &db.handle(), &mut lane));
        db.give_back_lane(lane);
        loaded
    };
    load(options.sessions, &work).map_err(OpenFailure::Load)
}

/// Creates and loads tables over a network, as the options say.
fn prepare_remote(remote: &Arc<Remote>, stored: &Stored, options: &Options) -> Result<(), Fault> {
    if options.tables != Tables::Present {
        let session = Seat::open(remote)?;
        let made = session.engine.block_on(stored.create_tables(&session.database));
        made.map_err(OpenFailure::Tables)?;
    }
    if options.tables != Tables::Loaded {
        return Ok(());
    }
    let failed = |fault: Fault| WorkloadError::Configuration(fault.to_string());
    let work = |parts: &Parts| {
        let mut seat = Seat::open(remote).map_err(failed)?;
        let mut lane = seat.lane().map_err(|error| failed(error.into()))?;
        let loaded = seat.engine.block_on(parts.load(stored, &seat.database, &mut lane));
        seat.give_back(lane);
        loaded
    };
    Ok(load(options.sessions, &work).map_err(OpenFailure::Load)?)
}

fn config(stored: &Stored, options: &Options) -> Result<Config, OpenFailure> {
    let available = host::available_memory_bytes();
    let wanted = stored.memory_bytes(1) + u64::from(options.sessions) * SESSION_BYTES;
    let wanted = options.memory_bytes.unwrap_or(wanted.max(SERVER_BYTES_MIN));
    let there = match options.memory_bytes {
        Some(_) => available,
        None => available - available / SPARE_PART,
    };
    if wanted > there {
        let (needed_mib, there_mib) = (wanted.div_ceil(1 << 20), there >> 20);
        return Err(OpenFailure::TooLarge { needed_mib, there_mib });
    }
    Ok(Config {
        server_bytes: wanted,
        lanes: options.sessions,
        seed: options.seed,
        ..Config::default()
    })
}

/// A load, divided into parts that the threads take one by one.
struct Parts {
    /// Whether this pass verifies references between the loaded rows instead of loading them.
    is_verify_pass: bool,
    count: u64,
    next: AtomicU64,
}

impl Parts {
    /// Processes parts until none is left.
    async fn load<E: Env>(
        &self,
        stored: &Stored,
        database: &Database<E>,
        lane: &mut Lane<E>,
    ) -> Result<(), WorkloadError> {
        loop {
            let part = self.next.fetch_add(1, Relaxed);
            if part >= self.count {
                return Ok(());
            }
            let loaded = match self.is_verify_pass {
                false => stored.load_part(database, lane, part, self.count, &|_| {}).await,
                true => stored.verify_part(database, lane, part, self.count).await,
            };
            if loaded.is_err() {
                // Stops the other threads.
                self.next.store(self.count, Relaxed);
                return loaded;
            }
        }
    }
}

/// Loads the tables and verifies them, on all processors.
fn load(
    sessions: u32,
    work: &(dyn Fn(&Parts) -> Result<(), WorkloadError> + Sync),
) -> Result<(), WorkloadError> {
    let threads = (host::processor_count() as u64).clamp(1, u64::from(sessions));
    let step = |is_verify_pass| {
        let count = threads * PARTS_PER_THREAD;
        let parts = Parts { is_verify_pass, count, next: AtomicU64::new(0) };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| work(&parts))).collect();
            let mut joined = threads.into_iter().map(|thread| thread.join());
            joined.try_for_each(|loaded| loaded.expect("loading does not panic"))
        })
    };
    step(false)?;
    step(true)
}
