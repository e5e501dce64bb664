//! Follows `next` from a leaf to the leaf after it.

use super::node::read_node;
use super::view::LeafView;
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
pub(super) async fn read_behind<E: Env>(
    env: &E,
    batch: Batch,
    layout: LeafLayout,
    next: GlobalPtr,
    end: &[u64],
) -> Result<(Batch, Option<Behind>), IndexError> {
    if next.is_null() {
        return Ok((batch, None));
    }
    let (mut batch, span) = read_node(env, batch, layout, next).await?;
    let leaf = LeafView::new(layout, batch.words(span));
    if leaf.is_live(0) && leaf.low() == end {
        return Ok((batch, Some(Behind { ptr: next, span })));
    }
    batch.truncate(span.at);
    Ok((batch, None))
}
