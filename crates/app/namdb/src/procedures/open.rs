//! Makes the tables of a folder, and loads them.

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

/// Of the memory servers, for each session: the extents its lane takes from, and what it keeps for later.
const SESSION_BYTES: u64 = 4 << 20;
/// Left to the operating system and the program, as a part of what is available.
const SPARE_PART: u64 = 4;
/// Parts of the load for each thread: enough for all to finish about together.
const PARTS_PER_THREAD: u64 = 16;

/// Where the tables are.
pub(super) enum World {
    /// In this process, or in memory servers of this host, whose regions are mapped.
    Local(Db),
    /// Where a network reaches.
    Remote(Arc<Remote>),
}

impl World {
    /// Of each memory server, by what the owner of what is there is called; nothing where nobody is called.
    pub fn owners(&self) -> Vec<Option<NodeId>> {
        match self {
            Self::Local(db) => db.engine().place().map(Place::owner_nodes).unwrap_or_default(),
            Self::Remote(remote) => remote.place().owner_nodes(),
        }
    }
}

/// Opens the world, with the tables in it.
pub(super) fn open(stored: &Stored, options: &Options) -> Result<World, OpenFailure> {
    if let Some(file) = &options.cluster {
        return abroad(file, stored, options)
            .map_err(|fault| OpenFailure::Cluster { file: file.display().to_string(), fault });
    }
    let db = crate::database::open(config(stored, options)?)?;
    make(&db, stored, options)?;
    Ok(World::Local(db))
}

fn abroad(file: &Path, stored: &Stored, options: &Options) -> Result<World, Fault> {
    match Joined::open(file, options.sessions, |servers| stored.is_shipped(servers))? {
        Joined::Mapped(db) => {
            make(&db, stored, options)?;
            Ok(World::Local(db))
        }
        Joined::Remote(remote) => {
            make_remote(&remote, stored, options)?;
            Ok(World::Remote(remote))
        }
    }
}

/// Makes tables of memory that is mapped here, as the options say.
fn make(db: &Db, stored: &Stored, options: &Options) -> Result<(), OpenFailure> {
    if options.tables != Tables::Present {
        run_now(stored.create_tables(&db.handle())).map_err(OpenFailure::Tables)?;
    }
    if options.tables != Tables::Loaded {
        return Ok(());
    }
    // Each thread has a lane of its own, which sessions take over.
    let work = |parts: &Parts| {
        let failed = |error: TransactionError| WorkloadError::Configuration(error.to_string());
        let mut lane = db.borrow_lane().map_err(failed)?;
        let loaded = run_now(parts.load(stored, &db.handle(), &mut lane));
        db.give_back_lane(lane);
        loaded
    };
    load(options.sessions, &work).map_err(OpenFailure::Load)
}

/// The same over a network.
fn make_remote(remote: &Arc<Remote>, stored: &Stored, options: &Options) -> Result<(), Fault> {
    if options.tables != Tables::Present {
        let seat = Seat::open(remote)?;
        let made = seat.engine.block_on(stored.create_tables(&seat.database));
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

/// The parts of a load that several threads share.
struct Parts {
    /// Whether they are there, and are looked through for rows that refer to none.
    are_there: bool,
    count: u64,
    next: AtomicU64,
}

impl Parts {
    /// Loads parts until none is left.
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
            let loaded = match self.are_there {
                false => stored.load_part(database, lane, part, self.count, &|_| {}).await,
                true => stored.verify_part(database, lane, part, self.count).await,
            };
            if loaded.is_err() {
                // The others need not go on.
                self.next.store(self.count, Relaxed);
                return loaded;
            }
        }
    }
}

/// Loads on all processors.
fn load(
    sessions: u32,
    work: &(dyn Fn(&Parts) -> Result<(), WorkloadError> + Sync),
) -> Result<(), WorkloadError> {
    let threads = (host::processor_count() as u64).clamp(1, u64::from(sessions));
    let step = |are_there| {
        let count = threads * PARTS_PER_THREAD;
        let parts = Parts { are_there, count, next: AtomicU64::new(0) };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| work(&parts))).collect();
            let mut joined = threads.into_iter().map(|thread| thread.join());
            joined.try_for_each(|loaded| loaded.expect("loading does not panic"))
        })
    };
    step(false)?;
    step(true)
}
