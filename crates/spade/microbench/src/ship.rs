//! Function shipping: the owner of rows offers a service that executes an operation on them with a
//! lane of its own, and returns the rows read [SPADE 4.2].
//!
//! Handlers run where calls are served: on the calling thread within one process, on the
//! simulator's thread in a simulated cluster. They use lanes of that thread ([`shipping::seats`]).

use crate::operation::{Task, attempt};
use crate::subject::Table;
use fabric::{CallError, Env, Reply, Service, ServiceId};
use shipping::seats;
use spade_format::measurement::Operation;
use std::sync::Arc;
use txn::{Database, Lane};
use workload::{Attempts, TransactionResult, WorkloadError};

pub const SHIPPED: ServiceId = ServiceId(220);
/// Maximum number of checks for a free lane of the owner.
pub(crate) const LOOKS_MAX: u32 = 10_000_000;
/// Last byte of a response: the outcome of the operation.
const NOT_COMMITTED: u8 = 0;
const COMMITTED: u8 = 1;
const UNKNOWN: u8 = 2;
/// Names the message in errors about malformed ones.
pub(crate) const FOR: &str = "a shipped operation";

/// The resources with which a handler executes an operation.
pub struct Seat<L: Env> {
    pub lane: Lane<L>,
    pub table: Table,
}

/// Opens the database for further seats of an owner.
pub type Opener<L> = Arc<dyn Fn() -> Option<Database<L>> + Send + Sync>;

/// The owner of rows. It uses lanes of world `L`, whatever world its calls come from.
pub struct Owner<L: Env> {
    number: u64,
    name: String,
    more: Opener<L>,
}

impl<L: Env> Owner<L> {
    /// Creates the owner of the table called `name`. On a thread without a free seat, `more` opens
    /// the database for another one; if it returns `None`, calls wait.
    pub fn new(number: u64, name: &str, more: Opener<L>) -> Self {
        Self { number, name: name.to_owned(), more }
    }

    /// Adds a seat for calls that are served on this thread.
    pub fn give(number: u64, seat: Seat<L>) {
        seats::give(number, seat);
    }

    async fn seat<E: Env>(&self, env: &E) -> Result<Seat<L>, CallError> {
        for _ in 0..LOOKS_MAX {
            if let Some(seat) = seats::take(self.number) {
                return Ok(seat);
            }
            if let Some(database) = (self.more)() {
                let opened = self.open(&database).await;
                return opened.map_err(|error| CallError::Refused(error.to_string()));
            }
            env.yield_now().await;
        }
        Err(CallError::Refused("no lane of the owner became free".to_owned()))
    }

    async fn open(&self, database: &Database<L>) -> Result<Seat<L>, WorkloadError> {
        database.refresh().await?;
        let table = Table::open(database, &self.name)?;
        Ok(Seat { lane: database.lane().await?, table })
    }

    async fn carry_out<E: Env>(&self, env: &E, request: &[u8]) -> Result<Vec<u8>, CallError> {
        let task = decode(request).ok_or(CallError::Malformed(FOR))?;
        let mut seat = self.seat(env).await?;
        let done = carry_out(&mut seat.lane, seat.table, &task).await;
        if !E::IMMEDIATE {
            // The seat may be idle for long, and would keep old versions from being collected.
            let rested = seat.lane.rest().await;
            rested.map_err(|error| CallError::Refused(error.to_string()))?;
        }
        Self::give(self.number, seat);
        if !E::IMMEDIATE {
            // In simulated worlds, respond only after the core has done all its work.
            env.sleep_ns(0).await;
        }
        Ok(done?.answer)
    }
}

/// The result of an executed task.
pub(crate) struct Done {
    /// The response to the caller.
    pub answer: Vec<u8>,
    pub result: TransactionResult,
}

