//! Makes the tables of a folder, and loads them.

use super::database::{Options, Tables};
use super::error::OpenFailure;
use crate::config::{Config, SERVER_BYTES_MIN};
use crate::database::Db;
use crate::host;
use fabric::run_now;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use stored::Stored;
use workload::{Workload, WorkloadError};

/// Of the memory servers, for each session: the extents its lane takes from, and what it keeps for later.
const SESSION_BYTES: u64 = 4 << 20;
/// Left to the operating system and the program, as a part of what is available.
const SPARE_PART: u64 = 4;
/// Parts of the load for each thread: enough for all to finish about together.
const PARTS_PER_THREAD: u64 = 16;

/// Where the tables are.
pub(super) enum World {
    /// In this process.
    Local(Db),
}

/// Opens the world, with the tables in it.
pub(super) fn open(stored: &Stored, options: &Options) -> Result<World, OpenFailure> {
    let db = crate::database::open(config(stored, options)?)?;
    if options.tables != Tables::Present {
        run_now(stored.create_tables(&db.handle())).map_err(OpenFailure::Tables)?;
    }
    if options.tables == Tables::Loaded {
        load(&db, stored, options.sessions).map_err(OpenFailure::Load)?;
    }
    Ok(World::Local(db))
}

fn config(stored: &Stored, options: &Options) -> Result<Config, OpenFailure> {
    let available = host::available_memory_bytes();
    let wanted = stored.memory_bytes() + u64::from(options.sessions) * SESSION_BYTES;
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

/// Loads on all processors, each with a lane of its own that sessions take over.
fn load(db: &Db, stored: &Stored, sessions: u32) -> Result<(), WorkloadError> {
    let threads = (host::processor_count() as u64).clamp(1, u64::from(sessions));
    let (parts, next) = (threads * PARTS_PER_THREAD, AtomicU64::new(0));
    let work = || -> Result<(), WorkloadError> {
        let database = db.handle();
        let lane = db.lanes().borrow(|| db.handle());
        let mut lane = lane.map_err(|error| WorkloadError::Configuration(error.to_string()))?;
        let mut loaded = Ok(());
        while loaded.is_ok() {
            let part = next.fetch_add(1, Relaxed);
            if part >= parts {
                break;
            }
            loaded = run_now(stored.load_part(&database, &mut lane, part, parts, &|_| {}));
        }
        if loaded.is_err() {
            // The others need not go on.
            next.store(parts, Relaxed);
        }
        db.lanes().give_back(lane);
        loaded
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|loaded| loaded.expect("loading does not panic")).collect()
    })
}
