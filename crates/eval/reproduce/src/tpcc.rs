//! TPC-C on a simulated cluster of memory servers and compute servers [ZB17 7].
//!
//! Each memory server has one partition of the warehouses, with all their tables. A thread of a
//! compute server is a lane whose terminal has one home warehouse. The population of a warehouse is
//! smaller than the specification's ([`SCALE`]), which changes neither the number of districts nor
//! the work of a transaction.
//!
//! Decision: docs/decisions/0154-figures-4-5-and-8-without-locality-run-a-lane-per-warehouse.md

use crate::busy::{Busiest, Busy};
use crate::kinds::Kinds;
use crate::world;
use fabric::{Counts, DynEnv, Env, Fabric};
use sim::{AsEndpoint, Endpoint, Machines, Reach, SimConfig, World};
use std::cell::RefCell;
use std::rc::Rc;
use txn::{Database, DatabaseConfig, Lane, Oracle};
use workload::tpcc::{
    Config, ItemChoice, Mix, NodeBytes, Scale, TABLE_NAMES, TYPE_COUNT, Terminal,
};
use workload::{Finished, RunTotals, Tpcc, TransactionResult, Workload};

/// The population of a warehouse. It has ten districts as in the specification, because
/// transactions conflict in districts.
pub(crate) const SCALE: Scale =
    Scale { items: 1000, districts: 10, customers_per_district: 20, orders_per_district: 60 };

/// The settings of the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Engine {
    pub oracle: Oracle,
    /// Whether the lanes of a compute server share slots of the vector.
    pub shares_slot: bool,
    /// Whether a task of each compute server fetches vectors for its lanes.
    pub fetches: bool,
    /// Copies of frozen vectors beside the oracle's, for those tasks.
    pub vector_copies: u32,
    /// Whether rows keep the memory of their old versions.
    pub keeps_versions: bool,
    /// Whether lanes cache the leaves that they have written last.
    pub keeps_leaves: bool,
    /// The sizes of the nodes of trees.
    pub node_bytes: NodeBytes,
    /// Queue pairs of a compute server to each memory server; 0: one per lane.
    pub queue_pairs: u32,
    /// Whether the verbs of a batch to one server are posted as one list.
    pub posts_lists: bool,
}

impl Engine {
    /// The fastest settings: vectors frozen by a collector and fetched once per compute server; a
    /// queue pair for two cores, so that the cards of 56 machines cache all of theirs.
    pub const BEST: Self = Self {
        oracle: Oracle::Frozen,
        shares_slot: true,
        fetches: true,
        vector_copies: 0,
        keeps_versions: true,
        keeps_leaves: true,
        node_bytes: NodeBytes::SMALL,
        queue_pairs: 8,
        posts_lists: true,
    };
}

/// A cluster and its load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub seed: u64,
    pub profile: &'static str,
    pub memory_servers: u16,
    pub compute_servers: u16,
    /// Places of each region's contents: more than 1 with replicas.
    pub replicas: u16,
    /// Threads of each compute server.
    pub threads: u16,
    /// The population of a warehouse.
    pub scale: Scale,
    /// Warehouses of each memory server.
    pub warehouses_each: u32,
    /// Shares of the transactions.
    pub mix: Mix,
    /// Percentage of new orders that access another warehouse; `None`: one in ten.
    pub distribution_percent: Option<u32>,
    pub item_choice: ItemChoice,
    pub engine: Engine,
    /// Number of transactions of each thread before the hardware takes time: afterwards every
    /// thread has leaves of its own to insert into, and has cached their locations.
    pub practice: u64,
    /// The approximate back-off of a thread after an aborted attempt, in virtual ns, see
    /// [`Config::pause_ns`].
    pub pause_ns: u64,
    /// How a compute server accesses the memory server of the same number, if both are on one
    /// machine.
    pub locality: Option<Reach>,
    /// Virtual time before counting starts.
    pub warm_ns: u64,
    /// Counted virtual time.
    pub window_ns: u64,
}

/// The results of the window.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub totals: RunTotals,
    /// Latencies of new orders that committed, in ns, sorted.
    pub new_order_ns: Vec<u64>,
    pub window_ns: u64,
    /// The cost of transactions of each type.
    pub kinds: Kinds,
    /// The busiest stage of all machines; machine 0 is the oracle's, then come those of memory
    /// servers and of compute servers.
    pub busiest: Busiest,
    /// The busiest stage of the oracle's machine.
    pub of_oracle: Busiest,
}

