//! One run: a world of a kind, with or without a planted bug, and the defects that are detected.

use crate::changes::{Change, Changer};
use crate::deaths::{self, Mortal};
use crate::dice::Dice;
use crate::kind::{Division, Kind};
use crate::lists::{self, InUse, Tables};
use crate::promises::BrokenPromises;
use crate::replicas;
use crate::rest;
use crate::session::Session;
use crate::swarm;
use fabric::DynEnv;
use fabric::Mutant;
use history_judge::{History, Level, Verdict};
use layout::{NodeId, Storage};
use sim::{Carrier, Endpoint, Fault, SimConfig, Tearing, World};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use txn::server::services;
use txn::{Database, DatabaseConfig, Isolation, Oracle};
use workload::recording::Recordings;

/// A run of more events has failed.
const EVENT_LIMIT: u64 = 20_000_000;
/// The numbers that are left to a lane whose numbers are nearly used up.
const NUMBERS_LEFT: u64 = 8;
/// The random streams of the tasks that change the catalog.
const CHANGES_STREAM: u64 = 1000;
/// The closer looks for running sessions at this interval, and later less often.
const CLOSER_NS: u64 = 100_000;
/// It gives up at this time.
const CLOSER_NS_MAX: u64 = 10_000_000_000_000;
/// The server with the first buckets of the first table, if there are several servers.
const FIRST_BUCKETS: NodeId = NodeId(1);
/// Staggered sessions begin within this time.
const STAGGER_NS: u64 = 200_000;

/// The way in which a defect was detected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Catch {
    /// The judge of histories: an anomaly, in its words.
    Judge {
        anomaly: String,
        /// The transactions that show it.
        summary: String,
    },
    /// The check of structures found an error.
    Structure(String),
    /// A read differs from the shadow history, or memory has two owners or none.
    Shadow(String),
    /// An assertion of the engine or of the world failed.
    Assertion(String),
}

impl Catch {
    /// The name of the detection.
    pub fn name(&self) -> &str {
        match self {
            Self::Judge { anomaly, .. } => anomaly,
            Self::Structure(_) => "structure",
            Self::Shadow(_) => "shadow",
            Self::Assertion(_) => "assertion",
        }
    }

    /// Whether the clients' history alone shows it.
    pub fn is_black_box(&self) -> bool {
        matches!(self, Self::Judge { .. })
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The defect, if one was detected.
    pub caught: Option<Catch>,
    /// How often the code reached the mutant's guards.
    pub asked: u64,
    /// Transactions that committed.
    pub committed: usize,
    /// Transactions that aborted.
    pub aborted: usize,
    /// The clients' history.
    pub history: History,
}

/// Runs a world of this kind and seed without these guards.
pub fn run(kind: &Kind, seed: u64, guards: &[Mutant]) -> Ran {
    let kind = &if kind.is_drawn { swarm::kind(seed) } else { *kind };
    let mut dice = Dice::new(seed, 1);
    let drawn = if dice.percent(50) { Carrier::Caller } else { Carrier::Card };
    Scene::run(kind, kind.carrier.unwrap_or(drawn), (seed, guards), dice)
}

pub(crate) struct Scene {
    pub(crate) kind: Kind,
    storage: Storage,
    pub(crate) world: World,
    pub(crate) database: Database<DynEnv>,
    pub(crate) admin: Endpoint,
    tables: Tables,
    recordings: Recordings,
    lists: InUse,
    broken_promises: BrokenPromises,
    pub(crate) seed: u64,
}

impl Scene {
    fn run(kind: &Kind, carrier: Carrier, (seed, guards): (u64, &[Mutant]), dice: Dice) -> Ran {
        let recordings = Recordings::default();
        let open = || Self::open(kind, carrier, (seed, guards), dice, &recordings);
        let (asked, played);
        let mut wrong_read = None;
        match catch_unwind(AssertUnwindSafe(open)) {
            // If the creation of the tables loses a batch, the world shows nothing.
            Err(_) if kind.lost_batch_one_in > 0 => (asked, played) = (0, Ok(Vec::new())),
            Err(payload) => (asked, played) = (0, Err(payload)),
            Ok(scene) => {
                played = catch_unwind(AssertUnwindSafe(|| scene.play()));
                asked = guards.iter().map(|guard| scene.world.mutant_asked(*guard)).sum();
                wrong_read = scene.world.shadow_errors().into_iter().next().map(Catch::Shadow);
            }
        }
        let history = recordings.history();
        let report = history_judge::judge(&history);
        let (mut committed, mut aborted) = (0, 0);
        let judged = match &report {
            Err(error) => {
                let summary = error.to_string();
                Some(Catch::Judge { anomaly: "no history".to_owned(), summary })
            }
            Ok(report) => {
                (committed, aborted) = (report.counts.committed, report.counts.aborted);
                let mut levels = levels(kind);
                levels.retain(|&level| report.verdict(level) == &Verdict::Violated);
                let found = levels.first().and_then(|&level| report.against(level).next());
                found.map(|found| Catch::Judge {
                    anomaly: found.witness.anomaly.to_string(),
                    summary: found.witness.summary.clone(),
                })
            }
        };
        let caught = judged.or(wrong_read).or_else(|| match played {
            Ok(errors) => errors.into_iter().next().map(Catch::Structure),
            Err(payload) => Some(Catch::Assertion(message(&*payload))),
        });
        Ran { caught, asked, committed, aborted, history }
    }

