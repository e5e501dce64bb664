//! One run: the world is made, the tables are loaded, clients run while faults happen, and
//! everything is checked at the end.

use crate::client::{Client, Desk, Habits};
use crate::file::faults::{PlannedEntry, rates};
use crate::file::plans::NodePlacement;
use crate::file::{Mode, Scenario};
use crate::guards;
use crate::last_look;
use crate::panics::caught;
use crate::report::{Demand, Failure, RunReport, TransactionCounts};
use crate::shrink::START;
use crate::work::{self, Play, Work};
use fabric::{DynEnv, Fabric};
use layout::NodeId;
use sim::{
    AsEndpoint, Coverage, Endpoint, FaultKind, Interval, PlannedFault, SimConfig, When, World,
};
use std::collections::BTreeMap;
use std::rc::Rc;
use txn::server::services;
use txn::{Database, DatabaseConfig, Isolation};
use workload::catch_up::catch_up;

const MIB_WORDS: u64 = (1 << 20) / 8;
/// Virtual time between two checks of the run's progress.
const LOOK_NS: u64 = 20_000;
/// Virtual time of the clients in safety mode; those that are still running then are killed.
const SAFETY_NS: u64 = 20_000_000_000;
/// Virtual time after the last client, in which everything under way arrives.
const SETTLE_NS: u64 = 50_000_000;
/// The largest number of events of a run; a run with more hangs, or is too large.
const EVENTS_MAX: u64 = 100_000_000;
/// A lane leaves a new slot at this number minus the scenario's value.
const COUNTER_LIMIT: u64 = layout::version::COUNTER_MAX - (1 << 24);

/// Additional output of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunOptions {
    /// Whether to record every event, and to keep the clients' history.
    pub trace: bool,
}

/// Runs a scenario with a seed. The same pair gives the same report.
pub fn run(scenario: &Scenario, seed: u64, options: RunOptions) -> RunReport {
    let drawn = scenario.drawn(seed);
    Run::new(drawn, seed, options).run()
}

struct Process {
    node: NodeId,
    endpoint: Endpoint,
    clients: Vec<u32>,
}

struct Run {
    scenario: Scenario,
    seed: u64,
    options: RunOptions,
    world: World,
}

impl Run {
    fn new(scenario: Scenario, seed: u64, options: RunOptions) -> Self {
        let world = World::new(sim_config(&scenario, seed, options));
        Self { scenario, seed, options, world }
    }

    fn run(self) -> RunReport {
        let mut report = RunReport {
            scenario: self.scenario.name.clone(),
            seed: self.seed,
            failure: None,
            transactions: TransactionCounts::default(),
            verbs: 0,
            events: 0,
            virtual_ns: 0,
            coverage: Coverage::default(),
            happened: Vec::new(),
            fingerprint: 0,
            trace: String::new(),
            history: None,
        };
        let played = caught(|| self.play(&mut report));
        if let Err(sentence) = played {
            report.failure = Some(Failure::new(Demand::Panic, without_identity(&sentence)));
        }
        let wrong_reads = self.world.shadow_errors();
        if let (None, Some(wrong)) = (&report.failure, wrong_reads.first()) {
            report.failure = Some(Failure::new(Demand::Shadow, wrong.clone()));
        }
        report.events = self.world.events();
        report.coverage = self.world.coverage();
        report.fingerprint = self.world.fingerprint();
        report.trace = self.world.take_trace();
        // Dropping the rest may panic, too; the run has been judged by then.
        let _ = caught(|| drop(self));
        report
    }

    fn play(&self, report: &mut RunReport) {
        let work = work::make(&self.scenario).expect("scenarios are checked when they are read");
        match work {
            Work::Append(play) => self.play_workload(play, report),
            Work::Register(play) => self.play_workload(play, report),
            Work::Bank(play) => self.play_workload(play, report),
            Work::Cycle(play) => self.play_workload(play, report),
            Work::SmallBank(play) => self.play_workload(play, report),
            Work::Tatp(play) => self.play_workload(play, report),
            Work::Tpcc(play) => self.play_workload(play, report),
            Work::Churn(play) => self.play_workload(play, report),
            Work::Passing(play) => self.play_workload(play, report),
        }
    }

