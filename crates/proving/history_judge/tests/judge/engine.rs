//! A tiny database, serial, with snapshots, or broken in a chosen way, that records its clients'
//! operations.

use history_judge::history::{Ended, Event, HistoryBuilder, Step};
use history_judge::{History, KeyId, Outcome};

/// The fault of the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    None,
    /// The second committer wins as well: updates are lost.
    NoFirstCommitter,
    /// Reads return the latest committed data, not that of the snapshot.
    ReadsTheNewest,
    /// Some writes of aborted transactions remain.
    KeepsAborted,
    /// Snapshots are stale, even for their own session.
    OldSnapshots,
}

/// The concurrency control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isolation {
    Serial,
    Snapshot,
    /// Snapshots, with validation at commit that everything read is still current.
    Validated,
}

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub isolation: Isolation,
    pub fault: Fault,
    pub is_lists: bool,
    pub transactions: usize,
    pub sessions: usize,
    pub keys: u64,
    pub operations: u64,
    /// In percent: transactions that abort on their own, and transactions whose client does not
    /// learn the outcome.
    pub abort_percent: u64,
    pub unknown_percent: u64,
    /// The percentage of writes to registers without a read before.
    pub blind_percent: u64,
    pub exports_versions: bool,
    pub seed: u64,
}

impl Plan {
    pub fn new(isolation: Isolation, fault: Fault, seed: u64) -> Self {
        Self {
            isolation,
            fault,
            is_lists: true,
            transactions: 60,
            sessions: 4,
            keys: 4,
            operations: 4,
            abort_percent: 10,
            unknown_percent: 5,
            blind_percent: 30,
            exports_versions: false,
            seed,
        }
    }
}

/// One version of a key: the commit that made it, and the value it added.
#[derive(Clone, Copy)]
struct Made {
    commit: u64,
    value: i64,
}

enum Does {
    Read,
    Write(i64),
}

struct Running {
    invoked: Event,
    snapshot: u64,
    todo: Vec<(usize, Does)>,
    done: Vec<(usize, Seen)>,
}

enum Seen {
    Wrote(i64),
    Read(Vec<i64>),
}

/// Runs transactions of several sessions, one operation of one of them at a time.
pub fn run(plan: &Plan) -> History {
    let mut engine = Engine {
        plan: *plan,
        random: plan.seed.wrapping_mul(2).wrapping_add(1),
        versions: vec![Vec::new(); plan.keys as usize],
        commit: 0,
        next_value: 1,
        clock: 0,
        builder: HistoryBuilder::new(),
        keys: Vec::new(),
    };
    engine.keys = (0..plan.keys).map(|key| engine.builder.integer_key(key as i64)).collect();
    let mut running: Vec<Option<Running>> = (0..plan.sessions).map(|_| None).collect();
    let mut begun = 0;
    let mut names: Vec<i64> = (0..plan.sessions as i64).collect();
    while begun < plan.transactions || running.iter().any(Option::is_some) {
        let mut session = engine.below(plan.sessions as u64) as usize;
        if plan.isolation == Isolation::Serial {
            // Every transaction that has begun runs to its end.
            session = running.iter().position(Option::is_some).unwrap_or(session);
        }
        match &mut running[session] {
            None if begun < plan.transactions => {
                begun += 1;
                running[session] = Some(engine.begin());
            }
            None => {}
            Some(transaction) => match transaction.todo.pop() {
                Some((key, does)) => engine.step(transaction, key, does),
                None => {
                    let transaction = running[session].take().expect("it runs");
                    if engine.end(transaction, names[session]) {
                        // A client that does not learn its transaction's outcome leaves.
                        names[session] += plan.sessions as i64;
                    }
                }
            },
        }
    }
    engine.builder.finish()
}

struct Engine {
    plan: Plan,
    random: u64,
    versions: Vec<Vec<Made>>,
    commit: u64,
    next_value: i64,
    clock: i64,
    builder: HistoryBuilder,
    keys: Vec<KeyId>,
}