/// The position of new orders among the types.
const NEW_ORDER: usize = 0;

impl Seen {
    /// Committed new orders per second.
    pub fn new_orders_per_s(&self) -> f64 {
        self.per_s(self.totals.kind(NEW_ORDER).committed)
    }

    /// Committed transactions of all types per second.
    pub fn committed_per_s(&self) -> f64 {
        self.per_s(self.totals.committed())
    }

    /// Aborted attempts in percent of all attempts.
    pub fn abort_percent(&self) -> f64 {
        let aborted: u64 = self.totals.aborts().map(|(_, count)| count).sum();
        100.0 * aborted as f64 / (aborted + self.totals.committed()).max(1) as f64
    }

    /// The given percentile of the latency of new orders, in microseconds.
    pub fn new_order_us(&self, percent: usize) -> f64 {
        let at = (self.new_order_ns.len() * percent / 100).min(self.new_order_ns.len().max(1) - 1);
        self.new_order_ns.get(at).map_or(f64::NAN, |&ns| ns as f64 / 1000.0)
    }

    /// A sentence with further results.
    pub fn sentence(&self, name: &str, machines: u16) -> String {
        format!(
            "{machines} machines, {name}: {:.2} million transactions of all types a second, {:.1} % of all attempts aborted, \
             half of the new orders within {:.0} us, 99 % within {:.0} us; the busiest is {}.",
            self.committed_per_s() / 1e6,
            self.abort_percent(),
            self.new_order_us(50),
            self.new_order_us(99),
            self.busiest
        )
    }

    fn add(&mut self, finished: &Finished, took_ns: u64, moved: Counts) {
        self.totals.add(finished);
        self.kinds.add(finished, took_ns, moved);
        if finished.kind == NEW_ORDER && finished.result == TransactionResult::Committed {
            self.new_order_ns.push(took_ns);
        }
    }

    fn per_s(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.window_ns as f64
    }
}

struct Watch {
    from_ns: u64,
    until_ns: u64,
    seen: Seen,
}

impl Plan {
    fn config(&self) -> Config {
        Config {
            partitions: u32::from(self.memory_servers),
            keeps_versions: self.engine.keeps_versions,
            node_bytes: self.engine.node_bytes,
            scale: self.scale,
            mix: self.mix,
            distribution_percent: self.distribution_percent,
            item_choice: self.item_choice,
            pause_ns: self.pause_ns,
            seed: self.seed,
            ..Config::new(self.warehouses_each * u32::from(self.memory_servers))
        }
    }

    /// Slots of the vector: one for each lane or compute server, and one for the loader.
    fn slots(&self) -> u32 {
        let lanes = if self.engine.shares_slot { 2 } else { u32::from(self.threads) };
        (u32::from(self.compute_servers) * lanes + 1).next_multiple_of(8)
    }

    /// The population of a warehouse, in words.
    pub fn scale_sentence(&self) -> String {
        let Scale { items, districts, customers_per_district, orders_per_district } = self.scale;
        format!(
            "{items} items, {districts} districts, {customers_per_district} customers and {orders_per_district} orders of each"
        )
    }

    /// Words of each memory server: room for twice the loaded data.
    fn words(&self, tpcc: &Tpcc) -> u64 {
        let all = Workload::<DynEnv>::memory_bytes(tpcc) / layout::WORD_BYTES;
        SERVER_WORDS.max((2 * all / u64::from(self.memory_servers)).next_power_of_two())
    }

    /// The oracle's memory server, which is the first, has a machine of its own.
    fn machines(&self) -> Machines {
        let (servers, computes) = (self.memory_servers, self.compute_servers);
        let Some(reach) = self.locality else {
            return Machines::apart(1 + servers + computes);
        };
        let of_nodes = std::iter::once(servers.max(computes)).chain(0..servers).chain(0..computes);
        Machines { of_nodes: of_nodes.collect(), reach }
    }

    /// The terminal of a compute server's thread: its home warehouse is on the memory server of the
    /// same number. If there are more threads than warehouses, some share one.
    fn terminal(&self, compute: u16, thread: u16) -> u32 {
        let (each, thread) = (self.warehouses_each, u32::from(thread));
        let warehouses = each * u32::from(self.memory_servers);
        let server = u32::from(compute % self.memory_servers);
        let rounds = u32::from(self.threads).div_ceil(each);
        let round = u32::from(compute / self.memory_servers) * rounds + thread / each;
        round * warehouses + server * each + thread % each
    }
}