    fn play_workload<P: Play<DynEnv>>(&self, play: P, report: &mut RunReport) {
        let database = self.open();
        self.load(&database, &play);
        let desk = Desk::new(self.habits(), play.transaction_types().len());
        let (start_ns, reached) = (self.world.now_ns(), self.world.reached());
        let processes = self.clients(&database, &play, &desk, report);
        report.virtual_ns = self.world.now_ns() - start_ns;
        report.happened = self.happened(start_ns, &reached);
        self.settle(&desk, &processes);
        for process in &processes {
            report.verbs += process.endpoint.counters().counts().verbs;
        }
        let failure = desk.failure.take();
        report.failure = failure.or_else(|| self.look(&database, &play, &desk, report));
        report.history = play.history().filter(|_| self.options.trace);
        let totals = desk.totals.borrow();
        let kinds = (0..desk.kinds).map(|kind| totals.kind(kind));
        report.transactions.unknown = desk.unknown.get();
        for kind in kinds {
            report.transactions.committed += kind.committed;
            report.transactions.without_effect += kind.rolled_back + kind.aborted;
        }
    }

    /// The random faults that have happened, in the form of a scenario's plan.
    fn happened(&self, start_ns: u64, before: &BTreeMap<&'static str, u64>) -> Vec<PlannedEntry> {
        let from_start = |planned: &PlannedFault| {
            let mut entry = PlannedEntry::of(planned, start_ns);
            if let (Some(point), Some(nth)) = (&entry.point, entry.nth) {
                entry.nth = Some(nth - before.get(point.as_str()).copied().unwrap_or(0));
            }
            entry
        };
        self.world.faults_by_chance().iter().map(from_start).collect()
    }

    fn habits(&self) -> Habits {
        let clients = &self.scenario.clients;
        Habits {
            clients: clients.count.get(),
            transactions: clients.transactions.get(),
            think_ns: clients.think_ns.get(),
            patience_ns: clients.patience_ns.as_ref().map(|patience_ns| patience_ns.get()),
            borrows_lanes: clients.borrows_lanes.get(),
            stays_until_closing: matches!(self.scenario.mode, Mode::Liveness { .. }),
            is_calm: self.scenario.is_calm(),
            loses_memory: self.scenario.names_fault(FaultKind::RestartWithoutMemory),
            seed: self.seed,
        }
    }

    /// The last node is the observer's; no other process runs there.
    fn observer_node(&self) -> NodeId {
        self.world.compute_node(self.scenario.cluster.compute_servers.get())
    }

    /// An empty database on all memory servers.
    fn open(&self) -> Database<DynEnv> {
        let world = &self.world;
        let nodes = world.serve(services);
        let plan = &self.scenario.database;
        let left = plan.counters_left.as_ref().map(|left| left.get());
        let config = DatabaseConfig {
            oracle: plan.oracle.get().into(),
            lanes: plan.lanes.get(),
            transaction_time_max_ns: plan.transaction_time_max_ns.get(),
            first_counter: left.map_or(0, |left| COUNTER_LIMIT - left),
            ..DatabaseConfig::default()
        };
        let observer = world.endpoint(self.observer_node());
        let made =
            world.block_on(&observer, Database::create(observer.clone().into_dyn(), nodes, config));
        made.expect("the servers are empty")
    }

    fn load<P: Play<DynEnv>>(&self, database: &Database<DynEnv>, play: &P) {
        self.world.block_on(database.env(), async {
            play.create_tables(database).await.expect("the tables are new");
            let mut lane = database.lane().await.expect("lanes are free");
            let parts = play.load_parts();
            for part in 0..parts {
                play.load_part(database, &mut lane, part, parts, &|_| {}).await.expect("it fits");
            }
            // Clients on other servers begin with the newest frozen vector, which may not cover the
            // load.
            catch_up(&mut lane).await.expect("no other transaction runs");
            let newest = lane.begin(Isolation::Snapshot).await.expect("no other transaction runs");
            newest.abort().await;
            lane.rest().await.expect("the oracle answers");
        });
    }

