//! Sessions of ordinary threads: transactions as closures, retried on conflicts.
//!
//! Decision: docs/decisions/0298-a-transaction-remembers-the-abort-that-ended-it.md

use crate::cluster::{BorrowedSeat, Place, RemoteTransaction, rest_seat};
use crate::config::Retry;
use crate::database::{Db, Engine, Local};
use crate::durable::Durable;
use crate::error::TransactionError;
use crate::host::{Moment, sleep_ms};
use crate::transaction::{Running, Transaction};
use durability::Ticket;
use fabric::{Env, LocalEnv, run_now};
use layout::Key;
use txn::{Abort, Isolation, Lane, Outcome, TableId, UniqueViolation};

/// Runs transactions one after another. A session is `Send`; each thread needs its own.
///
/// ```
/// # use namdb::{Isolation, Record, RecordTable, Storage, record};
/// # record! {
/// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
/// #     index by_size(inhabitants);
/// # }
/// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
/// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
/// # let mut session = db.session();
/// # let mut txn = session.begin(Isolation::Serializable)?;
/// txn.insert(cities, &ghent)?;
/// txn.commit()?;
/// let read = session.transaction(Isolation::Snapshot, namdb::Retry::default(), |txn| {
///     txn.get(cities, "Ghent")
/// });
/// assert_eq!(read?, Some(ghent));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    db: Db,
    /// Kept after [`Session::begin`]. Over a network, the thread keeps it with its connections.
    lane: Option<Lane<LocalEnv>>,
    /// Of the last transaction over a network.
    remote_violation: Option<UniqueViolation>,
    /// Whether its transactions wait for the disk, if they do not say otherwise.
    is_synchronous: bool,
}

/// How an attempt at a transaction has ended.
enum End<T, E> {
    Committed(T),
    /// Without effect, for this reason, with the closure's error if it returned one.
    Aborted(Abort, Option<E>),
    /// Without effect, and no retry helps.
    Failed(E),
    Unknown,
}

impl Session {
    pub(crate) fn new(db: Db) -> Self {
        let is_synchronous = db.durable().is_some_and(Durable::is_synchronous);
        Self { db, lane: None, remote_violation: None, is_synchronous }
    }

    /// Chooses whether the transactions of this session wait for the disk, as
    /// [`Transaction::set_synchronous`] does for one. It begins as the configuration's
    /// [`Durability`](crate::Durability) says.
    ///
    /// ```
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// let mut session = db.session();
    /// session.set_synchronous(false); // The last commits may be lost in a crash.
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_synchronous(&mut self, is_synchronous: bool) {
        self.is_synchronous = is_synchronous;
    }

    /// The database that the session belongs to.
    ///
    /// ```
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// assert_eq!(db.session().db().config().lanes, db.config().lanes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Runs `body` as a transaction and commits it. On a conflict with another transaction it
    /// retries as `retry` allows, so `body` may run several times and should have no other side
    /// effects.
    ///
    /// `Ok` means committed. Any error of `body` rolls the transaction back, and is returned as it
    /// is: `body` may return an error type of the application that is built from a
    /// [`TransactionError`]. The errors of the commit itself arrive in the same type. Where the
    /// compiler cannot infer it, write the closure's return type, or end it with
    /// [`namdb::Ok(())`](crate::Ok).
    ///
    /// ```
    /// # use namdb::{Config, Isolation, KeyValueTable, Retry, Session, TransactionError};
    /// # let db = namdb::open(Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let accounts = KeyValueTable::create(&db, "account", 8, 1, Default::default())?;
    /// #[derive(PartialEq, Debug)]
    /// enum Refusal {
    ///     NoFunds { balance: u8 },
    ///     Database(TransactionError),
    /// }
    ///
    /// impl From<TransactionError> for Refusal {
    ///     fn from(error: TransactionError) -> Self {
    ///         Self::Database(error)
    ///     }
    /// }
    ///
    /// fn withdraw(session: &mut Session, accounts: KeyValueTable) -> Result<(), Refusal> {
    ///     session.transaction(Isolation::Serializable, Retry::default(), |txn| {
    ///         let balance = txn.read_value(accounts, b"ada")?.map_or(0, |value| value[0]);
    ///         let left = balance.checked_sub(10).ok_or(Refusal::NoFunds { balance })?;
    ///         txn.write_value(accounts, b"ada", &[left])?;
    ///         Ok(())
    ///     })
    /// }
    ///
    /// let refused = withdraw(&mut db.session(), accounts);
    /// assert_eq!(refused, Err(Refusal::NoFunds { balance: 0 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Aborts inside the closure
    /// If a statement has failed with an abort, the transaction is over, and `body` cannot save it:
    /// whatever it returns counts as this abort. So a conflict is retried even if `body` turns the
    /// statement's error into another one, or ignores it. When the retries are used up, the result
    /// is [`TransactionError::Aborted`] with the number of attempts.
    pub fn transaction<T, E: From<TransactionError>>(
        &mut self,
        isolation: Isolation,
        retry: Retry,
        mut body: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let (result, ticket) = self.transaction_with_ticket(isolation, retry, &mut body);
        match self.db.durable().map_or(Ok(()), |durable| durable.wait(ticket)) {
            Ok(()) => result,
            Err(lost) => Err(lost.into()),
        }
    }

