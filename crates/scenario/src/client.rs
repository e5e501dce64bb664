//! The clients of a run: each a session that runs transactions one after another, and copes with all that
//! may become of them.
//!
//! A transaction that was aborted is over; one of unknown outcome costs the client its lane, and it takes
//! another. A client that is killed is started again by the run, if the scenario says so.

use crate::report::{Demand, Failure};
use crate::work::Play;
use fabric::{DynEnv, Env};
use sim::AsEndpoint;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use txn::{Abort, CatalogError, Database, Lane, TxnError};
use workload::driver::AbortCounts;
use workload::{Finished, Random, RunTotals, TransactionResult, Whereabouts, WorkloadError};

/// Stream of the clients' dice.
const CLIENT_STREAM: u32 = 310;
/// Tries to get a lane, or to learn of the tables, before a client gives up.
const TRIES_MAX: u32 = 200;
/// Pause between two of them, and between two looks of a client that waits for faults to stop.
const PAUSE_NS: u64 = 20_000;
/// Transactions that a client still runs when faults have stopped.
pub(crate) const LAST_TRANSACTIONS: u32 = 2;

/// How all clients of a run behave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    pub(crate) clients: u32,
    pub(crate) transactions: u32,
    pub(crate) think_ns: u64,
    pub(crate) patience_ns: Option<u64>,
    pub(crate) borrows_lanes: bool,
    /// Whoever has run all transactions stays until faults have stopped, and then runs a few more.
    pub(crate) stays_until_closing: bool,
    /// Nothing goes wrong but what contention causes.
    pub(crate) is_calm: bool,
    /// A memory server loses what it held.
    pub(crate) loses_memory: bool,
    pub(crate) seed: u64,
}

/// What is known of one client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Standing {
    pub(crate) begun: u32,
    /// A transaction was begun and has not come to its end.
    pub(crate) is_in_transaction: bool,
    /// Commits since faults have stopped.
    pub(crate) late_commits: u32,
    pub(crate) is_done: bool,
    /// How often its process was started.
    pub(crate) lives: u32,
}

/// What the clients of a run tell.
pub(crate) struct Desk {
    pub(crate) habits: Habits,
    pub(crate) standings: RefCell<Vec<Standing>>,
    pub(crate) totals: RefCell<RunTotals>,
    pub(crate) kinds: usize,
    pub(crate) failure: RefCell<Option<Failure>>,
    /// Transactions whose outcome nobody knows.
    pub(crate) unknown: Cell<u64>,
    /// Faults have stopped: what runs comes to its end, and a little more.
    pub(crate) is_closing: Cell<bool>,
}

impl Desk {
    pub(crate) fn new(habits: Habits, kinds: usize) -> Rc<Self> {
        let standings = vec![Standing::default(); habits.clients as usize];
        Rc::new(Self {
            habits,
            standings: RefCell::new(standings),
            totals: RefCell::new(RunTotals::new(kinds)),
            kinds,
            failure: RefCell::new(None),
            unknown: Cell::new(0),
            is_closing: Cell::new(false),
        })
    }

    /// Notes what was found first.
    pub(crate) fn fail(&self, failure: Failure) {
        self.failure.borrow_mut().get_or_insert(failure);
    }

    pub(crate) fn are_all_done(&self) -> bool {
        self.failure.borrow().is_some() || self.standings.borrow().iter().all(|one| one.is_done)
    }

    pub(crate) fn change(&self, client: u32, change: impl FnOnce(&mut Standing)) {
        change(&mut self.standings.borrow_mut()[client as usize]);
    }

    pub(crate) fn standing(&self, client: u32) -> Standing {
        self.standings.borrow()[client as usize]
    }

    /// A transaction of which not even the type is known may have been of any.
    pub(crate) fn count_unknown(&self) {
        self.unknown.set(self.unknown.get() + 1);
        let mut totals = self.totals.borrow_mut();
        for kind in 0..self.kinds {
            totals.add(&Finished {
                kind,
                result: TransactionResult::Unknown,
                retries: 0,
                skipped: 0,
                aborts: AbortCounts::default(),
                whereabouts: Whereabouts::default(),
                is_shipped: false,
            });
        }
    }
}

