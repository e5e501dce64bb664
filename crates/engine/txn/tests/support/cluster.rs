//! A database in a simulated world: memory servers with their services, and compute nodes.

use super::history::Execution;
use super::program::{Program, Tables, execute, execute_all};
use fabric::DynEnv;
use layout::{PartRule, Storage};
use sim::{Endpoint, SimConfig, World};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use txn::server::services;
use txn::{CatalogError, Database, DatabaseConfig, Lane, TableId, TableSpec};

/// Words of each memory server.
const SERVER_WORDS: u64 = 1 << 20;

/// A simulated world with a database. One endpoint sets up and checks; the others run sessions.
pub struct Cluster {
    pub world: World,
    pub database: Database<DynEnv>,
    pub admin: Endpoint,
    /// Whether sessions rely on a collector of frozen vectors, as on large clusters.
    pub has_collector: bool,
    /// Whether a task of each compute server fetches vectors.
    pub fetches: bool,
}

impl Cluster {
    /// A world with `servers` memory servers and an empty database on them.
    pub fn new(config: SimConfig, servers: u16, database: DatabaseConfig) -> Self {
        let world = World::new(config.with_servers(&vec![SERVER_WORDS; usize::from(servers)]));
        let nodes = world.serve(services);
        let admin = world.endpoint(world.compute_node(0));
        let database =
            world.block_on(&admin, Database::create(admin.clone().into_dyn(), nodes, database));
        let database = database.unwrap_or_else(|error| panic!("{}: {error}", world.identity()));
        Self { world, database, admin, has_collector: false, fetches: false }
    }

    /// Runs `future` as the administrator.
    pub fn admin<T>(&self, future: impl Future<Output = T>) -> T {
        self.world.block_on(&self.admin, future)
    }

    /// A handle of compute server `index`, on an endpoint of its own. Each has a different memory
    /// server as its nearest.
    pub fn compute(&self, index: u16) -> Database<DynEnv> {
        let node = self.world.compute_node(index % 4);
        let nearest = index % self.database.server_count() as u16;
        self.database.elsewhere(self.world.endpoint(node).into_dyn()).nearest_to(nearest)
    }

    /// Freezes vectors while sessions run: beside the oracle, or with copies of vectors in a
    /// process of its own, because it then reaches several memory servers.
    fn start_collector(&self, running: Rc<Cell<usize>>) {
        let oracle = layout::NodeId(0);
        let env = match self.database.config().vector_copies {
            0 => self.world.service_endpoint(oracle),
            _ => self.world.endpoint(oracle),
        };
        let oracle = self.database.elsewhere(env.into_dyn());
        self.world.spawn_on(&oracle.env().clone(), async move {
            let collected = oracle.collect_vectors(|| running.get() > 0).await;
            collected.expect("the oracle's memory server lives");
        });
    }

    /// The database of a session. Each session is on a compute server of its own; but where lanes
    /// share slots, the sessions alternate between two compute servers.
    fn of_session(&self, homes: &[Database<DynEnv>], session: usize) -> Database<DynEnv> {
        match self.database.config().shares_slot {
            false => self.compute(session as u16),
            true => homes[session % homes.len()].clone(),
        }
    }

    pub fn create(&self, spec: TableSpec) -> Tables {
        let (storage, name) = (spec.design.storage, spec.schema.name().to_owned());
        let created = self.admin(self.database.create_table(spec));
        self.created(storage, &name, created)
    }

    /// Creates a table with a copy on each memory server.
    pub fn create_copied(&self, spec: TableSpec) -> Tables {
        let (storage, name) = (spec.design.storage, spec.schema.name().to_owned());
        let servers: Vec<u16> = (0..self.database.server_count() as u16).collect();
        let created = self.database.create_in_parts(spec, &servers, PartRule::Copied);
        self.created(storage, &name, self.admin(created))
    }

    fn created(
        &self,
        storage: Storage,
        name: &str,
        created: Result<TableId, CatalogError>,
    ) -> Tables {
        let table = created.unwrap_or_else(|error| panic!("{}: {error}", self.world.identity()));
        let by_group = self.database.index(name, "by_group");
        let has_notes =
            !self.database.schema(table).expect("it was created").long_columns().is_empty();
        let keeps_leaves = self.database.root().config.keeps_leaves;
        Tables { table, by_group, storage, has_notes, keeps_leaves }
    }

    /// Runs one transaction as the administrator.
    pub fn run_one(&self, lane: &mut Lane<DynEnv>, tables: Tables, program: &Program) -> Execution {
        self.admin(execute(lane, tables, usize::MAX, program))
    }

    pub fn lane(&self) -> Lane<DynEnv> {
        self.admin(self.database.lane()).expect("there are slots")
    }

    /// Fills the table, runs each list of programs in a session, and reads everything at the end;
    /// returns all executions. The caller checks the structures.
    pub fn run(
        &self,
        tables: Tables,
        setup: &Program,
        sessions: &[Vec<Program>],
    ) -> Vec<Execution> {
        let history = Rc::new(RefCell::new(Vec::new()));
        let mut lane = self.lane();
        let filled = self.run_one(&mut lane, tables, setup);
        assert_eq!(filled.outcome, txn::Outcome::Committed, "{}", self.world.identity());
        history.borrow_mut().push(filled);
        let homes = [self.compute(0), self.compute(1)];
        let running = Rc::new(Cell::new(sessions.len()));
        if self.has_collector {
            homes.iter().for_each(Database::rely_on_collector);
            self.start_collector(running.clone());
        }
        for home in homes.iter().filter(|_| self.fetches) {
            let (home, running) = (home.clone(), running.clone());
            self.world.spawn_on(&home.env().clone(), async move {
                let fetched = home.fetch_vectors(|| running.get() > 0).await;
                fetched.expect("the oracle's memory server lives");
            });
        }
        for (session, programs) in sessions.iter().enumerate() {
            let database = self.of_session(&homes, session);
            let (history, running) = (history.clone(), running.clone());
            let programs = programs.clone();
            self.world.spawn_on(&database.env().clone(), async move {
                execute_all(&database, tables, session, &programs, &mut |execution| {
                    history.borrow_mut().push(execution);
                })
                .await;
                running.set(running.get() - 1);
            });
        }
        let waiting = self.world.run_until_idle();
        assert_eq!(waiting, 0, "{}: tasks wait for ever", self.world.identity());
        let last = self.run_one(&mut lane, tables, &Program::reading_all());
        history.borrow_mut().push(last);
        drop(lane);
        history.take()
    }

    /// Refuses structural errors and locks that are still held.
    pub fn check(&self) {
        let report = self.admin(self.database.check());
        let report = report.unwrap_or_else(|error| panic!("{}: {error}", self.world.identity()));
        let identity = self.world.identity();
        assert_eq!((report.errors, report.locks), (Vec::new(), Vec::new()), "{identity}");
    }
}