    /// As [`Session::transaction`], without waiting for the disk. Returns the group of the redo log
    /// that makes the result certain.
    pub(crate) fn transaction_with_ticket<T, E: From<TransactionError>>(
        &mut self,
        isolation: Isolation,
        retry: Retry,
        body: &mut impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> (Result<T, E>, Ticket) {
        let mut attempts = 0;
        let mut ticket = Ticket::DURABLE;
        // The clock is read where the first attempt has failed, and not by those that succeed.
        let mut first_end = None;
        let end = loop {
            attempts += 1;
            let (reason, error) = match self.attempt(isolation, body, &mut ticket) {
                End::Aborted(reason, error) => (reason, error),
                decided => break decided,
            };
            let now = Moment::now();
            let elapsed_ns = now.since_ns(*first_end.get_or_insert(now));
            let may_help = reason.is_retryable() || self.may_come_back(reason);
            if !may_help || !retry.allows(attempts, elapsed_ns) {
                break End::Failed(self.given_up(reason, error, attempts));
            }
            self.back_off(retry.wait_bound_ns(attempts));
        };
        // Waiting for the disk costs no lane.
        self.release_lane(matches!(end, End::Unknown));
        let result = match end {
            End::Committed(value) => Ok(value),
            End::Unknown => Err(TransactionError::Unknown.into()),
            End::Failed(error) => Err(error),
            End::Aborted(..) => unreachable!("the loop retries or gives up"),
        };
        (result, ticket)
    }

    fn attempt<T, E: From<TransactionError>>(
        &mut self,
        isolation: Isolation,
        body: &mut impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
        ticket: &mut Ticket,
    ) -> End<T, E> {
        let mut transaction = match self.begin(isolation) {
            Ok(transaction) => transaction,
            Err(TransactionError::Aborted { reason, .. }) => return End::Aborted(reason, None),
            Err(error) => return End::Failed(error.into()),
        };
        match body(&mut transaction) {
            Ok(value) => {
                let finished = transaction.finish();
                *ticket = finished.ticket;
                drop(transaction);
                match finished.outcome {
                    Ok(Outcome::Committed) => End::Committed(value),
                    Ok(Outcome::Aborted(reason)) => self.aborted(reason),
                    Ok(Outcome::Unknown) => End::Unknown,
                    Err(refused) => End::Failed(refused.into()),
                }
            }
            Err(error) => {
                let ended_by = transaction.ended_by();
                // The error may tell what the transaction has read.
                *ticket = transaction.ticket_of_roll_back();
                transaction.abort();
                match ended_by {
                    Some(reason) => End::Aborted(reason, Some(error)),
                    None => End::Failed(error),
                }
            }
        }
    }

    /// Whether a replica takes the place of what was not reached.
    #[cold]
    fn may_come_back(&self, reason: Abort) -> bool {
        let place = self.db.engine().place();
        reason == Abort::Unreachable && place.is_some_and(Place::has_replicas)
    }

    /// The end of an attempt whose commit has aborted.
    fn aborted<T, E: From<TransactionError>>(&self, reason: Abort) -> End<T, E> {
        match self.last_unique_violation() {
            Some(violation) if reason == Abort::UniqueViolation => {
                End::Failed(TransactionError::UniqueViolation(Box::new(violation)).into())
            }
            _ => End::Aborted(reason, None),
        }
    }

    /// The error of a transaction that is not tried again. The closure's own error says more than
    /// the reason where a retry would not have helped, such as which memory is full.
    fn given_up<E: From<TransactionError>>(
        &self,
        reason: Abort,
        error: Option<E>,
        attempts: u32,
    ) -> E {
        if reason == Abort::Unreachable
            && let Some(place) = self.db.engine().place()
            && let Some(trouble) = place.trouble_after_unreachable()
        {
            return TransactionError::ClusterLost(trouble.to_owned()).into();
        }
        match error {
            Some(error) if !reason.is_retryable() => error,
            _ => TransactionError::Aborted { reason, attempts }.into(),
        }
    }

    fn back_off(&self, bound_ns: u64) {
        if bound_ns == 0 {
            return;
        }
        match self.db.engine() {
            Engine::Local(_) => {
                // An attempt has failed, so the session has its lane.
                let lane = self.lane.as_ref().expect("the session keeps its lane");
                run_now(lane.env().sleep_ns(lane.env().random() % bound_ns));
            }
            Engine::Remote(remote) => {
                // If the thread cannot connect, the next attempt says why.
                let Ok(seat) = BorrowedSeat::take(remote) else {
                    return sleep_ms(bound_ns.div_ceil(1_000_000));
                };
                let env = seat.database.env();
                seat.engine.block_on(env.sleep_ns(env.random() % bound_ns));
            }
        }
    }

    /// Begins a transaction that the caller commits or drops. Nothing is retried. The session keeps
    /// its lane until its next [`Session::transaction`], [`Session::rest`] or its end.
    ///
    /// ```
    /// # use namdb::{Config, Isolation, KeyValueTable};
    /// # let db = namdb::open(Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let settings = KeyValueTable::create(&db, "setting", 8, 8, Default::default())?;
    /// let mut session = db.session();
    /// let mut txn = session.begin(Isolation::Snapshot)?;
    /// txn.write_value(settings, b"colour", b"blue")?;
    /// txn.commit()?;
    /// session.rest();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin(&mut self, isolation: Isolation) -> Result<Transaction<'_>, TransactionError> {
        let engine = self.db.engine();
        if let Some(trouble) = engine.place().and_then(Place::trouble) {
            return Err(TransactionError::ClusterLost(trouble.to_owned()));
        }
        let running = match engine {
            Engine::Local(local) => {
                let lane = lane(&mut self.lane, local)?;
                let begun = run_now(lane.begin(isolation));
                Running::Local(
                    begun.map_err(|reason| TransactionError::Aborted { reason, attempts: 1 })?,
                )
            }
            Engine::Remote(remote) => {
                let violation = &mut self.remote_violation;
                let begun = RemoteTransaction::begin(remote, isolation, violation)?;
                Running::Remote(Box::new(begun))
            }
        };
        let transaction = Transaction::new(running, &self.db);
        Ok(match self.db.durable().filter(|durable| durable.is_logged()) {
            Some(durable) => transaction.logged(durable, self.is_synchronous),
            None => transaction,
        })
    }

