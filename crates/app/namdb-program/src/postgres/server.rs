//! A workload in PostgreSQL: in a server started for the run or in a running one, with the folder's
//! tables and procedures and all rows loaded into memory.

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

/// Minimal size of the server's buffers.
const BUFFERS_BYTES_MIN: u64 = 512 << 20;
/// The buffers take at most this part (one in 2) of the available memory.
const BUFFERS_PART: u64 = 2;
/// Connections besides those of the clients.
const SPARE_CONNECTIONS: u32 = 10;

/// Settings for speed without durability: no transaction waits for a disk, nothing else runs, and
/// deadlocks are detected quickly. Every server started for a run also has `fsync` and `autovacuum`
/// off.
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
/// Work after the load: planner statistics, marking rows visible to all, loading everything into
/// the buffers, and writing dirty pages. A server without the extension first reads from the
/// system's cache.
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

/// The workload in a server.
pub struct LoadedServer<'a> {
    /// How clients connect.
    pub address: Address,
    /// Version of the server.
    pub version: String,
    /// Result of the load.
    pub loaded: Loaded,
    _database: Database<'a>,
}

/// Starts a server for the workload, or uses the one that runs at `url`.
///
/// # Errors
/// If PostgreSQL is not installed or does not start.
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
    Server::open(&choice).context("no PostgreSQL server is available")
}

impl<'a> LoadedServer<'a> {
    /// Creates the workload's tables and procedures in a new database, and loads it.
    ///
    /// # Errors
    /// If the server rejects a statement.
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
        let mut line = || lines.next().context("psql does not print its server's address");
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
