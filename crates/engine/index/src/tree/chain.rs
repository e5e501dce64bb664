//! Follows `next` from a leaf to the leaf after it.

use super::node::read_node;
use super::view::{LeafView, is_below};
use crate::error::IndexError;
use fabric::{Batch, Env, Span};
use layout::{GlobalPtr, LeafLayout};

/// The leaf after another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Behind {
    pub ptr: GlobalPtr,
    pub span: Span,
}

/// Reads the leaf that begins at `end`, where a leaf with the right link `next` ends. `None` if
/// there is none: the leaf was read too long ago.
///
/// While a leaf absorbs its right neighbour it ends where the neighbour ended, but still links to
/// it, so that recovery finds both. A reader passes the neighbour, dead or alive, and continues
/// after it.
pub(super) async fn read_behind<E: Env>(
    env: &E,
    mut batch: Batch,
    layout: LeafLayout,
    next: GlobalPtr,
    end: &[u64],
) -> Result<(Batch, Option<Behind>), IndexError> {
    let mut ptr = next;
    let mut passed = false;
    while !ptr.is_null() {
        let span;
        (batch, span) = read_node(env, batch, layout, ptr).await?;
        let leaf = LeafView::new(layout, batch.words(span));
        if leaf.is_live(0) && leaf.low() == end {
            return Ok((batch, Some(Behind { ptr, span })));
        }
        let was_taken_over = is_taken_over(&leaf, Some(end)) && !passed;
        let after = leaf.next();
        batch.truncate(span.at);
        if !was_taken_over {
            break;
        }
        passed = true;
        ptr = after;
    }
    Ok((batch, None))
}

/// Whether the range of `right` belongs to the leaf that links to it and ends at `end`.
pub(super) fn is_taken_over(right: &LeafView<'_>, end: Option<&[u64]>) -> bool {
    let same_end = match end {
        Some(end) => !right.shape().unbounded && right.high() == end,
        None => right.shape().unbounded,
    };
    let begins_before = end.is_none_or(|end| is_below(right.low(), end));
    right.shape().level == 0 && same_end && begins_before
}
