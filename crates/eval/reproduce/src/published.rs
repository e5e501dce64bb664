//! TPC-C with NAM-DB's protocol as printed, on a simulated cluster [ZB17 7].
//!
//! The machines are those of [`crate::tpcc`], where our own protocol runs: memory servers and
//! compute servers, and one more machine for the timestamp vector. Without locality a hash of the
//! key determines a record's server; with locality a warehouse is on one server, and its terminals
//! are on the same machine.

use crate::busy::Busy;
use crate::kinds;
use crate::world;
use baselines::nam_db::{
    Client, ComputeServer, Design, Ended, Fetch, LOADED, MemoryServer, Placement, Slots, Step,
    StepTimes, Stop, Timestamps, Vector,
};
use baselines::tpcc::{Input, OneSided, Terminal};
use fabric::{Env, Fabric};
use layout::{NodeId, RegionId};
use sim::{Endpoint, Machines, Reach, SimConfig, World};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use workload::tpcc::{Config, ItemChoice, Mix, Scale, TRANSACTION_NAMES, TYPE_COUNT};

/// Ports in use.
pub(crate) const PORTS: u64 = 2;
/// The population of a warehouse: twenty orders per district and some more, which are those that
/// transactions read.
pub(crate) const SCALE: Scale =
    Scale { items: 1000, districts: 10, customers_per_district: 20, orders_per_district: 24 };
/// Number of orders that each memory server has room for beside the loaded ones.
const MORE_ORDERS: u64 = 4000;
/// Words of the overflow region of each memory server.
const OVERFLOW_WORDS: u64 = 1 << 20;
/// The time for which versions stay in the overflow region: a parameter in the text.
const KEPT_NS: u64 = 50_000_000;
/// The pause of the version mover between two scans of all rings.
const MOVER_PAUSE_NS: u64 = 1_000_000;

/// A cluster and its load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub seed: u64,
    pub profile: &'static str,
    /// Ports in use, if the card has as many.
    pub ports: u64,
    /// The factor on the profile's time of a row.
    pub row_times: u64,
    /// Queue pairs of a compute server to each memory server; 0: one per thread.
    pub queue_pairs: u32,
    /// Cores of each machine that only post and poll, and then own the queue pairs.
    pub communicators: u32,
    pub memory_servers: u16,
    pub compute_servers: u16,
    /// Threads of each compute server.
    pub threads: u16,
    /// Warehouses of each memory server.
    pub warehouses_each: u32,
    pub mix: Mix,
    /// Percentage of new orders that access another warehouse; `None`: one in ten.
    pub distribution_percent: Option<u32>,
    pub item_choice: ItemChoice,
    /// How a compute server accesses the memory server of the same number, if both are on one
    /// machine.
    pub machine: Option<Reach>,
    pub placement: Placement,
    pub timestamps: Timestamps,
    /// Virtual time before counting starts.
    pub warm_ns: u64,
    /// Counted virtual time.
    pub window_ns: u64,
}

/// The results of a type of transactions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kind {
    /// The cost of those that committed, including aborted attempts.
    pub cost: kinds::Kind,
    pub aborted: u64,
    /// The time of each step of the attempts that committed.
    steps_ns: StepTimes,
}

/// The results of the window.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub kinds: [Kind; TYPE_COUNT],
    window_ns: u64,
    /// The busiest stage of all machines; machine 0 is the vector's, then come those of memory
    /// servers and of compute servers.
    pub busiest: String,
}

impl Kind {
    /// The given percentile of the latency in microseconds.
    pub fn latency_us(&self, percent: usize) -> f64 {
        self.cost.latency_us(percent).unwrap_or(f64::NAN)
    }

    fn committed(&self) -> u64 {
        self.cost.count() as u64
    }

    fn per(&self, total: u64) -> f64 {
        total as f64 / self.committed().max(1) as f64
    }

    /// Mean microseconds of a step.
    pub fn step_us(&self, step: Step) -> f64 {
        self.per(self.steps_ns[step as usize]) / 1000.0
    }

    /// Mean microseconds of aborted attempts per committed transaction.
    pub fn aborted_us(&self) -> f64 {
        self.per(self.cost.total_ns() - self.steps_ns.iter().sum::<u64>()) / 1000.0
    }
}

