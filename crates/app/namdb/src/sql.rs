//! SQL sessions over a database.

use crate::database::{Db, Engine};
use crate::durable::Durable;
use crate::error::TransactionError;
use crate::host;
use durability::Ticket;
use fabric::{LocalEnv, run_now};
use sql_session::{Committed, Host};
pub use sql_session::{SessionOptions, SqlDatabase, SqlError, SqlSession};
use txn::{Database, Lane, OwnedTransaction};

impl Db {
    /// The database for SQL sessions, with the tables that SQL statements have created.
    ///
    /// ```
    /// use fabric::run_now;
    /// use namdb::sql::SessionOptions;
    ///
    /// let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// let sql = db.sql()?;
    /// let mut session = sql.session(SessionOptions::default());
    /// for text in ["CREATE TABLE city (name text)", "INSERT INTO city VALUES ('Ghent')"] {
    ///     let statement = run_now(session.prepare(text, &[]))?;
    ///     run_now(session.execute(&statement, &[]))?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the stored SQL catalog cannot be read, or a network reaches the database.
    pub fn sql(&self) -> Result<SqlDatabase<Self>, SqlError> {
        match self.engine() {
            Engine::Local(_) => run_now(SqlDatabase::open(self.clone())),
            Engine::Remote(_) => {
                let message = "SQL sessions over a network are not supported yet";
                let hint =
                    "Start the server on the host of the memory servers, over shared memory.";
                Err(SqlError::new("0A000", message).hint(hint))
            }
        }
    }
}

impl Host for Db {
    type Env = LocalEnv;

    fn handle(&self) -> Database<LocalEnv> {
        Self::handle(self)
    }

    fn borrow_lane(&self, gives_up: &dyn Fn() -> bool) -> Result<Lane<LocalEnv>, SqlError> {
        self.borrow_lane_until(gives_up).map_err(|error| SqlError::new("53300", error.to_string()))
    }

    fn give_back_lane(&self, lane: Lane<LocalEnv>) {
        Self::give_back_lane(self, lane);
    }

    fn are_lanes_scarce(&self) -> bool {
        Self::are_lanes_scarce(self)
    }

    /// A directory belongs to one process. In its memory no earlier one has left anything.
    fn has_leftovers(&self) -> bool {
        self.durable().is_some_and(Durable::take_leftovers)
    }

    async fn commit(
        &self,
        mut transaction: OwnedTransaction<LocalEnv>,
        is_synchronous: bool,
    ) -> Committed<LocalEnv> {
        let Some(durable) = self.durable().filter(|durable| durable.is_logged()) else {
            let (lane, outcome) = transaction.commit_and_rest().await;
            return committed(lane, outcome);
        };
        let is_synchronous = is_synchronous && durable.is_synchronous();
        let (has_written, ticket) = {
            let statement = transaction.statement();
            let ticket = match is_synchronous && !statement.has_written() {
                true => durable.acknowledgements().of_snapshot(statement.snapshot()),
                false => Ticket::DURABLE,
            };
            (statement.has_written(), ticket)
        };
        if has_written && let Err(refused) = durable.admit() {
            let lane = transaction.abort_and_rest().await;
            return Committed { lane: Some(lane), outcome: Err(disk_error(&refused)) };
        }
        let (lane, outcome, version) = transaction.commit_with_version().await;
        let version = version.filter(|_| is_synchronous);
        let ticket =
            version.map_or(ticket, |version| durable.acknowledgements().of_commit(version));
        waited(durable, ticket, committed(lane, outcome))
    }

    fn sql_time_us(&self) -> i64 {
        host::sql_time_us()
    }
}

fn committed(lane: Lane<LocalEnv>, outcome: txn::Outcome) -> Committed<LocalEnv> {
    // A lane with an undecided transaction runs no further one.
    let lane = (outcome != txn::Outcome::Unknown).then_some(lane);
    Committed { lane, outcome: Ok(outcome) }
}

/// Waits until the group of a ticket is on the disk.
fn waited(
    durable: &Durable,
    ticket: Ticket,
    mut committed: Committed<LocalEnv>,
) -> Committed<LocalEnv> {
    if let Err(lost) = durable.wait(ticket) {
        committed.outcome = Err(disk_error(&lost));
    }
    committed
}

fn disk_error(error: &TransactionError) -> SqlError {
    SqlError::new("58030", error.to_string())
}
