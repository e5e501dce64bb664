//! A loaded cluster, and the measurements on it.
//!
//! Decision: docs/decisions/0195-copies-of-rows-are-modelled-by-a-fabric-around-the-simulated.md

use super::ground::{Ground, HORIZON_NS, SETTLED_NS, Shape};
use super::sample::{Rest, Sample, Spent};
use super::worker::{Target, Watch, Worker, look_everywhere};
use super::{LANES_MAX, Plan};
use crate::metered::Metered;
use fabric::DynEnv;
use microbench::micro::TABLE;
use microbench::ship::{Owner, SHIPPED, Seat};
use microbench::subject::{Subject, Table};
use shipping::seats::Ownership;
use sim::Network;
use spade_format::measurement::{Effort, Loaded, Measured, Operation, Parameters};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use txn::Database;
use workload::{Random, WorkloadError};

/// Words of each memory server; copies take half of them.
const SERVER_WORDS: u64 = 1 << 24;
/// Rows that are loaded for each lane that works on a table.
const ROWS_EACH: u64 = 48;
/// The same if old versions are measured: when a lane has updated all its rows, no snapshot needs
/// the first row's old version.
const ROWS_EACH_BY_TURNS: u64 = 192;
/// Machines, in addition to its own, on which a lane works: enough that the lanes together reach
/// all.
const PARTNERS: u32 = 2;
/// Maximum number of lanes of a compute server.
const HOME_LANES: u32 = 64;
/// Queue pairs of a compute server to each memory server, shared by its lanes: as many as a card
/// keeps in its cache with 56 machines, as in `crates/eval/reproduce`.
const QUEUE_PAIRS: u32 = 8;
/// Random stream of the hands.
const HAND_STREAM: u32 = 241;
const REPETITIONS: usize = 3;
/// Operations per repetition by a single lane, for full and quick effort.
const FULL: u64 = 12;
const QUICK: u64 = 8;
// Including the warm-up no row is drawn twice: its old version would still be needed.
const _: () = assert!(4 * FULL <= ROWS_EACH);
/// Under load, all lanes together execute this many times as many operations, or each lane a few.
const WINDOW_FACTOR: u64 = 64;
/// Rows that a single lane may delete on each machine.
const ALONE_STOCK: usize = 2 * FULL as usize * REPETITIONS;
/// Pause of a single measured lane after a commit. Without it the next snapshot would wait for a
/// vector that covers the commit, which takes two rounds of the machine's fetcher; under load it
/// does wait, and that is part of the latency.
const PAUSE_NS: u64 = 10_000;
/// The pause is at least this many wire latencies: two rounds are four trips there and back.
const PAUSE_WIRES: u64 = 10;
/// Rows that each lane may delete under load.
const LOADED_STOCK: usize = 12;
/// Virtual time before the first check whether a measurement is over.
const SLICE_NS: u64 = 512;
/// The time between two checks grows up to this.
const SLICE_NS_MAX: u64 = 1_000_000;
/// Maximum number of checks, which is some seconds of virtual time.
const SLICES_MAX: u32 = 4000;

/// A loaded world.
pub(super) struct Cluster {
    ground: Ground,
    subject: Subject,
    machines: u16,
    lanes: u32,
    threads: u32,
    pause_ns: u64,
    is_quick: bool,
    /// The workers of a machine are consecutive; the first one of the first machine measures alone.
    workers: Vec<Worker>,
    _owners: Ownership,
}

/// Returns the number of a machine's owner, among all owners on this thread: worlds on one thread
/// run one after the other.
fn owner_number(machine: u16) -> u64 {
    u64::from(machine)
}

fn table_name(machine: u16) -> String {
    format!("{TABLE}_{machine}")
}

impl Cluster {
    /// Loads a cluster with a table of the point's design on each machine.
    pub(super) fn load(plan: Plan, point: &Parameters) -> Result<Self, WorkloadError> {
        let refuse = |sentence: String| Err(WorkloadError::Configuration(sentence));
        let (machines, lanes) = (point.world.machines, point.world.lanes);
        if machines < 2 || !(1..=LANES_MAX).contains(&lanes) {
            return refuse(format!(
                "a simulated cluster has at least 2 machines, each with 1 to {LANES_MAX} lanes; requested: \
                 machines: {machines}, lanes: {lanes}"
            ));
        }
        if point.replicas == 0 || point.replicas > u32::from(machines) {
            return refuse(format!(
                "{} replicas need as many machines, and there are {machines}",
                point.replicas
            ));
        }
        let profile = match hardware::profile(&point.world.hardware) {
            Ok(profile) => profile,
            Err(error) => return refuse(error.to_string()),
        };
        let shape = Shape {
            seed: plan.seed,
            network: Network::of(&profile),
            machines,
            processes: 1,
            lanes: HOME_LANES,
            queue_pairs: QUEUE_PAIRS,
            vector_copies: 0,
            tables: usize::from(machines),
            server_words: SERVER_WORDS,
            replicas: point.replicas,
        };
        let ranges = u64::from(lanes * (1 + PARTNERS));
        let rows_each = if point.versions.is_some() { ROWS_EACH_BY_TURNS } else { ROWS_EACH };
        let mut cluster = Self {
            ground: Ground::new(shape, "measure"),
            subject: Subject::of(point, ranges, rows_each),
            machines,
            lanes,
            threads: point.world.threads,
            pause_ns: PAUSE_NS.max(PAUSE_WIRES * profile.card.wire_ps / 1000),
            is_quick: plan.effort == Effort::Quick,
            workers: Vec::new(),
            _owners: Ownership::of((0..machines).map(owner_number)),
        };
        cluster.fill(plan.seed)?;
        Ok(cluster)
    }

