//! A workload folder on a symmetric cluster, stored and executed as its design says.
//!
//! Each machine has one part of the tables. A call whose rows are determined by an argument is made
//! on the machine of these rows, except for a share of calls made on another machine; all other
//! calls are made on any machine. All machines make the same number of calls.

use super::message;
use crate::symmetric::{LaneId, Load};
use datagen::{Call, Calls, Mix, Population};
use fabric::DynEnv;
use folder_benchmark::{Callee, Home, Stored};
use simulated_cluster::ground::Ground;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use txn::{Database, KnownLeaves, Lane, TableId};
use workload::{Finished, Random, Workload, WorkloadError};

/// The random stream of the clients.
const STREAM: u32 = 253;
/// The largest number of draws for a call of a procedure with rows on a certain machine.
const DRAWS_MAX: u32 = 20_000;
/// The largest number of calls that are kept for later, for each procedure and machine.
const KEPT_MAX: usize = 64;
/// The largest number of lanes of a cluster.
const CLIENTS_MAX: u64 = 1 << 20;

/// A folder on a cluster.
#[derive(Clone)]
pub(crate) struct Folder {
    stored: Stored,
    machines: u16,
    seed: u64,
    /// The share of calls that are made on another machine than that of their rows.
    remote_calls: f64,
    /// For each procedure, the location of its calls' rows.
    homes: Arc<[Option<Home>]>,
    /// For each procedure, the bytes of a result row.
    answers: Arc<[usize]>,
    known: Known,
    /// For each table, the number of loaded rows.
    loaded: Arc<[AtomicU64]>,
}

/// The locations that the first lane has learned, for all other lanes.
#[derive(Clone, Default)]
pub(crate) struct Known(Arc<Mutex<Vec<(TableId, KnownLeaves)>>>);

impl Known {
    /// The first lane reads all leaves of all trees; the others copy their locations.
    pub async fn learn(
        &self,
        lane: &mut Lane<DynEnv>,
        tables: &[TableId],
    ) -> Result<(), WorkloadError> {
        let known = self.0.lock().expect("no holder panics").clone();
        for (table, leaves) in &known {
            lane.take_leaves(*table, leaves).await?;
        }
        if known.is_empty() {
            let mut learned = Vec::new();
            for &table in tables {
                learned.push((table, lane.read_leaves(table).await?));
            }
            *self.0.lock().expect("no holder panics") = learned;
        }
        Ok(())
    }
}

/// The state of a lane.
pub(crate) struct Terminal {
    machine: u16,
    random: Random,
    calls: Calls<Arc<Population>>,
    callee: Callee,
    tables: Vec<TableId>,
    /// Calls that were drawn in advance, by procedure and machine of their rows.
    kept: BTreeMap<(usize, u16), VecDeque<Call>>,
}

impl Folder {
    /// The folder on this many machines, with this share of calls on another machine than that of
    /// their rows.
    pub fn new(stored: Stored, machines: u16, (seed, remote_calls): (u64, f64)) -> Self {
        let homes = stored.homes(machines.into()).into();
        let answers = stored.answer_bytes().into();
        let known = Known::default();
        let loaded = (0..stored.table_count()).map(|_| AtomicU64::new(0)).collect();
        Self { stored, machines, seed, remote_calls, homes, answers, known, loaded }
    }

    /// For each table, the number of loaded rows.
    pub fn loaded(&self) -> Vec<u64> {
        self.loaded.iter().map(|rows| rows.load(Relaxed)).collect()
    }

