//! Batches of a memory server's services, which are repeated until the replicas get them.
//!
//! Its own memory never fails a service, and replicas are written ahead, so a lost batch has
//! changed nothing there. It is repeated until the server of the replica answers or is lost.

use crate::batch::Batch;
use crate::env::Env;
use crate::error::FabricError;

/// Time after which such a batch fails after all.
const REPEAT_NS_MAX: u64 = 60_000_000_000;

/// First and longest pause before a batch is repeated.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    pub first_ns: u64,
    pub longest_ns: u64,
}

/// Posts a batch until no server that it needs is unreachable.
///
/// # Errors
///
/// Those of `post`; an unreachable server after a minute.
pub async fn until_reached<E: Env>(
    env: &E,
    pauses: Pauses,
    batch: &Batch,
    post: impl AsyncFn(Batch) -> Result<Batch, FabricError>,
) -> Result<Batch, FabricError> {
    let deadline_ns = env.now_ns().saturating_add(REPEAT_NS_MAX);
    let mut pause_ns = pauses.first_ns;
    loop {
        match post(batch.clone()).await {
            Err(FabricError::Unreachable(_)) if env.now_ns() < deadline_ns => {}
            done => return done,
        }
        env.sleep_ns(pause_ns).await;
        pause_ns = (2 * pause_ns).min(pauses.longest_ns);
    }
}
