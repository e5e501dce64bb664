//! Litmus tests: for each anomaly, a few tiny transactions that can run into it, in thousands of
//! hostile worlds, and by the lanes of an engine thread over TCP. The tests assert that forbidden
//! anomalies never appear, and that anomalies which snapshot isolation allows do appear.

use crate::support::cluster::Cluster;
use crate::support::history::{Execution, Observation, cycle, shared_groups, violations};
use crate::support::network::Network;
use crate::support::program::{KEY_MAX, Program, Step};
use crate::support::{STORAGES, index, table};
use layout::{IndexKind, Storage};
use sim::{Carrier, SimConfig};
use txn::{DatabaseConfig, Isolation, Outcome, TableSpec};

/// Number of seeds per storage, isolation and kind of memory.
const SEEDS: u64 = 100;
/// Number of runs over TCP per storage and isolation; up to the second number, until the expected
/// event happens.
const NETWORK_RUNS: std::ops::Range<u64> = 10..1000;
/// A round trip over TCP takes this number of times as long as one of the simulated worlds.
const NETWORK_SLOWNESS: u64 = 20;
/// Lanes of a thread begin in turns. Over TCP each first waits for a random time up to this, so
/// that any may begin first.
const NETWORK_HEAD_START_NS: u64 = 1_000_000;

/// A few concurrent transactions.
struct Litmus {
    name: &'static str,
    setup: Vec<Step>,
    sessions: Vec<Vec<Step>>,
    retries: u32,
    index: Option<(IndexKind, bool)>,
}

impl Litmus {
    fn new(name: &'static str, keys: &[i32], sessions: Vec<Vec<Step>>) -> Self {
        let setup = keys.iter().map(|&id| Step::Put(id)).collect();
        Self { name, setup, sessions, retries: 0, index: None }
    }

    fn run(
        &self,
        carrier: Carrier,
        seed: u64,
        storage: Storage,
        isolation: Isolation,
    ) -> Vec<Execution> {
        let name = format!("{}, {storage:?}, {isolation:?}, verbs by {carrier:?}", self.name);
        let config = SimConfig::hostile(seed).named(name).carried_by(carrier);
        let servers = 1 + (seed % 2) as u16;
        let cluster = Cluster::new(config, servers, DatabaseConfig::default());
        let tables = cluster.create(self.table("t", storage));
        let (setup, sessions) = (self.setup(), self.programs(isolation, 1));
        let history = cluster.run(tables, &setup, &sessions);
        self.judge(&history, isolation, &cluster.world.identity());
        cluster.check();
        history
    }

    fn table(&self, name: &str, storage: Storage) -> TableSpec {
        let indexes = self.index.map(|(kind, unique)| index(kind, unique)).into_iter().collect();
        table(name, storage, indexes)
    }

    fn setup(&self) -> Program {
        Program { retries: 100, ..Program::new(900, Isolation::Snapshot, self.setup.clone()) }
    }

    /// The programs of each session, with pauses `slowness` times as long.
    fn programs(&self, isolation: Isolation, slowness: u64) -> Vec<Vec<Program>> {
        let program = |(number, steps): (usize, &Vec<Step>)| {
            let slow = |step: &Step| match step {
                Step::Pause(up_to_ns) => Step::Pause(up_to_ns * slowness),
                other => other.clone(),
            };
            let steps: Vec<Step> = steps.iter().map(slow).collect();
            // A pause at the start is a transaction of its own, so that the session begins later.
            let late = usize::from(matches!(steps.first(), Some(Step::Pause(_))));
            let (pause, steps) = steps.split_at(late);
            let waiting = Program::new(700 + number as i64, isolation, pause.to_vec());
            let retries = self.retries;
            let program =
                Program { retries, ..Program::new(number as i64, isolation, steps.to_vec()) };
            if late > 0 { vec![waiting, program] } else { vec![program] }
        };
        self.sessions.iter().enumerate().map(program).collect()
    }

    fn judge(&self, history: &[Execution], isolation: Isolation, identity: &str) {
        assert_eq!(violations(history), Vec::<String>::new(), "{identity}");
        if isolation == Isolation::Serializable {
            assert_eq!(cycle(history), None, "{identity}");
        }
        if self.index.is_some_and(|(_, unique)| unique) {
            assert_eq!(shared_groups(history), Vec::<String>::new(), "{identity}");
        }
    }

