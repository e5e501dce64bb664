//! A workload under test: loaded into a local database, run by one thread, damaged, and checked.

use crate::driver::{CheckResult, RunTotals, Workload};
use fabric::{LocalEnv, run_now};
use txn::local::{OpenConfig, open};
use txn::{Database, Isolation, Lane, Outcome, Transaction};

/// Number of parts, loaded one after another.
const PARTS: u64 = 3;

pub(crate) struct Trial<W> {
    pub workload: W,
    pub database: Database<LocalEnv>,
    pub lane: Lane<LocalEnv>,
    /// Totals of everything that ran since the load.
    pub totals: RunTotals,
}

impl<W: Workload<LocalEnv>> Trial<W> {
    pub fn load(workload: W) -> Self {
        let config = OpenConfig { server_bytes: 128 << 20, ..OpenConfig::default() };
        let database = open(&config).expect("memory can be mapped");
        run_now(workload.create_tables(&database)).expect("the tables are new");
        let mut lane = run_now(database.lane()).expect("the first lane");
        for part in 0..PARTS {
            let load = workload.load_part(&database, &mut lane, part, PARTS, &|_| ());
            run_now(load).expect("there is room");
        }
        let totals = RunTotals::new(workload.transaction_types().len());
        Self { workload, database, lane, totals }
    }

    /// Runs `transactions` transactions on one thread.
    pub fn run(&mut self, transactions: u32) {
        let terminal = self.workload.terminal(&self.database, 0, 1, 7);
        let mut terminal = terminal.expect("the tables are there");
        for _ in 0..transactions {
            let finished = run_now(self.workload.run_one(&mut self.lane, &mut terminal));
            self.totals.add(&finished.expect("nothing fails here"));
        }
    }

    /// Changes the tables without the workload's knowledge.
    pub fn damage(&mut self, damage: impl FnOnce(&mut Transaction<'_, LocalEnv>)) {
        let mut transaction = run_now(self.lane.begin(Isolation::Snapshot)).expect("quiet");
        damage(&mut transaction);
        assert_eq!(run_now(transaction.commit()), Outcome::Committed);
    }

    pub fn check(&mut self) -> Vec<CheckResult> {
        let check = self.workload.check(&self.database, &mut self.lane, &self.totals, false);
        run_now(check).expect("the tables can be read")
    }

    /// The names of the failed checks.
    pub fn failures(&mut self) -> Vec<&'static str> {
        self.check().iter().filter(|check| !check.ok).map(|check| check.name).collect()
    }
}
