//! Trees under simulated schedules: hostile order of every word, and clients that die at every step.

use super::harness::{Client, ExtentAllocator, is_retryable, small_layout, value_of};
use crate::tree::find::settle_range;
use crate::tree::*;
use fabric::{Batch, Env, FailurePoint};
use layout::{Key, NodeId, RegionId, SlotId, VersionWord};
use memory::{EXTENT_SERVICE, ExtentService, Extents, Label, Pool};
use sim::{Endpoint, SimConfig, World};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

const SERVER_WORDS: u64 = 1 << 18;
const CLIENTS: u16 = 3;
/// Keys of all clients; client n owns those that leave n as the remainder.
const NUMBERS: u64 = 60;
const TRY_COUNT_MAX: u32 = 10_000;

/// A world whose two servers offer extents and trees, and an empty tree in it.
fn world<const COHERENT: bool>(config: SimConfig) -> (World<COHERENT>, Tree, Arc<ExtentAllocator>) {
    let world = World::<COHERENT>::new(config.with_servers(&[SERVER_WORDS; 2]));
    let mut allocators = Vec::new();
    for node in 0..2 {
        let extents = Arc::new(Extents::new(RegionId(node), SERVER_WORDS * 8));
        world.register(
            NodeId(node),
            EXTENT_SERVICE,
            Arc::new(ExtentService(extents.clone())),
        );
        let allocator = Arc::new(ExtentAllocator::new(extents));
        world.register(
            NodeId(node),
            TREE_SERVICE,
            Arc::new(TreeService::new(allocator.clone())),
        );
        allocators.push(allocator);
    }
    let env = world.endpoint(world.compute_node(CLIENTS));
    let create = async {
        let layout = small_layout(!COHERENT);
        create_tree(&env, &mut pool(), NodeId(1), layout)
            .await
            .expect("an empty tree")
    };
    let tree = world.block_on(&env, create);
    (world, tree, allocators.remove(1))
}

fn pool() -> Pool {
    Pool::new(Label(2), vec![NodeId(0), NodeId(1)])
}

/// Tries an operation until it succeeds: what a session does with an aborted transaction.
macro_rules! retry {
    ($client:ident, $operation:expr) => {{
        let mut tried = 0;
        loop {
            match $operation.await {
                Ok(result) => break result,
                Err(error) => assert!(is_retryable(&error), "{error}"),
            }
            tried += 1;
            assert!(tried < TRY_COUNT_MAX, "no progress");
            $client.env.sleep_ns($client.env.random() % 20_000).await;
        }
    }};
}

/// Inserts, looks up, removes and absorbs, all on keys of its own; reports what must be there at the end.
async fn work<const COHERENT: bool>(
    mut client: Client<Endpoint<COHERENT>>,
    number: u64,
    shared: Rc<RefCell<BTreeSet<u64>>>,
) {
    // What must be there if the client dies now: steps kill between changes of entries only.
    let mut own = BTreeSet::new();
    let random = |client: &Client<Endpoint<COHERENT>>, bound: u64| client.env.random() % bound;
    for _ in 0..40 {
        let some = random(&client, NUMBERS) * u64::from(CLIENTS) + number;
        match random(&client, 10) {
            0..=4 => {
                retry!(client, client.insert(some));
                own.insert(some);
            }
            5 => {
                let start = random(&client, NUMBERS) * u64::from(CLIENTS) + number;
                let run: Vec<u64> = (0..12).map(|n| start + n * u64::from(CLIENTS)).collect();
                let mut done = 0;
                while done < run.len() {
                    let count = retry!(client, client.insert_some(&run[done..]));
                    own.extend(&run[done..done + count]);
                    publish(&shared, &own, number);
                    done += count;
                }
            }
            6 => assert_eq!(retry!(client, client.remove(some)), own.remove(&some)),
            7 => {
                let gone: Vec<u64> = own.range(some..).take(15).copied().collect();
                for gone in gone {
                    assert!(retry!(client, client.remove(gone)), "{gone} was inserted");
                    own.remove(&gone);
                    publish(&shared, &own, number);
                    // Absorbing is never necessary; others are in the way often enough.
                    if let Err(error) = client.absorb(gone).await {
                        assert!(is_retryable(&error), "{error}");
                    }
                }
            }
            8 => {
                let found = retry!(client, client.get(some));
                assert_eq!(found, own.contains(&some).then(|| value_of(some)));
            }
            _ => {
                let up = retry!(client, client.scan_up(some));
                check_scan(up, own.range(some..), number);
                let mut down = retry!(client, client.scan_down(some));
                down.reverse();
                check_scan(down, own.range(..=some), number);
            }
        }
        publish(&shared, &own, number);
    }
}