impl Seen {
    fn new(window_ns: u64) -> Self {
        Self { kinds: std::array::from_fn(|_| Kind::default()), window_ns, busiest: String::new() }
    }

    pub fn new_orders(&self) -> &Kind {
        &self.kinds[0]
    }

    /// Committed new orders per second.
    pub fn new_orders_per_s(&self) -> f64 {
        self.per_s(self.new_orders().committed())
    }

    /// Committed transactions of all types per second.
    pub fn committed_per_s(&self) -> f64 {
        self.per_s(self.kinds.iter().map(Kind::committed).sum())
    }

    /// Aborted attempts in percent of all attempts.
    pub fn abort_percent(&self) -> f64 {
        let aborted: u64 = self.kinds.iter().map(|kind| kind.aborted).sum();
        let committed: u64 = self.kinds.iter().map(Kind::committed).sum();
        100.0 * aborted as f64 / (aborted + committed).max(1) as f64
    }

    fn per_s(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.window_ns as f64
    }

    /// A sentence with further results.
    pub fn sentence(&self, name: &str, machines: u16) -> String {
        format!(
            "{machines} machines, {name}: {:.2} million new orders and {:.2} million transactions of all types a second, \
             {:.1} % of all attempts aborted; the busiest is {}.",
            self.new_orders_per_s() / 1e6,
            self.committed_per_s() / 1e6,
            self.abort_percent(),
            self.busiest
        )
    }

    /// A sentence for each type.
    pub fn sentences(&self) -> Vec<String> {
        let sentence = |(name, kind): (&str, &Kind)| {
            let [round_trips, verbs, bytes] = kind.cost.traffic();
            format!(
                "{name}: {round_trips:.1} round trips, {verbs:.0} verbs and {:.1} KB for each that commits, half within \
                 {:.0} us, 99 % within {:.0} us.",
                bytes / 1000.0,
                kind.latency_us(50),
                kind.latency_us(99)
            )
        };
        self.named().filter(|(_, kind)| kind.committed() > 0).map(sentence).collect()
    }

    /// All types with their names, in the order of the specification.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Kind)> {
        TRANSACTION_NAMES.into_iter().zip(&self.kinds)
    }
}

fn kind(input: &Input) -> usize {
    match input {
        Input::NewOrder(_) => 0,
        Input::Payment(_) => 1,
        Input::OrderStatus { .. } => 2,
        Input::Delivery { .. } => 3,
        Input::StockLevel { .. } => 4,
    }
}

impl Plan {
    fn config(&self) -> Config {
        Config {
            scale: SCALE,
            mix: self.mix,
            distribution_percent: self.distribution_percent,
            item_choice: self.item_choice,
            seed: self.seed,
            ..Config::new(self.warehouses_each * u32::from(self.memory_servers))
        }
    }

    /// The population of a warehouse, in words.
    pub fn scale_sentence() -> String {
        let Scale { items, districts, customers_per_district, orders_per_district } = SCALE;
        format!(
            "{items} items, {districts} districts, {customers_per_district} customers and {orders_per_district} orders of each"
        )
    }

    /// The vector's memory server, which is the first, has a machine of its own.
    fn machines(&self) -> Machines {
        let (servers, computes) = (self.memory_servers, self.compute_servers);
        let Some(reach) = self.machine else {
            return Machines::apart(1 + servers + computes);
        };
        let of_nodes = std::iter::once(servers.max(computes)).chain(0..servers).chain(0..computes);
        Machines { of_nodes: of_nodes.collect(), reach }
    }

    fn design(&self, tpcc: &OneSided) -> Arc<Design> {
        let data = (1..=self.memory_servers).map(RegionId).collect();
        let last = self.slot(self.compute_servers - 1, self.threads - 1);
        let vector = Vector::new(vec![RegionId(0)], last + 1);
        let sizes = tpcc.sizes(self.memory_servers.into(), MORE_ORDERS);
        let shape = (OVERFLOW_WORDS, self.warehouses_each);
        Arc::new(Design::new(vector, data, self.placement, shape, &sizes))
    }

