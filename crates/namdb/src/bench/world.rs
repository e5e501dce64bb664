//! The database that a run works on, with as much memory as it needs and the machine has.

use super::text;
use anyhow::{Result, bail, ensure};
use fabric::LocalEnv;
use namdb::config::SERVER_BYTES_MIN;
use namdb::{Config, Db, Oracle, host};
use txn::Database;

/// Left to the operating system and others, as a part of what is available.
const SPARE_PART: u64 = 10;
/// Most threads: each has a lane, and one more lane looks at the database.
pub const THREADS_MAX: u32 = namdb::config::LANE_COUNT_MAX - 1;

/// How to open a database for a run.
#[derive(Clone, Copy, Debug)]
pub struct WorldPlan {
    /// Memory servers.
    pub servers: u16,
    /// Bytes of memory for all servers, or as much as can be had.
    pub memory_bytes: Option<u64>,
    /// Threads that will run transactions.
    pub threads: u32,
    /// How snapshots are taken.
    pub oracle: Oracle,
    /// Seed of all randomness.
    pub seed: u64,
}

/// Opens the database, unless the workload cannot fit.
pub fn open(plan: &WorldPlan, needed_bytes: u64) -> Result<Db> {
    let available = host::available_memory_bytes();
    let usable = available - available / SPARE_PART;
    let needed_bytes = needed_bytes.max(SERVER_BYTES_MIN * u64::from(plan.servers));
    ensure!(
        (1..=THREADS_MAX).contains(&plan.threads),
        "1 to {THREADS_MAX} threads can run, {} were asked for",
        plan.threads
    );
    if let Some(memory_bytes) = plan.memory_bytes {
        ensure!(
            memory_bytes <= available,
            "{} were asked for, this machine has {} available",
            text::bytes(memory_bytes),
            text::bytes(available)
        );
    }
    let memory_bytes = plan.memory_bytes.unwrap_or(usable);
    if memory_bytes < needed_bytes {
        bail!(
            "the workload needs about {}, there are {}; make it smaller",
            text::bytes(needed_bytes),
            text::bytes(memory_bytes)
        );
    }
    let config = Config {
        servers: plan.servers,
        server_bytes: memory_bytes / u64::from(plan.servers.max(1)),
        lanes: plan.threads + 1,
        oracle: plan.oracle,
        seed: plan.seed,
    };
    Ok(namdb::open(config)?)
}

/// A handle with an endpoint of its own, for one thread.
pub fn handle(db: &Db) -> Database<LocalEnv> {
    db.handle()
}
