//! Trees under simulated schedules: hostile order of every word, and clients that die at every
//! step.

use super::book::Book;
use super::dead_owner::release_dead_owner;
use super::harness::{Client, ExtentAllocator, is_retryable, small_layout, value_of};
use crate::tree::find::settle_range;
use crate::tree::*;
use fabric::{Batch, Env, Fabric, FailurePoint, Mutant};
use layout::{Key, NodeId, RegionId, SlotId, VersionWord};
use memory::{EXTENT_SERVICE, ExtentService, Extents, Label, Pool};
use sim::{Carrier, Endpoint, SimConfig, World};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

const SERVER_WORDS: u64 = 1 << 18;
const CLIENTS: u16 = 3;
/// Keys of all clients; client n owns those with remainder n.
const NUMBERS: u64 = 60;
const TRY_COUNT_MAX: u32 = 10_000;

/// A world whose two servers offer extents and trees, and an empty tree in it.
fn world(config: SimConfig) -> (World, Tree, Arc<ExtentAllocator>) {
    let world = World::new(config.with_servers(&[SERVER_WORDS; 2]));
    let mut allocators = Vec::new();
    for node in 0..2 {
        let extents = Arc::new(Extents::new(RegionId(node), SERVER_WORDS * 8));
        world.register(NodeId(node), EXTENT_SERVICE, Arc::new(ExtentService(extents.clone())));
        let allocator = Arc::new(ExtentAllocator::new(extents));
        world.register(NodeId(node), TREE_SERVICE, Arc::new(TreeService::new(allocator.clone())));
        allocators.push(allocator);
    }
    let env = world.endpoint(world.compute_node(CLIENTS));
    let create = async {
        let layout = small_layout(!env.is_coherent());
        create_tree(&env, &mut pool(), NodeId(1), layout).await.expect("an empty tree")
    };
    let tree = world.block_on(&env, create);
    (world, tree, allocators.remove(1))
}

fn pool() -> Pool {
    Pool::new(Label(2), vec![NodeId(1)])
}

