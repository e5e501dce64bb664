//! Function shipping: a transaction is sent to the machine that has its rows, and executed there
//! [SPADE 4.2].

use super::Load;
use super::seen::Watch;
use fabric::{CallError, Counts, DynEnv, Env, Fabric, Reply, Service, ServiceId};
use layout::NodeId;
use shipping::seats;
use sim::Endpoint;
use std::cell::RefCell;
use txn::Lane;
use workload::{
    AbortCounts, Finished, REASON_COUNT, TransactionResult, Whereabouts, WorkloadError,
};

pub(super) const SHIPPED: ServiceId = ServiceId(221);
/// The description of malformed messages.
const FOR: &str = "a shipped transaction";
/// The largest number of checks for a free lane.
const LOOKS_MAX: u32 = 10_000_000;

/// The state of a client or of a handler.
pub(super) struct Seat<L: Load> {
    pub lane: Lane<DynEnv>,
    pub terminal: L::Terminal,
}

/// The compute server that executes shipped transactions.
pub(super) struct Owner<L> {
    /// The number of the compute server, and of its seats.
    pub number: u64,
    pub load: L,
}

impl<L: Load> Owner<L> {
    async fn carry_out(&self, env: &Endpoint, request: &[u8]) -> Result<Vec<u8>, CallError> {
        let input = self.load.decode(request).ok_or(CallError::Malformed(FOR))?;
        let mut seat: Seat<L> = self.seat(env).await?;
        let mut answer = Vec::new();
        let Seat { lane, terminal } = &mut seat;
        let done = self.load.carry_out(lane, terminal, &input, &mut answer).await;
        // A seat may be idle for long, and old versions would be kept for it.
        let rested = lane.rest().await;
        seats::give(self.number, seat);
        // The answer leaves when the core has done all the work.
        env.sleep_ns(0).await;
        let refused = |error: &dyn ToString| CallError::Refused(error.to_string());
        let finished = done.map_err(|error| refused(&error))?;
        rested.map_err(|error| refused(&error))?;
        encode(&finished, &mut answer);
        Ok(answer)
    }

    async fn seat(&self, env: &Endpoint) -> Result<Seat<L>, CallError> {
        for _ in 0..LOOKS_MAX {
            if let Some(seat) = seats::take(self.number) {
                return Ok(seat);
            }
            env.yield_now().await;
        }
        Err(CallError::Refused("no lane of the owner became free".to_owned()))
    }
}

impl<L: Load> Service<Endpoint> for Owner<L> {
    fn handle<'a>(&'a self, env: &'a Endpoint, request: &'a [u8]) -> Reply<'a> {
        Box::pin(self.carry_out(env, request))
    }
}

/// Bytes of the encoded result of a transaction.
const END_BYTES: usize = 2 + 4 + REASON_COUNT;

/// The result of a transaction, behind its answer: type, result, number of retries, and aborts by
/// reason.
fn encode(finished: &Finished, answer: &mut Vec<u8>) {
    let result = match finished.result {
        TransactionResult::Committed => 0,
        TransactionResult::RolledBack => 1,
        _ => 2,
    };
    answer.extend([finished.kind as u8, result]);
    answer.extend(finished.retries.to_le_bytes());
    answer.extend(finished.aborts.bytes());
}

fn decode(answer: &[u8]) -> Option<Finished> {
    let (_, end) = answer.split_last_chunk::<END_BYTES>()?;
    let (&[kind, result, ref retries @ ..], aborts) = end.split_first_chunk::<6>()?;
    let result = match result {
        0 => TransactionResult::Committed,
        1 => TransactionResult::RolledBack,
        _ => TransactionResult::Unknown,
    };
    let retries = u32::from_le_bytes(*retries);
    let (kind, aborts) = (kind.into(), AbortCounts::from_bytes(aborts.try_into().ok()?));
    let whereabouts = Whereabouts::default();
    Some(Finished { kind, result, retries, skipped: 0, aborts, whereabouts, is_shipped: false })
}

/// Sends a transaction to a compute server, which executes it.
pub(super) async fn call(
    env: &DynEnv,
    node: NodeId,
    request: Vec<u8>,
) -> Result<Finished, WorkloadError> {
    let refused = |error: CallError| WorkloadError::Configuration(error.to_string());
    let answer = env.call(node, SHIPPED, request).await.map_err(refused)?;
    decode(&answer).ok_or_else(|| refused(CallError::Malformed(FOR)))
}

/// The state at the beginning of a transaction.
pub(super) struct Start {
    at_ns: u64,
    counts: Counts,
}

impl Start {
    pub fn now(env: &DynEnv) -> Self {
        Self { at_ns: env.now_ns(), counts: env.counters().counts() }
    }

    /// Records the end of the transaction, as soon as the core has finished with it.
    pub async fn end(self, env: &DynEnv, finished: &Finished, watch: &RefCell<Watch>) {
        env.sleep_ns(0).await;
        let (took_ns, moved) = (env.now_ns() - self.at_ns, env.counters().counts() - self.counts);
        watch.borrow_mut().add(env.now_ns(), finished, took_ns, moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txn::Abort;

    #[test]
    fn how_a_transaction_has_ended_survives_its_way() {
        let mut aborts = AbortCounts::default();
        aborts.add(Abort::User);
        let result = TransactionResult::RolledBack;
        let whereabouts = Whereabouts::default();
        let finished = Finished {
            kind: 3,
            result,
            retries: 7,
            skipped: 0,
            aborts,
            whereabouts,
            is_shipped: false,
        };
        let mut answer = vec![9; 40];
        encode(&finished, &mut answer);
        let decoded = decode(&answer).expect("it is whole");
        assert_eq!((decoded.kind, decoded.result, decoded.retries), (3, finished.result, 7));
        assert_eq!(decoded.aborts, aborts);
        assert!(decode(&answer[..5]).is_none());
    }
}