/// Loads the cluster, runs it, and returns the results.
pub(crate) fn run(plan: &Plan) -> Seen {
    let tpcc = Tpcc::new(plan.config()).expect("experiments have sound configurations");
    let servers = (plan.memory_servers + 1, plan.compute_servers);
    let network = world::network(plan.profile, PORTS);
    let settings =
        world::settings_on(plan.machines(), plan.seed, network, servers, plan.words(&tpcc));
    let world = World::new(SimConfig {
        posts_lists: plan.engine.posts_lists,
        queue_pairs: plan.engine.queue_pairs,
        replica_count: plan.replicas,
        ..settings
    });
    let nodes = world.serve(txn::server::services);
    let admin = world.endpoint(world.compute_node(0));
    let settings = DatabaseConfig {
        oracle: plan.engine.oracle,
        shares_slot: plan.engine.shares_slot,
        keeps_leaves: plan.engine.keeps_leaves,
        vector_copies: plan.engine.vector_copies,
        slots: plan.slots(),
        tables: usize::from(plan.memory_servers) * TABLE_NAMES.len(),
        ..Default::default()
    };
    let database = world.load(&admin, Database::create(admin.clone().into_dyn(), nodes, settings));
    let database = database.expect("the servers are empty");
    world.load(&admin, load(&tpcc, &database));
    let homes: Vec<_> = (0..plan.compute_servers)
        .map(|compute| database.elsewhere(world.endpoint(world.compute_node(compute)).into_dyn()))
        .collect();
    watch(&world, &tpcc, &homes, plan)
}

/// The smallest number of words of a memory server.
const SERVER_WORDS: u64 = 1 << 26;
/// Ports in use.
pub(crate) const PORTS: u64 = 2;
/// The default number of practice transactions of a thread.
pub(crate) const PRACTICE: u64 = 200;
/// After this time, lanes that share a slot find a newer horizon.
const HORIZON_NS: u64 = 1_000_000;

async fn load(tpcc: &Tpcc, database: &Database<DynEnv>) {
    tpcc.create_tables(database).await.expect("there is room");
    let mut lane = database.lane().await.expect("there are slots");
    tpcc.load_part(database, &mut lane, 0, 1, &|_| ()).await.expect("there is room");
    drop(lane);
    database.leave(0).await.expect("the servers answer");
}

fn watch(world: &World, tpcc: &Tpcc, homes: &[Database<DynEnv>], plan: &Plan) -> Seen {
    let totals = RunTotals::new(TYPE_COUNT);
    let busiest = Busiest::default();
    let (kinds, window_ns) = (Kinds::default(), plan.window_ns);
    let seen = Seen {
        totals,
        new_order_ns: Vec::new(),
        window_ns,
        kinds,
        busiest,
        of_oracle: Busiest::default(),
    };
    let watch = Rc::new(RefCell::new(Watch { from_ns: u64::MAX, until_ns: u64::MAX, seen }));
    // No thread serves before all have run their practice transactions: while a world is loaded no
    // time passes.
    let mut threads = Vec::new();
    for (compute, home) in (0..).zip(homes) {
        world.load(home.env(), home.refresh()).expect("the servers answer");
        for thread in 0..plan.threads {
            let database = home.with_env(world.endpoint(home.env().endpoint().node()).into_dyn());
            let start = Thread::start(tpcc, &database, plan.terminal(compute, thread), plan);
            let mut thread = world.load(database.env(), start);
            // Collect the garbage of the practice transactions now, not within the window.
            world.run_for(HORIZON_NS);
            world.load(database.env(), thread.lane.collect_garbage()).expect("the servers answer");
            threads.push(thread);
        }
    }
    if plan.engine.oracle == Oracle::Frozen {
        let oracle = homes[0].elsewhere(beside_vector(world, plan).into_dyn());
        homes.iter().for_each(Database::rely_on_collector);
        world.spawn_on(&oracle.env().clone(), async move {
            oracle.collect_vectors(|| true).await.expect("its memory is there");
        });
    }
    for home in homes.iter().filter(|_| plan.engine.fetches) {
        let home = home.clone();
        world.spawn_on(&home.env().clone(), async move {
            home.fetch_vectors(|| true).await.expect("the oracle's memory is there");
        });
    }
    for thread in threads {
        let (env, watch) = (thread.lane.env().clone(), watch.clone());
        world.spawn_on(&env, async move { thread.serve(&watch).await });
    }
    let from_ns = world.now_ns() + plan.warm_ns;
    {
        let mut watch = watch.borrow_mut();
        (watch.from_ns, watch.until_ns) = (from_ns, from_ns + plan.window_ns);
    }
    world.run_for(plan.warm_ns);
    let nodes = 0..1 + plan.memory_servers + plan.compute_servers;
    let busy = Busy::since(world, nodes.map(layout::NodeId));
    world.run_for(plan.window_ns);
    let mut seen = watch.borrow().seen.clone();
    seen.new_order_ns.sort_unstable();
    seen.busiest = busy.busiest(world);
    seen.of_oracle = busy.busiest_of(world, 0);
    seen
}