    /// Returns the lane that the session has kept since [`Session::begin`]. Sessions that keep all
    /// lanes make every other session wait.
    /// [`Session::begin`] has an example.
    pub fn rest(&mut self) {
        self.release();
    }

    /// Hints that the next transaction reads these rows, for transactions with few reads: the
    /// processor fetches them into its caches while the transaction takes its snapshot. As after
    /// [`Session::begin`], the session then keeps its lane.
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, Storage, record};
    /// # record! {
    /// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
    /// #     index by_size(inhabitants);
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
    /// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
    /// # let mut session = db.session();
    /// session.prefetch(&[(cities.id(), ghent.own_key()?)]);
    /// let read = session.begin(Isolation::Snapshot)?.get(cities, "Ghent")?;
    /// assert_eq!(read, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefetch(&mut self, reads: &[(TableId, Key)]) {
        // If there is no lane, the transaction reports it.
        if let Engine::Local(local) = self.db.engine()
            && let Ok(lane) = lane(&mut self.lane, local)
        {
            lane.prefetch(reads);
        }
    }

    /// The key of the last [`Abort::UniqueViolation`] of a commit after [`Session::begin`].
    ///
    /// ```
    /// # use namdb::{Isolation, RecordTable, record};
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// record! {
    ///     struct Account in "account" { key { number: u64 } iban: String[34], }
    ///     unique by_iban(iban);
    /// }
    ///
    /// let accounts = RecordTable::<Account>::create(&db, Default::default())?;
    /// let mut session = db.session();
    /// let mut txn = session.begin(Isolation::Serializable)?;
    /// for number in [1, 2] {
    ///     txn.insert(accounts, &Account { number, iban: "BE68".to_owned() })?;
    /// }
    /// assert!(txn.commit().is_err());
    /// assert_eq!(session.last_unique_violation().expect("of the commit").key, "iban = \"BE68\"");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn last_unique_violation(&self) -> Option<UniqueViolation> {
        let violation = match &self.lane {
            Some(lane) => lane.last_unique_violation(),
            None => self.remote_violation.as_ref(),
        };
        violation.map(|violation| self.db.key_names().name(violation.clone()))
    }

    /// Returns the lane. A lane whose last outcome is unknown runs no further transaction and is
    /// dropped.
    fn release_lane(&mut self, is_undecided: bool) {
        let lane = self.lane.take().filter(|_| !is_undecided);
        if let (Engine::Local(local), Some(lane)) = (self.db.engine(), lane) {
            local.give_back_lane(lane);
        }
    }

    /// As [`Session::release_lane`], and over a network the thread gives its slot back if this
    /// process has many.
    fn release(&mut self) {
        self.release_lane(false);
        if let Engine::Remote(remote) = self.db.engine() {
            rest_seat(remote);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.release();
    }
}

/// The lane of a session, which borrows one if it has none.
fn lane<'session>(
    kept: &'session mut Option<Lane<LocalEnv>>,
    local: &Local,
) -> Result<&'session mut Lane<LocalEnv>, TransactionError> {
    let lane = match kept.take() {
        Some(lane) => lane,
        None => local.borrow_lane()?,
    };
    Ok(kept.insert(lane))
}

const _: () = {
    const fn is_send<T: Send>() {}
    const fn is_sync<T: Sync>() {}
    is_send::<Session>();
    is_send::<Db>();
    is_sync::<Db>();
    is_send::<Abort>();
};