    /// Runs over TCP; returns the number of runs in which `happened` was true. With `must_happen`,
    /// runs until there is one.
    fn count_over_tcp(
        &self,
        isolation: Isolation,
        must_happen: bool,
        happened: impl Fn(&[Execution]) -> bool,
    ) -> usize {
        let mut count = 0;
        for storage in STORAGES {
            let network = Network::new();
            let head_start = Step::Pause(NETWORK_HEAD_START_NS);
            let head_start = Program::new(901, Isolation::Snapshot, vec![head_start]);
            let mut programs = self.programs(isolation, NETWORK_SLOWNESS);
            programs.iter_mut().for_each(|session| session.insert(0, head_start.clone()));
            for run in 0..NETWORK_RUNS.end {
                if run >= NETWORK_RUNS.start && (count > 0 || !must_happen) {
                    break;
                }
                let tables = network.create(self.table(&format!("t{run}"), storage));
                // On one thread the lanes meet at awaits; with two threads they can meet anywhere.
                let is_of_two = run % 2 == 1;
                let history = network.run(tables, &self.setup(), &programs, is_of_two);
                let name = self.name;
                let identity = format!("{name} over TCP, {storage:?}, {isolation:?}, run {run}");
                self.judge(&history, isolation, &identity);
                count += usize::from(happened(&history));
            }
            network.check();
        }
        count
    }

    /// Runs all seeds in all worlds; returns the number of runs in which `happened` was true.
    fn count(&self, isolation: Isolation, happened: impl Fn(&[Execution]) -> bool) -> usize {
        let mut count = 0;
        for storage in STORAGES {
            for seed in 0..SEEDS {
                for carrier in [Carrier::Card, Carrier::Caller, Carrier::Server] {
                    let history = self.run(carrier, seed, storage, isolation);
                    count += usize::from(happened(&history));
                }
            }
        }
        count
    }

    /// Checks both isolations. `happened` must be true in some run of each, else the test tests
    /// nothing.
    fn holds(&self, happened: impl Fn(&[Execution]) -> bool) {
        for isolation in [Isolation::Snapshot, Isolation::Serializable] {
            let count = self.count(isolation, &happened);
            assert!(count > 0, "{}, {isolation:?}: the transactions never met", self.name);
            let count = self.count_over_tcp(isolation, true, &happened);
            assert!(count > 0, "{}, {isolation:?}: they never met over TCP", self.name);
        }
    }

    /// Checks an anomaly that snapshot isolation allows: it appears there, but never among
    /// serializable transactions.
    fn appears_only_under_snapshot(&self, anomaly: impl Fn(&[Execution]) -> bool) {
        let count = self.count(Isolation::Snapshot, &anomaly);
        assert!(count > 0, "{}: the test cannot see the anomaly", self.name);
        assert_eq!(self.count(Isolation::Serializable, &anomaly), 0, "{}", self.name);
        let count = self.count_over_tcp(Isolation::Snapshot, true, &anomaly);
        assert!(count > 0, "{}: the test cannot see the anomaly over TCP", self.name);
        let count = self.count_over_tcp(Isolation::Serializable, false, &anomaly);
        assert_eq!(count, 0, "{} over TCP", self.name);
    }
}

fn of(history: &[Execution], program: i64) -> Option<&Execution> {
    history.iter().rev().find(|execution| execution.number == program)
}

fn committed(history: &[Execution], program: i64) -> bool {
    of(history, program).is_some_and(|execution| execution.outcome == Outcome::Committed)
}

fn aborted(history: &[Execution], program: i64) -> bool {
    let is_aborted = |execution: &Execution| matches!(execution.outcome, Outcome::Aborted(_));
    history.iter().any(|execution| execution.number == program && is_aborted(execution))
}

/// The program whose value `program` saw in row `id`, by its last read; `None` if the row was
/// absent.
fn saw(history: &[Execution], program: i64, id: i32) -> Option<i64> {
    let seen = of(history, program)?.observations.iter().rev().find_map(|seen| match seen {
        Observation::Row(read, cell) if *read == id => Some(*cell),
        _ => None,
    });
    seen.flatten().map(|cell| cell.value / 10_000)
}

/// The program whose value row `id` has at the end.
fn finally(history: &[Execution], id: i32) -> Option<i64> {
    saw(history, 990, id)
}

const SETUP: Option<i64> = Some(900);

#[test]
fn dirty_write() {
    let steps = |one, other| vec![Step::Put(one), Step::Pause(2000), Step::Put(other)];
    let litmus = Litmus::new("dirty write", &[0, 1], vec![steps(0, 1), steps(1, 0)]);
    litmus.holds(|history| {
        assert_eq!(finally(history, 0), finally(history, 1));
        aborted(history, 0) != aborted(history, 1)
    });
}

