//! The callers' side: requests to memory servers, and their answers.

use super::{
    ALLOCATE, AllocateError, EXTENT_SERVICE, FREE, FREE_LABEL, Label, Need, POPULATE, USAGE, Usage,
};
use crate::message::{Reader, Writer};
use fabric::{CallError, Env};
use layout::{GlobalPtr, NodeId};

/// Begins a request. Its second number is an address in the region that it is about.
fn of_region(kind: u64, node: NodeId) -> Writer {
    Writer::new().number(kind).number(GlobalPtr::new(node.region(), 0).word())
}

/// Allocates an extent of at least `bytes` bytes on `node`.
pub async fn allocate_extent<E: Env>(
    env: &E,
    node: NodeId,
    bytes: u64,
    label: Label,
) -> Result<GlobalPtr, AllocateError> {
    allocate_extent_for(env, node, bytes, label, Need::Growth).await
}

/// Requests an extent of at least `bytes` bytes from `node`.
pub async fn allocate_extent_for<E: Env>(
    env: &E,
    node: NodeId,
    bytes: u64,
    label: Label,
    need: Need,
) -> Result<GlobalPtr, AllocateError> {
    let request = of_region(ALLOCATE, node).number(bytes).number(label.0);
    let request = request.number(need.number()).finish();
    let answer = env.call(node, EXTENT_SERVICE, request).await?;
    let mut reader = Reader::new(&answer, "an allocation");
    let ptr = GlobalPtr::from_word(reader.number()?);
    if ptr.is_null() {
        let (wanted_bytes, free_bytes) = (reader.number()?, reader.number()?);
        return Err(AllocateError::Full {
            wanted_bytes,
            free_bytes,
            region_bytes: reader.number()?,
        });
    }
    Ok(ptr)
}

pub async fn free_extent<E: Env>(env: &E, ptr: GlobalPtr, label: Label) -> Result<(), CallError> {
    let request = Writer::new().number(FREE).number(ptr.word()).number(label.0).finish();
    env.call(ptr.region().server(), EXTENT_SERVICE, request).await.map(drop)
}

/// Frees all extents of `label` on `node`, after the table was dropped and its last reader has
/// ended.
pub async fn free_label<E: Env>(env: &E, node: NodeId, label: Label) -> Result<(), CallError> {
    let request = of_region(FREE_LABEL, node).number(label.0).finish();
    env.call(node, EXTENT_SERVICE, request).await.map(drop)
}

/// Touches the next `bytes` bytes that `node` will allocate, so that no transaction pays for the
/// first touch.
pub async fn populate<E: Env>(env: &E, node: NodeId, bytes: u64) -> Result<(), CallError> {
    let request = of_region(POPULATE, node).number(bytes).finish();
    env.call(node, EXTENT_SERVICE, request).await.map(drop)
}

/// Allocated bytes on `node`, by label.
pub async fn usage<E: Env>(env: &E, node: NodeId) -> Result<Vec<Usage>, CallError> {
    let answer = env.call(node, EXTENT_SERVICE, of_region(USAGE, node).finish()).await?;
    let mut reader = Reader::new(&answer, "memory usage");
    let mut usage = Vec::new();
    while !reader.is_empty() {
        usage.push(Usage { label: Label(reader.number()?), bytes: reader.number()? });
    }
    Ok(usage)
}
