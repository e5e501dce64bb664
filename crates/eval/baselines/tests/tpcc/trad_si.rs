//! TPC-C by messages.

use baselines::tpcc::{Input, Terminal, Tpcc, check};
use baselines::trad_si::{Cluster, Manager, Range, Server, Snapshots, TransactionOutcome, submit};
use fabric::Env;
use layout::NodeId;
use sim::{SimConfig, World};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use workload::tpcc::{Config, Scale};

const SEEDS: u64 = 12;
const SERVERS: u16 = 3;
const TERMINALS: u16 = 6;
const TRANSACTIONS: u64 = 100;

fn config() -> Config {
    Config { scale: Scale::TINY, ..Config::new(4) }
}

/// The rows of all servers in the newest snapshot.
fn find(servers: &[Arc<Server>], range: Range) -> Vec<(u64, Vec<u8>)> {
    let owner = servers[range.first.partition as usize % servers.len()].partition();
    let rows = owner.range(&range, u64::MAX).expect("nothing is newer");
    rows.into_iter().map(|(number, content)| (number, content.to_vec())).collect()
}

/// Counts of the terminals' transactions.
#[derive(Default)]
struct Tally {
    placed: Cell<u64>,
    rolled_back: Cell<u64>,
    aborted: Cell<u64>,
}

fn add(count: &Cell<u64>) {
    count.set(count.get() + 1);
}

impl Tally {
    /// Returns whether the transaction should be retried.
    fn take(&self, input: &Input, outcome: &TransactionOutcome) -> bool {
        match outcome {
            TransactionOutcome::Committed(_) if matches!(input, Input::NewOrder(_)) => {
                add(&self.placed);
            }
            TransactionOutcome::Committed(_) => {}
            TransactionOutcome::RolledBack => {
                assert!(matches!(input, Input::NewOrder(_)), "{input:?} has all rows it needs");
                add(&self.rolled_back);
            }
            TransactionOutcome::Aborted => {
                add(&self.aborted);
                return true;
            }
            TransactionOutcome::Unknown => panic!("all servers are alive"),
        }
        false
    }
}

#[test]
fn conditions_hold_after_transactions_in_hostile_worlds() {
    let mut rolled_back = 0;
    for seed in 0..SEEDS {
        let compute_nodes = SERVERS + TERMINALS;
        let config_of_world = SimConfig { compute_nodes, ..SimConfig::hostile(seed) };
        let world = World::new(config_of_world.named("tpcc").with_servers(&[1024]));
        let nodes: Vec<NodeId> = (0..SERVERS).map(|index| world.compute_node(index)).collect();
        let cluster = Rc::new(Cluster {
            timestamps: nodes[0],
            servers: nodes,
            snapshots: Snapshots::default(),
        });
        let tpcc = Arc::new(Tpcc::new(config()));
        let servers =
            cluster.start(&tpcc, |_, _| {}, |node, id, service| world.register(node, id, service));
        tpcc.load(&servers);
        let (problems, placed) = check::check(&config(), &|range| find(&servers, range));
        assert_eq!((&problems[..], placed), (&[][..], 0), "{}: after the load", world.identity());
        let tally = Rc::<Tally>::default();
        for number in 0..TERMINALS {
            let warehouse = u32::from(number) % config().warehouses + 1;
            let mut terminal = Terminal::new(&config(), seed, number.into(), warehouse);
            let home = cluster.owner(warehouse - 1);
            // Every other terminal runs its transactions at the server itself.
            let node = match number % 2 {
                0 => cluster.servers[home],
                _ => world.compute_node(SERVERS + number),
            };
            let manager = Manager::new(servers[home].clone(), tpcc.clone(), |_, _| {});
            let env = world.endpoint(node);
            let (own, tally, cluster) = (env.clone(), tally.clone(), cluster.clone());
            world.spawn_on(&env, async move {
                for _ in 0..TRANSACTIONS {
                    let input = terminal.draw();
                    loop {
                        let outcome = match number % 2 {
                            0 => manager.run(&own, &input.encode()).await,
                            _ => submit(&own, cluster.servers[home], input.encode()).await,
                        };
                        if !tally.take(&input, &outcome) {
                            break;
                        }
                        own.yield_now().await;
                    }
                }
            });
        }
        assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
        let (problems, placed) = check::check(&config(), &|range| find(&servers, range));
        assert_eq!((&problems[..], placed), (&[][..], tally.placed.get()), "{}", world.identity());
        assert!(
            placed > 150 && tally.aborted.get() > 0,
            "{}: no transactions conflicted",
            world.identity()
        );
        rolled_back += tally.rolled_back.get();
    }
    assert!(rolled_back > 0, "one order in a hundred has an unused item");
}