/// One client, in one life of its process.
pub(crate) struct Client<P> {
    pub(crate) number: u32,
    pub(crate) database: Database<DynEnv>,
    pub(crate) play: P,
    pub(crate) desk: Rc<Desk>,
}

/// How a transaction ended for its client.
enum Ended {
    /// It has an end.
    Well,
    /// Nobody knows, or the lane cannot be used any more.
    LaneLost,
    /// The client stops.
    Stop,
}

impl<P: Play<DynEnv>> Client<P> {
    /// Runs the transactions that are left.
    pub(crate) async fn live(self) {
        let Habits { clients, seed, .. } = self.desk.habits;
        let life = self.desk.standing(self.number).lives;
        let mut random =
            Random::stream(seed, CLIENT_STREAM, u64::from(self.number + life * clients));
        if let Some(terminal) = self.terminal(life).await {
            self.work(terminal, &mut random).await;
        }
        self.desk.change(self.number, |standing| standing.is_done = true);
    }

    /// The client's terminal, once its compute server knows of the tables.
    async fn terminal(&self, life: u32) -> Option<P::Terminal> {
        let Habits { clients, seed, .. } = self.desk.habits;
        let env = self.database.env().clone();
        for _ in 0..TRIES_MAX {
            let made = match self.database.refresh().await {
                Ok(_) => {
                    let number = self.number + life * clients;
                    self.play.terminal(&self.database, number, clients, seed)
                }
                Err(error) => Err(error.into()),
            };
            match made {
                Ok(terminal) => return Some(terminal),
                Err(error) if !self.is_excused(&error) => {
                    self.refuse(&error);
                    return None;
                }
                Err(_) => env.sleep_ns(PAUSE_NS).await,
            }
        }
        None
    }

    async fn work(&self, mut terminal: P::Terminal, random: &mut Random) {
        let habits = self.desk.habits;
        let env = self.database.env().clone();
        let mut lane = None;
        let mut last_left = LAST_TRANSACTIONS;
        loop {
            let is_closing = self.desk.is_closing.get();
            let has_run_all = self.desk.standing(self.number).begun >= habits.transactions;
            if !is_closing && has_run_all && habits.stays_until_closing {
                env.sleep_ns(PAUSE_NS).await;
                continue;
            }
            if (is_closing && last_left == 0) || (!is_closing && has_run_all) {
                return;
            }
            last_left -= u32::from(is_closing);
            env.sleep_ns(random.below(habits.think_ns + 1)).await;
            let mut held = match lane.take() {
                Some(lane) => lane,
                None => match self.lane().await {
                    Some(lane) => lane,
                    None => return,
                },
            };
            match self.transaction(&mut held, &mut terminal).await {
                Ended::Well if !habits.borrows_lanes => lane = Some(held),
                Ended::Well | Ended::LaneLost => drop(held),
                Ended::Stop => return,
            }
        }
    }

    /// A lane, as soon as there is one.
    async fn lane(&self) -> Option<Lane<DynEnv>> {
        let env = self.database.env().clone();
        for _ in 0..TRIES_MAX {
            match self.database.lane().await {
                Ok(lane) => return Some(lane),
                // Those of others come home, or that of this client's last transaction.
                Err(_) => env.sleep_ns(PAUSE_NS).await,
            }
        }
        None
    }

    /// Runs one transaction to its end, or as long as the client has patience.
    async fn transaction(&self, lane: &mut Lane<DynEnv>, terminal: &mut P::Terminal) -> Ended {
        let desk = &self.desk;
        desk.change(self.number, |standing| {
            standing.begun += 1;
            standing.is_in_transaction = true;
        });
        let env = self.database.env().clone();
        env.endpoint().note(format_args!(
            "client {}: transaction {}",
            self.number,
            desk.standing(self.number).begun
        ));
        let patience_ns = desk.habits.patience_ns.filter(|_| !desk.is_closing.get());
        let run = self.play.run_one(lane, terminal);
        let finished = match patience_ns {
            None => Some(run.await),
            Some(patience_ns) => until(&env, patience_ns, run).await,
        };
        desk.change(self.number, |standing| standing.is_in_transaction = false);
        env.endpoint().note(format_args!(
            "client {}: {}",
            self.number,
            told(&finished, &self.play)
        ));
        match finished {
            None => {
                desk.count_unknown();
                Ended::LaneLost
            }
            Some(Ok(finished)) => self.note(&finished),
            Some(Err(error)) if self.is_excused(&error) => Ended::LaneLost,
            Some(Err(error)) => {
                self.refuse(&error);
                Ended::Stop
            }
        }
    }