/// Replaces what `shared` says of the keys of client `number`.
fn publish(shared: &RefCell<BTreeSet<u64>>, own: &BTreeSet<u64>, number: u64) {
    let mut shared = shared.borrow_mut();
    shared.retain(|found| *found % u64::from(CLIENTS) != number);
    shared.extend(own);
}

/// Each key once and in order, and of one's own keys exactly those that are there.
fn check_scan<'a>(found: Vec<u64>, own: impl Iterator<Item = &'a u64>, number: u64) {
    assert!(found.is_sorted_by(|a, b| a < b), "{found:?}");
    let mine = found
        .iter()
        .filter(|found| **found % u64::from(CLIENTS) == number);
    assert!(mine.eq(own), "client {number} found {found:?}");
}

/// What is known of a client from outside.
struct Known<const COHERENT: bool> {
    env: Endpoint<COHERENT>,
    slot: SlotId,
    counter: Rc<Cell<u64>>,
}

/// A run of some clients.
struct Run<const COHERENT: bool> {
    world: World<COHERENT>,
    tree: Tree,
    allocator: Arc<ExtentAllocator>,
    expected: Rc<RefCell<BTreeSet<u64>>>,
    finished: Rc<Cell<u16>>,
    clients: Vec<Known<COHERENT>>,
}

impl<const COHERENT: bool> Run<COHERENT> {
    fn start(config: SimConfig) -> Self {
        let (world, tree, allocator) = world::<COHERENT>(config);
        let expected = Rc::new(RefCell::new(BTreeSet::new()));
        let finished = Rc::new(Cell::new(0));
        let mut clients = Vec::new();
        for number in 0..CLIENTS {
            let env = world.endpoint(world.compute_node(number));
            let mut client = Client::new(env.clone(), tree, pool(), number + 1);
            if number == 0 {
                client.cache = LeafCache::new(3);
            }
            let (slot, counter) = (SlotId(number + 1), client.counter.clone());
            let (expected, finished) = (expected.clone(), finished.clone());
            world.spawn_on(&env.clone(), async move {
                work(client, u64::from(number), expected).await;
                finished.set(finished.get() + 1);
            });
            clients.push(Known { env, slot, counter });
        }
        Self {
            world,
            tree,
            allocator,
            expected,
            finished,
            clients,
        }
    }

    /// What recovery does for a client that died, when everything it posted has come to an end.
    fn release(&self, client: &Known<COHERENT>) {
        self.world.run_for(1_000_000);
        let env = self.observer().env;
        let owner = VersionWord::new(client.slot, client.counter.get());
        let release = release_dead_owner(&env, Batch::new(), &self.tree, owner);
        self.world
            .block_on(&env, release)
            .expect("nobody else is in the way for long");
    }

    /// What a memory server does when it starts again.
    fn restart_services(&self) {
        let env = self.observer().env;
        let rebuild = rebuild_inner_nodes(&env, &*self.allocator, self.tree.root);
        self.world
            .block_on(&env, rebuild)
            .expect("leaves can be read");
        self.world.revive_node(NodeId(1));
    }

    fn observer(&self) -> Client<Endpoint<COHERENT>> {
        let env = self.world.endpoint(self.world.compute_node(CLIENTS));
        Client::new(env, self.tree, pool(), 9)
    }

    /// Checks structure and contents; returns a number that says what happened.
    fn finish(self, unsettled: bool) -> u64 {
        let world = &self.world;
        assert_eq!(
            world.run_until_idle(),
            0,
            "{}: tasks are stuck",
            world.identity()
        );
        let mut client = self.observer();
        let env = client.env.clone();
        let found = world.block_on(&env, async {
            let report = client.sound(unsettled).await;
            assert!(report.locked.is_empty(), "{report:?}");
            let low = Key::lowest(1);
            settle_range(&client.env, &client.tree, low, None)
                .await
                .expect("nobody else is here");
            client.sound(false).await;
            client.scan_up(0).await.expect("nobody else is here")
        });
        assert!(
            found.iter().eq(self.expected.borrow().iter()),
            "{}: {found:?}",
            world.identity()
        );
        world.fingerprint()
    }
}

