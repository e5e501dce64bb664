//! New-orders on single-threaded sites.

use baselines::h_store::{Cluster, Machine, SerialOutcome, submit};
use baselines::tpcc::{SerialNewOrder, Terminal, check};
use baselines::trad_si::Range;
use fabric::{Env, LocalWorld, WorldConfig, run_now};
use layout::NodeId;
use sim::{SimConfig, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use workload::tpcc::{Config, Mix, Scale};

const SEEDS: u64 = 12;
const MACHINES: u16 = 2;
const SITES: u32 = 4;
const TERMINALS: u16 = 6;
const TRANSACTIONS: u64 = 60;

fn config() -> Config {
    let (scale, distribution_percent) = (Scale::TINY, Some(60));
    Config { scale, distribution_percent, mix: Mix::NEW_ORDER_ONLY, ..Config::new(6) }
}

fn assert_sound<E: Env>(machines: &[Arc<Machine<E, SerialNewOrder>>], placed: u64, run: &str) {
    let find = |range: Range| {
        let site = range.first.partition % SITES;
        machines[site as usize % machines.len()].site(site).expect("it is there").range(range)
    };
    let (problems, found) = check::check(&config(), &find);
    assert_eq!((&problems[..], found), (&[][..], placed), "{run}");
}

async fn transactions<E: Env>(
    env: E,
    cluster: Cluster,
    seed: u64,
    number: u16,
    placed: &AtomicU64,
) {
    let warehouse = u32::from(number) % config().warehouses + 1;
    let mut terminal = Terminal::new(&config(), seed, number.into(), warehouse);
    let home = cluster.machines[cluster.machine(cluster.site(warehouse - 1))];
    for _ in 0..TRANSACTIONS {
        match submit(&env, home, terminal.draw().encode()).await {
            SerialOutcome::Committed => placed.fetch_add(1, Relaxed),
            SerialOutcome::RolledBack => 0,
            SerialOutcome::Unknown => panic!("all machines are alive"),
        };
    }
}

#[test]
fn conditions_hold_after_new_orders_in_hostile_worlds() {
    let mut rolled_back = 0;
    for seed in 0..SEEDS {
        let compute_nodes = MACHINES + TERMINALS;
        let settings = SimConfig { compute_nodes, ..SimConfig::hostile(seed) };
        let world = World::new(settings.named("h-store").with_servers(&[1024]));
        let machines: Vec<NodeId> = (0..MACHINES).map(|index| world.compute_node(index)).collect();
        let cluster = Cluster { machines, sites: SITES };
        let new_order = Arc::new(SerialNewOrder::new(config(), SITES));
        let machines = cluster.start(
            &new_order,
            |_, _| {},
            |node, id, service| world.register(node, id, service),
        );
        new_order.load(&machines);
        assert_sound(&machines, 0, &world.identity());
        let placed = Arc::<AtomicU64>::default();
        for number in 0..TERMINALS {
            let env = world.endpoint(world.compute_node(MACHINES + number));
            let (own, cluster, placed) = (env.clone(), cluster.clone(), placed.clone());
            world.spawn_on(&env, async move {
                transactions(own, cluster, seed, number, &placed).await;
            });
        }
        assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
        let placed = placed.load(Relaxed);
        assert_sound(&machines, placed, &world.identity());
        rolled_back += u64::from(TERMINALS) * TRANSACTIONS - placed;
    }
    assert!(rolled_back > 0, "one order in a hundred has an unused item");
}

#[test]
fn the_same_code_runs_in_threads_of_a_process() {
    let settings = WorldConfig { server_bytes: vec![1 << 16; usize::from(MACHINES)], seed: 1 };
    let world = LocalWorld::new(&settings).expect("little memory");
    let cluster = Cluster { machines: (0..MACHINES).map(NodeId).collect(), sites: SITES };
    let new_order = Arc::new(SerialNewOrder::new(config(), SITES));
    let machines =
        cluster.start(&new_order, |_, _| {}, |node, id, service| world.register(node, id, service));
    new_order.load(&machines);
    let placed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (env, cluster, placed) = (world.endpoint(), cluster.clone(), &placed);
            scope.spawn(move || run_now(transactions(env, cluster, 1, number, placed)));
        }
    });
    assert_sound(&machines, placed.into_inner(), "local");
}