/// Retries an operation until success, as a session does with an aborted transaction.
macro_rules! retry {
    ($client:expr, $operation:expr) => {{
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

/// Changes its own keys and reads all keys.
struct Worker {
    client: Client<Endpoint>,
    number: u64,
    book: Rc<Book>,
}

impl Worker {
    fn random(&self, bound: u64) -> u64 {
        self.client.env.random() % bound
    }

    fn own_number(&self) -> u64 {
        self.random(NUMBERS) * u64::from(CLIENTS) + self.number
    }

    async fn work(mut self) {
        for _ in 0..40 {
            match self.random(12) {
                0..=3 => self.insert_run(1).await,
                4 => self.insert_run(12).await,
                5 => self.remove(self.own_number()).await,
                6 | 7 => self.clear(self.own_number()).await,
                8 | 9 => self.get(self.random(NUMBERS * u64::from(CLIENTS))).await,
                10 => self.scan_up(self.random(NUMBERS)).await,
                _ => self.scan_down(self.own_number()).await,
            }
        }
    }

    async fn insert_run(&mut self, count: u64) {
        let start = self.own_number();
        let run: Vec<u64> = (0..count).map(|n| start + n * u64::from(CLIENTS)).collect();
        let mut rest = &run[..];
        while !rest.is_empty() {
            self.book.begin(rest);
            let done = retry!(self.client, self.client.insert_some(rest));
            self.book.end(&rest[..done], true);
            rest = &rest[done..];
        }
    }

    async fn remove(&mut self, number: u64) {
        let was_present = self.book.is_present(number);
        self.book.begin(&[number]);
        assert_eq!(retry!(self.client, self.client.remove(number)), was_present);
        self.book.end(&[number], false);
    }

    /// Removes some neighbouring keys and absorbs the emptied leaves.
    async fn clear(&mut self, low: u64) {
        let present = self.book.present(low, self.number, u64::from(CLIENTS));
        for number in present.into_iter().take(15) {
            self.remove(number).await;
            // Absorbing is optional, and often conflicts with other clients.
            if let Err(error) = self.client.absorb(number).await {
                assert!(is_retryable(&error), "{error}");
            }
        }
    }

    async fn get(&mut self, number: u64) {
        let page = self.book.open();
        let value = retry!(self.client, self.client.get(number));
        assert!(value.is_none_or(|value| value == value_of(number)));
        let found: Vec<u64> = value.map(|_| number).into_iter().collect();
        self.book.check(&page, number..=number, &found);
    }

    async fn scan_up(&mut self, low: u64) {
        let page = self.book.open();
        let found = retry!(self.client, self.client.scan_up(low));
        assert!(found.is_sorted(), "{found:?}");
        self.book.check(&page, low..=u64::MAX, &found);
    }

    async fn scan_down(&mut self, high: u64) {
        let page = self.book.open();
        let found = retry!(self.client, self.client.scan_down(high));
        assert!(found.is_sorted_by(|a, b| a > b), "{found:?}");
        self.book.check(&page, 0..=high, &found);
    }
}

/// The outside view of a client.
struct Known {
    env: Endpoint,
    slot: SlotId,
    counter: Rc<Cell<u64>>,
}

/// A run with several clients.
struct Run {
    world: World,
    tree: Tree,
    allocator: Arc<ExtentAllocator>,
    book: Rc<Book>,
    finished: Rc<Cell<u16>>,
    clients: Vec<Known>,
}

impl Run {
    fn start(config: SimConfig) -> Self {
        let (world, tree, allocator) = world(config);
        let book = Rc::new(Book::default());
        let finished = Rc::new(Cell::new(0));
        let mut clients = Vec::new();
        for number in 0..CLIENTS {
            let env = world.endpoint(world.compute_node(number));
            let mut client = Client::new(env.clone(), tree, pool(), number + 1);
            if number == 0 {
                client.cache = LeafCache::new(3);
            }
            let (slot, counter) = (SlotId(number + 1), client.counter.clone());
            let worker = Worker { client, number: u64::from(number), book: book.clone() };
            let finished = finished.clone();
            world.spawn_on(&env.clone(), async move {
                worker.work().await;
                finished.set(finished.get() + 1);
            });
            clients.push(Known { env, slot, counter });
        }
        Self { world, tree, allocator, book, finished, clients }
    }

    /// Recovers a dead client after all its posted verbs have ended.
    fn release(&self, client: &Known) {
        self.world.run_for(1_000_000);
        let env = self.observer().env;
        let owner = VersionWord::new(client.slot, client.counter.get());
        let release = release_dead_owner(&env, Batch::new(), &self.tree, owner);
        self.world.block_on(&env, release).expect("nobody else is in the way for long");
    }

    /// Restarts a memory server's services.
    fn restart_services(&self) {
        let env = self.observer().env;
        let rebuild = rebuild_inner_nodes(&env, &*self.allocator, self.tree.root);
        self.world.block_on(&env, rebuild).expect("leaves can be read");
        self.world.revive_node(NodeId(1));
    }

    fn observer(&self) -> Client<Endpoint> {
        let env = self.world.endpoint(self.world.compute_node(CLIENTS));
        Client::new(env, self.tree, pool(), 9)
    }

    /// Checks structure and contents; returns a digest of the run.
    fn finish(self, unsettled: bool) -> u64 {
        let world = &self.world;
        assert_eq!(world.run_until_idle(), 0, "{}: tasks are stuck", world.identity());
        let mut client = self.observer();
        let env = client.env.clone();
        let page = self.book.open();
        let found = world.block_on(&env, async {
            let report = client.sound(unsettled).await;
            assert!(report.locked.is_empty(), "{report:?}");
            let low = Key::lowest(1);
            settle_range(&client.env, &client.tree, low, None).await.expect("nobody else is here");
            client.sound(false).await;
            client.scan_up(0).await.expect("nobody else is here")
        });
        self.book.check(&page, 0..=u64::MAX, &found);
        world.fingerprint()
    }
}

fn run(carrier: Carrier, config: SimConfig) -> u64 {
    Run::start(config.carried_by(carrier)).finish(false)
}

/// Seeds per test, so that `cargo test` takes seconds.
const SEEDS: u64 = 700;

#[test]
fn clients_agree_where_rows_carry_checksums() {
    for seed in 0..SEEDS {
        run(Carrier::Card, SimConfig::hostile(seed).named("tree clients"));
    }
}

#[test]
fn clients_agree_where_memory_is_coherent() {
    for seed in 0..SEEDS {
        run(Carrier::Caller, SimConfig::hostile(seed).named("tree clients, coherent"));
    }
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let config = || SimConfig::hostile(17).named("tree determinism");
    assert_eq!(run(Carrier::Card, config()), run(Carrier::Card, config()));
}

const CLIENT_STEPS: &[TreeStep] = &[
    TreeStep::LeafLocked,
    TreeStep::RightWritten,
    TreeStep::LeftRewritten,
    TreeStep::SeparatorsAdded,
    TreeStep::NeighboursLocked,
    TreeStep::RightTakenOver,
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

/// Kills the `nth` client that reaches `step`, recovers, and checks what the others see, meanwhile
/// and at the end. Returns whether a client reached it.
fn run_with_death(carrier: Carrier, config: SimConfig, step: TreeStep, nth: u64) -> bool {
    let name = format!("tree death at {} {nth}", step.name());
    let run = Run::start(config.named(name).carried_by(carrier));
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

/// Kills at every step in turn; many seeds must reach each of them, or the test proves nothing.
fn sweep(carrier: Carrier, steps: &[TreeStep], seeds: u64, deaths_min: u64) {
    for step in steps {
        let mut deaths = 0;
        for seed in 0..seeds {
            let config = SimConfig::hostile(seed);
            deaths += u64::from(run_with_death(carrier, config, *step, 1 + seed % 5));
        }
        assert!(deaths >= deaths_min, "{} was reached by {deaths} runs only", step.name());
    }
}

#[test]
fn clients_die_at_every_step() {
    sweep(Carrier::Card, CLIENT_STEPS, 60, 30);
    sweep(Carrier::Caller, CLIENT_STEPS, 60, 30);
}

#[test]
fn services_die_at_every_step() {
    sweep(Carrier::Card, SERVER_STEPS, 100, 3);
    sweep(Carrier::Caller, SERVER_STEPS, 100, 3);
}

/// Whether some seed notices a missing guard; with a step, if a client dies there.
fn is_noticed(mutant: Mutant, step: Option<TreeStep>) -> bool {
    let noticed = |seed| {
        let config = SimConfig::hostile(seed).named("tree mutant").with_mutant(mutant);
        std::panic::catch_unwind(|| match step {
            None => drop(run(Carrier::Card, config)),
            Some(step) => drop(run_with_death(Carrier::Card, config, step, 1 + seed % 5)),
        })
        .is_err()
    };
    (0..SEEDS).any(noticed)
}

#[test]
fn every_missing_guard_is_noticed() {
    for (mutant, step) in [
        (Mutant::TreeLeftFirst, Some(TreeStep::LeftRewritten)),
        (Mutant::TreeLateBurial, Some(TreeStep::RightTakenOver)),
        (Mutant::TreeWholeLeaves, None),
    ] {
        assert!(is_noticed(mutant, step), "no seed notices {mutant}");
    }
}

/// A reader knows a leaf; the leaf is absorbed, and its memory becomes a new leaf with the same low
/// fence, whose writer dies before linking it. Then the key moves to another leaf. Returns what the
/// reader finds.
fn lookup_by_a_pointer_from_a_former_life(config: SimConfig) -> Option<u64> {
    let (world, tree, _) = world(config.named("tree lives"));
    let client = |number| {
        let env = world.endpoint(world.compute_node(number));
        Client::new(env, tree, pool(), number + 1)
    };
    let (mut first, mut second, mut reader) = (client(0), client(1), client(2));
    let (first_env, env) = (first.env.clone(), second.env.clone());
    let (slot, counter) = (SlotId(1), first.counter.clone());
    world.block_on(&env, async {
        for number in (0..90).step_by(10) {
            first.insert(number).await.expect("nobody else is here");
        }
        assert_eq!(reader.get(60).await, Ok(Some(value_of(60))));
        for number in [60, 70, 80] {
            assert_eq!(first.remove(number).await, Ok(true));
        }
        assert_eq!(first.absorb(0).await, Ok(true));
    });
    let splits = world.reached()[TreeStep::RightWritten.name()];
    world.kill_at(TreeStep::RightWritten.name(), splits + 1);
    world.spawn_on(&first_env, async move {
        first.insert(60).await.expect("it never returns");
    });
    world.run_until_idle();
    assert!(first_env.is_killed());
    world.block_on(&env, async {
        let owner = VersionWord::new(slot, counter.get());
        let released = release_dead_owner(&env, Batch::new(), &tree, owner).await;
        released.expect("nobody else is here");
        second.insert(60).await.expect("nobody else is here");
        reader.get(60).await.expect("it can be read")
    })
}

#[test]
fn a_cached_pointer_is_good_for_one_life_only() {
    for seed in 0..20 {
        let config = SimConfig::hostile(seed);
        let found = lookup_by_a_pointer_from_a_former_life(config.clone());
        assert_eq!(found, Some(value_of(60)), "seed {seed}");
        let without_guard = config.with_mutant(Mutant::TreeAnyLife);
        assert_eq!(lookup_by_a_pointer_from_a_former_life(without_guard), None, "seed {seed}");
    }
}