    /// The next call, and the machine with its rows if it is another one.
    fn next(&self, terminal: &mut Terminal) -> (Call, Option<u16>) {
        let first = terminal.calls.next_call(0);
        let procedure = first.procedure;
        let Some(home) = self.homes[procedure] else { return (first, None) };
        let wants_remote = self.machines > 1 && terminal.random.fraction() < self.remote_calls;
        let wanted = match wants_remote {
            true => {
                let others = u64::from(self.machines) - 1;
                let other = 1 + terminal.random.below(others) as u16;
                (terminal.machine + other) % self.machines
            }
            false => terminal.machine,
        };
        terminal.keep(first, &self.homes);
        for _ in 0..DRAWS_MAX {
            let of_machine = terminal.kept.get_mut(&(procedure, wanted));
            if let Some(call) = of_machine.and_then(VecDeque::pop_front) {
                let is_shipped = wants_remote && home.is_shipped;
                return (call, is_shipped.then_some(wanted));
            }
            let another = terminal.calls.next_call(0);
            terminal.keep(another, &self.homes);
        }
        // No call has rows there: use one with rows on any machine.
        let any = terminal.calls.next_call(0);
        let server = self.homes[any.procedure].and_then(|home| Some((home, home.server(&any)?)));
        let away = server.filter(|(home, at)| home.is_shipped && *at != terminal.machine);
        (any, away.map(|(_, at)| at))
    }
}

impl Terminal {
    /// Keeps a call until one of its procedure and machine is needed.
    fn keep(&mut self, call: Call, homes: &[Option<Home>]) {
        let Some(at) = homes[call.procedure].and_then(|home| home.server(&call)) else { return };
        let kept = self.kept.entry((call.procedure, at)).or_default();
        if kept.len() < KEPT_MAX {
            kept.push_back(call);
        }
    }
}

impl Load for Folder {
    type Input = Call;
    type Terminal = Terminal;

    fn tables(&self, machines: u16) -> usize {
        usize::from(machines) * self.stored.table_count()
    }

    fn kinds(&self) -> usize {
        self.homes.len()
    }

    async fn fill(
        &self,
        database: &Database<DynEnv>,
        progress: &dyn Fn(u64),
    ) -> Result<(), WorkloadError> {
        let servers: Vec<u16> = (0..self.machines).map(|at| Ground::memory_node(at).0).collect();
        self.stored.create_in_parts(database, &servers).await?;
        let mut lane = database.lane().await?;
        for (table, loaded) in self.loaded.iter().enumerate() {
            let count = |rows| {
                loaded.fetch_add(rows, Relaxed);
                progress(rows);
            };
            self.stored.load_table(database, &mut lane, table, (0, 1), &count).await?;
        }
        Ok(())
    }

    fn terminal(
        &self,
        database: &Database<DynEnv>,
        place: LaneId,
    ) -> Result<Terminal, WorkloadError> {
        let number = u64::from(place.number());
        let names = Workload::<DynEnv>::table_names(&self.stored).iter();
        let tables = names.filter_map(|name| database.table(name)).collect();
        let population = self.stored.population().clone();
        Ok(Terminal {
            machine: place.machine,
            random: Random::stream(self.seed, STREAM, number),
            calls: Calls::new(population, number, CLIENTS_MAX, Mix::Drawn),
            callee: self.stored.callee(database)?,
            tables,
            kept: BTreeMap::new(),
        })
    }

    async fn learn(
        &self,
        lane: &mut Lane<DynEnv>,
        terminal: &mut Terminal,
    ) -> Result<(), WorkloadError> {
        self.known.learn(lane, &terminal.tables).await
    }

    fn draw(&self, terminal: &mut Terminal) -> (Call, Option<u16>) {
        self.next(terminal)
    }

    fn encode(&self, call: &Call) -> Vec<u8> {
        message::encode(call)
    }

    fn decode(&self, request: &[u8]) -> Option<Call> {
        let call = message::decode(request)?;
        (call.procedure < self.homes.len()).then_some(call)
    }

    async fn carry_out(
        &self,
        lane: &mut Lane<DynEnv>,
        terminal: &mut Terminal,
        call: &Call,
        answer: &mut Vec<u8>,
    ) -> Result<Finished, WorkloadError> {
        let ready = terminal.callee.ready(call.clone());
        let finished = terminal.callee.carry_out(lane, &ready).await?;
        answer.resize(terminal.callee.rows() * self.answers[call.procedure], 0);
        Ok(finished)
    }
}
