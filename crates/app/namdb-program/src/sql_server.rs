//! The SQL server of this process: its port, its database and its metrics.

use anyhow::{Context, Result, bail, ensure};
use metrics::{Access, Definition, Endpoint, Registry, Status, catalog};
use namdb::sql::SqlDatabase;
use namdb::{Db, host};
use pgwire::tls::Tls;
use pgwire::{Counts, Gauges, Limits, Server};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::{Arc, OnceLock};

/// Files that a server needs beside its connections.
const SPARE_FILES: u64 = 64;

/// A port that is open, and does not answer yet.
pub struct Listening {
    listener: TcpListener,
    address: String,
    /// Whether only this host reaches it.
    is_local: bool,
}

impl Listening {
    /// Opens the port. `may_have_users` says whether the database may have roles with passwords,
    /// which [`start`] requires if other hosts reach the port.
    ///
    /// # Errors
    /// A sentence that says what to do: the address is not of this host alone, or it is in use.
    pub fn open(address: &str, may_have_users: bool) -> Result<Self> {
        let resolved = address.to_socket_addrs().with_context(|| {
            format!("`{address}` is no address and port, such as 127.0.0.1:5432")
        })?;
        let resolved: Vec<_> = resolved.collect();
        let Some(first) = resolved.first() else { bail!("`{address}` has no address") };
        let is_local = resolved.iter().all(|address| address.ip().is_loopback());
        ensure!(is_local || may_have_users, no_users(address, first.port()));
        match TcpListener::bind(resolved.as_slice()) {
            Ok(listener) => Ok(Self { listener, address: address.to_owned(), is_local }),
            Err(error) if error.kind() == ErrorKind::AddrInUse => bail!(
                "{address} is in use, perhaps by PostgreSQL or by another `namdb start`; choose another port, such \
                 as --listen 127.0.0.1:{}",
                first.port().checked_add(1).unwrap_or(5433)
            ),
            Err(error) => Err(error)
                .with_context(|| format!("cannot listen on {address}; choose another --listen")),
        }
    }
}

/// Why other hosts may not connect.
fn no_users(address: &str, port: u16) -> String {
    format!(
        "{address} can be reached from other hosts, and no role has a password: everybody there could read and change \
         everything. Use --listen 127.0.0.1:{port} (from another host, `ssh -L {port}:127.0.0.1:{port} HOST` reaches \
         it), or keep the database with --data DIR and give its superuser a password first: `namdb start --data DIR \
         --set-password NAME`"
    )
}

type ReadCount = fn(&Counts) -> u64;

/// A running server.
pub struct SqlServer {
    server: Server<SqlDatabase<Db>>,
    database: SqlDatabase<Db>,
    is_local: bool,
}

/// Opens the SQL catalog of a database and serves clients.
pub fn start(
    db: &Db,
    listening: Listening,
    limits: Limits,
    tls: Option<Arc<Tls>>,
) -> Result<SqlServer> {
    raise_file_limit(limits.connections_max as u64);
    let database = db.sql().context("cannot read the SQL catalog of the database")?;
    let Listening { listener, address, is_local } = listening;
    let port = listener.local_addr().map_or(5432, |address| address.port());
    ensure!(is_local || database.has_passwords(), no_users(&address, port));
    let server = Server::start_with(listener, database.clone(), limits, tls)
        .context("cannot start the threads of the server")?;
    Ok(SqlServer { server, database, is_local })
}

impl SqlServer {
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn database(&self) -> &SqlDatabase<Db> {
        &self.database
    }

    /// Whether only this host reaches it.
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// See [`Server::stop`].
    pub fn stop(&mut self) -> usize {
        self.server.stop()
    }
}

/// Metrics, health and readiness at an address, until they are dropped. They answer before the
/// database is open, which may take long.
pub struct Pages {
    registry: Registry,
    load: Arc<OnceLock<Gauges>>,
    _endpoint: Endpoint,
}