    /// Lets the clients run until all have ended, or their time is over.
    fn clients<P: Play<DynEnv>>(
        &self,
        database: &Database<DynEnv>,
        play: &P,
        desk: &Rc<Desk>,
        report: &mut RunReport,
    ) -> Vec<Process> {
        let start_ns = self.world.now_ns();
        database.env().endpoint().note(format_args!("{START}"));
        self.start_faults(start_ns);
        let mut processes = self.processes();
        for process in &processes {
            self.start(process, database, play, desk);
        }
        loop {
            self.world.run_for(LOOK_NS);
            let passed_ns = self.world.now_ns() - start_ns;
            if let Mode::Liveness { faults_ns, .. } = self.scenario.mode
                && passed_ns >= faults_ns
                && !desk.is_closing.replace(true)
            {
                self.world.stop_faults();
            }
            if desk.are_all_done() || self.is_over(passed_ns, desk) {
                break;
            }
            if self.scenario.clients.restarts {
                self.restart(&mut processes, database, play, desk, report);
            }
        }
        processes
    }

    /// From now on faults happen. Arrivals at failure points also count from now.
    fn start_faults(&self, start_ns: u64) {
        let reached = self.world.reached();
        for entry in &self.scenario.plan {
            let planned = entry.planned(start_ns).expect("plans are checked when they are read");
            self.world.plan(&counted_from(planned, &reached));
        }
        let rates = rates(&self.scenario).expect("rates are checked when they are read");
        self.world.start_faults(&rates);
    }

    /// Whether the clients' time is over. In liveness mode it is a failure if some have not ended.
    fn is_over(&self, passed_ns: u64, desk: &Desk) -> bool {
        match self.scenario.mode {
            Mode::Safety => {
                passed_ns >= SAFETY_NS && {
                    if self.scenario.is_calm() {
                        desk.fail(last_look::stuck(desk, passed_ns));
                    }
                    true
                }
            }
            Mode::Liveness { faults_ns, bound_ns } => {
                passed_ns >= faults_ns + bound_ns && {
                    desk.fail(last_look::stuck(desk, bound_ns));
                    true
                }
            }
        }
    }

    fn processes(&self) -> Vec<Process> {
        let cluster = &self.scenario.cluster;
        let count = cluster.compute_servers.get();
        let clients = self.scenario.clients.count.get();
        let process = |index: u16| {
            let node = match cluster.placement.get() {
                NodePlacement::Apart => self.world.compute_node(index),
                NodePlacement::Together => NodeId(index % cluster.memory_servers.get()),
            };
            let endpoint = self.world.endpoint(node);
            let of_process = |client: &u32| client % u32::from(count) == u32::from(index);
            Process { node, endpoint, clients: (0..clients).filter(of_process).collect() }
        };
        (0..count).map(process).collect()
    }

    /// Starts the remaining clients of a process.
    fn start<P: Play<DynEnv>>(
        &self,
        process: &Process,
        database: &Database<DynEnv>,
        play: &P,
        desk: &Rc<Desk>,
    ) {
        let database = database.elsewhere(process.endpoint.clone().into_dyn());
        for &number in &process.clients {
            if desk.standing(number).is_done {
                continue;
            }
            let (database, play, desk) = (database.clone(), play.clone(), desk.clone());
            let client = Client { number, database, play, desk };
            self.world.spawn_on(&process.endpoint, client.live());
        }
    }

