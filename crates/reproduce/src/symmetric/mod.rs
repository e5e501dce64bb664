//! Symmetric clusters [SPADE 2.2, 5.2]: every machine has a memory server and computes, rows have three copies, of which
//! two are modelled ([`measure::simulated::metered`]), and what is shipped to a machine is carried out there.
//!
//! A [`Load`] says what clients do. Each machine has two compute servers, one for either socket, as it has a card for
//! either; each has lanes for clients, which do one transaction after another, and lanes for what others ship. Calls come
//! by the queue pairs of verbs: the machine's memory server takes them, and hands them to a lane of either compute server.

mod rows;
mod seen;
mod ship;
mod tatp;
#[cfg(test)]
mod tests;
mod tpcc;

pub(crate) use rows::{Rows, Work};
pub(crate) use seen::Seen;
pub(crate) use tatp::Tatp;
pub(crate) use tpcc::Tpcc;

use crate::busy::Busy;
use layout::NodeId;
use measure::seats::{self, Ownership};
use measure::simulated::ground::{Ground, HORIZON_NS, Shape};
use measure::simulated::metered::Metered;
use seen::Watch;
use ship::{Owner, SHIPPED, Seat};
use sim::Network;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use txn::{Database, Lane};
use workload::{Finished, WorkloadError};

/// Two ConnectX-3 cards of each machine [SPADE 5.2].
pub(crate) const PROFILE: &str = "connectx3-fdr-pair";
/// Compute servers of each machine: one for each socket.
const PROCESSES: u16 = 2;
/// Copies of each row [SPADE 5.2].
pub(crate) const REPLICAS: u32 = 3;
/// Hardware threads of a socket [SPADE 5.2].
const THREADS: u32 = 16;
/// Most machines of the paper.
pub(crate) const MACHINES_MAX: u16 = 50;

/// What clients of a symmetric cluster do.
pub(crate) trait Load: Clone + Send + Sync + 'static {
    /// What is to be done.
    type Input: 'static;
    /// What a lane keeps.
    type Terminal: 'static;

    /// Tables of so many machines.
    fn tables(&self, machines: u16) -> usize;

    /// Makes the tables, and fills them.
    async fn fill(&self, database: &Database<Metered>) -> Result<(), WorkloadError>;

    /// What a lane keeps.
    fn terminal(
        &self,
        database: &Database<Metered>,
        place: Place,
    ) -> Result<Self::Terminal, WorkloadError>;

    /// Has a lane look at all tables, so that it knows where they are.
    async fn learn(
        &self,
        lane: &mut Lane<Metered>,
        terminal: &mut Self::Terminal,
    ) -> Result<(), WorkloadError>;

    /// Draws what is done next, and to which machine it is shipped.
    fn draw(&self, terminal: &mut Self::Terminal) -> (Self::Input, Option<u16>);

    /// What is to be done as bytes,
    fn encode(&self, input: &Self::Input) -> Vec<u8>;

    /// and back.
    fn decode(&self, request: &[u8]) -> Option<Self::Input>;

    /// Carries it out to its end. What the caller gets comes to the end of `answer`.
    async fn carry_out(
        &self,
        lane: &mut Lane<Metered>,
        terminal: &mut Self::Terminal,
        input: &Self::Input,
        answer: &mut Vec<u8>,
    ) -> Result<Finished, WorkloadError>;
}

/// Which lane it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Its machine.
    pub machine: u16,
    /// Which of its machine's lanes, those of clients first.
    pub lane: u32,
}

impl Place {
    /// Its number among all lanes.
    pub fn number(self) -> u32 {
        u32::from(self.machine) * u32::from(PROCESSES) * LANES + self.lane
    }
}

/// A cluster, and how long it is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub seed: u64,
    pub network: Network,
    pub machines: u16,
    /// Lanes for clients of each compute server, at most 48.
    pub clients: u32,
    /// Queue pairs of a compute server to each memory server.
    pub queue_pairs: u32,
    /// Copies of each row.
    pub replicas: u32,
    /// Transactions of each lane before the hardware takes time.
    pub practice: u64,
    /// Virtual time before anything is counted.
    pub warm_ns: u64,
    /// Virtual time that is counted.
    pub window_ns: u64,
}

/// Lanes of a compute server: those that clients do not have carry out what others ship.
const LANES: u32 = 64;
/// Words of each memory server, of which copies take half.
const SERVER_WORDS: u64 = 1 << 26;

impl Plan {
    /// The paper's cluster with so many machines, and a lane for each hardware thread. A socket's threads share a queue pair
    /// to each machine, so that cards have all at hand.
    pub fn new(seed: u64, machines: u16) -> Self {
        Self {
            seed,
            network: crate::world::network(PROFILE, 2),
            machines,
            clients: THREADS,
            queue_pairs: 1,
            replicas: REPLICAS,
            practice: 4,
            warm_ns: 100_000,
            window_ns: 200_000,
        }
    }

