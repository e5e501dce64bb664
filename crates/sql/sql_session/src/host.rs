//! Where sessions get their lanes from.

use crate::error::SqlError;
use fabric::{Env, LocalEnv, run_now};
use std::future::Future;
use std::sync::{Arc, Mutex};
use txn::{Database, Lane, Outcome, OwnedTransaction};

/// The end of a transaction.
pub struct Committed<E: Env> {
    /// The lane; `None` if it can run no further transaction.
    pub lane: Option<Lane<E>>,
    /// Whether the transaction has committed, or an error such as that of a full disk.
    pub outcome: Result<Outcome, SqlError>,
}

/// The database that sessions run on: lends lanes, and makes commits durable.
pub trait Host: Clone + Send + Sync + 'static {
    type Env: Env;

    /// A handle for the calling thread.
    fn handle(&self) -> Database<Self::Env>;

    /// Borrows a lane; waits for one, for a bounded time, and no longer than until the statement
    /// gives up.
    fn borrow_lane(&self, gives_up: &dyn Fn() -> bool) -> Result<Lane<Self::Env>, SqlError>;

    fn give_back_lane(&self, lane: Lane<Self::Env>);

    /// Whether more than half of the lanes are in use, so that transactions between two statements
    /// should give theirs back.
    fn are_lanes_scarce(&self) -> bool;

    /// Whether tables that the SQL catalog does not mention are left from an earlier process, which
    /// has ended in the middle of a transaction. The database asks once when it is opened.
    fn has_leftovers(&self) -> bool {
        false
    }

    /// Commits. Returns when everything that the transaction has written or read is durable, unless
    /// `is_synchronous` is false.
    fn commit(
        &self,
        transaction: OwnedTransaction<Self::Env>,
        is_synchronous: bool,
    ) -> impl Future<Output = Committed<Self::Env>>;

    /// Microseconds since 2000-01-01 UTC.
    fn sql_time_us(&self) -> i64;
}

/// A database in this process, without a directory: for tests and programs that bring their own
/// engine.
#[derive(Clone)]
pub struct LocalHost {
    shared: Arc<Mutex<Lanes>>,
}

struct Lanes {
    root: Database<LocalEnv>,
    idle: Vec<Lane<LocalEnv>>,
    in_use: u32,
}

impl LocalHost {
    pub fn new(root: Database<LocalEnv>) -> Self {
        Self { shared: Arc::new(Mutex::new(Lanes { root, idle: Vec::new(), in_use: 0 })) }
    }
}

impl Host for LocalHost {
    type Env = LocalEnv;

    fn handle(&self) -> Database<LocalEnv> {
        self.shared.lock().expect("no holder panics").root.for_thread()
    }

    fn borrow_lane(&self, _gives_up: &dyn Fn() -> bool) -> Result<Lane<LocalEnv>, SqlError> {
        let idle = self.shared.lock().expect("no holder panics").idle.pop();
        let lane = match idle {
            Some(lane) => lane,
            None => run_now(self.handle().lane())
                .map_err(|error| SqlError::new("53300", error.to_string()))?,
        };
        self.shared.lock().expect("no holder panics").in_use += 1;
        Ok(lane)
    }

    fn give_back_lane(&self, lane: Lane<LocalEnv>) {
        let mut lanes = self.shared.lock().expect("no holder panics");
        lanes.idle.push(lane);
        lanes.in_use = lanes.in_use.saturating_sub(1);
    }

    fn are_lanes_scarce(&self) -> bool {
        let lanes = self.shared.lock().expect("no holder panics");
        2 * lanes.in_use > lanes.root.config().lanes
    }

    async fn commit(
        &self,
        transaction: OwnedTransaction<LocalEnv>,
        _is_synchronous: bool,
    ) -> Committed<LocalEnv> {
        let (lane, outcome) = transaction.commit_and_rest().await;
        let lane = (outcome != Outcome::Unknown).then_some(lane);
        Committed { lane, outcome: Ok(outcome) }
    }

    #[allow(clippy::disallowed_methods, reason = "this is where the real clock enters")]
    fn sql_time_us(&self) -> i64 {
        /// Seconds from 1970 to 2000.
        const SECONDS: i64 = 946_684_800;
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| since.as_micros() as i64 - SECONDS * 1_000_000)
    }
}