    fn note(&self, finished: &Finished) -> Ended {
        let desk = &self.desk;
        desk.totals.borrow_mut().add(finished);
        match finished.result {
            TransactionResult::Committed if desk.is_closing.get() => {
                desk.change(self.number, |standing| standing.late_commits += 1);
                Ended::Well
            }
            TransactionResult::Unknown => {
                desk.unknown.set(desk.unknown.get() + 1);
                if desk.habits.is_calm {
                    let sentence = "nothing went wrong, and a transaction's outcome is unknown";
                    desk.fail(Failure::new(Demand::Client, sentence));
                }
                Ended::LaneLost
            }
            TransactionResult::Aborted(Abort::Unreachable) => {
                if desk.habits.is_calm && desk.habits.patience_ns.is_none() {
                    let sentence = "nothing went wrong, and a memory server cannot be reached";
                    desk.fail(Failure::new(Demand::Client, sentence));
                }
                Ended::LaneLost
            }
            TransactionResult::Aborted(Abort::Damaged) if !desk.habits.loses_memory => {
                let sentence = "no memory was lost, and a client finds it damaged";
                desk.fail(Failure::new(Demand::Client, sentence));
                Ended::LaneLost
            }
            _ => Ended::Well,
        }
    }

    fn refuse(&self, error: &WorkloadError) {
        let sentence = format!("client {}: {error}", self.number);
        let sentence = match error {
            WorkloadError::Inconsistent(_) => error.to_string(),
            _ => sentence,
        };
        self.desk.fail(Failure::new(Demand::Client, sentence));
    }

    /// Whether an error is one that faults bring about: a server cannot be reached, or is full.
    fn is_excused(&self, error: &WorkloadError) -> bool {
        if self.desk.habits.is_calm {
            return false;
        }
        match error {
            WorkloadError::Aborted(Abort::Damaged)
            | WorkloadError::Statement(TxnError::Damaged(_))
            | WorkloadError::Catalog(CatalogError::MemoryDamaged(_)) => {
                self.desk.habits.loses_memory
            }
            WorkloadError::Aborted(_) | WorkloadError::Lane(_) | WorkloadError::NoTable(_) => true,
            WorkloadError::Catalog(error) => is_of_faults(error),
            WorkloadError::Statement(TxnError::OutOfMemory(_)) => true,
            WorkloadError::Statement(TxnError::Catalog(error)) => is_of_faults(error),
            _ => false,
        }
    }
}

/// How a transaction ended, for the trace.
fn told<E: Env, P: Play<E>>(
    finished: &Option<Result<Finished, WorkloadError>>,
    play: &P,
) -> String {
    match finished {
        None => "has no patience left".to_owned(),
        Some(Ok(Finished { kind, result, retries, .. })) => {
            format!(
                "{} ends as {result:?} after {retries} retries",
                play.transaction_types()[*kind]
            )
        }
        Some(Err(error)) => format!("meets an error: {error}"),
    }
}

fn is_of_faults(error: &CatalogError) -> bool {
    matches!(
        error,
        CatalogError::Unreachable(_) | CatalogError::OutOfMemory(_) | CatalogError::Unacknowledged
    )
}

/// Waits for `future`, but not longer than so many nanoseconds; then it is dropped.
pub(crate) async fn until<E: Env, T>(
    env: &E,
    patience_ns: u64,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    let mut end = pin!(env.sleep_ns(patience_ns));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => end.as_mut().poll(context).map(|()| None),
    })
    .await
}
