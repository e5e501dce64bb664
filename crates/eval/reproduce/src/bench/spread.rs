//! A workload on a symmetric cluster whose tables are distributed over all machines: each
//! transaction is executed by its client's machine, with verbs.

use crate::symmetric::{LANES, LaneId, Load};
use crate::verify::folder::Known;
use fabric::DynEnv;
use std::sync::Arc;
use txn::{Database, Lane, TableId};
use workload::{Finished, Workload, WorkloadError};

/// A workload on a cluster.
pub(super) struct Spread<W> {
    workload: Arc<W>,
    /// Number of lanes of all machines.
    lanes: u32,
    seed: u64,
    known: Known,
}

/// The state of a lane.
pub(super) struct Terminal<T> {
    of_workload: T,
    tables: Vec<TableId>,
}

impl<W> Spread<W> {
    /// The workload on this many machines.
    pub fn new(workload: Arc<W>, machines: u16, seed: u64) -> Self {
        Self { workload, lanes: u32::from(machines) * LANES, seed, known: Known::default() }
    }
}

impl<W> Clone for Spread<W> {
    fn clone(&self) -> Self {
        let Self { workload, lanes, seed, known } = self;
        Self { workload: workload.clone(), lanes: *lanes, seed: *seed, known: known.clone() }
    }
}

impl<W> Load for Spread<W>
where
    W: Workload<DynEnv> + Send + Sync + 'static,
    W::Terminal: 'static,
{
    type Input = ();
    type Terminal = Terminal<W::Terminal>;

    fn tables(&self, _machines: u16) -> usize {
        self.workload.table_names().len()
    }

    fn kinds(&self) -> usize {
        self.workload.transaction_types().len()
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
    ) -> Result<Self::Terminal, WorkloadError> {
        let number = u32::from(place.machine) * LANES + place.lane;
        let of_workload = self.workload.terminal(database, number, self.lanes, self.seed)?;
        let tables = self.workload.table_names().iter();
        let tables = tables.filter_map(|name| database.table(name)).collect();
        Ok(Terminal { of_workload, tables })
    }

    async fn learn(
        &self,
        lane: &mut Lane<DynEnv>,
        terminal: &mut Self::Terminal,
    ) -> Result<(), WorkloadError> {
        self.known.learn(lane, &terminal.tables).await
    }

    /// The workload draws when it executes.
    fn draw(&self, _terminal: &mut Self::Terminal) -> ((), Option<u16>) {
        ((), None)
    }

    fn encode(&self, (): &()) -> Vec<u8> {
        Vec::new()
    }

    fn decode(&self, request: &[u8]) -> Option<()> {
        request.is_empty().then_some(())
    }

    async fn carry_out(
        &self,
        lane: &mut Lane<DynEnv>,
        terminal: &mut Self::Terminal,
        (): &(),
        _answer: &mut Vec<u8>,
    ) -> Result<Finished, WorkloadError> {
        self.workload.run_one(lane, &mut terminal.of_workload).await
    }
}