    fn open(
        kind: &Kind,
        carrier: Carrier,
        (seed, guards): (u64, &[Mutant]),
        mut dice: Dice,
        recordings: &Recordings,
    ) -> Self {
        let drawn = 1 + dice.below(3) as u16;
        let servers =
            if kind.servers == 0 { drawn } else { kind.servers }.max(kind.division.servers());
        let servers = servers.max(kind.replicas);
        let words = vec![kind.server_words; usize::from(servers)];
        let config = SimConfig::hostile(seed).with_servers(&words);
        let mut config = config.with_replicas(kind.replicas);
        config.lost_batch_one_in = kind.lost_batch_one_in;
        (config.carrier, config.event_limit) = (carrier, EVENT_LIMIT);
        if kind.word_ns > 0 {
            config.word_ns = kind.word_ns;
        }
        if kind.slow_factor > 0 {
            (config.slow_verb_one_in, config.slow_verb_factor) =
                (kind.slow_one_in, kind.slow_factor);
        }
        if kind.is_in_order {
            config.tearing = Tearing::InOrder;
        }
        config.broken.untorn_rows = guards.contains(&Mutant::FabricUntornRows);
        let config = guards.iter().fold(config, |config, guard| config.with_mutant(*guard));
        let world = World::new(config);
        let nodes = world.serve(services);
        let settings = settings(kind, &mut dice);
        let admin = world.endpoint(world.compute_node(0));
        let database =
            world.block_on(&admin, Database::create(admin.clone().into_dyn(), nodes, settings));
        let database = database.expect("the servers are empty");
        let drawn = [Storage::HashInlined, Storage::HashOutside, Storage::Tree];
        let storage = kind.storage.unwrap_or(drawn[dice.below(3) as usize]);
        let drawn = 1 + dice.below(3) as u32;
        let versions_beside = if kind.versions_beside == 0 { drawn } else { kind.versions_beside };
        let spec = lists::table(kind, storage, versions_beside);
        let table = world.block_on(&admin, async {
            match lists::rule(kind) {
                None => database.create_table(spec).await,
                Some(rule) => {
                    let servers: Vec<u16> = (0..kind.division.servers()).collect();
                    database.create_in_parts(spec, &servers, rule).await
                }
            }
        });
        let table = table.expect("there is room");
        if kind.has_far_blocks {
            world.inject(&Fault::MemoryFull { node: FIRST_BUCKETS, lasts_ns: u64::MAX });
        }
        let tables = Tables { table, index: database.index(lists::TABLE, lists::INDEX) };
        let (recordings, lists) = (recordings.clone(), InUse::new(kind.lists));
        let (kind, broken_promises) = (*kind, BrokenPromises::default());
        Self {
            kind,
            storage,
            world,
            database,
            admin,
            tables,
            recordings,
            lists,
            broken_promises,
            seed,
        }
    }

    /// A compute server of its own for a session; of a copied table it reads the copy of a server
    /// of its own.
    fn home(&self, number: u64, env: &Endpoint) -> Database<DynEnv> {
        let home = self.database.elsewhere(env.clone().into_dyn());
        match self.kind.division {
            Division::Copied(copies) => home.nearest_to(number as u16 % copies),
            _ => home,
        }
    }

    fn session(&self, number: u64) -> Session {
        Session {
            kind: self.kind,
            storage: self.storage,
            tables: self.tables,
            recording: self.recordings.open(),
            lists: self.lists.clone(),
            dice: Dice::new(self.seed, 2 + number),
            broken_promises: self.broken_promises.clone(),
            has_written: false,
        }
    }

