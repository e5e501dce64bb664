//! The thread of the oracle's server that raises the read timestamp [ZB17 3.1, last paragraph].

use super::oracle::{OUTCOME_PLACES, Oracle, is_outcome_of};
use fabric::{Batch, Env, FabricError};

/// Number of outcomes that one read fetches.
const LOOK_WORDS: u64 = 256;

/// Raises the read timestamp to the last transaction that has ended together with all its
/// predecessors. Returns its new and its old value.
///
/// # Errors
/// Those of the fabric.
pub async fn raise<E: Env>(
    env: &E,
    oracle: Oracle,
    read_timestamp: u64,
) -> Result<u64, FabricError> {
    let next = read_timestamp + 1;
    let words = LOOK_WORDS.min(OUTCOME_PLACES - next % OUTCOME_PLACES);
    let mut batch = Batch::new();
    let span = batch.read(oracle.outcome(next), words as u32);
    let mut batch = env.execute(batch).await?;
    let ended = batch
        .words(span)
        .iter()
        .zip(next..)
        .take_while(|&(&word, timestamp)| is_outcome_of(word, timestamp))
        .count() as u64;
    if ended > 0 {
        batch.reset();
        batch.write_word(oracle.read_timestamp(), read_timestamp + ended);
        env.execute(batch).await?;
    }
    Ok(read_timestamp + ended)
}

/// The thread: scans while `goes_on` returns true.
///
/// # Errors
/// Those of the fabric.
pub async fn run<E: Env>(
    env: E,
    oracle: Oracle,
    goes_on: impl Fn() -> bool,
) -> Result<(), FabricError> {
    let mut read_timestamp = 0;
    while goes_on() {
        let raised = raise(&env, oracle, read_timestamp).await?;
        if raised == read_timestamp {
            env.yield_now().await;
        }
        read_timestamp = raised;
    }
    Ok(())
}