    /// Restarts killed processes.
    fn restart<P: Play<DynEnv>>(
        &self,
        processes: &mut [Process],
        database: &Database<DynEnv>,
        play: &P,
        desk: &Rc<Desk>,
        report: &mut RunReport,
    ) {
        if !self.scenario.names_fault(FaultKind::NodeCrash) {
            self.revive_services();
        }
        for process in processes.iter_mut().filter(|process| process.endpoint.is_killed()) {
            // No process runs on a crashed node; it restarts by itself.
            if self.world.service_endpoint(process.node).is_killed() {
                continue;
            }
            report.verbs += process.endpoint.counters().counts().verbs;
            process.endpoint = self.world.endpoint(process.node);
            for &number in &process.clients {
                self.count_lost_transaction(number, desk);
                desk.change(number, |standing| standing.lives += 1);
            }
            self.start(process, database, play, desk);
        }
    }

    /// The current transaction of a dead client has an unknown outcome.
    fn count_lost_transaction(&self, number: u32, desk: &Desk) {
        if desk.standing(number).is_in_transaction {
            desk.count_unknown();
            desk.change(number, |standing| standing.is_in_transaction = false);
        }
    }

    /// Kills clients that have not ended, and lets everything under way arrive.
    fn settle(&self, desk: &Desk, processes: &[Process]) {
        for process in processes {
            let is_done = |&number: &u32| desk.standing(number).is_done;
            if !process.clients.iter().all(is_done) {
                self.world.kill(&process.endpoint);
            }
        }
        self.world.stop_faults();
        self.world.run_for(SETTLE_NS);
        self.revive_services();
    }

    /// Restarts killed services of memory servers, on their old memory.
    fn revive_services(&self) {
        for node in (0..self.world.server_count()).map(NodeId) {
            if self.world.service_endpoint(node).is_killed() {
                self.world.revive_node(node);
            }
        }
    }

    /// Checks everything from a process that took no part in the run.
    fn look<P: Play<DynEnv>>(
        &self,
        database: &Database<DynEnv>,
        play: &P,
        desk: &Desk,
        report: &mut RunReport,
    ) -> Option<Failure> {
        for number in 0..desk.habits.clients {
            self.count_lost_transaction(number, desk);
        }
        let observer = self.world.endpoint(self.observer_node());
        let database = database.elsewhere(observer.clone().into_dyn());
        let totals = desk.totals.borrow().clone();
        let look = last_look::look(&database, play, &totals, &self.scenario.expect);
        let seen = self.world.run(&observer, look);
        report.verbs += observer.counters().counts().verbs;
        let late = || last_look::late_commits(desk, &self.scenario.expect);
        seen.unwrap_or(None).or_else(late)
    }
}

/// The planned fault, with the arrivals before the start added to its count.
fn counted_from(planned: PlannedFault, reached: &BTreeMap<&'static str, u64>) -> PlannedFault {
    let PlannedFault { when, fault } = planned;
    let when = match when {
        When::Point { name, nth } => {
            let before = reached.get(name.as_str()).copied().unwrap_or(0);
            When::Point { name, nth: nth + before }
        }
        other => other,
    };
    PlannedFault { when, fault }
}

/// The world of a scenario that was drawn for a seed.
fn sim_config(scenario: &Scenario, seed: u64, options: RunOptions) -> SimConfig {
    let cluster = &scenario.cluster;
    let words = cluster.server_mib * MIB_WORDS;
    SimConfig {
        server_words: vec![words; usize::from(cluster.memory_servers.get())],
        // One more, for the observer.
        compute_nodes: cluster.compute_servers.get() + 1,
        carrier: cluster.carrier.get().carrier(),
        broken: scenario.broken,
        mutants: guards::removed(&scenario.mutants),
        trace: options.trace,
        event_limit: EVENTS_MAX,
        cores: cluster.cores.get(),
        core_cost_ns: Interval::new(0, cluster.core_cost_ns.get()),
        restarted_are_strangers: cluster.restarted_are_strangers,
        network: cluster.network.as_ref().map(|network| network.network()),
        ..scenario.hostility.config(seed).named(scenario.name.clone())
    }
}

/// The message without the world's prefix, because the report has scenario and seed.
fn without_identity(sentence: &str) -> &str {
    match sentence.split_once(" ns: ") {
        Some((identity, rest)) if identity.starts_with("seed ") => rest,
        _ => sentence,
    }
}
