//! Symmetric clusters [SPADE 2.2, 5.2]: every machine has a memory server and compute servers, rows
//! have three copies (two are modelled, [`simulated_cluster::metered`]), and a machine executes the
//! transactions that are shipped to it.
//!
//! A [`Load`] defines the work of clients. Each machine has two compute servers, one per socket, as
//! it has a card per socket; each has lanes for clients, which run one transaction after another,
//! and lanes for shipped transactions. Calls use the queue pairs of verbs: the machine's memory
//! server receives them, and passes them to a lane of either compute server.
//!
//! Decision: docs/decisions/0227-spades-figures-card-pairs-partitioned-tatp-shipped-tpc-c.md

mod rows;
mod seen;
mod ship;
mod tatp;
#[cfg(test)]
mod tests;
mod tpcc;

pub(crate) use rows::{RowOperations, Work};
pub(crate) use seen::Seen;
pub(crate) use tatp::Tatp;
pub(crate) use tpcc::Tpcc;

use crate::busy::Busy;
use fabric::{DynEnv, Env};
use layout::NodeId;
use seen::Watch;
use ship::{Owner, SHIPPED, Seat};
use shipping::seats::{self, Ownership};
use sim::{Network, World};
use simulated_cluster::ground::{Ground, HORIZON_NS, Shape};
use simulated_cluster::metered::Metered;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use txn::{Database, Lane};
use workload::{CheckResult, Finished, RunTotals, WorkloadError};

/// The profile with two ConnectX-3 cards per machine [SPADE 5.2].
pub(crate) const PROFILE: &str = "connectx3-fdr-pair";
/// Compute servers of each machine, one per socket: the largest number of a plan.
const PROCESSES: u16 = 2;
/// Copies of each row [SPADE 5.2].
pub(crate) const REPLICAS: u32 = 3;
/// Hardware threads of a socket [SPADE 5.2].
const THREADS: u32 = 16;
/// The largest number of machines in the paper.
pub(crate) const MACHINES_MAX: u16 = 50;

/// The work of clients of a symmetric cluster.
pub(crate) trait Load: Clone + Send + Sync + 'static {
    /// The input of a transaction.
    type Input: 'static;
    /// The state of a lane.
    type Terminal: 'static;

    /// Number of tables with this many machines.
    fn tables(&self, machines: u16) -> usize;

    /// Number of transaction types.
    fn kinds(&self) -> usize;

    /// Creates and loads the tables. Calls `progress` with the number of rows inserted since the
    /// last call.
    async fn fill(
        &self,
        database: &Database<DynEnv>,
        progress: &dyn Fn(u64),
    ) -> Result<(), WorkloadError>;

    /// Makes the state of a lane.
    fn terminal(
        &self,
        database: &Database<DynEnv>,
        place: LaneId,
    ) -> Result<Self::Terminal, WorkloadError>;

    /// Lets a lane read all tables, so that it learns their locations.
    async fn learn(
        &self,
        lane: &mut Lane<DynEnv>,
        terminal: &mut Self::Terminal,
    ) -> Result<(), WorkloadError>;

    /// Draws the next input, and the machine to which it is shipped, if any.
    fn draw(&self, terminal: &mut Self::Terminal) -> (Self::Input, Option<u16>);

    fn encode(&self, input: &Self::Input) -> Vec<u8>;

    fn decode(&self, request: &[u8]) -> Option<Self::Input>;

    /// Executes a transaction to its end. Appends the result for the caller to `answer`.
    async fn carry_out(
        &self,
        lane: &mut Lane<DynEnv>,
        terminal: &mut Self::Terminal,
        input: &Self::Input,
        answer: &mut Vec<u8>,
    ) -> Result<Finished, WorkloadError>;
}

/// The identity of a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneId {
    pub machine: u16,
    /// The number of the lane among its machine's, those of clients first.
    pub lane: u32,
}

impl LaneId {
    /// Its number among all lanes.
    pub fn number(self) -> u32 {
        u32::from(self.machine) * u32::from(PROCESSES) * LANES + self.lane
    }
}

/// A cluster, and the length of its measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub seed: u64,
    pub network: Network,
    pub machines: u16,
    /// Compute servers of each machine, at most 2.
    pub processes: u16,
    /// Lanes for clients of each compute server, at most 48.
    pub clients: u32,
    /// Queue pairs of a compute server to each memory server.
    pub queue_pairs: u32,
    /// Copies of each row.
    pub replicas: u32,
    /// Copies of frozen vectors beside the oracle's.
    pub vector_copies: u32,
    /// Number of transactions of each lane before the hardware takes time.
    pub practice: u64,
    /// Virtual time before counting starts; longer with slow calls, if one lane has made calls
    /// alone before.
    pub warm_ns: u64,
    /// Counted virtual time, if no number of calls is requested.
    pub window_ns: u64,
    /// The approximate number of calls in the window; its length follows from the rate during the
    /// warm-up.
    pub calls_wanted: Option<u64>,
    /// Number of calls that one lane makes alone before all do.
    pub calls_alone: u64,
    /// Words of each memory server; copies take half of them.
    pub server_words: u64,
}

