//! A workload in a PostgreSQL: a server of our own, or one that runs, with tables and procedures as the folder has them, all rows loaded
//! and in its memory.

use super::session::Address;
use crate::bench::load::Loaded;
use crate::bench::progress::Progress;
use crate::bench::text::{bytes, counted};
use anyhow::{Context, Result};
use datagen::load_postgresql;
use folder_benchmark::Stored;
use namdb::host::{Moment, available_memory_bytes};
use postgres_plan::{Database, Server, ServerChoice};
use std::path::Path;

/// Least size of the server's buffers.
const BUFFERS_BYTES_MIN: u64 = 512 << 20;
/// The part of the memory that is available which its buffers take at most: one in so many.
const BUFFERS_PART: u64 = 2;
/// Connections beside those of the clients.
const SPARE_CONNECTIONS: u32 = 10;

/// What makes a server quick whose data nobody keeps: nothing waits for a disk, nothing else runs, and deadlocks
/// are noticed soon. `fsync` and `autovacuum` are off in
/// any server that is started for us.
const SETTINGS: [&str; 10] = [
    "synchronous_commit=off",
    "full_page_writes=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "wal_buffers=64MB",
    "max_wal_size=64GB",
    "checkpoint_timeout=1d",
    "jit=off",
    "huge_pages=try",
    "deadlock_timeout=100ms",
];
/// What the tables' loader leaves to do: facts for the planner, rows that are known to be visible to all, everything in the buffers, nothing
/// that is still to be written. A server without the extension reads what it needs from the system's cache at first.
const SETTLE: &str = "\
VACUUM (FREEZE, ANALYZE);
\\set ON_ERROR_STOP off
SET client_min_messages = fatal;
CREATE EXTENSION IF NOT EXISTS pg_prewarm;
SELECT count(pg_prewarm(oid)) FROM pg_class
    WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace;
\\set ON_ERROR_STOP on
CHECKPOINT;
";

/// The workload there.
pub struct Place<'a> {
    /// How clients reach it.
    pub address: Address,
    /// The server's version.
    pub version: String,
    /// What the load took.
    pub loaded: Loaded,
    _database: Database<'a>,
}

/// Starts a server for the workload, or finds the one that runs at `url`.
///
/// # Errors
/// If PostgreSQL is not installed, or does not start.
pub fn open(stored: &Stored, url: Option<&str>, clients: u32) -> Result<Server> {
    let choice = match url {
        Some(url) => ServerChoice::Url(url.to_owned()),
        None => {
            let most = (available_memory_bytes() / BUFFERS_PART).max(BUFFERS_BYTES_MIN);
            let buffers = stored.memory_bytes(1).clamp(BUFFERS_BYTES_MIN, most);
            let mut settings: Vec<String> = SETTINGS.map(str::to_owned).to_vec();
            settings.push(format!("shared_buffers={}MB", buffers >> 20));
            settings.push(format!("max_connections={}", clients + SPARE_CONNECTIONS));
            ServerChoice::PrivateWith(settings)
        }
    };
    Server::open(&choice).context("there is no PostgreSQL to measure")
}

impl<'a> Place<'a> {
    /// Makes the workload's tables and procedures in a database of our own, and loads it.
    ///
    /// # Errors
    /// If the server refuses something.
    pub fn load(server: &'a Server, stored: &Stored, folder: &Path) -> Result<Self> {
        let progress = Progress::begin("loading PostgreSQL", 1);
        let start = Moment::now();
        let database = server.database()?;
        let files = ["schema.sql", "procedures.sql"].map(|name| folder.join(name));
        database.run("the workload", &[&files[0], &files[1]])?;
        load_postgresql(stored.population(), &database)?;
        let settle = database.script("settle.sql", SETTLE)?;
        database.run("to settle after the load", &[&settle])?;
        let facts = "\\echo :HOST\n\\echo :PORT\n\\echo :USER\n\\echo :DBNAME\n\
            SHOW server_version;\nSELECT pg_database_size(current_database());\n";
        let facts = database.script("facts.sql", facts)?;
        let facts = database.run("to say where it is", &[&facts])?;
        let mut lines = facts.lines().map(str::to_owned);
        let mut line = || lines.next().context("psql does not say where its server is");
        let (host, port, user, name) = (line()?, line()?, line()?, line()?);
        let port = port.parse().with_context(|| format!("psql names the port {port}"))?;
        let (version, size) = (line()?, line()?.parse().unwrap_or(0));
        let rows = stored.row_count();
        let loaded = Loaded { rows, seconds: start.elapsed_s() };
        progress.finish(&format!("{}, {}", counted(rows, "row"), bytes(size)));
        let address = Address { host, port, user, database: name };
        Ok(Self { address, version, loaded, _database: database })
    }
}