fn run<const COHERENT: bool>(config: SimConfig) -> u64 {
    Run::<COHERENT>::start(config).finish(false)
}

/// Seeds per test; `cargo test` stays within seconds.
const SEEDS: u64 = 700;

#[test]
fn clients_agree_where_rows_carry_checksums() {
    for seed in 0..SEEDS {
        run::<false>(SimConfig::hostile(seed).named("tree clients"));
    }
}

#[test]
fn clients_agree_where_memory_is_coherent() {
    for seed in 0..SEEDS {
        run::<true>(SimConfig::hostile(seed).named("tree clients, coherent"));
    }
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let config = || SimConfig::hostile(17).named("tree determinism");
    assert_eq!(run::<false>(config()), run::<false>(config()));
}

const CLIENT_STEPS: &[TreeStep] = &[
    TreeStep::LeafLocked,
    TreeStep::RightWritten,
    TreeStep::LeftRewritten,
    TreeStep::SeparatorsAdded,
    TreeStep::NeighboursLocked,
    TreeStep::LeftTookOver,
    TreeStep::RightDead,
    TreeStep::LeftUnlocked,
    TreeStep::SeparatorRemoved,
];

const SERVER_STEPS: &[TreeStep] = &[
    TreeStep::LatchHeld,
    TreeStep::InnerRightWritten,
    TreeStep::InnerLeftWritten,
    TreeStep::RootRaised,
    TreeStep::InnerTookOver,
    TreeStep::InnerDead,
    TreeStep::Settled,
];

/// Kills whoever reaches `step` as the `nth`, recovers, and checks what the others see, meanwhile and at
/// the end. Returns whether somebody reached it.
fn run_with_death<const COHERENT: bool>(seed: u64, step: TreeStep, nth: u64) -> bool {
    let name = format!("tree death at {} {nth}", step.name());
    let run = Run::<COHERENT>::start(SimConfig::hostile(seed).named(name));
    let services = run.world.service_endpoint(NodeId(1));
    run.world.kill_at(step.name(), nth);
    let died = loop {
        run.world.run_for(10_000);
        if services.is_killed() {
            run.restart_services();
            break true;
        }
        if let Some(client) = run.clients.iter().find(|client| client.env.is_killed()) {
            run.release(client);
            break true;
        }
        if run.finished.get() == CLIENTS {
            break false;
        }
    };
    run.finish(died);
    died
}

/// Kills at every step in turn; each must be reached by many seeds, or the test shows nothing.
fn sweep<const COHERENT: bool>(steps: &[TreeStep], seeds: u64, deaths_min: u64) {
    for step in steps {
        let mut deaths = 0;
        for seed in 0..seeds {
            deaths += u64::from(run_with_death::<COHERENT>(seed, *step, 1 + seed % 5));
        }
        assert!(
            deaths >= deaths_min,
            "{} was reached by {deaths} runs only",
            step.name()
        );
    }
}

#[test]
fn clients_die_at_every_step() {
    sweep::<false>(CLIENT_STEPS, 60, 30);
    sweep::<true>(CLIENT_STEPS, 60, 30);
}

#[test]
fn services_die_at_every_step() {
    sweep::<false>(SERVER_STEPS, 100, 3);
    sweep::<true>(SERVER_STEPS, 100, 3);
}

/// Whether some seed notices that a guard is gone.
fn is_noticed(mutant: &'static str) -> bool {
    let noticed = |seed| {
        let config = SimConfig::hostile(seed)
            .named("tree mutant")
            .with_mutant(mutant);
        std::panic::catch_unwind(|| run::<false>(config)).is_err()
    };
    (0..SEEDS).any(noticed)
}

#[test]
fn every_missing_guard_is_noticed() {
    for mutant in [
        "tree::left_first",
        "tree::late_burial",
        "tree::any_life",
        "tree::whole_leaves",
    ] {
        assert!(is_noticed(mutant), "no seed notices {mutant}");
    }
}