    /// The slot of a thread.
    fn slot(&self, compute: u16, thread: u16) -> u32 {
        match self.timestamps.slots {
            Slots::Threads => u32::from(compute * self.threads + thread),
            Slots::ServersAsDrawn | Slots::ServersInOrder => compute.into(),
        }
    }

    /// The home warehouse of a thread: on the memory server with its compute server's number, if
    /// each warehouse is on one server.
    fn warehouse(&self, compute: u16, thread: u16) -> u32 {
        let server = u32::from(compute % self.memory_servers);
        server * self.warehouses_each + u32::from(thread) % self.warehouses_each + 1
    }
}

struct Watch {
    from_ns: u64,
    until_ns: u64,
    seen: Seen,
}

/// Loads the cluster, runs it, and returns the results.
pub(crate) fn run(plan: &Plan) -> Seen {
    let tpcc = OneSided::new(plan.config(), plan.placement);
    let design = plan.design(&tpcc);
    let mut network = world::network(plan.profile, plan.ports);
    network.core.execute_row_ps *= plan.row_times;
    let servers = (plan.memory_servers + 1, plan.compute_servers);
    let words = design.region_words;
    let settings = world::settings_on(plan.machines(), plan.seed, network, servers, words);
    let (queue_pairs, communicators) = (plan.queue_pairs, plan.communicators);
    let world = World::new(SimConfig { queue_pairs, communicators, ..settings });
    let memory_servers: Vec<MemoryServer> =
        design.data.iter().map(|&region| MemoryServer::new(&design, region, KEPT_NS)).collect();
    let admin = world.endpoint(world.compute_node(0));
    let loaded = world.load(&admin, tpcc.load(&admin, &design, &memory_servers));
    loaded.expect("the servers are there");
    for (&region, server) in design.data.iter().zip(&memory_servers) {
        start_memory_server(&world, NodeId(region.0), server.clone());
    }
    let from_ns = world.now_ns() + plan.warm_ns;
    let seen = Seen::new(plan.window_ns);
    let until_ns = from_ns + plan.window_ns;
    let watch = Rc::new(RefCell::new(Watch { from_ns, until_ns, seen }));
    for compute in 0..plan.compute_servers {
        let home = start_compute_server(&world, plan, &design, &memory_servers, compute);
        start_threads(&world, plan, (tpcc, &design, &home), compute, &watch);
    }
    world.run_for(plan.warm_ns);
    let nodes = 0..1 + plan.memory_servers + plan.compute_servers;
    let busy = Busy::since(&world, nodes.map(NodeId));
    world.run_for(plan.window_ns);
    let mut seen = watch.borrow().seen.clone();
    seen.busiest = busy.most(&world);
    seen
}

fn start_memory_server(world: &World, node: NodeId, server: MemoryServer) {
    for (id, service) in server.services(Endpoint::compute_rows) {
        world.register(node, id, service);
    }
    let env = world.service_endpoint(node);
    world.spawn_on(&env.clone(), async move {
        let run = server.mover.run(env, Endpoint::compute_rows, MOVER_PAUSE_NS, || true);
        run.await.expect("its own memory is there");
    });
}

/// Starts a compute server with its fetch thread.
fn start_compute_server(
    world: &World,
    plan: &Plan,
    design: &Arc<Design>,
    memory_servers: &[MemoryServer],
    compute: u16,
) -> Arc<ComputeServer> {
    let home = ComputeServer::new(if compute == 0 { LOADED } else { 0 });
    let is_beside = plan.machine.is_some_and(|reach| reach != Reach::Card);
    let home = match memory_servers.get(usize::from(compute)) {
        Some(server) if is_beside => home.beside(compute.into(), server.index.clone()),
        _ => home,
    };
    let home = Arc::new(home);
    if plan.timestamps.fetch == Fetch::Background {
        let env = world.endpoint(world.compute_node(compute));
        let (home, vector) = (home.clone(), design.vector.clone());
        world.spawn_on(&env.clone(), async move {
            home.fetch(env, &vector, || true).await.expect("the oracle is there");
        });
    }
    home
}

