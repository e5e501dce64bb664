//! TPC-C by one-sided verbs, with the protocol as printed.

use baselines::RowKey;
use baselines::nam_db::{
    Client, ComputeServer, Design, Ended, LOADED, MemoryServer, Placement, Stop, Timestamps,
    Vector, survey,
};
use baselines::tpcc::{Input, OneSided, Terminal, check};
use baselines::trad_si::Range;
use fabric::{Env, FabricError};
use layout::{NodeId, RegionId};
use sim::{Endpoint, SimConfig, Tearing, World};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use workload::tpcc::{Config, ItemChoice, Scale};

const SEEDS: u64 = 12;
const SERVERS: u16 = 2;
const COMPUTE_SERVERS: u16 = 2;
const TERMINALS: u16 = 6;
const TRANSACTIONS: u64 = 100;
/// Number of orders that each data server has room for beside the loaded ones.
const MORE: u64 = 600;
const OVERFLOW_WORDS: u64 = 1 << 16;
const KEPT_NS: u64 = 100_000_000;
const PAUSE_NS: u64 = 50_000;

fn config(seed: u64) -> Config {
    let item_choice = match seed % 4 {
        0 => ItemChoice::Zipf { theta_percent: 90 },
        _ => ItemChoice::Nurand,
    };
    Config { scale: Scale::TINY, item_choice, ..Config::new(4) }
}

/// A database, its servers, and the counts of transactions.
struct Run {
    world: World,
    tpcc: OneSided,
    design: Arc<Design>,
    servers: Vec<MemoryServer>,
    tally: Rc<Tally>,
}

#[derive(Default)]
struct Tally {
    running: Cell<u64>,
    placed: Cell<u64>,
    rolled_back: Cell<u64>,
    aborted: Cell<u64>,
}

fn add(count: &Cell<u64>) {
    count.set(count.get() + 1);
}

/// The vector is on the first memory server, records are on the others. Verbs are atomic.
fn start(seed: u64, placement: Placement) -> Run {
    let tpcc = OneSided::new(config(seed), placement);
    let data: Vec<RegionId> = (1..=SERVERS).map(RegionId).collect();
    let vector = Vector::new(vec![RegionId(0)], TERMINALS.into());
    let sizes = tpcc.sizes(SERVERS.into(), MORE);
    let design = Arc::new(Design::new(vector, data, placement, (OVERFLOW_WORDS, 2), &sizes));
    let words = [design.region_words; SERVERS as usize + 1];
    let settings = SimConfig { tearing: Tearing::None, ..SimConfig::hostile(seed) };
    let world = World::new(settings.named("nam-db").with_servers(&words));
    let server = |&region: &RegionId| {
        let server = MemoryServer::new(&design, region, KEPT_NS);
        for (id, service) in server.services(|_, _| {}) {
            world.register(NodeId(region.0), id, service);
        }
        server
    };
    let servers: Vec<MemoryServer> = design.data.iter().map(server).collect();
    let admin = world.endpoint(world.compute_node(0));
    world.load(&admin, tpcc.load(&admin, &design, &servers)).expect("the servers are alive");
    Run { world, tpcc, design, servers, tally: Rc::default() }
}

impl Run {
    /// Runs all transactions of all terminals.
    fn play(&self, seed: u64, timestamps: Timestamps) {
        self.tally.running.set(TERMINALS.into());
        for (&region, server) in self.design.data.iter().zip(&self.servers) {
            let (server, tally) = (server.clone(), self.tally.clone());
            let env = self.world.service_endpoint(NodeId(region.0));
            self.world.spawn_on(&env.clone(), async move {
                let goes_on = || tally.running.get() > 0;
                let run = server.mover.run(env, |_, _| {}, PAUSE_NS, goes_on);
                run.await.expect("its own memory is there");
            });
        }
        for compute in 0..COMPUTE_SERVERS {
            let env = self.world.endpoint(self.world.compute_node(compute));
            // Slot 0 has the population's number; every second thread accesses one server's indexes
            // directly.
            let home = ComputeServer::new(if compute == 0 { LOADED } else { 0 });
            let index = self.servers[usize::from(compute)].index.clone();
            let home = Arc::new(home.beside(compute.into(), index));
            let (fetching, tally) = (home.clone(), self.tally.clone());
            let vector = self.design.vector.clone();
            let own = env.clone();
            self.world.spawn_on(&env, async move {
                let fetch = fetching.fetch(own, &vector, || tally.running.get() > 0);
                fetch.await.expect("the servers are alive");
            });
            for number in (compute..TERMINALS).step_by(COMPUTE_SERVERS.into()) {
                let shares = timestamps == Timestamps::OPTIMIZED;
                let slot = if shares { compute } else { number };
                let last = if slot == 0 { LOADED } else { 0 };
                let env = self.world.endpoint(env.node());
                let known = (self.design.clone(), home.clone());
                let slot = (slot.into(), last);
                let client = Client::new(env.clone(), known, timestamps, slot, |_, _| {});
                let warehouse = u32::from(number) % config(seed).warehouses + 1;
                let terminal = Terminal::new(&config(seed), seed, number.into(), warehouse);
                let (tpcc, tally) = (self.tpcc, self.tally.clone());
                self.world.spawn_on(&env, async move {
                    transactions(tpcc, client, terminal, &tally).await;
                    tally.running.set(tally.running.get() - 1);
                });
            }
        }
        assert_eq!(self.world.run_until_idle(), 0, "{}", self.world.identity());
    }

