//! Single operations on rows of one table: lookups of random rows, by the primary key or by a
//! secondary index, and updates of rows on other machines, executed there or by one-sided verbs
//! [SPADE 4.1, 4.2].

use super::{LaneId, Load};
use fabric::DynEnv;
use layout::Storage;
use microbench::micro::carry_out;
use microbench::operation::Task;
use microbench::ship;
use microbench::subject::{Subject, Table};
use simulated_cluster::ground::Ground;
use spade::measurement::{AccessPath, Operation, Parameters, World};
use std::sync::Arc;
use txn::{Database, Lane};
use workload::{Finished, Random, WorkloadError};

/// The random stream of the clients.
const STREAM: u32 = 250;
/// Planned share of used slots in percent: the engine's default.
const LOAD_PERCENT: u32 = 65;

/// The operation on rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// Reads a row, with this percentage of reads through the secondary index.
    Lookups { secondary_percent: u32 },
    /// Writes one field of a row on another machine.
    Updates { is_shipped: bool },
}

/// Operations on rows of one design.
#[derive(Clone, Debug)]
pub(crate) struct RowOperations {
    machines: u16,
    seed: u64,
    work: Work,
    subject: Subject,
}

/// A lane's random generator, and all tables.
pub(crate) struct Terminal {
    machine: u16,
    random: Random,
    tables: Arc<[Table]>,
}

impl RowOperations {
    /// Operations on this many machines, with `rows_each` rows of `row_bytes` bytes each, and this
    /// design.
    pub fn new(
        (seed, machines, rows_each): (u64, u16, u64),
        work: Work,
        (storage, row_bytes, neighbourhood): (Storage, u32, u32),
    ) -> Self {
        let (operation, path) = match work {
            Work::Lookups { secondary_percent: 0 } => (Operation::Lookup, AccessPath::Primary),
            Work::Lookups { .. } => (Operation::Lookup, AccessPath::SecondaryHash),
            Work::Updates { .. } => (Operation::Update, AccessPath::Primary),
        };
        let (fabric, hardware) = ("sim".to_owned(), super::PROFILE.to_owned());
        let parameters = Parameters {
            world: World { fabric, hardware, machines, threads: 0, lanes: 0 },
            operation,
            path,
            place: spade::measurement::Place::OneSided,
            rows: 1,
            storage,
            row_bytes,
            neighbourhood,
            load_percent: LOAD_PERCENT,
            node_bytes: 0,
            replicas: super::REPLICAS,
            versions: None,
        };
        // One table for all machines has a key range for each machine; a table of one machine has
        // one.
        let ranges = if matches!(work, Work::Updates { .. }) { 1 } else { u64::from(machines) };
        Self { machines, seed, work, subject: Subject::of(&parameters, ranges, rows_each) }
    }

    fn has_table_each(&self) -> bool {
        matches!(self.work, Work::Updates { .. })
    }

    fn has_index(&self) -> bool {
        !matches!(self.work, Work::Updates { .. } | Work::Lookups { secondary_percent: 0 })
    }

    fn name(machine: u16) -> String {
        format!("rows_{machine}")
    }
}

impl Load for RowOperations {
    /// The machine with the row, if each machine has its own table; and the operation.
    type Input = (u16, Task);
    type Terminal = Terminal;

    fn tables(&self, machines: u16) -> usize {
        if self.has_table_each() { usize::from(machines) } else { 1 }
    }

    /// The measured operation, and the one in between.
    fn kinds(&self) -> usize {
        2
    }

    async fn fill(
        &self,
        database: &Database<DynEnv>,
        _progress: &dyn Fn(u64),
    ) -> Result<(), WorkloadError> {
        let mut lane = database.lane().await?;
        for machine in 0..self.tables(self.machines) as u16 {
            let server = self.has_table_each().then(|| Ground::memory_node(machine).0);
            let name = Self::name(machine);
            database.create_table(self.subject.spec(&name, server)?).await?;
            let table = Table::open(database, &name)?;
            let ranges = 0..self.subject.ranges;
            self.subject.load(&mut lane, table, ranges, self.has_table_each()).await?;
        }
        Ok(())
    }

    fn terminal(
        &self,
        database: &Database<DynEnv>,
        place: LaneId,
    ) -> Result<Terminal, WorkloadError> {
        let tables = 0..self.tables(self.machines) as u16;
        let open = |machine| Table::open(database, &Self::name(machine));
        let tables = tables.map(open).collect::<Result<_, _>>()?;
        let random = Random::stream(self.seed, STREAM, place.number().into());
        Ok(Terminal { machine: place.machine, random, tables })
    }

    async fn learn(
        &self,
        lane: &mut Lane<DynEnv>,
        terminal: &mut Terminal,
    ) -> Result<(), WorkloadError> {
        for &table in terminal.tables.iter() {
            for by_index in [false, self.has_index()] {
                let keys = vec![self.subject.loaded_key(0)];
                let task = Task { operation: Operation::Lookup, by_index, keys, limit: 1 };
                carry_out(lane, (table, None), &task, (0, &mut Vec::new())).await?;
            }
        }
        Ok(())
    }

    fn draw(&self, terminal: &mut Terminal) -> (Self::Input, Option<u16>) {
        let random = &mut terminal.random;
        let keys = vec![self.subject.loaded_key(random.below(self.subject.rows()))];
        let task = |operation, by_index| Task { operation, by_index, keys, limit: 1 };
        match self.work {
            Work::Lookups { secondary_percent } => {
                let by_index = random.percent(secondary_percent);
                ((0, task(Operation::Lookup, by_index)), None)
            }
            Work::Updates { is_shipped } => {
                let owner = another(random, terminal.machine, self.machines);
                ((owner, task(Operation::Update, false)), is_shipped.then_some(owner))
            }
        }
    }

    fn encode(&self, (owner, task): &Self::Input) -> Vec<u8> {
        let mut request = owner.to_le_bytes().to_vec();
        request.extend(ship::encode(task));
        request
    }

    fn decode(&self, request: &[u8]) -> Option<Self::Input> {
        let (owner, task) = request.split_first_chunk()?;
        Some((u16::from_le_bytes(*owner), ship::decode(task)?))
    }

    async fn carry_out(
        &self,
        lane: &mut Lane<DynEnv>,
        terminal: &mut Terminal,
        (owner, task): &Self::Input,
        answer: &mut Vec<u8>,
    ) -> Result<Finished, WorkloadError> {
        let table = terminal.tables[usize::from(*owner)];
        carry_out(lane, (table, None), task, (0, answer)).await
    }
}

/// A random other machine.
pub(super) fn another(random: &mut Random, machine: u16, machines: u16) -> u16 {
    let drawn = random.below(u64::from(machines) - 1) as u16;
    drawn + u16::from(drawn >= machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_is_any_but_the_own() {
        let mut random = Random::new(3);
        let mut seen = [0_u32; 4];
        (0..3000).for_each(|_| seen[usize::from(another(&mut random, 2, 4))] += 1);
        assert!(seen[2] == 0 && [0, 1, 3].iter().all(|&at| seen[at].abs_diff(1000) < 200));
    }
}
