//! Benchmarks on simulated clusters: any workload is loaded, run and checked there as on a real
//! cluster, in virtual time.
//!
//! ```text
//! spread    a workload whose tables are distributed over all machines, and accessed by verbs
//! ```
//! Folders are stored and executed as their designs say ([`crate::verify`]).
//!
//! Decision: docs/decisions/0255-stored-workloads-run-on-simulated-clusters-as-a-symmetric.md

mod spread;

use crate::symmetric::{Load, Seen, Standing};
use crate::verify::{Cluster, VerifyError, folder::Folder};
use fabric::DynEnv;
use folder_benchmark::Stored;
use spread::Spread;
use std::cell::Cell;
use std::sync::Arc;
use txn::{Abort, Database, Lane};
use workload::{CheckResult, RunTotals, Workload, WorkloadError, count};

/// The results of a workload on a simulated cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct Simulated {
    /// The length of the window in virtual nanoseconds.
    pub window_ns: u64,
    /// Committed transactions per second, of all machines.
    pub committed_per_s: f64,
    /// Committed transactions per second and those that the workload's rules rolled back.
    pub ended_per_s: f64,
    /// Retries among all attempts, in percent.
    pub retries_percent: f64,
    /// By type, in the workload's order.
    pub kinds: Vec<SimulatedKind>,
    /// Aborted attempts, by type and reason.
    pub aborts: Vec<(&'static str, Abort, u64)>,
    /// The busiest stage of all machines, in words; machine 0 has the oracle.
    pub busiest: String,
    /// The results of the checks of the tables after the last transaction.
    pub checks: Vec<CheckResult>,
}

/// The results of transactions of one type.
#[derive(Clone, PartialEq, Debug)]
pub struct SimulatedKind {
    pub name: &'static str,
    /// Number of transactions that ended in the window.
    pub count: u64,
    /// Those of them that committed, per second.
    pub committed_per_s: f64,
    /// The median and the 99th percentile of the latency in microseconds; `None` without
    /// transactions.
    pub latency_us: Option<[f64; 2]>,
    /// The median while a single lane makes calls.
    pub alone_us: Option<f64>,
    /// Round trips, verbs and bytes of one transaction, counted by its client.
    pub traffic: Option<[f64; 3]>,
}

/// The reason why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The cluster is impossible.
    #[error(transparent)]
    Cluster(#[from] VerifyError),
    /// The checks failed to run.
    #[error("the tables cannot be checked: {0}")]
    Check(#[source] WorkloadError),
}

/// The phase of a benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Tables are created and loaded; has the number of rows so far.
    Loading(u64),
    /// Transactions run.
    Running,
    /// The tables are looked at.
    Checking,
}

/// Stores a folder as its design says on a simulated cluster, executes its procedures as the design
/// says, and checks its tables.
///
/// # Errors
/// See [`BenchError`].
/// See [`BenchError`].
pub fn folder(
    stored: &Stored,
    cluster: &Cluster,
    tell: &dyn Fn(Phase),
) -> Result<Simulated, BenchError> {
    let bytes = stored.memory_bytes(cluster.machines);
    let load = Folder::new(stored.clone(), cluster.machines, (cluster.seed, cluster.remote_calls));
    bench(stored, &load, (cluster, bytes), tell, &|| load.loaded())
}

/// Distributes the tables of a workload over the machines of a simulated cluster, runs its
/// transactions by verbs, and checks its tables.
///
/// # Errors
/// See [`BenchError`].
/// See [`BenchError`].
pub fn spread<W>(
    workload: W,
    cluster: &Cluster,
    tell: &dyn Fn(Phase),
) -> Result<Simulated, BenchError>
where
    W: Workload<DynEnv> + Send + Sync + 'static,
    W::Terminal: 'static,
{
    let workload = Arc::new(workload);
    let bytes = workload.memory_bytes();
    let load = Spread::new(workload.clone(), cluster.machines, cluster.seed);
    bench(&*workload, &load, (cluster, bytes), tell, &Vec::new)
}

/// `loaded` has the number of rows of each table after the load; empty if they were not counted.
fn bench<W: Workload<DynEnv>, L: Load>(
    workload: &W,
    load: &L,
    (cluster, bytes): (&Cluster, u64),
    tell: &dyn Fn(Phase),
    loaded: &dyn Fn() -> Vec<u64>,
) -> Result<Simulated, BenchError> {
    let plan = cluster.plan(bytes)?;
    let rows = Cell::new(0);
    let progress = |more| {
        rows.set(rows.get() + more);
        tell(Phase::Loading(rows.get()));
    };
    let mut standing = Standing::loaded(&plan, load, &progress);
    tell(Phase::Running);
    let (alone, seen) = standing.look(load);
    tell(Phase::Checking);
    let check = async |database: &Database<DynEnv>, lane: &mut Lane<DynEnv>, totals: &RunTotals| {
        let mut checks = workload.check(database, lane, totals, false).await?;
        let before = loaded();
        if !before.is_empty() {
            let now = count::rows(database, lane, workload.table_names()).await?;
            checks.extend(workload.check_rows(&before, &now, totals));
        }
        Ok(checks)
    };
    let checks = standing.check(check).map_err(BenchError::Check)?;
    Ok(Simulated { checks, ..simulated(workload.transaction_types(), &alone, &seen) })
}

