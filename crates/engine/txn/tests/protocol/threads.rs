//! Litmus tests with threads of this machine, on memory of this process and of two others. Each
//! anomaly has two to four threads that can run into it, round after round; each round is checked
//! as a whole, by the results of its transactions.

use crate::processes::Processes;
use crate::support::history::{Execution, cycle, shared_groups, violations};
use crate::support::program::{KEY_MAX, Program, Step, Tables, execute};
use crate::support::{STORAGES, index, table};
use fabric::{Env, LocalEnv, run_now};
use layout::{IndexKind, Storage};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard};
use txn::local::{OpenConfig, open};
use txn::{Database, Isolation, Lane, Outcome};

/// Time for which the threads of one litmus meet, per storage and isolation.
const DURATION_NS: u64 = 60_000_000;
/// If threads have not met by then, the machine runs one thread at a time.
const PATIENCE_NS: u64 = 20_000_000_000;
/// Number of transactions of a thread in one round.
const TRANSACTIONS: usize = 24;
/// Number of rounds between two collections of garbage by all threads.
const COLLECTION_ROUNDS: usize = 4;

/// One litmus at a time: with more threads than processors, transactions hardly ever meet.
static PROCESSORS: Mutex<()> = Mutex::new(());

/// The transactions of each thread, which it repeats in turn.
struct Litmus {
    name: &'static str,
    setup: Vec<Step>,
    sessions: Vec<Vec<Vec<Step>>>,
    index: Option<(IndexKind, bool)>,
}

impl Litmus {
    fn new(name: &'static str, keys: &[i32], sessions: Vec<Vec<Vec<Step>>>) -> Self {
        let setup = keys.iter().map(|&id| Step::Put(id)).collect();
        Self { name, setup, sessions, index: None }
    }

    fn holds(&self) {
        let _all_of_them = PROCESSORS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for storage in STORAGES {
            for isolation in [Isolation::Snapshot, Isolation::Serializable] {
                let config =
                    OpenConfig { servers: 2, server_bytes: 64 << 20, ..OpenConfig::default() };
                let database = open(&config).expect("memory");
                self.run(&database, "local", storage, isolation);
                let (_servers, database) = Processes::start();
                self.run(&database, "shm", storage, isolation);
            }
        }
    }

    /// Runs rounds for [`DURATION_NS`], and until transactions have met.
    fn run(
        &self,
        database: &Database<LocalEnv>,
        fabric: &str,
        storage: Storage,
        isolation: Isolation,
    ) {
        let indexes = self.index.map(|(kind, unique)| index(kind, unique)).into_iter().collect();
        let table = run_now(database.create_table(table("t", storage, indexes))).expect("created");
        let by_group = database.index("t", "by_group");
        let tables = Tables { table, by_group, storage, has_notes: false, keeps_leaves: false };
        let rounds = Rounds::new(self.sessions.len());
        std::thread::scope(|scope| {
            for (number, lists) in self.sessions.iter().enumerate() {
                let (database, rounds) = (database.for_thread(), &rounds);
                scope.spawn(move || work(&database, tables, rounds, number, lists, isolation));
            }
            let _ending = Ending(&rounds);
            let mut lane = run_now(database.lane()).expect("a lane");
            let start_ns = database.env().now_ns();
            let (mut round, mut met) = (0, 0);
            loop {
                let age_ns = database.env().now_ns() - start_ns;
                if age_ns > DURATION_NS && met > 0 {
                    break;
                }
                assert!(age_ns < PATIENCE_NS, "{}: the transactions never met", self.name);
                let mut history = vec![self.reset(&mut lane, tables)];
                round += 1;
                history.append(&mut rounds.play(round));
                history.push(run_now(execute(
                    &mut lane,
                    tables,
                    usize::MAX,
                    &Program::reading_all(),
                )));
                met += usize::from(have_met(&history));
                let context = format!(
                    "{} over {fabric}, {storage:?}, {isolation:?}, round {round}",
                    self.name
                );
                self.judge(&history, isolation, &context);
            }
        });
        let report = run_now(database.check()).expect("readable");
        assert_eq!((report.errors, report.locks), (Vec::new(), Vec::new()), "{}", self.name);
    }

    /// Resets the table, as a transaction of the history whose own reads do not count.
    fn reset(&self, lane: &mut Lane<LocalEnv>, tables: Tables) -> Execution {
        let kept: BTreeSet<i32> = self.setup.iter().filter_map(key_of).collect();
        let others = (0..=KEY_MAX).filter(|id| !kept.contains(id)).map(Step::Delete);
        let steps = others.chain(self.setup.iter().cloned()).collect();
        let program = Program::new(900, Isolation::Snapshot, steps);
        for _ in 0..1000 {
            let mut execution = run_now(execute(lane, tables, usize::MAX, &program));
            if execution.outcome == Outcome::Committed {
                execution.observations.clear();
                return execution;
            }
        }
        panic!("{}: no other thread runs, and the table cannot be reset", self.name);
    }