impl Pages {
    /// Opens the pages of a server that has not started yet.
    pub fn open(address: &str) -> Result<Self> {
        let registry = Registry::new();
        let start_s = host::unix_time_s();
        registry.add(&catalog::START_TIME, &[], move || start_s);
        registry.add(&catalog::PROCESSOR_SECONDS, &[], host::process_cpu_s);
        registry.add(&catalog::RESIDENT_BYTES, &[], host::resident_bytes);
        let load = Arc::new(OnceLock::<Gauges>::new());
        let seen = load.clone();
        let status = move || {
            let load = seen.get();
            let connections = load.map_or(0, Gauges::connections);
            let json = format!("{{\"role\":\"sql\",\"connections\":{connections}}}");
            let is_stopping = load.is_some_and(Gauges::is_stopping);
            let problem = is_stopping.then(|| "the server is stopping".to_owned());
            let refusal = load.is_none().then(|| "the database is being opened".to_owned());
            Status { json, problem, refusal }
        };
        let endpoint = metrics::serve(address, Access::Everybody, &registry, status)
            .with_context(|| format!("cannot expose metrics at {address}"))?;
        Ok(Self { registry, load, _endpoint: endpoint })
    }

    /// Shows a server that has started.
    pub fn enter(&self, server: &SqlServer, db: &Db) {
        let registry = &self.registry;
        let load = server.server.gauges();
        let (connections, threads) = (load.clone(), load.clone());
        registry.add(&catalog::SQL_CONNECTIONS, &[], move || connections.connections() as u64);
        registry.add(&catalog::SQL_THREADS, &[], move || threads.threads() as u64);
        let counts: [(&'static Definition, ReadCount); 5] = [
            (&catalog::SQL_CONNECTIONS_ACCEPTED, |counts| counts.connections),
            (&catalog::SQL_CONNECTIONS_REFUSED, |counts| counts.refused),
            (&catalog::SQL_STATEMENTS, |counts| counts.statements),
            (&catalog::SQL_ERRORS, |counts| counts.errors),
            (&catalog::SQL_CANCELS, |counts| counts.cancels),
        ];
        for (metric, read) in counts {
            let load = load.clone();
            registry.add(metric, &[], move || read(&load.counts()));
        }
        crate::bench::worker_metrics::enter_directory(registry, db);
        // It is entered once.
        let _ = self.load.set(load);
    }
}

/// Lets this process open a file per connection, as far as it may.
fn raise_file_limit(connections: u64) {
    let limits = getrlimit(Resource::Nofile);
    let wanted = connections + pgwire::ARRIVALS_MAX as u64 + SPARE_FILES;
    let allowed = limits.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    if limits.current.is_some_and(|current| current < allowed) {
        // A lower limit is reported when it is reached.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), ..limits });
    }
    if allowed < wanted {
        crate::output::say(&format!(
            "  this process may open {allowed} files, fewer than {connections} connections need; raise `ulimit -n`"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(address: &str) -> String {
        let Err(error) = Listening::open(address, false) else { panic!("{address} was opened") };
        format!("{error:#}")
    }

    #[test]
    fn only_this_host_may_connect() {
        for address in ["0.0.0.0:5432", "[::]:5432", "192.0.2.1:5432"] {
            let sentence = refused(address);
            assert!(
                sentence.contains("no role has a password") && sentence.contains("127.0.0.1:5432"),
                "{sentence}"
            );
        }
        assert!(refused("nonsense").contains("such as 127.0.0.1:5432"));
        assert!(Listening::open("127.0.0.1:0", false).is_ok());
        assert!(Listening::open("0.0.0.0:0", true).is_ok(), "users are asked for later");
    }

    #[test]
    fn a_busy_port_is_named_with_a_remedy() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("there are ports");
        let address = taken.local_addr().expect("it has one").to_string();
        let sentence = refused(&address);
        assert!(sentence.contains("is in use") && sentence.contains("--listen"), "{sentence}");
    }
}