    /// Freezes vectors beside the oracle and fetches them for each compute server, as long as
    /// sessions run.
    fn start_oracle(&self, homes: &[Database<DynEnv>], running: &Rc<Cell<u64>>) {
        let collector = self.database.elsewhere(self.world.endpoint(NodeId(0)).into_dyn());
        let sessions = running.clone();
        self.world.spawn_on(&collector.env().clone(), async move {
            let collected = collector.collect_vectors(|| sessions.get() > 0).await;
            collected.expect("the servers live");
        });
        for (number, home) in (0..).zip(homes) {
            home.rely_on_collector();
            let home =
                home.with_env(self.world.endpoint(self.world.compute_node(number)).into_dyn());
            let sessions = running.clone();
            self.world.spawn_on(&home.env().clone(), async move {
                home.fetch_vectors(|| sessions.get() > 0).await.expect("the servers live");
            });
        }
    }

    /// Starts a task that changes the catalog as long as sessions run.
    fn start_changes(&self, running: &Rc<Cell<u64>>, change: Change) -> Database<DynEnv> {
        let env = self.world.endpoint(self.world.compute_node(0));
        let home = self.database.elsewhere(env.clone().into_dyn());
        if self.kind.vector_copies > 0 {
            home.rely_on_collector();
        }
        running.set(running.get() + 1);
        let dice = Dice::new(self.seed, 2 + CHANGES_STREAM + change as u64);
        let changer = Changer { kind: self.kind, database: home.clone(), dice };
        let running = running.clone();
        self.world.spawn_on(&env, async move {
            changer.run(change, &running).await;
            running.set(running.get() - 1);
        });
        home
    }

    /// Once all sessions have ended, collects the garbage of these compute servers. Returns the
    /// number of pieces that are left in the end.
    fn start_closer(
        &self,
        mut used: Vec<Database<DynEnv>>,
        running: &Rc<Cell<u64>>,
    ) -> Rc<Cell<usize>> {
        used.push(self.database.clone());
        let (env, running) = (self.admin.clone().into_dyn(), running.clone());
        let garbage = Rc::new(Cell::new(0));
        let left = garbage.clone();
        // Lanes that have lost a batch may hold locks for long.
        let is_whole = self.kind.lost_batch_one_in == 0 && !self.kind.has_deaths();
        self.world.spawn_on(&self.admin.clone(), async move {
            // A session that waits for ever is found by the world.
            while running.get() > 1 && fabric::Env::now_ns(&env) < CLOSER_NS_MAX {
                // Changes at rest may take many seconds.
                let wait_ns = (fabric::Env::now_ns(&env) / 8).max(CLOSER_NS);
                fabric::Env::sleep_ns(&env, wait_ns).await;
            }
            if is_whole {
                left.set(rest::collect_all(&env, &used).await);
            }
            running.set(0);
        });
        garbage
    }

    /// Inserts rows that hold no list.
    fn make_spare_rows(&self) {
        let made = self.world.block_on(&self.admin, async {
            let mut lane = self.database.lane().await.expect("it is the first");
            let mut txn = lane.begin(Isolation::Snapshot).await?;
            for id in 0..self.kind.spare_rows {
                let row = txn.insert(self.tables.table, &lists::key(&self.kind, id)).await?;
                txn.update(row).set_int(lists::OWNER, -1 - id);
            }
            Ok::<_, txn::TxnError>(txn.commit().await)
        });
        assert_eq!(made, Ok(txn::Outcome::Committed), "no other process runs");
    }

    /// Starts the sessions.
    fn start_sessions(
        &self,
        homes: &[Database<DynEnv>],
        used: &mut Vec<Database<DynEnv>>,
        running: &Rc<Cell<u64>>,
    ) -> Vec<Mortal> {
        let mut mortal = Vec::new();
        for number in 0..self.kind.sessions {
            let env = self.world.endpoint(self.world.compute_node(self.node_of(number)));
            let is_unaware = self.kind.has_unaware_lane && number == 0;
            let database = match self.kind.shares_slot && !is_unaware {
                false => self.home(number, &env),
                true => homes[number as usize % homes.len()].with_env(env.clone().into_dyn()),
            };
            let database = match self.kind.deaths {
                0 => database,
                _ => database.as_member(deaths::member(number)),
            };
            mortal.push(Mortal::new(number, self.node_of(number), env.clone()));
            used.push(database.clone());
            let (session, running) = (self.session(number), running.clone());
            let has_ended = mortal[number as usize].has_ended.clone();
            let wait_ns = if self.kind.is_staggered { number * STAGGER_NS } else { 0 };
            self.world.spawn_on(&env.clone(), async move {
                fabric::Env::sleep_ns(&env, wait_ns).await;
                session.run(database).await;
                has_ended.set(true);
                running.set(running.get() - 1);
            });
        }
        mortal
    }