    fn judge(&self, history: &[Execution], isolation: Isolation, context: &str) {
        assert_eq!(violations(history), Vec::<String>::new(), "{context}");
        if isolation == Isolation::Serializable {
            assert_eq!(cycle(history), None, "{context}");
        }
        if self.index.is_some_and(|(_, unique)| unique) {
            assert_eq!(shared_groups(history), Vec::<String>::new(), "{context}");
        }
    }
}

fn key_of(step: &Step) -> Option<i32> {
    match step {
        Step::Put(id) | Step::PutInto(id, _) => Some(*id),
        _ => None,
    }
}

/// Whether threads ran at the same time: a commit of one came between two transactions of another.
fn have_met(history: &[Execution]) -> bool {
    let is_writer = |execution: &&Execution| {
        execution.outcome == Outcome::Committed && !execution.writes.is_empty()
    };
    // Whether a transaction of `session` exists that sees `version`, or that does not, as
    // `expected` says.
    let sees = |session: usize, version, expected: bool| {
        let own = history.iter().filter(|execution| execution.session == session);
        let mut snapshots = own.filter_map(|execution| execution.snapshot.as_ref());
        snapshots.any(|snapshot| snapshot.covers(version) == expected)
    };
    let sessions: BTreeSet<usize> = history.iter().map(|execution| execution.session).collect();
    history.iter().filter(is_writer).filter(|writer| writer.session != usize::MAX).any(|writer| {
        let others =
            sessions.iter().filter(|&&other| other != writer.session && other != usize::MAX);
        others
            .copied()
            .any(|other| sees(other, writer.version, true) && sees(other, writer.version, false))
    })
}

/// Lets threads begin each round at the same time.
struct Rounds {
    threads: usize,
    round: AtomicUsize,
    ready: AtomicUsize,
    done: AtomicUsize,
    is_over: AtomicBool,
    history: Mutex<Vec<Execution>>,
}

/// Ends the threads, even if a check fails.
struct Ending<'a>(&'a Rounds);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, SeqCst);
    }
}

impl Rounds {
    fn new(threads: usize) -> Self {
        Self {
            threads,
            round: AtomicUsize::new(0),
            ready: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            history: Mutex::default(),
        }
    }

    fn history(&self) -> MutexGuard<'_, Vec<Execution>> {
        self.history.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits, and yields the processor to other threads; returns false when all rounds are over.
    fn wait(&self, is_reached: impl Fn() -> bool) -> bool {
        while !is_reached() {
            if self.is_over.load(SeqCst) {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }

    /// Lets every thread play one round; returns its executions.
    fn play(&self, round: usize) -> Vec<Execution> {
        self.done.store(0, SeqCst);
        self.ready.store(0, SeqCst);
        self.round.store(round, SeqCst);
        let is_complete = self.wait(|| self.done.load(SeqCst) == self.threads);
        assert!(is_complete, "a thread has ended with a panic of its own");
        std::mem::take(&mut *self.history())
    }

    /// Waits for the round after `round` and for all its threads.
    fn join(&self, round: usize) -> bool {
        let has_begun = self.wait(|| self.round.load(SeqCst) > round);
        self.ready.fetch_add(1, SeqCst);
        has_begun && self.wait(|| self.ready.load(SeqCst) >= self.threads)
    }
}

/// The work of a thread: round after round, its transactions in turn.
fn work(
    database: &Database<LocalEnv>,
    tables: Tables,
    rounds: &Rounds,
    session: usize,
    lists: &[Vec<Step>],
    isolation: Isolation,
) {
    let _ending_with_a_panic = EndingWithAPanic(rounds);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut round = 0;
    while rounds.join(round) {
        round += 1;
        let mut seen = Vec::with_capacity(TRANSACTIONS);
        for turn in 0..TRANSACTIONS {
            let number = (session * 100 + turn) as i64;
            let program = Program::new(number, isolation, lists[turn % lists.len()].clone());
            seen.push(run_now(execute(&mut lane, tables, session, &program)));
            if turn % 4 == session % 4 {
                // Yield, so that threads that share a processor meet too.
                std::thread::yield_now();
            }
        }
        if round % COLLECTION_ROUNDS == 0 {
            run_now(lane.collect_garbage()).expect("local memory answers");
        }
        rounds.history().append(&mut seen);
        rounds.done.fetch_add(1, SeqCst);
    }
}

/// Ends the rounds if its thread panics, so that no other thread waits for it.
struct EndingWithAPanic<'a>(&'a Rounds);

impl Drop for EndingWithAPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_over.store(true, SeqCst);
        }
    }
}

