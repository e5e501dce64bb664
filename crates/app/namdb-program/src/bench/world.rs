//! The database that a run works on, with as much memory as it needs and the machine has.
//!
//! Decision: docs/decisions/0090-a-run-takes-place-at-a-site.md

use super::text;
use anyhow::{Context, Result, ensure};
use fabric::LocalEnv;
use namdb::config::SERVER_BYTES_MIN;
use namdb::{Config, Db, Oracle, host};
use txn::Database;

/// Left to the operating system and to the checks, as a part of what is available: checks keep a fact of each order
/// and each leaf, about an eighth of a full database.
const SPARE_PART: u64 = 4;
/// Of the memory servers, for each thread: the extents its lane takes from, and what it keeps for later.
const THREAD_BYTES: u64 = 4 << 20;
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
    ensure!(
        (1..=THREADS_MAX).contains(&plan.threads),
        "1 to {THREADS_MAX} threads can run, {} were asked for",
        plan.threads
    );
    let available = host::available_memory_bytes();
    let usable = usable_bytes(available);
    let needed_bytes = needed_bytes.saturating_add(u64::from(plan.threads) * THREAD_BYTES);
    let needed_bytes = needed_bytes.max(SERVER_BYTES_MIN * u64::from(plan.servers));
    if let Some(memory_bytes) = plan.memory_bytes {
        ensure!(
            memory_bytes <= available,
            "{} were asked for, this machine has {} available to this process",
            text::bytes(memory_bytes),
            text::bytes(available)
        );
    }
    let memory_bytes = plan.memory_bytes.unwrap_or(usable);
    let advice = match plan.memory_bytes {
        Some(_) if needed_bytes <= available => {
            format!(", or give it --memory {}M", needed_bytes.div_ceil(1 << 20))
        }
        _ => String::new(),
    };
    ensure_room(needed_bytes, memory_bytes, &advice)?;
    let config = Config {
        servers: plan.servers,
        server_bytes: memory_bytes / u64::from(plan.servers.max(1)),
        lanes: plan.threads + 1,
        oracle: plan.oracle,
        seed: plan.seed,
        ..Config::default()
    };
    namdb::open(config).with_context(|| {
        let asked = text::bytes(memory_bytes);
        format!("cannot have {asked} for the memory servers; try less, such as --memory 1G")
    })
}

/// Refuses a workload whose tables take more memory than this process can have, before a simulated cluster is made for them.
pub fn ensure_simulated(needed_bytes: u64) -> Result<()> {
    ensure_room(needed_bytes, usable_bytes(host::available_memory_bytes()), "")
}

fn usable_bytes(available: u64) -> u64 {
    available - available / SPARE_PART
}

fn ensure_room(needed_bytes: u64, memory_bytes: u64, advice: &str) -> Result<()> {
    // Rounded apart, so that the two numbers differ.
    let (needed, there) = (needed_bytes.div_ceil(1 << 20), memory_bytes >> 20);
    ensure!(
        needed_bytes <= memory_bytes,
        "the workload needs about {} MiB, there are {} MiB; make it smaller{advice}",
        text::grouped(needed),
        text::grouped(there)
    );
    Ok(())
}

/// A handle with an endpoint of its own, for one thread.
pub fn handle(db: &Db) -> Database<LocalEnv> {
    db.handle()
}