    /// The defects of replicas. The dead leave what nobody reaches: compute servers their private
    /// memory, memory servers what a handler has not finished. A promoted replica is the truth.
    fn differing_replicas(&self) -> Vec<String> {
        let has_lost = self.kind.server_deaths > 0 && self.kind.replicas > 2;
        if self.kind.deaths > 0 || has_lost {
            return Vec::new();
        }
        let journals = self.world.block_on(&self.admin, self.database.journals());
        let journals = journals.expect("all memory servers are alive");
        replicas::differing(&self.world, &self.database, &journals)
    }

    /// Runs all sessions, reads everything, and checks the structures; returns their defects.
    fn play(&self) -> Vec<String> {
        if self.kind.spare_rows > 0 {
            self.make_spare_rows();
        }
        let homes: Vec<_> =
            (0..2).map(|_| self.database.elsewhere(self.admin.clone().into_dyn())).collect();
        // The last one is the closer.
        let running = Rc::new(Cell::new(self.kind.sessions + 1));
        if self.kind.vector_copies > 0 {
            self.start_oracle(&homes, &running);
        }
        let mut used = homes.clone();
        for change in Change::of(&self.kind) {
            used.push(self.start_changes(&running, change));
        }
        let mut mortal = self.start_sessions(&homes, &mut used, &running);
        let (recoveries, crashed) = self.kill_some(&mut mortal, &running);
        if self.kind.server_deaths > 0 {
            let all: Vec<_> = used.iter().chain([&self.database]).cloned().collect();
            self.lose_servers(&all, &recoveries, crashed);
        }
        let garbage = self.start_closer(used, &running);
        let waiting = self.world.run_until_idle();
        assert_eq!(waiting, 0, "{}: tasks wait for ever", self.world.identity());
        let mut last = self.session(self.kind.sessions);
        if self.kind.remakes_index {
            let refreshed = self.world.block_on(&self.admin, self.database.refresh());
            last.tables.index = refreshed.ok().and_then(|catalog| {
                let index = catalog.index(lists::TABLE, lists::INDEX)?;
                // If batches are lost, creating it may have failed on the way.
                catalog.index_info(index).filter(|info| info.is_readable).map(|_| index)
            });
        }
        if self.kind.has_deaths() && self.kind.lost_batch_one_in == 0 {
            self.release_stray_locks();
        }
        let looked = self.world.block_on(&self.admin, async {
            let mut lane = self.database.lane().await.map_err(|error| error.to_string())?;
            last.read_everything(&mut lane).await
        });
        if self.kind.lost_batch_one_in > 0 {
            // Locks of lost lanes remain, and reads of the check may be lost, too.
            return Vec::new();
        }
        if let Err(reason) = looked {
            panic!("{}: nothing can be read in the end: {reason}", self.world.identity());
        }
        let different = self.differing_replicas();
        if self.kind.has_deaths() {
            let found = self.check_after_deaths().into_iter().chain(different);
            return found.chain(self.broken_promises.take()).collect();
        }
        let checked = self.world.block_on(&self.admin, self.database.check());
        let report = checked.expect("all servers are alive");
        let garbage = Some(garbage.get()).filter(|&count| count > 0);
        let garbage = garbage.map(|count| format!("{count} pieces of garbage are never collected"));
        let lost = self.world.unreached_pieces();
        let broken = self.broken_promises.take();
        let found = report.defects().into_iter().chain(garbage).chain(lost);
        found.chain(broken).chain(different).collect()
    }
}

/// The settings of the database of a kind of world.
fn settings(kind: &Kind, dice: &mut Dice) -> DatabaseConfig {
    let Kind { oracle, shares_slot, vector_copies, keeps_leaves, .. } = *kind;
    let mut settings = DatabaseConfig {
        oracle,
        shares_slot,
        vector_copies,
        keeps_leaves,
        journals: kind.deaths > 0,
        ..DatabaseConfig::default()
    };
    if kind.slots > 0 {
        (settings.slots, settings.lanes) = (kind.slots, kind.slots);
    }
    if kind.is_tight {
        let drawn_ns = 2000 << dice.below(14);
        let is_drawn = kind.time_max_ns == 0;
        settings.transaction_time_max_ns = if is_drawn { drawn_ns } else { kind.time_max_ns };
    }
    if kind.is_near_wrap {
        settings.first_counter = layout::version::COUNTER_MAX - NUMBERS_LEFT;
    }
    settings
}

/// The levels that histories of a kind must satisfy, weakest first.
fn levels(kind: &Kind) -> Vec<Level> {
    let mut levels = vec![Level::Snapshot, Level::StrongSessionSnapshot];
    if kind.oracle == Oracle::DoubleCollect {
        // With double collect, a client learns of a commit only after every later snapshot covers
        // it.
        levels.push(Level::StrongSnapshot);
    }
    if kind.isolation == Isolation::Serializable {
        levels.push(Level::Serializable);
    }
    levels
}

/// The message of a panic.
fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}