impl Engine {
    fn below(&mut self, bound: u64) -> u64 {
        // splitmix64
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn event(&mut self) -> Event {
        self.clock += 1000;
        self.builder.event(Some(self.clock))
    }

    fn begin(&mut self) -> Running {
        let invoked = self.event();
        let mut todo = Vec::new();
        for _ in 0..1 + self.below(self.plan.operations) {
            let key = self.below(self.plan.keys) as usize;
            if self.percent(50) {
                todo.push((key, Does::Read));
            } else {
                // Values are not in the order of their writes.
                todo.push((key, Does::Write(self.next_value * 7919 % 10_007)));
                self.next_value += 1;
                let blind_percent = self.plan.blind_percent;
                if !self.percent(blind_percent) {
                    // Operations are taken from the end: the read comes first.
                    todo.push((key, Does::Read));
                }
            }
        }
        let mut snapshot = self.commit;
        if self.plan.fault == Fault::OldSnapshots {
            let age = self.below(6);
            snapshot = snapshot.saturating_sub(age);
        }
        Running { invoked, snapshot, todo, done: Vec::new() }
    }

    fn step(&mut self, transaction: &mut Running, key: usize, does: Does) {
        let seen = match does {
            Does::Write(value) => Seen::Wrote(value),
            Does::Read => Seen::Read(self.read(transaction, key)),
        };
        transaction.done.push((key, seen));
    }

    /// All values up to the snapshot, and the transaction's own.
    fn read(&self, transaction: &Running, key: usize) -> Vec<i64> {
        let is_visible = |made: &&Made| {
            made.commit <= transaction.snapshot || self.plan.fault == Fault::ReadsTheNewest
        };
        let committed = self.versions[key].iter().filter(is_visible).map(|made| made.value);
        let own = transaction.done.iter().filter_map(|(other, seen)| match seen {
            Seen::Wrote(value) if *other == key => Some(*value),
            _ => None,
        });
        committed.chain(own).collect()
    }

    /// Ends it, and returns whether its client does not learn the outcome.
    fn end(&mut self, transaction: Running, process: i64) -> bool {
        let (abort_percent, unknown_percent) = (self.plan.abort_percent, self.plan.unknown_percent);
        let aborts = self.percent(abort_percent) || !self.may_commit(&transaction);
        let is_unknown = self.percent(unknown_percent);
        let keeps = self.plan.fault == Fault::KeepsAborted && self.percent(50);
        if !aborts || keeps {
            self.commit += 1;
            for (key, seen) in &transaction.done {
                if let Seen::Wrote(value) = seen {
                    self.versions[*key].push(Made { commit: self.commit, value: *value });
                }
            }
        }
        let outcome = match (is_unknown, aborts) {
            (true, _) => Outcome::Unknown,
            (false, true) => Outcome::Aborted,
            (false, false) => Outcome::Committed,
        };
        self.record(transaction, process, outcome);
        is_unknown
    }

    fn may_commit(&self, transaction: &Running) -> bool {
        let changed = |key: usize| {
            self.versions[key].last().is_some_and(|made| made.commit > transaction.snapshot)
        };
        transaction.done.iter().all(|(key, seen)| match (seen, self.plan.isolation) {
            (Seen::Wrote(_), _) => self.plan.fault == Fault::NoFirstCommitter || !changed(*key),
            (Seen::Read(_), Isolation::Validated) => !changed(*key),
            (Seen::Read(_), _) => true,
        })
    }

    fn record(&mut self, transaction: Running, process: i64, outcome: Outcome) {
        self.builder.begin(outcome);
        let number = self.plan.exports_versions.then_some(self.commit as i64);
        for (key, seen) in &transaction.done {
            let is_write = matches!(seen, Seen::Wrote(_));
            let version = number.filter(|_| is_write);
            let step = match seen {
                Seen::Wrote(value) if self.plan.is_lists => Step::Append(*value),
                Seen::Wrote(value) => Step::Write(*value),
                Seen::Read(list) if self.plan.is_lists => Step::ReadList(list),
                Seen::Read(list) => list.last().map_or(Step::ReadInitial, |&v| Step::ReadValue(v)),
            };
            self.builder.step(self.keys[*key], step, version).expect("one kind");
        }
        let completed = Some(self.event());
        let invoked = Some(transaction.invoked);
        self.builder.end(Ended { process: Some(process), invoked, completed, line: 0 });
    }
}
