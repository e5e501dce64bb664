//! The clients of a run: each is a session that runs transactions one after another, and handles
//! every outcome.
//!
//! A transaction that was aborted has ended; one of unknown outcome makes its lane unusable, and
//! the client takes another lane. The run restarts a killed client if the scenario says so.

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

/// The random stream of the clients.
const CLIENT_STREAM: u32 = 310;
/// Attempts to get a lane, or to learn of the tables, before a client gives up.
const TRIES_MAX: u32 = 200;
/// The pause between two attempts, and between two checks of a client that waits for faults to
/// stop.
const PAUSE_NS: u64 = 20_000;
/// The number of transactions that a client still runs after faults have stopped.
pub(crate) const LAST_TRANSACTIONS: u32 = 2;

/// The behaviour of all clients of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    pub(crate) clients: u32,
    pub(crate) transactions: u32,
    pub(crate) think_ns: u64,
    pub(crate) patience_ns: Option<u64>,
    pub(crate) borrows_lanes: bool,
    /// A client that has run all transactions stays until faults have stopped, and then runs a few
    /// more.
    pub(crate) stays_until_closing: bool,
    /// Nothing disturbs clients except contention.
    pub(crate) is_calm: bool,
    /// Some memory server loses its memory.
    pub(crate) loses_memory: bool,
    pub(crate) seed: u64,
}

/// The state of one client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Standing {
    pub(crate) begun: u32,
    /// A transaction has begun and has not ended.
    pub(crate) is_in_transaction: bool,
    /// Number of commits since faults have stopped.
    pub(crate) late_commits: u32,
    pub(crate) is_done: bool,
    /// Number of starts of its process.
    pub(crate) lives: u32,
}

/// The results of a run's clients.
pub(crate) struct Desk {
    pub(crate) habits: Habits,
    pub(crate) standings: RefCell<Vec<Standing>>,
    pub(crate) totals: RefCell<RunTotals>,
    pub(crate) kinds: usize,
    pub(crate) failure: RefCell<Option<Failure>>,
    /// Number of transactions with unknown outcome.
    pub(crate) unknown: Cell<u64>,
    /// Faults have stopped: running transactions end, and a few more are run.
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

    /// Records a failure, if it is the first.
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

    /// A transaction of unknown type counts as possibly any type.
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

/// The end of a transaction for its client.
enum Ended {
    /// It ended, and the lane is usable.
    Well,
    /// The outcome is unknown, or the lane is unusable.
    LaneLost,
    Stop,
}

impl<P: Play<DynEnv>> Client<P> {
    /// Runs the remaining transactions.
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

    /// The client's terminal, once its compute server has learned of the tables.
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

    /// Waits for a lane.
    async fn lane(&self) -> Option<Lane<DynEnv>> {
        let env = self.database.env().clone();
        for _ in 0..TRIES_MAX {
            match self.database.lane().await {
                Ok(lane) => return Some(lane),
                // Another client will return a lane, or this client's last transaction will.
                Err(_) => env.sleep_ns(PAUSE_NS).await,
            }
        }
        None
    }

    /// Runs one transaction to its end, or until the client's patience ends.
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
            outcome_text(&finished, &self.play)
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

    /// Whether faults explain an error: a server is unreachable, or full.
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

/// The end of a transaction, for the trace.
fn outcome_text<E: Env, P: Play<E>>(
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
        Some(Err(error)) => format!("gets an error: {error}"),
    }
}

fn is_of_faults(error: &CatalogError) -> bool {
    matches!(
        error,
        CatalogError::Unreachable(_) | CatalogError::OutOfMemory(_) | CatalogError::Unacknowledged
    )
}

/// Waits for `future` for at most `patience_ns`, and then drops it.
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