    fn records(&self) -> BTreeMap<RowKey, Vec<u8>> {
        let admin = self.world.endpoint(self.world.compute_node(0));
        let records: Result<_, FabricError> = self.world.load(&admin, survey(&admin, &self.design));
        records.expect("the servers are alive")
    }

    /// The consistency conditions hold, and the indexes match the tables.
    fn assert_sound(&self, seed: u64) {
        let records = self.records();
        let find = |range: Range| {
            let last = RowKey { number: range.last, ..range.first };
            let found = records.range(range.first..=last);
            found.map(|(key, row)| (key.number, row.clone())).collect()
        };
        let (problems, placed) = check::check(&config(seed), &find);
        let identity = self.world.identity();
        assert_eq!((&problems[..], placed), (&[][..], self.tally.placed.get()), "{identity}");
        let is_in_index = |key: &RowKey| {
            let server = self.design.index_server(key.partition);
            self.servers[server].index.entries().contains(key)
        };
        let entries: usize = self.servers.iter().map(|s| s.index.entries().len()).sum();
        let count = |table| records.keys().filter(|key| key.table == table).count();
        let [orders, open] = [ORDER, NEW_ORDER].map(count);
        assert_eq!(entries, orders + open, "{identity}");
        let mut open = records.keys().filter(|key| key.table == NEW_ORDER);
        assert!(open.all(is_in_index), "{identity}");
    }
}

/// The numbers of tables.
const ORDER: u32 = 4;
const NEW_ORDER: u32 = 5;

async fn attempt(
    tpcc: &OneSided,
    client: &mut Client<Endpoint>,
    input: &Input,
) -> Result<Ended, Stop> {
    let mut transaction = client.begin().await?;
    tpcc.run(&mut transaction, input).await?;
    transaction.commit().await
}

async fn transactions(
    tpcc: OneSided,
    mut client: Client<Endpoint>,
    mut terminal: Terminal,
    tally: &Tally,
) {
    for _ in 0..TRANSACTIONS {
        let input = terminal.draw();
        loop {
            match attempt(&tpcc, &mut client, &input).await {
                Ok(Ended::Committed) => {
                    if matches!(input, Input::NewOrder(_)) {
                        add(&tally.placed);
                    }
                    break;
                }
                Err(Stop::RolledBack) => {
                    assert!(matches!(input, Input::NewOrder(_)), "{input:?} has all rows it needs");
                    add(&tally.rolled_back);
                    break;
                }
                Ok(Ended::Aborted) | Err(Stop::TooOld) => add(&tally.aborted),
                Err(stop) => panic!("{stop}"),
            }
            client.env().yield_now().await;
        }
    }
}

/// With the placement for locality and with hashed keys; with the basic vector and with its
/// optimizations.
#[test]
fn conditions_hold_after_transactions_in_untorn_worlds() {
    let mut rolled_back = 0;
    for seed in 0..SEEDS {
        let placement = [Placement::Hashed, Placement::Partitions(2)][seed as usize % 2];
        let timestamps = [Timestamps::BASIC, Timestamps::OPTIMIZED][seed as usize / 2 % 2];
        let run = start(seed, placement);
        run.assert_sound(seed);
        run.play(seed, timestamps);
        run.assert_sound(seed);
        let (placed, aborted) = (run.tally.placed.get(), run.tally.aborted.get());
        assert!(
            placed > 150 && aborted > 0,
            "{}: no transactions conflicted",
            run.world.identity()
        );
        rolled_back += run.tally.rolled_back.get();
    }
    assert!(rolled_back > 0, "one order in a hundred has an unused item");
}
