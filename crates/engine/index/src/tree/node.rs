//! Reads a node untorn, and backs off while another process writes it.

use super::view::LeafView;
use crate::error::IndexError;
use fabric::{Batch, Env, Span};
use layout::row::Cover;
use layout::{GlobalPtr, LeafLayout};

/// Retries of a step that waits for another process. Together with [`back_off`] about 0.1 seconds,
/// and a few times that on slow links, since each retry reads a torn node several times: longer
/// than a descheduled writer needs, and short enough to notice a dead one.
pub(super) const WAIT_COUNT_MAX: u32 = 200;
/// Retries that only yield.
const YIELD_COUNT: u32 = 32;
/// Later retries sleep, longer each time.
const SLEEP_STEP_NS: u64 = 10_000;
/// Longest sleep between two retries.
const SLEEP_NS_MAX: u64 = 1_000_000;

/// Waits before retry number `tried` + 1.
pub(super) async fn back_off<E: Env>(env: &E, tried: u32) {
    if tried < YIELD_COUNT {
        env.yield_now().await;
    } else {
        let sleep_ns = SLEEP_STEP_NS * u64::from(tried - YIELD_COUNT + 1);
        env.sleep_ns(sleep_ns.min(SLEEP_NS_MAX)).await;
    }
}

/// Reads the node at `ptr` untorn to the end of the arena.
pub(super) async fn read_node<E: Env>(
    env: &E,
    mut batch: Batch,
    layout: LeafLayout,
    ptr: GlobalPtr,
) -> Result<(Batch, Span), IndexError> {
    assert!(batch.is_empty(), "a node is read by a batch of its own");
    for tried in 0..WAIT_COUNT_MAX {
        let span = batch.read_row(ptr, layout.words(), Cover::All);
        batch = env.execute(batch).await?;
        batch.clear_verbs();
        if !LeafView::new(layout, batch.words(span)).is_torn() {
            return Ok((batch, span));
        }
        batch.truncate(span.at);
        back_off(env, tried).await;
    }
    Err(IndexError::Contended)
}

/// Executes the batch and clears its verbs; the arena stays.
pub(super) async fn execute<E: Env>(env: &E, batch: Batch) -> Result<Batch, IndexError> {
    let mut batch = env.execute(batch).await?;
    batch.clear_verbs();
    Ok(batch)
}