/// Lanes of a compute server: those that clients do not use execute shipped transactions.
pub(crate) const LANES: u32 = 64;
/// Default words of each memory server.
pub(crate) const SERVER_WORDS: u64 = 1 << 26;
/// The longest window whose length follows from the rate.
const WINDOW_NS_MAX: u64 = 40_000_000;
/// The largest number of checks whether clients have ended after the window, and the time between
/// two.
const LOOKS_MAX: u32 = 20_000;
const LOOK_NS: u64 = 100_000;
/// Number of calls of a lone lane in whose time a cluster reaches a steady state: longer on slow
/// networks.
const WARM_CALLS: u64 = 20;
/// The longest time of a lone lane.
const ALONE_NS_MAX: u64 = 1_000_000_000;
/// The pause of a lone lane after each transaction,
const PAUSE_NS: u64 = 10_000;
/// or this multiple of the wire's latency: by then its next snapshot has arrived.
const PAUSE_WIRES: u64 = 10;

impl Plan {
    /// The paper's cluster with this many machines, and a lane per hardware thread. A socket's
    /// threads share a queue pair to each machine, so that the cards can cache all of them.
    pub fn new(seed: u64, machines: u16) -> Self {
        Self {
            seed,
            network: crate::world::network(PROFILE, 2),
            machines,
            processes: PROCESSES,
            clients: THREADS,
            queue_pairs: 1,
            replicas: REPLICAS,
            vector_copies: (machines * PROCESSES).isqrt().into(),
            practice: 4,
            warm_ns: 100_000,
            window_ns: 200_000,
            calls_wanted: None,
            calls_alone: 0,
            server_words: SERVER_WORDS,
        }
    }

    fn shape(&self, tables: usize) -> Shape {
        Shape {
            seed: self.seed,
            network: self.network,
            machines: self.machines,
            processes: self.processes,
            lanes: LANES,
            queue_pairs: self.queue_pairs,
            vector_copies: self.vector_copies,
            tables,
            server_words: self.server_words,
            replicas: self.replicas,
        }
    }

    /// The parameters that all experiments report.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("compute servers of each machine", self.processes.to_string()),
            ("clients of each compute server", self.clients.to_string()),
            ("queue pairs of a compute server to each machine", self.queue_pairs.to_string()),
            ("copies of each row", self.replicas.to_string()),
            ("copies of frozen vectors", "the square root of the compute servers".to_owned()),
            ("warm-up in virtual ns", self.warm_ns.to_string()),
            ("window in virtual ns", self.window_ns.to_string()),
        ]
    }
}

/// Loads the cluster, runs it, and returns the results.
pub(crate) fn run<L: Load>(plan: &Plan, load: &L) -> Seen {
    Standing::loaded(plan, load, &|_| ()).look(load).1
}

/// A loaded cluster whose clients have run their practice transactions.
pub(crate) struct Standing<L: Load> {
    plan: Plan,
    /// Totals of all transactions since the load.
    totals: Tally,
    clients: Vec<Seat<L>>,
    database: Database<DynEnv>,
    /// Seats are dropped with the cluster, and before their world.
    owners: Ownership,
    ground: Ground,
}

/// Totals of transactions, counted by all clients.
pub(crate) type Tally = Rc<RefCell<RunTotals>>;

impl<L: Load> Standing<L> {
    /// Loads the cluster. Calls `progress` with the number of rows inserted since the last call.
    pub fn loaded(plan: &Plan, load: &L, progress: &dyn Fn(u64)) -> Self {
        let ground = Ground::new(plan.shape(load.tables(plan.machines)), "reproduce");
        let world = ground.world();
        let owners = Ownership::of((0..plan.machines).map(u64::from));
        let database = ground.database().expect("the servers are empty");
        world.load(Metered::of(database.env()).endpoint(), fill(load, &database, progress));
        // Rows that were loaded and then rewritten must be writable again.
        world.run_for(HORIZON_NS);
        let homes = ground.homes(&database).expect("the catalog is there");
        let totals: Tally = Rc::new(RefCell::new(RunTotals::new(load.kinds())));
        let mut clients = Vec::new();
        for (machine, homes) in (0..).zip(homes.chunks(plan.processes.into())) {
            clients.extend(workers(&ground, plan, (load, &totals), (machine, homes)));
        }
        // Collect the garbage of the practice transactions now, not during the measurement.
        world.run_for(HORIZON_NS);
        for client in &mut clients {
            let endpoint = Metered::of(client.lane.env()).endpoint().clone();
            world.load(&endpoint, client.lane.collect_garbage()).expect("the servers answer");
        }
        ground.start(&homes);
        Self { plan: *plan, totals, clients, database, owners, ground }
    }