#[test]
fn dirty_read() {
    let writer = vec![Step::Put(0), Step::Put(1), Step::Put(2)];
    let reader = || vec![Step::Read(2), Step::Read(0)];
    let litmus =
        Litmus::new("dirty read", &[0, 1, 2], vec![writer.clone(), writer, reader(), reader()]);
    litmus.holds(|history| {
        for reader in [2, 3] {
            for writer in [0, 1] {
                let seen = saw(history, reader, 0) == Some(writer);
                assert!(!seen || committed(history, writer));
            }
        }
        aborted(history, 0) || aborted(history, 1)
    });
}

#[test]
fn fuzzy_read() {
    let reader = vec![Step::Read(0), Step::Pause(5000), Step::Scan(0, 2)];
    let litmus =
        Litmus::new("fuzzy read", &[0, 1], vec![reader, vec![Step::Put(0)], vec![Step::Delete(1)]]);
    litmus.holds(|history| {
        committed(history, 0) && saw(history, 0, 0) == SETUP && committed(history, 1)
    });
}

#[test]
fn lost_update() {
    let mut litmus = Litmus::new("lost update", &[0], vec![vec![Step::Put(0)]; 3]);
    litmus.retries = 1000;
    litmus.holds(|history| {
        assert!((0..3).all(|program| committed(history, program)));
        (0..3).any(|program| aborted(history, program))
    });
}

#[test]
fn read_skew() {
    let writer = vec![Step::Put(0), Step::Put(1)];
    let reader = || vec![Step::Read(0), Step::Pause(3000), Step::Read(1)];
    let litmus = Litmus::new("read skew", &[0, 1], vec![writer, reader(), reader()]);
    litmus.holds(|history| {
        for reader in [1, 2] {
            let both =
                of(history, reader).is_some_and(|execution| execution.observations.len() == 2);
            assert!(!both || saw(history, reader, 0) == saw(history, reader, 1));
        }
        saw(history, 1, 1) == Some(0) || saw(history, 2, 1) == Some(0)
    });
}

#[test]
fn write_skew() {
    let steps = |id| vec![Step::ReadMany(vec![0, 1]), Step::Put(id)];
    let litmus = Litmus::new("write skew", &[0, 1], vec![steps(0), steps(1)]);
    litmus.appears_only_under_snapshot(|history| {
        let skewed = committed(history, 0) && committed(history, 1) && saw(history, 0, 1) == SETUP;
        skewed && saw(history, 1, 0) == SETUP
    });
}

#[test]
fn long_fork() {
    let late = Step::Pause(6000);
    let forward = vec![late.clone(), Step::Read(0), Step::Read(1)];
    let readers = [forward, vec![late, Step::Read(1), Step::Read(0)]];
    let writers = [vec![Step::Put(0)], vec![Step::Put(1)]];
    let litmus = Litmus::new("long fork", &[0, 1], [writers, readers].concat());
    litmus.holds(|history| {
        let view =
            |reader| (saw(history, reader, 0) == Some(0), saw(history, reader, 1) == Some(1));
        let complete = [2, 3]
            .iter()
            .all(|&reader| of(history, reader).is_some_and(|e| e.observations.len() == 2));
        assert!(!complete || (view(2), view(3)) != ((true, false), (false, true)));
        assert!(!complete || (view(2), view(3)) != ((false, true), (true, false)));
        view(2) != view(3)
    });
}

#[test]
fn read_only_anomaly() {
    let deposit = vec![Step::Put(1)];
    let withdraw = vec![Step::ReadMany(vec![0, 1]), Step::Pause(8000), Step::Put(0)];
    // The reports begin late enough to meet the deposit.
    let report = || vec![Step::Pause(6000), Step::ReadMany(vec![0, 1])];
    let sessions = vec![deposit, withdraw, report(), report(), report()];
    let litmus = Litmus::new("read-only anomaly", &[0, 1], sessions);
    litmus.appears_only_under_snapshot(|history| {
        let writers =
            history.iter().filter(|execution| ![2, 3, 4, 990].contains(&execution.number));
        let writers: Vec<Execution> = writers.cloned().collect();
        cycle(history).is_some() && cycle(&writers).is_none()
    });
}

