//! Sessions for async programs: a closure goes to an engine thread, a future comes back.
//!
//! A lane belongs to one thread at a time, so the engine's own futures cannot move between threads.
//! An async program hands over whole transactions instead and gets futures that any executor can
//! poll and move. This crate needs no executor.

use crate::config::Retry;
use crate::database::Db;
use crate::disk_wait::Watch;
use crate::durable::not_durable;
use crate::error::TransactionError;
use crate::host::{self, Moment, sleep_ms};
use crate::session::Session;
use crate::transaction::Transaction;
use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;
use txn::Isolation;

/// Maximal number of engine threads of a session. Each thread runs one job, and a database runs at
/// most 64 transactions at a time.
pub const THREAD_COUNT_MAX: usize = 1024;
/// How long the last clone of a session waits for its engine threads to end.
const END_WAIT_MS_MAX: u64 = 2_000;

/// Runs transactions on engine threads, which clones share. Dropping the last clone ends them once
/// they have run the waiting jobs, and waits up to 2 s for that.
///
/// ```
/// use namdb::{AsyncSession, Config, Isolation, KeyValueTable, Retry};
///
/// async fn count_up(session: AsyncSession, table: KeyValueTable) -> u8 {
///     let retry = Retry::attempts(100);
///     let counted = session.transaction(Isolation::Serializable, retry, move |txn| {
///         let count = txn.read_value(table, b"visits")?.map_or(0, |value| value[0]) + 1;
///         txn.write_value(table, b"visits", &[count])?;
///         namdb::Ok(count)
///     });
///     counted.await.expect("a hundred attempts suffice")
/// }
///
/// let db = namdb::open(Config { server_bytes: 64 << 20, ..Default::default() })?;
/// let table = KeyValueTable::create(&db, "counters", 16, 1, Default::default())?;
/// let session = AsyncSession::open(&db, 1)?;
/// // In place of your executor, tokio or another:
/// let visits = namdb::asynchronous::block_on(count_up(session, table));
/// assert_eq!(visits, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct AsyncSession {
    engine: Arc<Engine>,
}

/// The sending side of the queue. Dropping it closes the queue and ends the threads.
struct Engine {
    queue: Arc<Queue>,
    /// For the waits of its transactions, if the database has a redo log.
    watch: Option<Watch>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

type Job = Box<dyn FnOnce(&mut Session) + Send>;

impl AsyncSession {
    /// Starts this many engine threads, 1 to [`THREAD_COUNT_MAX`]; 0 counts as 1.
    /// [`AsyncSession`] has an example.
    pub fn open(db: &Db, threads: usize) -> std::io::Result<Self> {
        if threads > THREAD_COUNT_MAX {
            let sentence = format!(
                "an async session has at most {THREAD_COUNT_MAX} threads, {threads} were asked for"
            );
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, sentence));
        }
        let queue = Arc::new(Queue::default());
        // Built first: if a later thread cannot start, dropping it ends the threads already
        // started.
        let durable = db.durable().filter(|durable| durable.is_logged());
        let watch = durable.map(|durable| Watch::start(durable.acknowledgements())).transpose()?;
        let engine = Arc::new(Engine { queue: queue.clone(), watch, threads: Mutex::default() });
        for index in 0..threads.max(1) {
            let (db, queue) = (db.clone(), queue.clone());
            let name = format!("namdb-engine-{index}");
            let thread = host::spawn(&name, move || run_engine(&db, &queue))?;
            engine.threads.lock().expect("no holder of the threads panics").push(thread);
        }
        Ok(Self { engine })
    }

    /// Runs a transaction on an engine thread; see [`Session::transaction`]. It runs even if the
    /// future is dropped; then only the answer is lost.
    /// [`AsyncSession`] has an example.
    pub fn transaction<T, E, F>(
        &self,
        isolation: Isolation,
        retry: Retry,
        body: F,
    ) -> impl Future<Output = Result<T, E>> + Send + use<T, E, F>
    where
        T: Send + 'static,
        E: From<TransactionError> + Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    {
        let mut body = body;
        let watch = self.engine.watch.clone();
        let answer = self.run(move |session| {
            let (result, ticket) = session.transaction_with_ticket(isolation, retry, &mut body);
            // The engine thread goes on; the caller waits for the disk.
            let watch = watch.filter(|_| !ticket.is_durable());
            (result, watch.map(|watch| watch.durable(ticket)))
        });
        async move {
            let Some((result, durable)) = answer.await else {
                return Err(TransactionError::Panicked.into());
            };
            match durable {
                Some(durable) => match durable.await {
                    Ok(()) => result,
                    Err(reason) => Err(not_durable(reason).into()),
                },
                None => result,
            }
        }
    }

    /// Runs a closure with a session on an engine thread. The answer is `None` if the closure
    /// panicked.
    ///
    /// ```
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// let session = namdb::AsyncSession::open(&db, 1)?;
    /// let lanes = session.run(|session| session.db().config().lanes);
    /// assert_eq!(namdb::asynchronous::block_on(lanes), Some(db.config().lanes));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run<T, F>(&self, work: F) -> impl Future<Output = Option<T>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&mut Session) -> T + Send + 'static,
    {
        let shared = Arc::new(Mutex::new(AnswerState::Waiting(None)));
        let promise = Promise { shared: shared.clone() };
        let job: Job = Box::new(move |session| promise.keep(work(session)));
        let queue = &self.engine.queue;
        queue.state.lock().expect("no holder of the queue panics").jobs.push_back(job);
        queue.changed.notify_one();
        Answer { shared }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.queue.state.lock().expect("no holder of the queue panics").is_closed = true;
        self.queue.changed.notify_all();
        // If the program ended before its engine threads have left a cluster, their slots would be
        // lost. The last clone may be dropped by a job, on an engine thread.
        let threads = self.threads.get_mut().expect("no holder of the threads panics");
        let current = std::thread::current().id();
        threads.retain(|thread| thread.thread().id() != current);
        let start = Moment::now();
        while !threads.iter().all(JoinHandle::is_finished) && start.elapsed_ms() < END_WAIT_MS_MAX {
            sleep_ms(1);
        }
    }
}

