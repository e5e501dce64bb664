//! `namdb start`: a SQL server for clients of PostgreSQL, in this process.

use super::{DirectoryArguments, catch_interrupts_with, interruption};
use crate::Verdict;
use crate::bench::json;
use crate::bench::text::{bytes, counted, parse_bytes};
use crate::bench::world;
use crate::output;
use crate::servers::log::{self, LogArguments};
use crate::sql_server::{self, Listening, Pages};
use anyhow::{Context, Result, ensure};
use clap::Args;
use namdb::config::LANE_COUNT_MAX;
use namdb::host::{Moment, available_memory_bytes, sleep_ms};
use namdb::{Config, Db};
use pgwire::Limits;
use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

const EXAMPLES: &str = "\
Examples:
  namdb start                                   a database in memory, on port 5432 of this host
  namdb start --data here                       the same, kept in a directory
  namdb start --listen 127.0.0.1:5433           on another port
  namdb start --data here --metrics 127.0.0.1:9100
  psql -h 127.0.0.1 -U me                       connects to it
  namdb sql                                     as well, without psql

There are no roles and passwords yet: every user of this host can read and change everything, and other hosts \
cannot connect. SIGTERM or Ctrl-C ends the server: running statements have 10 s to finish.";

/// Arguments of `namdb start`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct StartArguments {
    /// Address and port for clients of PostgreSQL; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS)]
    listen: String,
    /// Memory of the database, such as 4G [default: half of the available memory]
    #[arg(long, allow_negative_numbers = true, value_parser = parse_bytes)]
    memory: Option<u64>,
    /// Maximal number of connections
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 2_500,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    connections: u32,
    /// Expose Prometheus metrics and health at this address, such as 127.0.0.1:9100
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
    /// Log statements that take at least as many milliseconds; -1 logs none
    #[arg(long, value_name = "MS", allow_negative_numbers = true, default_value_t = -1,
          value_parser = clap::value_parser!(i32).range(-1..))]
    log_min_duration_statement: i32,
    /// Also write address and process as JSON when the server is ready; `-` is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    directory: DirectoryArguments,
    #[command(flatten)]
    log: LogArguments,
}

/// The port of PostgreSQL, on this host only.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:5432";
/// Interval at which the end is looked for.
const LOOK_MS: u64 = 20;

/// The server's place, for programs that start it.
#[derive(Serialize)]
struct Ready {
    address: SocketAddr,
    url: String,
    process: u32,
    data: Option<PathBuf>,
    seconds: f64,
}

/// Runs the server until a signal ends it.
pub fn run(arguments: &StartArguments) -> Result<Verdict> {
    let start = Moment::now();
    arguments.directory.check()?;
    if let Some(path) = &arguments.json {
        json::probe(path, &[])?;
    }
    // Before the database is opened: a busy port is reported at once and leaves no directory.
    let listening = Listening::open(&arguments.listen)?;
    catch_interrupts_with(|| {
        output::say("\n  ending; running statements may finish, a second signal exits at once");
    })?;
    let pages = arguments.metrics.as_deref().map(Pages::open).transpose()?;
    let db = open(arguments)?;
    log::start(&arguments.log, "sql", 0, "start");
    let slow = arguments.log_min_duration_statement.to_string();
    let limits = Limits {
        connections_max: arguments.connections as usize,
        settings: vec![("log_min_duration_statement".to_owned(), slow)],
        ..Limits::default()
    };
    let mut server = sql_server::start(&db, listening, limits)?;
    if let Some(pages) = &pages {
        pages.enter(&server, &db);
    }
    let address = server.address();
    let ready = Ready {
        address,
        url: format!("postgresql://{}@{address}/namdb", user()),
        process: std::process::id(),
        data: arguments.directory.data.clone(),
        seconds: start.elapsed_s(),
    };
    output::say(&greeting(&ready, &db));
    if let Some(path) = &arguments.json {
        json::write(&ready, path)?;
    }
    while !interruption().load(Relaxed) {
        sleep_ms(LOOK_MS);
    }
    let left = server.stop();
    if left > 0 {
        let statements = counted(left as u64, "connection");
        output::say(&format!(
            "  {statements} did not end in time; open transactions are rolled back"
        ));
    }
    drop(server);
    db.close().context("the database was not closed cleanly")?;
    output::say("  ended");
    Ok(Verdict::Sound)
}

fn open(arguments: &StartArguments) -> Result<Db> {
    let (directory, default) = (&arguments.directory, Config::default());
    if let Some(memory) = arguments.memory {
        let available = available_memory_bytes();
        let (asked, there) = (bytes(memory), bytes(available));
        ensure!(
            memory <= available,
            "--memory {asked} was asked for, but {there} are available to this process; ask for less"
        );
    }
    let config = Config {
        server_bytes: arguments.memory.unwrap_or(default.server_bytes),
        // A session keeps a lane within a transaction, so all are for sessions.
        lanes: LANE_COUNT_MAX,
        directory: directory.data.clone(),
        durability: directory.durability.unwrap_or_default(),
        accept_loss: directory.accept_loss,
        checkpoint_log_bytes: directory.checkpoint_log.unwrap_or(default.checkpoint_log_bytes),
        ..default
    };
    match &directory.data {
        Some(path) => world::open_directory(config)
            .with_context(|| format!("cannot keep the database in {}", path.display())),
        None => namdb::open(config).context("cannot allocate the database's memory"),
    }
}

fn greeting(ready: &Ready, db: &Db) -> String {
    let (host, port) = (ready.address.ip(), ready.address.port());
    let memory = bytes(db.config().server_bytes);
    let fate = match &ready.data {
        Some(path) => format!("in {}", path.display()),
        None => "in memory, lost at the end; --data DIR keeps it".to_owned(),
    };
    format!(
        "namdb {}: ready after {:.2} s, for clients of this host\n\n  \
         psql -h {host} -p {port} -U {} -d namdb\n\n  \
         data    {fate}\n  \
         memory  up to {memory}\n  \
         end     Ctrl-C",
        env!("CARGO_PKG_VERSION"),
        ready.seconds,
        user(),
    )
}

/// The user of this process, as clients name it.
pub fn user() -> String {
    let name = ["PGUSER", "USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "namdb".to_owned())
}