    fn shape(&self, tables: usize) -> Shape {
        Shape {
            seed: self.seed,
            network: self.network,
            machines: self.machines,
            processes: PROCESSES,
            lanes: LANES,
            queue_pairs: self.queue_pairs,
            vector_copies: (self.machines * PROCESSES).isqrt().into(),
            tables,
            server_words: SERVER_WORDS,
            replicas: self.replicas,
        }
    }

    /// What all experiments say of it.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("compute servers of each machine", PROCESSES.to_string()),
            ("clients of each compute server", self.clients.to_string()),
            ("queue pairs of a compute server to each machine", self.queue_pairs.to_string()),
            ("copies of each row", self.replicas.to_string()),
            ("copies of frozen vectors", "the square root of the compute servers".to_owned()),
            ("warm-up in virtual ns", self.warm_ns.to_string()),
            ("window in virtual ns", self.window_ns.to_string()),
        ]
    }
}

/// Loads the cluster, runs it, and answers what was seen.
pub(crate) fn run<L: Load>(plan: &Plan, load: &L) -> Seen {
    let ground = Ground::new(plan.shape(load.tables(plan.machines)), "reproduce");
    let world = ground.world();
    let _owners = Ownership::of((0..plan.machines).map(u64::from));
    let database = ground.database().expect("the servers are empty");
    world.load(database.env().endpoint(), fill(load, &database));
    // What is loaded, and then written once more, may be written again.
    world.run_for(HORIZON_NS);
    let homes = ground.homes(&database).expect("the catalog is there");
    let mut clients = Vec::new();
    for (machine, homes) in (0..).zip(homes.chunks(PROCESSES.into())) {
        clients.extend(workers(&ground, plan, load, (machine, homes)));
    }
    // What practising has left behind would be collected while something is measured.
    world.run_for(HORIZON_NS);
    for client in &mut clients {
        let endpoint = client.lane.env().endpoint().clone();
        world.load(&endpoint, client.lane.collect_garbage()).expect("the servers answer");
    }
    ground.start(&homes);
    let watch = Rc::new(RefCell::new(Watch::new(world.now_ns(), plan.warm_ns, plan.window_ns)));
    for client in clients {
        let endpoint = client.lane.env().endpoint().clone();
        let (load, watch) = (load.clone(), watch.clone());
        world.spawn_on(&endpoint, async move { serve(load, client, &watch).await });
    }
    world.run_for(plan.warm_ns);
    let busy = Busy::since(world, (0..=plan.machines).map(NodeId));
    world.run_for(plan.window_ns);
    let mut seen = watch.borrow_mut().take();
    seen.busiest = busy.busiest(world);
    seen
}

async fn fill<L: Load>(load: &L, database: &Database<Metered>) {
    load.fill(database).await.expect("there is room");
    database.leave(0).await.expect("the servers answer");
}

/// The lanes of a machine: its clients, when they have practised. The others are seated.
fn workers<L: Load>(
    ground: &Ground,
    plan: &Plan,
    load: &L,
    (machine, homes): (u16, &[Database<Metered>]),
) -> Vec<Seat<L>> {
    let mut clients = Vec::new();
    for lane in 0..u32::from(PROCESSES) * LANES {
        let process = (lane % u32::from(PROCESSES)) as u16;
        let database = homes[usize::from(process)].with_env(ground.endpoint(machine, process));
        let endpoint = database.env().endpoint().clone();
        let place = Place { machine, lane };
        let worker = ground.world().load(&endpoint, worker(plan, load, &database, place));
        let worker = worker.expect("each compute server has places enough, and tables are there");
        if lane < u32::from(PROCESSES) * plan.clients {
            clients.push(worker);
        } else {
            seats::give(u64::from(machine), worker);
        }
    }
    let owner = Owner { number: u64::from(machine), load: load.clone() };
    ground.world().register(Ground::memory_node(machine), SHIPPED, Arc::new(owner));
    clients
}

/// A lane that has practised.
async fn worker<L: Load>(
    plan: &Plan,
    load: &L,
    database: &Database<Metered>,
    place: Place,
) -> Result<Seat<L>, WorkloadError> {
    let mut lane = database.lane().await?;
    let mut terminal = load.terminal(database, place)?;
    load.learn(&mut lane, &mut terminal).await?;
    let mut answer = Vec::new();
    for _ in 0..plan.practice {
        let (input, _) = load.draw(&mut terminal);
        load.carry_out(&mut lane, &mut terminal, &input, &mut answer).await?;
    }
    Ok(Seat { lane, terminal })
}

/// One transaction after another, until the window is over.
async fn serve<L: Load>(load: L, mut client: Seat<L>, watch: &RefCell<Watch>) {
    let env = client.lane.env().clone();
    let mut answer = Vec::new();
    while !watch.borrow().is_over(env.endpoint()) {
        let (input, owner) = load.draw(&mut client.terminal);
        let start = ship::Start::now(&env);
        answer.clear();
        let done = match owner {
            None => {
                let Seat { lane, terminal } = &mut client;
                load.carry_out(lane, terminal, &input, &mut answer).await
            }
            Some(owner) => ship::call(&env, Ground::memory_node(owner), load.encode(&input)).await,
        };
        let finished = done.expect("the servers answer, and all rows are there");
        start.end(&env, &finished, watch).await;
    }
}
