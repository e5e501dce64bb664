//! TPC-C on a symmetric cluster [SPADE 5.4]: each machine has its warehouses with all their tables.
//! A client has a home warehouse on its machine, and one on another machine, for which it runs one
//! transaction of ten, by one-sided verbs or by shipping.
//!
//! A shipped message has the transaction's type, and padding instead of its numbers: the lane that
//! executes it draws a transaction of a warehouse of its own machine, as the caller would. Messages
//! have the bytes that the numbers would take.

use super::rows::another;
use super::{LaneId, Load, Plan};
use fabric::DynEnv;
use txn::{Database, Lane};
use workload::tpcc::{Config, NodeBytes, Scale, TABLE_NAMES, TYPE_COUNT, Terminal as Client};
use workload::{Finished, Random, Workload, WorkloadError, tpcc};

/// The random stream of the clients.
const STREAM: u32 = 252;
/// Bytes of a request: the type, warehouse, district and customer, and for each of ten lines an
/// item, a warehouse and a quantity.
const REQUEST_BYTES: usize = 16 + 10 * 7;
/// Bytes of an answer: for each of ten lines a name of 24 bytes, a price, an amount and a mark;
/// names and sums.
const ANSWER_BYTES: usize = 10 * 40 + 60;
/// Percentage of transactions on a warehouse of another machine: 90 % are local [SPADE 5.4].
const REMOTE_PERCENT: u32 = 10;

/// Number of transactions by which a lane learns the locations of the rows of either of its
/// warehouses.
const LEARNED: u32 = 20;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Tpcc {
    machines: u16,
    warehouses_each: u32,
    /// Number of a machine's first lanes that have a warehouse of their own: its clients.
    own: u32,
    seed: u64,
    is_shipped: bool,
    workload: tpcc::Tpcc,
}

/// The state of a lane.
pub(crate) struct Terminal {
    random: Random,
    /// The clients of a warehouse of its machine, and of one of another machine.
    clients: [Client; 2],
    /// That other machine.
    other: u16,
}

impl Tpcc {
    /// This many warehouses of this size on each machine of a cluster.
    pub fn new(plan: &Plan, warehouses_each: u32, scale: Scale, is_shipped: bool) -> Self {
        let Plan { seed, machines, .. } = *plan;
        let own = plan.clients * u32::from(plan.processes);
        assert!(own <= warehouses_each, "each client has a warehouse of its own");
        let workload = tpcc::Tpcc::new(Config {
            partitions: machines.into(),
            keeps_versions: true,
            node_bytes: NodeBytes::SMALL,
            scale,
            seed,
            ..Config::new(warehouses_each * u32::from(machines))
        });
        let workload = workload.expect("experiments have sound configurations");
        Self { machines, warehouses_each, own, seed, is_shipped, workload }
    }
}

impl Load for Tpcc {
    /// Whether it is for the warehouse on the other machine.
    type Input = bool;
    type Terminal = Terminal;

    fn tables(&self, machines: u16) -> usize {
        usize::from(machines) * TABLE_NAMES.len()
    }

    fn kinds(&self) -> usize {
        TYPE_COUNT
    }

    async fn fill(
        &self,
        database: &Database<DynEnv>,
        progress: &dyn Fn(u64),
    ) -> Result<(), WorkloadError> {
        self.workload.create_tables(database).await?;
        let mut lane = database.lane().await?;
        self.workload.load_part(database, &mut lane, 0, 1, progress).await
    }

    fn terminal(
        &self,
        database: &Database<DynEnv>,
        place: LaneId,
    ) -> Result<Terminal, WorkloadError> {
        let (LaneId { machine, lane }, number) = (place, u64::from(place.number()));
        let mut random = Random::stream(self.seed, STREAM, number);
        let other = another(&mut random, machine, self.machines);
        let warehouses = self.warehouses_each * u32::from(self.machines);
        // Clients have warehouses of their own on their machine; all other lanes use a random one
        // of a machine.
        let own =
            if lane < self.own { lane } else { random.below(self.warehouses_each.into()) as u32 };
        let any = random.below(self.warehouses_each.into()) as u32;
        let client = |machine: u16, warehouse: u32, round: u64| {
            let home = u32::from(machine) * self.warehouses_each + warehouse;
            // The draws of terminals follow from the seed.
            let seed = Random::stream(self.seed, STREAM + 1, 2 * number + round).word();
            let mut client = self.workload.terminal(database, home, warehouses, seed)?;
            // Several terminals share a warehouse: one at home, others remotely.
            client.number_history_as((2 * number + round + 1) as u16);
            Ok::<_, WorkloadError>(client)
        };
        let clients = [client(machine, own, 0)?, client(other, any, 1)?];
        Ok(Terminal { random, clients, other })
    }

    async fn learn(
        &self,
        lane: &mut Lane<DynEnv>,
        terminal: &mut Terminal,
    ) -> Result<(), WorkloadError> {
        for client in &mut terminal.clients {
            for _ in 0..LEARNED {
                self.workload.run_one(lane, client).await?;
            }
        }
        Ok(())
    }

    fn draw(&self, terminal: &mut Terminal) -> (bool, Option<u16>) {
        let is_remote = terminal.random.percent(REMOTE_PERCENT);
        (is_remote, (is_remote && self.is_shipped).then_some(terminal.other))
    }

    fn encode(&self, _: &bool) -> Vec<u8> {
        vec![0; REQUEST_BYTES]
    }

    /// For the receiver the warehouse is its own.
    fn decode(&self, request: &[u8]) -> Option<bool> {
        (request.len() == REQUEST_BYTES).then_some(false)
    }

    async fn carry_out(
        &self,
        lane: &mut Lane<DynEnv>,
        terminal: &mut Terminal,
        is_remote: &bool,
        answer: &mut Vec<u8>,
    ) -> Result<Finished, WorkloadError> {
        let client = &mut terminal.clients[usize::from(*is_remote)];
        let finished = self.workload.run_one(lane, client).await?;
        answer.resize(ANSWER_BYTES, 0);
        Ok(finished)
    }
}