/// The endpoint of the collector: in the memory server that has the vector, which cannot access
/// other servers; so if it writes copies, in a process of its own on that machine.
fn beside_vector(world: &World, plan: &Plan) -> Endpoint {
    match plan.engine.vector_copies {
        0 => world.service_endpoint(layout::NodeId(0)),
        _ => world.endpoint(layout::NodeId(0)),
    }
}

/// A thread of a compute server: a lane, and a terminal.
struct Thread {
    tpcc: Tpcc,
    lane: Lane<DynEnv>,
    terminal: Terminal,
}

impl Thread {
    async fn start(tpcc: &Tpcc, database: &Database<DynEnv>, number: u32, plan: &Plan) -> Self {
        let lane = database.lane().await.expect("each compute server has places enough");
        let warehouses = tpcc.config().warehouses;
        let threads = (number / warehouses + 1) * warehouses;
        let terminal = tpcc.terminal(database, number, threads, plan.seed);
        let terminal = terminal.expect("the tables are there");
        let mut thread = Self { tpcc: *tpcc, lane, terminal };
        for _ in 0..plan.practice {
            thread.run_one().await;
        }
        thread
    }

    async fn run_one(&mut self) -> Finished {
        let Self { tpcc, lane, terminal } = self;
        tpcc.run_one(lane, terminal).await.expect("the servers answer")
    }

    /// Runs one transaction after another until the window ends.
    async fn serve(mut self, watch: &RefCell<Watch>) {
        loop {
            let start_ns = self.lane.env().now_ns();
            let before = self.lane.env().counters().counts();
            let finished = self.run_one().await;
            let now_ns = self.lane.env().now_ns();
            let watch = &mut *watch.borrow_mut();
            if now_ns >= watch.until_ns {
                return;
            }
            if now_ns >= watch.from_ns {
                let moved = self.lane.env().counters().counts() - before;
                watch.seen.add(&finished, now_ns - start_ns, moved);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(machines: u16) -> Plan {
        Plan {
            seed: 1,
            profile: "connect-ib-2xfdr",
            memory_servers: machines,
            compute_servers: machines,
            replicas: 1,
            threads: 4,
            scale: Scale::SMALL,
            warehouses_each: 4,
            mix: Mix::STANDARD,
            distribution_percent: None,
            item_choice: ItemChoice::Nurand,
            engine: Engine::BEST,
            practice: PRACTICE,
            pause_ns: 0,
            locality: None,
            warm_ns: 1_000_000,
            window_ns: 2_000_000,
        }
    }

    #[test]
    fn twice_the_machines_do_about_twice_as_much_in_the_same_time() {
        let [one, two] = [2, 4].map(|machines| run(&plan(machines)));
        let ratio = two.committed_per_s() / one.committed_per_s();
        assert!((1.5..2.5).contains(&ratio), "{ratio}: {one:?} {two:?}");
        let latency = two.new_order_us(50) / one.new_order_us(50);
        assert!((0.7..1.4).contains(&latency), "{latency}");
    }

    #[test]
    fn back_off_lowers_the_abort_rate() {
        let shared = Plan { threads: 8, ..plan(2) };
        let seen = [0, 80_000].map(|pause_ns| run(&Plan { pause_ns, ..shared }));
        let [at_once, later] = seen.each_ref().map(Seen::abort_percent);
        assert!(later > 0.0 && later < 0.9 * at_once, "{later} and {at_once}");
    }

    #[test]
    fn terminals_are_at_home_on_the_server_of_their_number_and_share_none_too_early() {
        let plan = Plan { memory_servers: 3, compute_servers: 6, threads: 6, ..plan(3) };
        let mut all: Vec<u32> = (0..6)
            .flat_map(|compute| (0..6).map(move |thread| (compute, thread)))
            .map(|(compute, thread)| plan.terminal(compute, thread))
            .collect();
        assert!((0..6).all(|compute| plan.terminal(compute, 5) % 12 / 4 == u32::from(compute % 3)));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 36);
    }
}