    /// Measures one lane while no other makes calls, and then all lanes.
    pub fn look(&mut self, load: &L) -> (Seen, Seen) {
        let Self { plan, totals, .. } = self;
        let world = self.ground.world();
        let (alone, clients) =
            alone(plan, (load, totals), world, std::mem::take(&mut self.clients));
        let warm_ns = plan.warm_ns.max(WARM_CALLS * alone.all().mean_ns());
        let plan = Plan { warm_ns, ..*plan };
        let (seen, clients) = together(&plan, (load, totals), world, clients);
        self.clients = clients;
        (alone, seen)
    }

    /// Runs the load's checks of the tables, after all calls. Terminals end before, because checks
    /// may need their data.
    pub fn check(
        self,
        check: impl AsyncFnOnce(
            &Database<DynEnv>,
            &mut Lane<DynEnv>,
            &RunTotals,
        ) -> Result<Vec<CheckResult>, WorkloadError>,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        let Self { totals, clients, database, owners, ground, .. } = self;
        let mut lanes: Vec<Lane<DynEnv>> = clients.into_iter().map(|client| client.lane).collect();
        drop(owners);
        // The next snapshot includes all commits.
        ground.world().run_for(HORIZON_NS);
        let lane = lanes.first_mut().expect("there is a client");
        let endpoint = Metered::of(lane.env()).endpoint().clone();
        ground.world().block_on(&endpoint, check(&database, lane, &totals.borrow()))
    }
}

/// Runs all clients together; returns them when they have ended.
fn together<L: Load>(
    plan: &Plan,
    (load, totals): (&L, &Tally),
    world: &World,
    clients: Vec<Seat<L>>,
) -> (Seen, Vec<Seat<L>>) {
    let watch = Rc::new(RefCell::new(Watch::new(world.now_ns(), plan.warm_ns, plan.window_ns)));
    let (count, back): (usize, Rc<Back<L>>) = (clients.len(), Rc::default());
    for (number, client) in clients.into_iter().enumerate() {
        let endpoint = Metered::of(client.lane.env()).endpoint().clone();
        let (load, watch, back) = (load.clone(), watch.clone(), back.clone());
        let totals = totals.clone();
        world.spawn_on(&endpoint, async move {
            let client = serve(load, client, (&watch, &totals)).await;
            back.borrow_mut().insert(number, client);
        });
    }
    world.run_for(plan.warm_ns);
    let window_ns = match plan.calls_wanted {
        None => plan.window_ns,
        Some(calls) => {
            let pace = watch.borrow().early().max(1) as f64 / plan.warm_ns as f64;
            let window_ns = (calls as f64 / pace) as u64;
            let window_ns = window_ns.clamp(plan.warm_ns, WINDOW_NS_MAX);
            watch.borrow_mut().last(window_ns);
            window_ns
        }
    };
    let busy = Busy::since(world, (0..=plan.machines).map(NodeId));
    world.run_for(window_ns);
    let mut seen = watch.borrow_mut().take();
    seen.busiest = busy.busiest(world);
    (seen, wait_for_clients(world, &back, count))
}

/// Clients that have ended, by their number.
type Back<L> = RefCell<BTreeMap<usize, Seat<L>>>;

fn wait_for_clients<L: Load>(world: &World, back: &Back<L>, count: usize) -> Vec<Seat<L>> {
    for _ in 0..LOOKS_MAX {
        if back.borrow().len() == count {
            break;
        }
        world.run_for(LOOK_NS);
    }
    let back = std::mem::take(&mut *back.borrow_mut());
    assert_eq!(back.len(), count, "clients begin nothing when the window is over");
    back.into_values().collect()
}

