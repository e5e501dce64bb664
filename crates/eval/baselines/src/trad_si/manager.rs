//! The transaction manager: runs a client's transaction, and its two-phase commit.

use super::cluster::Server;
use super::exchange::Exchange;
use super::request::TimestampRequest;
use super::step::CommitStep;
use super::transaction::{Stop, Transaction};
use crate::Work;
use crate::message::{Malformed, Reader, Writer};
use fabric::{Env, Reply, Service};
use std::future::Future;
use std::sync::Arc;

/// A stored procedure: code that runs at the manager, with the client's message as its input.
pub trait Procedure: Send + Sync + 'static {
    /// Reads and writes. Its result is the answer to the client if the transaction commits.
    fn run<E: Env>(
        &self,
        transaction: &mut Transaction<'_, E>,
        input: &[u8],
    ) -> impl Future<Output = Result<Vec<u8>, Stop>>;
}

/// The result of a transaction for its client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransactionOutcome {
    /// Its effects are permanent; has the procedure's answer.
    Committed(Vec<u8>),
    /// It has no effect, because of a conflict: it may be retried.
    Aborted,
    /// It has no effect, because the procedure rolled back.
    RolledBack,
    /// It may have taken effect.
    Unknown,
}

impl TransactionOutcome {
    fn encode(&self) -> Vec<u8> {
        let mut to = Writer::new();
        match self {
            Self::Committed(answer) => {
                to.u8(0);
                to.string(answer);
            }
            Self::Aborted => to.u8(1),
            Self::RolledBack => to.u8(2),
            Self::Unknown => to.u8(3),
        }
        to.finish()
    }

    pub(super) fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(message);
        match from.u8()? {
            0 => Ok(Self::Committed(from.string()?.to_vec())),
            1 => Ok(Self::Aborted),
            2 => Ok(Self::RolledBack),
            3 => Ok(Self::Unknown),
            _ => Err(Malformed),
        }
    }
}

/// The manager of a server; also its service.
pub struct Manager<E, P> {
    pub(super) server: Arc<Server>,
    pub(super) procedure: Arc<P>,
    pub(super) work: Work<E>,
}

impl<E: Env, P: Procedure> Service<E> for Manager<E, P> {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move { Ok(self.run(env, request).await.encode()) })
    }
}

impl<E: Env, P: Procedure> Manager<E, P> {
    fn exchange<'a>(server: &'a Server, env: &'a E, work: Work<E>) -> Exchange<'a, E> {
        Exchange { server, env, work }
    }

    /// The manager of `server`, for code that runs transactions there itself, without a client's
    /// messages.
    pub fn new(server: Arc<Server>, procedure: Arc<P>, work: Work<E>) -> Self {
        Self { server, procedure, work }
    }

    /// Runs a transaction, in the order of [`super`]'s picture. `env` is of the server's node.
    pub async fn run(&self, env: &E, input: &[u8]) -> TransactionOutcome {
        let exchange = Self::exchange(&self.server, env, self.work);
        let Ok(read_timestamp) = exchange.read_timestamp().await else {
            return TransactionOutcome::Aborted;
        };
        let mut transaction = Transaction::begin(&exchange, read_timestamp);
        let answer = match self.procedure.run(&mut transaction, input).await {
            Ok(answer) => answer,
            Err(Stop::RolledBack) => return TransactionOutcome::RolledBack,
            Err(_) => return TransactionOutcome::Aborted,
        };
        if !transaction.has_writes() {
            return TransactionOutcome::Committed(answer);
        }
        if !transaction.prepare().await {
            transaction.abort().await;
            return TransactionOutcome::Aborted;
        }
        env.reach(CommitStep::Prepared).await;
        // Point of no return: all owners have promised to commit.
        let Ok(timestamp) = exchange.ask_timestamps(TimestampRequest::Draw).await else {
            return TransactionOutcome::Unknown;
        };
        env.reach(CommitStep::TimestampDrawn).await;
        if transaction.commit(timestamp).await.is_err() {
            return TransactionOutcome::Unknown;
        }
        env.reach(CommitStep::VersionsInstalled).await;
        self.tell_ended(env, timestamp);
        TransactionOutcome::Committed(answer)
    }

    /// Reports the end of a transaction without waiting for the answer. A lost message blocks the
    /// read timestamp for ever.
    fn tell_ended(&self, env: &E, timestamp: u64) {
        let (server, own, work) = (self.server.clone(), env.clone(), self.work);
        env.spawn(async move {
            let ended = TimestampRequest::Ended(timestamp);
            // If the keeper of the timestamps is down, no transaction begins any more.
            let _ = Self::exchange(&server, &own, work).ask_timestamps(ended).await;
        });
    }
}