#[test]
fn phantom_on_absent_key() {
    let steps = |read, insert| vec![Step::Read(read), Step::Insert(insert, 0)];
    let litmus = Litmus::new("phantom on absent key", &[0], vec![steps(5, 6), steps(6, 5)]);
    litmus.appears_only_under_snapshot(|history| {
        let both = committed(history, 0) && committed(history, 1);
        both && saw(history, 0, 5).is_none() && saw(history, 1, 6).is_none()
    });
}

/// Neither transaction saw the other, and both committed.
fn passed_each_other(history: &[Execution]) -> bool {
    let covers = |one: i64, other: i64| {
        let (Some(one), Some(other)) = (of(history, one), of(history, other)) else { return true };
        one.snapshot.as_ref().is_none_or(|snapshot| snapshot.covers(other.version))
    };
    committed(history, 0) && committed(history, 1) && !covers(0, 1) && !covers(1, 0)
}

#[test]
fn phantom_on_range() {
    let steps = |insert| vec![Step::Scan(0, KEY_MAX), Step::Insert(insert, 0)];
    // Enough rows that the range spans leaves and buckets.
    let keys: Vec<i32> = (0..KEY_MAX).filter(|id| id % 3 != 2).collect();
    let litmus = Litmus::new("phantom on range", &keys, vec![steps(2), steps(11)]);
    litmus.appears_only_under_snapshot(passed_each_other);
}

#[test]
fn phantom_on_lookup() {
    for kind in [IndexKind::Hash, IndexKind::Tree] {
        let one = vec![Step::Lookup(1), Step::PutInto(0, 2)];
        let other = vec![Step::Lookup(2), Step::PutInto(1, 1)];
        let index = Some((kind, false));
        let litmus =
            Litmus { index, ..Litmus::new("phantom on lookup", &[0, 1], vec![one, other]) };
        litmus.appears_only_under_snapshot(passed_each_other);
    }
}

#[test]
fn phantom_on_deleted_row() {
    let steps = |read, delete| vec![Step::Read(read), Step::Delete(delete)];
    let litmus = Litmus::new("phantom on deleted row", &[0, 1], vec![steps(0, 1), steps(1, 0)]);
    litmus.appears_only_under_snapshot(passed_each_other);
}

#[test]
fn duplicate_key() {
    let steps = || vec![Step::Insert(5, 0)];
    let litmus = Litmus::new("duplicate key", &[0], vec![steps(), steps(), steps()]);
    litmus.holds(|history| {
        let winner = finally(history, 5).expect("one of them wins");
        assert!(committed(history, winner));
        (0..3).any(|program| aborted(history, program))
    });
}

#[test]
fn duplicate_key_on_a_tombstone() {
    let late = |value| vec![Step::Pause(60_000), Step::Insert(5, value)];
    let sessions = vec![vec![Step::Delete(5)], late(0), late(1)];
    let litmus = Litmus { retries: 3, ..Litmus::new("tombstone", &[5], sessions) };
    litmus.holds(|history| finally(history, 5).is_some_and(|program| program != 900));
}

#[test]
fn duplicate_in_unique_index() {
    for kind in [IndexKind::Hash, IndexKind::Tree] {
        let inserts = [vec![Step::Insert(5, 7)], vec![Step::Insert(6, 7)]];
        let moves = [vec![Step::PutInto(0, 7)], vec![Step::PutInto(1, 7)]];
        let index = Some((kind, true));
        let setup = vec![Step::PutInto(0, 100), Step::PutInto(1, 101)];
        let sessions = [inserts, moves].concat();
        let litmus = Litmus { index, setup, ..Litmus::new("unique index", &[], sessions) };
        litmus.holds(|history| {
            let won = (0..4).filter(|&program| committed(history, program)).count();
            assert!(won <= 1);
            (0..4).any(|program| aborted(history, program))
        });
    }
}

#[test]
fn a_unique_key_changes_hands() {
    for kind in [IndexKind::Hash, IndexKind::Tree] {
        let leave = vec![Step::PutInto(0, 50)];
        let take = |id| vec![Step::Put(id), Step::PutInto(id, 100)];
        let give = vec![Step::Delete(0), Step::Insert(6, 100)];
        let setup = vec![Step::PutInto(0, 100), Step::PutInto(1, 101), Step::PutInto(2, 102)];
        let sessions = vec![leave, take(1), take(2), give];
        let litmus = Litmus::new("unique key", &[], sessions);
        let litmus = Litmus { index: Some((kind, true)), setup, retries: 2, ..litmus };
        litmus.holds(|history| {
            committed(history, 1) || committed(history, 2) || committed(history, 3)
        });
    }
}
