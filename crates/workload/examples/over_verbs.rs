//! A database over RDMA: memory servers, and a compute server that runs list-append with its judge, and then
//! TPC-C with its conditions.
//!
//! ```text
//! over_verbs alone                    servers and compute server are threads of this process
//! over_verbs serve ADDRESS ADDRESS    the memory servers, until the last caller has gone
//! over_verbs work ADDRESS ADDRESS     the compute server
//! ```
//! Population and numbers of transactions are small, since `cargo xtask soft-roce` runs this where processor,
//! network and card are emulated; times mean nothing there.
#![forbid(unsafe_code)]

use fabric::verbs::{Choice, Place, VerbsConfig, VerbsPort, VerbsServer, VerbsTransport};
use fabric::{
    Admission, Engine, Env as _, Fabric as _, Patience, Port, RemoteEnv, ServeCounters,
    ServerAddress,
};
use layout::{NodeId, RegionId, WORD_BYTES};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use txn::server::services;
use txn::{Database, DatabaseConfig, Isolation, Oracle};
use workload::append::AppendConfig;
use workload::tpcc::{Config, Scale};
use workload::{Append, CheckResult, RunTotals, Tpcc, Workload};

type Env = RemoteEnv<VerbsTransport>;
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Bytes of each memory server.
const REGION_BYTES: u64 = 48 << 20;
/// Sessions at a time, all on one thread.
const SESSIONS: u32 = 6;
/// Transactions of each session.
const TRANSACTIONS: u32 = 25;
/// A tenth of the customers, orders and items that the small scale has.
const SCALE: Scale =
    Scale { items: 40, districts: 3, customers_per_district: 12, orders_per_district: 12 };
/// How long a compute server waits for memory servers to start.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("FAILED {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let place = Place::open(&Choice::default())?;
    println!("{place}");
    let (role, addresses) = arguments.split_first().ok_or("alone, serve or work?")?;
    let addresses = addresses.iter().map(|text| text.parse());
    let addresses: Vec<SocketAddr> = addresses.collect::<Result<_, _>>()?;
    match role.as_str() {
        "alone" => alone(&place),
        "serve" => serve(&place, &addresses),
        "work" => work(&place, &addresses),
        _ => Err(format!("`{role}` is neither alone nor serve nor work").into()),
    }
}

fn alone(place: &Place) -> Result<(), Failure> {
    let addresses: [SocketAddr; 2] = [([127, 0, 0, 1], 7471).into(), ([127, 0, 0, 1], 7472).into()];
    std::thread::scope(|scope| {
        let servers = scope.spawn(|| serve(place, &addresses));
        let worked = work(place, &addresses);
        let served = servers.join().map_err(|_| "a memory server panicked")?;
        worked.and(served)
    })
}

/// Runs a memory server on each address, until each has had callers and lost the last of them.
fn serve(place: &Place, addresses: &[SocketAddr]) -> Result<(), Failure> {
    let count = addresses.len() as u16;
    std::thread::scope(|scope| {
        let start = |(number, &address): (u16, &SocketAddr)| {
            scope.spawn(move || serve_one(place, NodeId(number), count, address))
        };
        let servers: Vec<_> = (0..).zip(addresses).map(start).collect();
        let join = |server: std::thread::ScopedJoinHandle<'_, Result<(), Failure>>| {
            server.join().map_err(|_| "a memory server panicked")?
        };
        servers.into_iter().map(join).collect()
    })
}

fn admission(node: NodeId) -> Admission {
    Admission {
        node,
        cluster: 1,
        server: 2,
        key: 3,
        region_bytes: REGION_BYTES,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        epoch: 1.into(),
    }
}

fn serve_one(place: &Place, node: NodeId, count: u16, address: SocketAddr) -> Result<(), Failure> {
    let region = RegionId(node.0);
    let server = VerbsServer {
        place: place.clone(),
        region: VerbsServer::region(place, region, REGION_BYTES)?,
        admission: Arc::new(admission(node)),
        server_count: count,
        services: services::<Env>(region, REGION_BYTES / WORD_BYTES * WORD_BYTES).into(),
    };
    let stop = Arc::new(AtomicBool::new(false));
    let port = VerbsPort::bind(server, address)?;
    let mut ports: [Box<dyn Port>; 1] =
        [Box::new(UntilDeserted { port, has_served: false, stop: stop.clone() })];
    let patience = Patience { sleep_ns_max: 20_000_000, ..Patience::default() };
    fabric::port::serve(&mut ports, &stop, patience, &ServeCounters::default());
    Ok(())
}

/// A port whose server ends with its last caller.
struct UntilDeserted {
    port: VerbsPort,
    has_served: bool,
    stop: Arc<AtomicBool>,
}

impl Port for UntilDeserted {
    fn serve(&mut self) -> usize {
        let requests = self.port.serve();
        let callers = self.port.callers().connection_count();
        self.has_served |= callers > 0;
        if self.has_served && callers == 0 {
            self.stop.store(true, Ordering::Relaxed);
        }
        requests
    }

    fn arm(&mut self) -> bool {
        self.port.arm()
    }

