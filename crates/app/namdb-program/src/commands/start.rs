//! `namdb start`: a SQL server for clients of PostgreSQL, in this process.

use super::signals::catch_signals;
use super::{DirectoryArguments, catch_interrupts_with, interruption};
use crate::Verdict;
use crate::bench::json;
use crate::bench::text::{bytes, counted, parse_bytes};
use crate::bench::world;
use crate::output;
use crate::servers::log::{self, LogArguments};
use crate::sql_server::{self, Listening, Pages, SqlServer};
use crate::sql_users;
use anyhow::{Context, Result, ensure};
use clap::Args;
use namdb::config::LANE_COUNT_MAX;
use namdb::host::{Moment, available_memory_bytes, sleep_ms};
use namdb::{Config, Db};
use pgwire::Limits;
use pgwire::tls::Tls;
use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const EXAMPLES: &str = "\
Examples:
  namdb start                                   a database in memory, on port 5432 of this host
  namdb start --data here                       the same, kept in a directory
  namdb start --listen 127.0.0.1:5433           on another port
  namdb start --data here --metrics 127.0.0.1:9100
  psql -h 127.0.0.1 -U me                       connects to it
  namdb sql                                     as well, without psql
  namdb start --data here --set-password me     gives a role a password, and does not listen
  namdb start --data here --listen 0.0.0.0:5432 --tls-cert server.pem --tls-key server.key

A new database has no passwords: every user of this host may read and change everything, and other hosts cannot \
connect. ALTER ROLE name PASSWORD '...' changes that. SIGHUP reads certificate and key again; SIGTERM or Ctrl-C ends the server: running statements have 10 s to finish.";

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
    /// Encrypt connections with this certificate in PEM, then those between it and the authority
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key in PEM, which only its owner may read
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Give this role the password on standard input, and end; for a lost password, too
    #[arg(long, value_name = "ROLE")]
    set_password: Option<String>,
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
    if let Some(role) = &arguments.set_password {
        return set_password(arguments, role);
    }
    let tls = open_tls(arguments)?;
    // Before the database is opened: a busy port is reported at once and leaves no directory.
    let listening = Listening::open(&arguments.listen, arguments.has_database())?;
    let reload = match &tls {
        Some(_) => Some(catch_signals(ENDING)?),
        None => {
            catch_interrupts_with(|| output::say(ENDING))?;
            None
        }
    };
    let pages = arguments.metrics.as_deref().map(Pages::open).transpose()?;
    let db = open(arguments)?;
    log::start(&arguments.log, "sql", 0, "start");
    let slow = arguments.log_min_duration_statement.to_string();
    let limits = Limits {
        connections_max: arguments.connections as usize,
        settings: vec![("log_min_duration_statement".to_owned(), slow)],
        ..Limits::default()
    };
    let mut server = sql_server::start(&db, listening, limits, tls.clone())?;
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
    output::say(&greeting(&ready, &db, &server, tls.is_some()));
    if let Some(path) = &arguments.json {
        json::write(&ready, path)?;
    }
    while !interruption().load(Relaxed) {
        sleep_ms(LOOK_MS);
        if let (Some(reload), Some(tls)) = (&reload, &tls)
            && reload.swap(false, Relaxed)
        {
            reload_tls(tls);
        }
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

const ENDING: &str = "\n  ending; running statements may finish, a second signal exits at once";

impl StartArguments {
    /// Whether there is a directory already.
    fn has_database(&self) -> bool {
        self.directory.data.as_ref().is_some_and(|data| data.exists())
    }
}

fn open_tls(arguments: &StartArguments) -> Result<Option<Arc<Tls>>> {
    let (Some(certificate), Some(key)) = (&arguments.tls_cert, &arguments.tls_key) else {
        return Ok(None);
    };
    Ok(Some(Arc::new(Tls::open(certificate, key)?)))
}

/// Reads certificate and key again, for new connections.
fn reload_tls(tls: &Tls) {
    match tls.reload() {
        Ok(()) => output::say("  certificate and key were read again"),
        Err(fault) => output::say(&format!("  the old certificate stays in use: {fault}")),
    }
}

/// Gives a role a password, without a port.
fn set_password(arguments: &StartArguments, role: &str) -> Result<Verdict> {
    ensure!(
        arguments.has_database(),
        "--set-password needs the directory of a database; name it with --data DIR"
    );
    let db = open(arguments)?;
    let database = db.sql().context("cannot read the SQL catalog of the database")?;
    let set = sql_users::set_password(&database, role);
    drop(database);
    db.close().context("the database was not closed cleanly")?;
    set.with_context(|| format!("the password of {role} was not changed"))?;
    output::say(&format!("  {role} has a new password"));
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

fn greeting(ready: &Ready, db: &Db, server: &SqlServer, has_tls: bool) -> String {
    let (host, port) = (ready.address.ip(), ready.address.port());
    let memory = bytes(db.config().server_bytes);
    let fate = match &ready.data {
        Some(path) => format!("in {}", path.display()),
        None => "in memory, lost at the end; --data DIR keeps it".to_owned(),
    };
    let clients = if server.is_local() { "this host" } else { "all hosts that reach this port" };
    let users = sql_users::sentence(server.database());
    let tls = match (has_tls, server.is_local()) {
        (true, true) => "TLS     1.3, for clients that ask for it\n  ",
        (true, false) => "TLS     1.3, required from other hosts\n  ",
        (false, true) => "",
        (false, false) => {
            "TLS     none: readers of the network can read all data; --tls-cert and --tls-key encrypt it\n  "
        }
    };
    format!(
        "namdb {}: ready after {:.2} s, for clients of {clients}\n\n  \
         psql -h {host} -p {port} -U {} -d namdb\n\n  \
         data    {fate}\n  \
         memory  up to {memory}\n  \
         users   {users}\n  \
         {tls}\
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