    /// Loads tables, opens lanes, and starts the background tasks.
    fn fill(&mut self, seed: u64) -> Result<(), WorkloadError> {
        let ground = &self.ground;
        let world = ground.world();
        let database = ground.database()?;
        world.load(Metered::of(database.env()).endpoint(), self.load_tables(&database))?;
        let homes = ground.homes(&database)?;
        let mut workers = Vec::new();
        for (machine, home) in (0..).zip(&homes) {
            for lane in 0..self.lanes {
                let database = home.with_env(DynEnv::new(ground.endpoint(machine, 0)));
                let endpoint = Metered::of(database.env()).endpoint().clone();
                let worker = self.worker(&database, (machine, lane), seed);
                let mut worker = world.load(&endpoint, worker)?;
                world.load(&endpoint, worker.practise(&self.subject))?;
                workers.push(worker);
            }
            self.seat_owner(home, machine)?;
        }
        // Otherwise the garbage of the warm-up would be collected during a measurement.
        world.run_for(HORIZON_NS);
        for worker in &mut workers {
            let endpoint = worker.endpoint().clone();
            world.load(&endpoint, worker.collect())?;
        }
        self.workers = workers;
        self.ground.start(&homes);
        Ok(())
    }

    async fn load_tables(&self, database: &Database<DynEnv>) -> Result<(), WorkloadError> {
        let mut lane = database.lane().await?;
        for machine in 0..self.machines {
            let name = table_name(machine);
            let spec = self.subject.spec(&name, Some(Ground::memory_node(machine).0))?;
            database.create_table(spec).await?;
            let table = Table::open(database, &name)?;
            self.subject.load(&mut lane, table, 0..self.subject.ranges, true).await?;
        }
        drop(lane);
        let left = database.leave(0).await;
        left.map(drop).map_err(|error| WorkloadError::Configuration(error.to_string()))
    }

    /// Creates a worker of a machine, with rows on its own and on other machines.
    ///
    /// The lanes of a machine take parts of the other machines' tables round-robin, so that
    /// together they reach all. The number of the part is unique among the lanes that use the same
    /// table.
    async fn worker(
        &self,
        database: &Database<DynEnv>,
        (machine, lane): (u16, u32),
        seed: u64,
    ) -> Result<Worker, WorkloadError> {
        let others = u32::from(self.machines) - 1;
        let random = |range: u64| {
            let number = u64::from(machine) << 32 | range;
            Random::stream(seed, HAND_STREAM, number)
        };
        let mut targets = Vec::new();
        let far = (lane * PARTNERS..(lane + 1) * PARTNERS).map(|turn| {
            let owner = (u32::from(machine) + 1 + turn % others) % u32::from(self.machines);
            (owner as u16, u64::from(self.lanes + turn))
        });
        for (owner, range) in std::iter::once((machine, u64::from(lane))).chain(far) {
            let table = Table::open(database, &table_name(owner))?;
            let node = self.ground.compute_node(owner, 0);
            targets.push(Target::new(&self.subject, (owner, node), table, (range, random(range))));
        }
        let number = usize::from(machine) * self.lanes as usize + lane as usize;
        Ok(Worker::new(number, database.lane().await?, targets))
    }

    /// Opens the machine's lanes that execute shipped operations. All of them know the leaves of
    /// all rows.
    fn seat_owner(&self, home: &Database<DynEnv>, machine: u16) -> Result<(), WorkloadError> {
        let (world, number) = (self.ground.world(), owner_number(machine));
        let node = self.ground.compute_node(machine, 0);
        for place in self.lanes..HOME_LANES {
            let database = home.with_env(DynEnv::new(self.ground.endpoint(machine, 0)));
            let endpoint = Metered::of(database.env()).endpoint().clone();
            let seat = world.load(&endpoint, async {
                let table = Table::open(&database, &table_name(machine))?;
                let mut lane = database.lane().await?;
                look_everywhere(&mut lane, table, &self.subject, place).await?;
                Ok::<_, WorkloadError>(Seat { lane, table })
            })?;
            Owner::give(number, seat);
        }
        let name = table_name(machine);
        let owner: Owner<DynEnv> = Owner::new(number, &name, Arc::new(|| None));
        world.register(node, SHIPPED, Arc::new(owner));
        Ok(())
    }