/// Runs one lane alone, with a pause after each call: otherwise its next snapshot would have to
/// wait for its own last commit.
fn alone<L: Load>(
    plan: &Plan,
    (load, totals): (&L, &Tally),
    world: &World,
    mut clients: Vec<Seat<L>>,
) -> (Seen, Vec<Seat<L>>) {
    if plan.calls_alone == 0 || clients.is_empty() {
        return (Seen::default(), clients);
    }
    let mut client = clients.remove(0);
    let env = client.lane.env().clone();
    let watch = Rc::new(RefCell::new(Watch::new(world.now_ns(), 0, ALONE_NS_MAX)));
    let back: Rc<Back<L>> = Rc::default();
    let (endpoint, calls) = (Metered::of(&env).endpoint().clone(), plan.calls_alone);
    let pause_ns = PAUSE_NS.max(PAUSE_WIRES * plan.network.card.wire_ps / 1000);
    let (load, seen, at) = (load.clone(), watch.clone(), back.clone());
    let totals = totals.clone();
    world.spawn_on(&endpoint, async move {
        for _ in 0..calls {
            one(&load, &mut client, &env, (&seen, &totals)).await;
            env.sleep_ns(pause_ns).await;
        }
        rest(&mut client).await;
        at.borrow_mut().insert(0, client);
    });
    clients.insert(0, wait_for_clients(world, &back, 1).remove(0));
    let seen = watch.borrow_mut().take();
    (seen, clients)
}

async fn fill<L: Load>(load: &L, database: &Database<DynEnv>, progress: &dyn Fn(u64)) {
    load.fill(database, progress).await.expect("there is room");
    database.leave(0).await.expect("the servers answer");
}

/// The lanes of a machine: its clients, after their practice transactions. The others become seats
/// for shipped transactions.
fn workers<L: Load>(
    ground: &Ground,
    plan: &Plan,
    (load, totals): (&L, &Tally),
    (machine, homes): (u16, &[Database<DynEnv>]),
) -> Vec<Seat<L>> {
    let mut clients = Vec::new();
    let processes = u32::from(plan.processes);
    for lane in 0..processes * LANES {
        let process = (lane % processes) as u16;
        let database =
            homes[usize::from(process)].with_env(DynEnv::new(ground.endpoint(machine, process)));
        let endpoint = Metered::of(database.env()).endpoint().clone();
        let place = LaneId { machine, lane };
        let worker = ground.world().load(&endpoint, worker(plan, (load, totals), &database, place));
        let worker = worker.expect("each compute server has places enough, and tables are there");
        if lane < processes * plan.clients {
            clients.push(worker);
        } else {
            seats::give(u64::from(machine), worker);
        }
    }
    let owner = Owner { number: u64::from(machine), load: load.clone() };
    ground.world().register(Ground::memory_node(machine), SHIPPED, Arc::new(owner));
    clients
}

/// A lane after its practice transactions.
async fn worker<L: Load>(
    plan: &Plan,
    (load, totals): (&L, &Tally),
    database: &Database<DynEnv>,
    place: LaneId,
) -> Result<Seat<L>, WorkloadError> {
    let mut lane = database.lane().await?;
    let mut terminal = load.terminal(database, place)?;
    load.learn(&mut lane, &mut terminal).await?;
    let mut answer = Vec::new();
    for _ in 0..plan.practice {
        let (input, _) = load.draw(&mut terminal);
        let finished = load.carry_out(&mut lane, &mut terminal, &input, &mut answer).await?;
        totals.borrow_mut().add(&finished);
    }
    lane.rest().await?;
    Ok(Seat { lane, terminal })
}

/// Runs one transaction after another until the window ends.
async fn serve<L: Load>(
    load: L,
    mut client: Seat<L>,
    (watch, totals): (&RefCell<Watch>, &Tally),
) -> Seat<L> {
    let env = client.lane.env().clone();
    while !watch.borrow().is_over(Metered::of(&env).endpoint()) {
        one(&load, &mut client, &env, (watch, totals)).await;
    }
    rest(&mut client).await;
    client
}

/// Reports that the client's lane is idle: otherwise old versions are kept for it.
async fn rest<L: Load>(client: &mut Seat<L>) {
    client.lane.rest().await.expect("the oracle answers");
}

async fn one<L: Load>(
    load: &L,
    client: &mut Seat<L>,
    env: &DynEnv,
    (watch, totals): (&RefCell<Watch>, &Tally),
) {
    let (input, owner) = load.draw(&mut client.terminal);
    let start = ship::Start::now(env);
    let done = match owner {
        None => {
            let Seat { lane, terminal } = client;
            load.carry_out(lane, terminal, &input, &mut Vec::new()).await
        }
        Some(owner) => ship::call(env, Ground::memory_node(owner), load.encode(&input)).await,
    };
    let finished = done.expect("the servers answer, and all rows are there");
    totals.borrow_mut().add(&finished);
    start.end(env, &finished, watch).await;
}