fn simulated(names: &[&'static str], alone: &Seen, seen: &Seen) -> Simulated {
    let kinds = names.iter().enumerate().map(|(kind, name)| {
        let of = seen.kind(kind);
        SimulatedKind {
            name,
            count: of.map_or(0, |of| of.count() as u64),
            committed_per_s: seen.kind_per_s(kind),
            latency_us: of.and_then(|of| Some([of.latency_us(50)?, of.latency_us(99)?])),
            alone_us: alone.kind(kind).and_then(|of| of.latency_us(50)),
            traffic: of.map(crate::kinds::Kind::traffic),
        }
    });
    Simulated {
        window_ns: seen.window_ns(),
        committed_per_s: seen.committed_per_s(),
        ended_per_s: seen.ended_per_s(),
        retries_percent: seen.abort_percent(),
        kinds: kinds.collect(),
        aborts: seen.aborts().map(|(kind, reason, count)| (names[kind], reason, count)).collect(),
        busiest: seen.busiest.to_string(),
        checks: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::small;
    use folder_benchmark::Options;
    use std::cell::RefCell;
    use txn::Isolation;
    use workload::tatp::TatpConfig;
    use workload::{Bank, Tatp};

    fn cluster() -> Cluster {
        Cluster {
            profile: "connectx3-fdr".to_owned(),
            machines: 2,
            lanes: 4,
            replicas: 1,
            remote_calls: 0.1,
            seed: 1,
        }
    }

    #[test]
    fn transactions_by_hand_run_and_hold_what_they_promise() {
        let phases = RefCell::new(Vec::new());
        let tatp = Tatp::new(TatpConfig::new(200)).expect("it is a sound one");
        let tell = |phase| phases.borrow_mut().push(phase);
        let seen = spread(tatp, &cluster(), &tell).expect("it runs");
        let phases = phases.into_inner();
        let [.., Phase::Loading(rows), Phase::Running, Phase::Checking] = phases[..] else {
            panic!("one after the other: {phases:?}");
        };
        assert!(rows > 200, "a subscriber has some rows: {rows}");
        assert_eq!(seen.kinds.len(), 7);
        let failed: Vec<_> = seen.checks.iter().filter(|check| !check.ok).collect();
        assert!(!seen.checks.is_empty() && failed.is_empty(), "{failed:?}");
        // At least two reads; every second time one of them goes to the other machine.
        let read = &seen.kinds[0];
        assert!(read.count > 1000 && read.committed_per_s > 1e5, "{read:?}");
        let [median_us, tail_us] = read.latency_us.expect("there were some");
        assert!((1.0..tail_us).contains(&median_us), "{read:?}");
        assert!(seen.ended_per_s > seen.committed_per_s, "a quarter fails by TATP's rules");
    }

    #[test]
    fn checks_count_every_transaction_since_the_load() {
        // The bank's audits and its sum see every cent; its totals are those of all lanes, in all
        // phases.
        let bank = Bank::new(50).expect("there are two accounts at least");
        let seen = spread(bank, &cluster(), &|_| ()).expect("it runs");
        assert!(seen.checks.iter().all(|check| check.ok), "{:?}", seen.checks);
        assert!(
            seen.retries_percent > 0.0 && !seen.aborts.is_empty(),
            "eight lanes on 50 accounts"
        );
    }

    /// The checks of the rows of a folder's tables.
    fn of_rows(stored: &Stored) -> Vec<CheckResult> {
        let seen = folder(stored, &cluster(), &|_| ()).expect("it runs");
        let is_of_rows = |check: &CheckResult| {
            check.name.starts_with("rows of ") || check.name.starts_with("tables without ")
        };
        seen.checks.into_iter().filter(is_of_rows).collect()
    }

    /// The rows are those of the load and of all calls after it; the first calls take no time.
    #[test]
    fn folders_have_the_rows_that_their_calls_leave() {
        for (name, count) in [("smallbank", 1), ("tatp", 2), ("tpcc", 3), ("ycsb", 1)] {
            let (_, stored) = small::read(name, 2, 1).expect("it is shipped");
            let checks = of_rows(&stored);
            assert_eq!(checks.len(), count, "{name}: {checks:?}");
            assert!(checks.iter().all(|check| check.ok), "{name}: {checks:?}");
        }
    }

    #[test]
    fn unexpected_row_counts_fail_the_check() {
        let (mut read, _) = small::read("tatp", 2, 1).expect("it is shipped");
        let insert = read.load.procedures.iter_mut().find(|of| of.procedure.starts_with("insert_"));
        insert.expect("there is one").rows = vec![("call_forwarding".to_owned(), 2)];
        let options = Options {
            units: None,
            wants_plans: false,
            linked: &[],
            design: None,
            isolation: Isolation::Snapshot,
            seed: 1,
        };
        let stored = Stored::of(&small::folder("tatp"), read, &options).expect("it fits");
        let failed: Vec<_> = of_rows(&stored).into_iter().filter(|check| !check.ok).collect();
        assert!(
            matches!(&failed[..], [one] if one.name == "rows of call_forwarding add up"),
            "{failed:?}"
        );
    }

    #[test]
    fn clusters_that_cannot_be_are_refused() {
        let one = Cluster { machines: 1, ..cluster() };
        let bank = Bank::new(50).expect("there are two accounts at least");
        let refused = spread(bank, &one, &|_| ()).expect_err("one machine is no cluster");
        assert!(refused.to_string().contains("2 to 50 machines"), "{refused}");
    }
}