/// Main loop of an engine thread: runs jobs until the queue is closed and empty.
fn run_engine(db: &Db, queue: &Queue) {
    let mut session = db.session();
    while let Some(job) = queue.next() {
        // Dropping the job's promise reports the panic to its caller; later jobs get a fresh
        // session.
        if catch_unwind(AssertUnwindSafe(|| job(&mut session))).is_err() {
            session = db.session();
        }
    }
}

impl Queue {
    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock().expect("no holder of the queue panics");
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).expect("no holder of the queue panics");
        }
    }
}

/// The value that a promise leaves for the waiting future.
enum AnswerState<T> {
    Waiting(Option<Waker>),
    Given(T),
    Broken,
}

/// The engine thread's side of an answer. Dropped without a value, it marks the answer as broken.
struct Promise<T> {
    shared: Arc<Mutex<AnswerState<T>>>,
}

impl<T> Promise<T> {
    fn keep(self, value: T) {
        self.settle(AnswerState::Given(value));
    }

    fn settle(&self, settled: AnswerState<T>) {
        let mut state = self.shared.lock().expect("no holder of an answer panics");
        if let AnswerState::Waiting(waker) = &mut *state {
            let waker = waker.take();
            *state = settled;
            drop(state);
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.settle(AnswerState::Broken);
    }
}

/// The caller's side of an answer.
struct Answer<T> {
    shared: Arc<Mutex<AnswerState<T>>>,
}

impl<T> Future for Answer<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = self.shared.lock().expect("no holder of an answer panics");
        match std::mem::replace(&mut *state, AnswerState::Broken) {
            AnswerState::Waiting(_) => {
                *state = AnswerState::Waiting(Some(context.waker().clone()));
                Poll::Pending
            }
            AnswerState::Given(value) => Poll::Ready(Some(value)),
            AnswerState::Broken => Poll::Ready(None),
        }
    }
}

/// Runs a future to completion on this thread: a minimal executor for programs without one.
///
/// ```
/// assert_eq!(namdb::asynchronous::block_on(async { 1 + 2 }), 3);
/// ```
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    run_parked(future, || {
        std::thread::park();
        true
    })
    .expect("it waits without a limit")
}

/// Like [`block_on`]; returns `None` if the future is not ready within this time.
pub(crate) fn block_on_for<T>(future: impl Future<Output = T>, limit: Duration) -> Option<T> {
    let start = Moment::now();
    run_parked(future, || {
        let left = limit.saturating_sub(start.instant().elapsed());
        std::thread::park_timeout(left);
        !left.is_zero()
    })
}

/// Like [`block_on`]; gives up when `goes_on` says so, which is looked at after each interval.
pub(crate) fn block_on_while<T>(
    future: impl Future<Output = T>,
    look: Duration,
    goes_on: impl Fn() -> bool,
) -> Option<T> {
    run_parked(future, || {
        std::thread::park_timeout(look);
        goes_on()
    })
}

/// Polls a future, and lets `park` wait between two polls. Gives up when `park` says so.
fn run_parked<T>(future: impl Future<Output = T>, mut park: impl FnMut() -> bool) -> Option<T> {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return Some(value),
            Poll::Pending => {
                if !park() {
                    return None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::key_value::KeyValueTable;

    fn open() -> (AsyncSession, KeyValueTable) {
        let db = crate::open(Config { server_bytes: 64 << 20, ..Config::default() });
        let db = db.expect("64 MiB can be had");
        let table = KeyValueTable::create(&db, "t", 8, 8, Default::default());
        let session = AsyncSession::open(&db, 2).expect("threads can be had");
        (session, table.expect("the table is fine"))
    }

    #[test]
    fn concurrent_counts_are_not_lost() {
        let (session, table) = open();
        let count = |session: &AsyncSession| {
            session.transaction(Isolation::Serializable, Retry::attempts(1000), move |txn| {
                let old = txn.read_value(table, b"n")?.map_or(0, |value| value[0]);
                txn.write_value(table, b"n", &[old + 1])
            })
        };
        let all: Vec<_> = (0..100).map(|_| count(&session)).collect();
        for counted in all {
            block_on(counted).expect("a thousand attempts suffice");
        }
        let read = session
            .transaction(Isolation::Snapshot, Retry::NEVER, move |txn| txn.read_value(table, b"n"));
        assert_eq!(block_on(read).expect("reads commit"), Some(vec![100]));
    }

    #[test]
    fn a_panic_reaches_its_caller_and_nobody_else() {
        let (session, table) = open();
        let panics = session.transaction(Isolation::Snapshot, Retry::NEVER, |_| -> Result<(), _> {
            panic!("on purpose")
        });
        assert!(matches!(block_on(panics), Err(TransactionError::Panicked)));
        let fine = session.transaction(Isolation::Snapshot, Retry::NEVER, move |txn| {
            txn.write_value(table, b"k", b"v")
        });
        assert!(block_on(fine).is_ok());
    }

    #[test]
    fn futures_can_be_sent() {
        fn is_send(_: &impl Send) {}
        let (session, _) = open();
        is_send(&session.transaction(Isolation::Snapshot, Retry::NEVER, |_| crate::Ok(())));
    }
}
