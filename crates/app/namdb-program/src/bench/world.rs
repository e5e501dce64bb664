//! Opens the database of a run with the memory that it needs, if the machine has it.
//!
//! Decision: docs/decisions/0090-a-run-takes-place-at-a-site.md

use super::progress::Progress;
use super::text;
use crate::output;
use anyhow::{Context, Result, ensure};
use fabric::LocalEnv;
use namdb::config::SERVER_BYTES_MIN;
use namdb::{Config, Db, Durability, OpenProgress, Oracle, host};
use std::cell::{Cell, OnceCell};
use std::path::PathBuf;
use txn::Database;

/// This part (one in 4) of the available memory is left to the operating system and the checks,
/// which keep a record per order and leaf: about an eighth of a full database.
const SPARE_PART: u64 = 4;
/// Memory per thread on the memory servers: the extents of its lane and its garbage.
const THREAD_BYTES: u64 = 4 << 20;
/// Maximal number of threads: each has a lane, and the checks need one more.
pub const THREADS_MAX: u32 = namdb::config::LANE_COUNT_MAX - 1;

/// Parameters for opening a database.
#[derive(Clone, Debug)]
pub struct WorldPlan {
    /// Number of memory servers.
    pub servers: u16,
    /// Memory of all servers in bytes; `None`: as much as is available.
    pub memory_bytes: Option<u64>,
    /// Number of threads that will run transactions.
    pub threads: u32,
    /// How snapshots are taken.
    pub oracle: Oracle,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Where the data is kept.
    pub directory: DirectoryPlan,
}

/// Parameters of a database whose data is on the disk.
#[derive(Clone, Debug, Default)]
pub struct DirectoryPlan {
    /// The directory; `None`: the data is lost at the end.
    pub data: Option<PathBuf>,
    /// When a commit counts.
    pub durability: Durability,
    /// Whether a damaged directory is opened without the commits behind the damage.
    pub accept_loss: bool,
    /// Growth of the log until a checkpoint begins; `None`: the default.
    pub checkpoint_log_bytes: Option<u64>,
}

/// Opens the database, or fails if the workload cannot fit.
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
    let (directory, default) = (&plan.directory, Config::default());
    let config = Config {
        servers: plan.servers,
        server_bytes: memory_bytes / u64::from(plan.servers.max(1)),
        lanes: plan.threads + 1,
        oracle: plan.oracle,
        seed: plan.seed,
        directory: directory.data.clone(),
        durability: directory.durability,
        accept_loss: directory.accept_loss,
        checkpoint_log_bytes: directory
            .checkpoint_log_bytes
            .unwrap_or(default.checkpoint_log_bytes),
        ..default
    };
    match &directory.data {
        Some(_) => open_directory(config),
        None => namdb::open(config).with_context(|| {
            let asked = text::bytes(memory_bytes);
            format!("cannot allocate {asked} for the memory servers; try less, such as --memory 1G")
        }),
    }
}

/// Opens a database in its directory, and shows how far that has come.
pub fn open_directory(config: Config) -> Result<Db> {
    let bar = OnceCell::new();
    let rows = Cell::new(0);
    let show = |progress: OpenProgress| {
        let bar = bar.get_or_init(|| Progress::begin("restoring", progress.all_rows));
        let per_second = text::rate(progress.rows as f64 / progress.elapsed_s.max(1e-3));
        bar.show(progress.rows, &format!("{per_second} rows/s"));
        rows.set(progress.rows);
    };
    let db = namdb::open_with_progress(config, &show)?;
    if let Some(bar) = bar.into_inner() {
        bar.finish(&format!("{} rows and changes", text::grouped(rows.get())));
    }
    if let Some(loss) = db.accepted_loss() {
        output::say(&format!("  accepted: {loss}"));
    }
    Ok(db)
}

/// Rejects a workload whose tables need more memory than this process has, before a simulated
/// cluster is built.
pub fn ensure_simulated(needed_bytes: u64) -> Result<()> {
    ensure_room(needed_bytes, usable_bytes(host::available_memory_bytes()), "")
}

fn usable_bytes(available: u64) -> u64 {
    available - available / SPARE_PART
}

fn ensure_room(needed_bytes: u64, memory_bytes: u64, advice: &str) -> Result<()> {
    // Rounded in opposite directions, so that the two numbers differ.
    let (needed, there) = (needed_bytes.div_ceil(1 << 20), memory_bytes >> 20);
    ensure!(
        needed_bytes <= memory_bytes,
        "the workload needs about {} MiB, but {} MiB are available; make it smaller{advice}",
        text::grouped(needed),
        text::grouped(there)
    );
    Ok(())
}

/// A handle with its own endpoint, for one thread.
pub fn handle(db: &Db) -> Database<LocalEnv> {
    db.handle()
}