#[test]
fn dirty_write() {
    let steps = |one, other| vec![vec![Step::Put(one), Step::Put(other)]];
    Litmus::new("dirty write", &[0, 1], vec![steps(0, 1), steps(1, 0)]).holds();
}

#[test]
fn dirty_read() {
    let writer = vec![vec![Step::Put(0), Step::Put(1), Step::Put(2)]];
    let reader = vec![vec![Step::Read(2), Step::Read(0), Step::Read(1)]];
    Litmus::new("dirty read", &[0, 1, 2], vec![writer.clone(), reader, writer]).holds();
}

#[test]
fn fuzzy_read() {
    let reader = vec![vec![Step::Read(0), Step::Read(1), Step::Scan(0, 2), Step::Scan(0, 2)]];
    let writer = vec![vec![Step::Put(0), Step::Delete(1)], vec![Step::Put(1)]];
    Litmus::new("fuzzy read", &[0, 1], vec![reader, writer]).holds();
}

#[test]
fn lost_update() {
    let writer = || vec![vec![Step::Put(0)]];
    Litmus::new("lost update", &[0], vec![writer(), writer()]).holds();
}

#[test]
fn read_skew() {
    let writer = vec![vec![Step::Put(0), Step::Put(1)]];
    let reader = vec![vec![Step::Read(0), Step::Read(1)], vec![Step::Read(1), Step::Read(0)]];
    Litmus::new("read skew", &[0, 1], vec![writer, reader]).holds();
}

#[test]
fn write_skew() {
    let steps = |id| vec![vec![Step::ReadMany(vec![0, 1]), Step::Put(id)]];
    Litmus::new("write skew", &[0, 1], vec![steps(0), steps(1)]).holds();
}

#[test]
fn long_fork() {
    let writer = |id| vec![vec![Step::Put(id)]];
    let reader = |one, other| vec![vec![Step::Read(one), Step::Read(other)]];
    let sessions = vec![writer(0), reader(0, 1), writer(1), reader(1, 0)];
    Litmus::new("long fork", &[0, 1], sessions).holds();
}

#[test]
fn read_only_anomaly() {
    let deposit = vec![vec![Step::Put(1)]];
    let withdraw = vec![vec![Step::ReadMany(vec![0, 1]), Step::Put(0)]];
    let report = vec![vec![Step::ReadMany(vec![0, 1])]];
    Litmus::new("read-only anomaly", &[0, 1], vec![deposit, withdraw, report]).holds();
}

#[test]
fn phantom_on_absent_key() {
    let steps = |read, put| vec![vec![Step::Read(read), Step::Put(put)], vec![Step::Delete(put)]];
    Litmus::new("phantom on absent key", &[0], vec![steps(5, 6), steps(6, 5)]).holds();
}

#[test]
fn phantom_on_range() {
    let steps = |put| vec![vec![Step::Scan(0, KEY_MAX), Step::Put(put)], vec![Step::Delete(put)]];
    let keys: Vec<i32> = (0..KEY_MAX).filter(|id| id % 3 != 2).collect();
    Litmus::new("phantom on range", &keys, vec![steps(2), steps(11)]).holds();
}

#[test]
fn phantom_on_lookup() {
    for kind in [IndexKind::Hash, IndexKind::Tree] {
        let steps = |looked, id, own| {
            vec![
                vec![Step::Lookup(looked), Step::PutInto(id, own)],
                vec![Step::PutInto(id, looked), Step::Lookup(own)],
            ]
        };
        let litmus =
            Litmus::new("phantom on lookup", &[0, 1], vec![steps(1, 0, 2), steps(2, 1, 1)]);
        Litmus { index: Some((kind, false)), ..litmus }.holds();
    }
}

#[test]
fn both_validate_then_both_insert() {
    let steps = || vec![vec![Step::Insert(5, 0)], vec![Step::Delete(5)]];
    Litmus::new("duplicate key", &[0], vec![steps(), steps()]).holds();
}

#[test]
fn duplicate_in_unique_index() {
    for kind in [IndexKind::Hash, IndexKind::Tree] {
        let steps = |id, own| vec![vec![Step::PutInto(id, 7)], vec![Step::PutInto(id, own)]];
        let setup = vec![Step::PutInto(0, 100), Step::PutInto(1, 101)];
        let litmus = Litmus::new("unique index", &[], vec![steps(0, 100), steps(1, 101)]);
        Litmus { index: Some((kind, true)), setup, ..litmus }.holds();
    }
}