    pub(super) fn measure(&mut self, parameters: &Parameters) -> Measured {
        let lone = if self.is_quick { QUICK } else { FULL };
        let writes = !matches!(parameters.operation, Operation::Lookup | Operation::Scan);
        let pause_ns = if writes { self.pause_ns } else { 0 };
        // Each row of the cycle is updated once before the measurement, and twice in each
        // repetition.
        let turns = parameters.versions.map_or(0, |of| u64::from(of.among));
        let extent =
            Extent { workers: 1, enough: lone.max(2 * turns), stock: ALONE_STOCK, pause_ns };
        let alone = self.run(parameters, &extent);
        let owners = self.workers[0].owners(parameters.place);
        let service = alone.service(&owners, &self.helpers(&owners, parameters.replicas));
        let workers = self.workers.len();
        let fewest = lone * WINDOW_FACTOR;
        let each = if self.is_quick { 1 } else { 2 };
        let enough = fewest.max(workers as u64 * each.max(2 * turns));
        let extent = Extent { workers, enough, stock: LOADED_STOCK, pause_ns: 0 };
        let loaded = self.run(parameters, &extent);
        let threads = u64::from(self.machines) * u64::from(self.threads);
        // Each lane has a cycle on each of its other machines.
        let turns = turns * owners.len().max(1) as u64;
        let moved = parameters.versions.map(|_| loaded.moved(workers as u64, turns));
        let loaded = Loaded { moved, ..loaded.loaded(threads) };
        Measured { alone: alone.alone(), loaded, service }
    }

    /// Returns the machines, except the first one and the owners, that take part in its operations:
    /// those with copies.
    fn helpers(&self, owners: &[u16], replicas: u32) -> Vec<u16> {
        let owners = if owners.is_empty() { &[0] } else { owners };
        let behind =
            |&owner: &u16| (1..replicas as u16).map(move |copy| (owner + copy) % self.machines);
        owners.iter().flat_map(behind).collect()
    }

    /// Runs the measured operation on some of the workers, several times, until each repetition has
    /// enough operations.
    fn run(&mut self, parameters: &Parameters, extent: &Extent) -> Sample {
        let watch = Rc::new(RefCell::new(Watch::default()));
        let returned = Rc::new(RefCell::new(Vec::new()));
        if !matches!(parameters.operation, Operation::Lookup | Operation::Scan) {
            // Old versions of earlier writes are then old enough to be overwritten.
            self.ground.world().run_for(HORIZON_NS);
        }
        let idle = self.while_idle();
        let count = extent.workers;
        for mut worker in self.workers.drain(..count) {
            let (watch, returned) = (watch.clone(), returned.clone());
            let (subject, parameters) = (self.subject.clone(), parameters.clone());
            let how = (extent.stock, extent.pause_ns);
            self.ground.world().spawn_on(&worker.endpoint().clone(), async move {
                worker.serve(&subject, &parameters, how, &watch).await;
                returned.borrow_mut().push(worker);
            });
        }
        self.wait(|| watch.borrow().prepared == count as u64);
        watch.borrow_mut().begin();
        self.wait(|| watch.borrow().committed() >= extent.enough / 2);
        let mut sample = Sample::new(idle);
        for _ in 0..REPETITIONS {
            watch.borrow_mut().begin();
            let before = self.spent();
            self.wait(|| watch.borrow().committed() >= extent.enough);
            sample.add(watch.borrow_mut().take(), &before, &self.spent());
        }
        watch.borrow_mut().is_over = true;
        self.wait(|| returned.borrow().len() == count);
        self.workers.append(&mut returned.take());
        // Restore their order, whichever worker finished first.
        self.workers.sort_by_key(Worker::number);
        sample
    }

    fn spent(&self) -> Spent {
        Spent::now(self.ground.world(), self.machines, self.ground.requests())
    }

    /// Measures the background load: fetchers and collector.
    fn while_idle(&self) -> Rest {
        let before = self.spent();
        self.ground.world().run_for(SETTLED_NS);
        self.spent().since(&before)
    }

    /// Advances virtual time until a condition holds.
    ///
    /// # Panics
    /// If it never holds: operations that do not end are a bug of the engine.
    fn wait(&self, is_so: impl Fn() -> bool) {
        let mut slice_ns = SLICE_NS;
        for _ in 0..SLICES_MAX {
            if is_so() {
                return;
            }
            self.ground.world().run_for(slice_ns);
            // Check less often as the wait gets longer.
            slice_ns = (slice_ns + slice_ns / 64).min(SLICE_NS_MAX);
        }
        panic!("{}: operations that are measured do not end", self.ground.world().identity());
    }
}

/// The extent of a measurement.
struct Extent {
    workers: usize,
    /// Operations per repetition.
    enough: u64,
    /// Rows that each worker may delete, on each machine.
    stock: usize,
    /// Pause between two operations.
    pause_ns: u64,
}