fn start_threads(
    world: &World,
    plan: &Plan,
    (tpcc, design, home): (OneSided, &Arc<Design>, &Arc<ComputeServer>),
    compute: u16,
    watch: &Rc<RefCell<Watch>>,
) {
    for thread in 0..plan.threads {
        let env = world.endpoint(world.compute_node(compute));
        let number = compute * plan.threads + thread;
        let slot = plan.slot(compute, thread);
        let known = (design.clone(), home.clone());
        let slot = (slot, if slot == 0 { LOADED } else { 0 });
        let client = Client::new(env.clone(), known, plan.timestamps, slot, Endpoint::compute_rows);
        let warehouse = plan.warehouse(compute, thread);
        let terminal = Terminal::new(&plan.config(), plan.seed, number.into(), warehouse);
        let watch = watch.clone();
        world.spawn_on(&env, async move { serve(tpcc, client, terminal, &watch).await });
    }
}

/// Runs one transaction after another until the window ends. An aborted transaction is retried at
/// once [ZB17 7.4].
async fn serve(
    tpcc: OneSided,
    mut client: Client<Endpoint>,
    mut terminal: Terminal,
    watch: &RefCell<Watch>,
) {
    let env = client.env().clone();
    loop {
        let input = terminal.draw();
        let (start_ns, before) = (env.now_ns(), env.counters().counts());
        let (mut aborted, mut committed) = (0, None);
        while committed.is_none() {
            let mut transaction = client.begin().await.expect("the oracle is there");
            let ended = match tpcc.run(&mut transaction, &input).await {
                Ok(()) => transaction.commit().await,
                Err(stop) => Err(stop),
            };
            match ended {
                Ok(Ended::Committed) => committed = Some(transaction.spent_ns()),
                Ok(Ended::Aborted) | Err(Stop::TooOld) => aborted += 1,
                Err(Stop::RolledBack) => break,
                Err(stop) => panic!("{stop}"),
            }
        }
        let now_ns = env.now_ns();
        let watch = &mut *watch.borrow_mut();
        if now_ns >= watch.until_ns {
            return;
        }
        if now_ns < watch.from_ns {
            continue;
        }
        let kind = &mut watch.seen.kinds[kind(&input)];
        kind.aborted += aborted;
        if let Some(spent_ns) = committed {
            kind.cost.add(now_ns - start_ns, env.counters().counts() - before);
            kind.steps_ns.iter_mut().zip(spent_ns).for_each(|(sum, ns)| *sum += ns);
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
            ports: PORTS,
            row_times: 1,
            queue_pairs: 0,
            communicators: 0,
            memory_servers: machines,
            compute_servers: machines,
            threads: 4,
            warehouses_each: 4,
            mix: Mix::STANDARD,
            distribution_percent: None,
            item_choice: ItemChoice::Nurand,
            machine: None,
            placement: Placement::Hashed,
            timestamps: Timestamps::OPTIMIZED,
            warm_ns: 200_000,
            window_ns: 1_000_000,
        }
    }

    #[test]
    fn twice_the_machines_do_about_twice_as_much_in_the_same_time() {
        let [one, two] = [1, 2].map(|machines| run(&plan(machines)));
        let ratio = two.committed_per_s() / one.committed_per_s();
        assert!((1.6..2.4).contains(&ratio), "{ratio}");
        let latency = two.new_orders().latency_us(50) / one.new_orders().latency_us(50);
        assert!((0.8..1.3).contains(&latency), "{latency}");
    }

    /// The printed steps are the verbs of a transaction without conflicts.
    #[test]
    fn steps_add_up_to_the_latency_without_conflicts() {
        let alone = Plan { threads: 1, compute_servers: 1, mix: Mix::NEW_ORDER_ONLY, ..plan(2) };
        let seen = run(&alone);
        let kind = seen.new_orders();
        let steps: f64 = Step::ALL.iter().map(|&step| kind.step_us(step)).sum();
        let mean_us = kind.cost.total_ns() as f64 / kind.committed() as f64 / 1000.0;
        assert!((0.99..1.0001).contains(&((steps + kind.aborted_us()) / mean_us)), "{kind:?}");
        assert!(Step::ALL[1..].iter().all(|&step| kind.step_us(step) > 0.5), "{kind:?}");
        assert_eq!(kind.step_us(Step::Timestamp), 0.0, "the vector is there already");
    }
}