    fn disarm(&mut self) {
        self.port.disarm();
    }

    fn descriptors<'a>(&'a self, to: &mut Vec<std::os::fd::BorrowedFd<'a>>) {
        self.port.descriptors(to);
    }
}

fn work(place: &Place, addresses: &[SocketAddr]) -> Result<(), Failure> {
    let engine = Engine::new(connect(place, addresses)?, Patience::default())?;
    let env = engine.endpoint();
    let servers = (0..addresses.len() as u16).map(NodeId).collect();
    let config = DatabaseConfig { oracle: Oracle::Frozen, ..DatabaseConfig::default() };
    let database = engine.block_on(Database::create(env.clone(), servers, config))?;
    let append = Append::new(AppendConfig {
        lists: 6,
        isolation: Isolation::Serializable,
        ..AppendConfig::default()
    })?;
    engine.block_on(try_out(&database, append))?;
    let tpcc = Tpcc::new(Config { scale: SCALE, ..Config::new(2) })?;
    println!("TPC-C with a population far smaller than the specification's: {SCALE:?}");
    engine.block_on(try_out(&database, tpcc))
}

/// Connects as soon as the servers are there.
fn connect(place: &Place, addresses: &[SocketAddr]) -> Result<VerbsTransport, Failure> {
    let server = |(node, &address): (u16, &SocketAddr)| ServerAddress {
        node: NodeId(node),
        address,
        identity: 2,
        key: 3,
        region_bytes: REGION_BYTES,
    };
    let config = VerbsConfig {
        place: place.clone(),
        servers: (0..).zip(addresses).map(server).collect(),
        cluster: 1,
        epoch: Arc::new(1.into()),
        caller: u64::from(std::process::id()),
        endpoint: 0,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        answer_time_max_ns: 3 * VerbsConfig::ANSWER_TIME_MAX_NS,
    };
    #[allow(clippy::disallowed_methods, reason = "servers of a network take real time")]
    let start = Instant::now();
    loop {
        match VerbsTransport::connect(&config) {
            Err(_) if start.elapsed() < PATIENCE => {}
            result => return Ok(result?),
        }
        #[allow(clippy::disallowed_methods, reason = "servers of a network take real time")]
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Loads a workload, runs it in several sessions, and checks it.
async fn try_out<W>(database: &Database<Env>, workload: W) -> Result<(), Failure>
where
    W: Workload<Env> + Clone + 'static,
{
    let env = database.env();
    let mut lane = database.lane().await?;
    workload.create_tables(database).await?;
    workload.load_part(database, &mut lane, 0, 1, &|_| {}).await?;
    println!("{}: loaded {} rows", workload.name(), workload.load_rows());
    let (before, start_ns) = (env.counters().counts(), env.now_ns());
    let ends: Rc<RefCell<Vec<Result<RunTotals, String>>>> = Rc::default();
    for session in 0..SESSIONS {
        let (database, workload, ends) = (database.clone(), workload.clone(), ends.clone());
        env.spawn(async move {
            let end = session_of(&database, &workload, session).await;
            ends.borrow_mut().push(end.map_err(|error| error.to_string()));
        });
    }
    while ends.borrow().len() < SESSIONS as usize {
        env.sleep_ns(1_000_000).await;
    }
    let counts = env.counters().counts() - before;
    let mut totals = RunTotals::new(workload.transaction_types().len());
    for end in ends.take() {
        totals.merge(&end?);
    }
    let milliseconds = (env.now_ns() - start_ns) / 1_000_000;
    println!(
        "{}: {} committed in {milliseconds} ms, {} round trips, {} verbs, aborts {:?}",
        workload.name(),
        totals.committed(),
        counts.round_trips,
        counts.verbs,
        totals.aborts().collect::<Vec<_>>(),
    );
    if totals.committed() == 0 || totals.unknown() > 0 {
        return Err(format!("{} transactions have no known outcome", totals.unknown()).into());
    }
    report(&workload.check(database, &mut lane, &totals, false).await?)?;
    let structure = database.check().await?;
    match structure.errors.first() {
        Some(error) => Err(error.clone().into()),
        None => Ok(()),
    }
}

async fn session_of<W: Workload<Env>>(
    database: &Database<Env>,
    workload: &W,
    session: u32,
) -> Result<RunTotals, Failure> {
    let mut lane = database.lane().await?;
    let mut terminal = workload.terminal(database, session, SESSIONS, 7)?;
    let mut totals = RunTotals::new(workload.transaction_types().len());
    for _ in 0..TRANSACTIONS {
        totals.add(&workload.run_one(&mut lane, &mut terminal).await?);
    }
    Ok(totals)
}

fn report(checks: &[CheckResult]) -> Result<(), Failure> {
    for check in checks {
        let verdict = if check.ok { "holds" } else { "FAILS" };
        println!("  {verdict}  {}: {}", check.name, check.detail);
    }
    match checks.iter().find(|check| !check.ok) {
        Some(check) => Err(format!("{}: {}", check.name, check.detail).into()),
        None => Ok(()),
    }
}