/// Executes a task for a caller, and retries until it commits or a retry would not help.
///
/// # Errors
/// An error that any further attempt would meet, too.
pub(crate) async fn carry_out<L: Env>(
    lane: &mut Lane<L>,
    table: Table,
    task: &Task,
) -> Result<Done, CallError> {
    let (mut attempts, mut answer) = (Attempts::new(), Vec::new());
    let attempt = async |lane: &mut Lane<L>| attempt(lane, table, task, &mut answer).await;
    let ended = attempts.repeat(lane, attempt).await;
    let result = ended.map_err(|error| CallError::Refused(error.to_string()))?;
    if let TransactionResult::Aborted(reason) = result
        && !reason.is_retryable()
    {
        return Err(CallError::Refused(format!("the operation was aborted: {reason}")));
    }
    let retries = attempts.finish(0, result, 0).retries;
    answer.extend_from_slice(&retries.to_le_bytes());
    answer.push(match result {
        TransactionResult::Committed => COMMITTED,
        TransactionResult::Unknown => UNKNOWN,
        TransactionResult::RolledBack | TransactionResult::Aborted(_) => NOT_COMMITTED,
    });
    Ok(Done { answer, result })
}

impl<E: Env, L: Env> Service<E> for Owner<L> {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(self.carry_out(env, request))
    }
}

/// Encodes a task.
pub fn encode(task: &Task) -> Vec<u8> {
    let operation = Operation::ALL.iter().position(|one| *one == task.operation);
    let mut request = Vec::with_capacity(6 + 8 * task.keys.len());
    request.push(operation.expect("it is one of them") as u8);
    request.push(u8::from(task.by_index));
    request.extend_from_slice(&task.limit.to_le_bytes());
    task.keys.iter().for_each(|key| request.extend_from_slice(&key.to_le_bytes()));
    request
}

/// Decodes a task; `None` if the request is malformed.
pub fn decode(request: &[u8]) -> Option<Task> {
    let (&operation, rest) = request.split_first()?;
    let (&by_index, rest) = rest.split_first()?;
    let (limit, keys) = rest.split_first_chunk()?;
    let (keys, rest) = keys.as_chunks();
    let operation = *Operation::ALL.get(usize::from(operation))?;
    let is_sound = if operation == Operation::Scan { keys.len() == 2 } else { !keys.is_empty() };
    if !is_sound || !rest.is_empty() {
        return None;
    }
    Some(Task {
        operation,
        by_index: by_index != 0,
        keys: keys.iter().map(|&key| i64::from_le_bytes(key)).collect(),
        limit: u32::from_le_bytes(*limit),
    })
}

/// Decodes a response: the outcome of the operation, and the number of retries.
///
/// # Errors
/// The response is malformed.
pub fn outcome(answer: &[u8]) -> Result<(TransactionResult, u32), CallError> {
    let (rest, &[ended]) = answer.split_last_chunk().ok_or(CallError::Malformed(FOR))?;
    let (_, retries) = rest.split_last_chunk().ok_or(CallError::Malformed(FOR))?;
    let result = match ended {
        COMMITTED => TransactionResult::Committed,
        NOT_COMMITTED => TransactionResult::RolledBack,
        UNKNOWN => TransactionResult::Unknown,
        _ => return Err(CallError::Malformed(FOR)),
    };
    Ok((result, u32::from_le_bytes(*retries)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_decoded_as_encoded_and_other_bytes_refused() {
        let task = Task {
            operation: Operation::Scan,
            by_index: true,
            keys: vec![-1, i64::MAX],
            limit: 64,
        };
        let request = encode(&task);
        assert_eq!(decode(&request), Some(task));
        for end in 0..request.len() {
            let cut = decode(&request[..end]);
            assert!(cut.is_none_or(|task| task.keys.len() < 2), "{end} bytes");
        }
        assert_eq!(decode(&[9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]), None, "no such operation");
        let ends = [0, 1, 2].map(|end| outcome(&[7, 7, 3, 0, 0, 0, end]));
        let [not, committed, unknown] = [
            TransactionResult::RolledBack,
            TransactionResult::Committed,
            TransactionResult::Unknown,
        ];
        assert_eq!(ends, [not, committed, unknown].map(|end| Ok((end, 3))));
        for none in [&[1][..], &[7, 7, 3, 0, 0, 0, 3]] {
            assert_eq!(outcome(none), Err(CallError::Malformed(FOR)));
        }
    }
}
