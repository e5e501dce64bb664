//! Creates a table, and reads its root.

use super::{Directory, HashTable, SEGMENTS_MAX, SEGMENTS_PLANNED, root};
use crate::damage::Flaw;
use crate::error::IndexError;
use crate::hash::Locator;
use fabric::{Batch, Env};
use layout::{BucketLayout, GlobalPtr, NodeId, WORD_BYTES};
use memory::Label;
use memory::extent::allocate_extent;

/// Creates an empty table of `buckets` buckets, with its segments in ranges over `nodes`. A zeroed
/// bucket is a valid empty bucket of level 0, so only the root is written.
pub async fn create<E: Env>(
    env: &E,
    nodes: &[NodeId],
    label: Label,
    layout: BucketLayout,
    rows: bool,
    locator: Locator,
    buckets: u64,
) -> Result<HashTable, IndexError> {
    assert!(buckets > 0 && !nodes.is_empty());
    let per_segment = buckets.div_ceil(SEGMENTS_PLANNED).next_power_of_two().max(16);
    let segment_shift = per_segment.trailing_zeros();
    let root = allocate_extent(env, nodes[0], root::WORDS * WORD_BYTES, label).await?;
    let table = HashTable { root, layout, rows, initial_buckets: buckets, segment_shift, locator };
    let count = buckets.div_ceil(per_segment);
    let mut batch = Batch::new();
    for segment in 0..count {
        let node = nodes[(segment * nodes.len() as u64 / count) as usize];
        let ptr = allocate_segment(env, &table, node, label).await?;
        batch.write_word(root.add_words(root::SEGMENT + segment), ptr.word());
    }
    batch.write_word(root.add_words(root::COUNT), count);
    batch.write_word(root, root::MAGIC);
    env.execute(batch).await?;
    Ok(table)
}

pub(super) async fn allocate_segment<E: Env>(
    env: &E,
    table: &HashTable,
    node: NodeId,
    label: Label,
) -> Result<GlobalPtr, IndexError> {
    let bytes = (table.stride_words() * WORD_BYTES) << table.segment_shift;
    Ok(allocate_extent(env, node, bytes, label).await?)
}

/// Reads a table's root: two round trips, once per growth that a compute server notices.
pub async fn read_directory<E: Env>(env: &E, table: &HashTable) -> Result<Directory, IndexError> {
    let mut batch = Batch::new();
    let head = batch.read(table.root, root::SEGMENT as u32);
    batch = env.execute(batch).await?;
    let count = batch.words(head)[root::COUNT as usize];
    if batch.words(head)[0] != root::MAGIC || count > SEGMENTS_MAX {
        return Err(IndexError::Damaged(Flaw::NoHashRoot.at(table.root)));
    }
    // The state is read again with the segments, after the count: a split raises the count first,
    // so a state seen now may need at most segments beyond the count, and the caller then reads the
    // root again.
    batch.clear_verbs();
    let state = batch.read(table.root.add_words(root::STATE), 1);
    let segments = batch.read(table.root.add_words(root::SEGMENT), count as u32);
    batch = env.execute(batch).await?;
    let state = batch.words(head)[root::STATE as usize].min(batch.words(state)[0]);
    let segments = batch.words(segments).iter().map(|&word| GlobalPtr::from_word(word)).collect();
    Ok(Directory { level: (state >> 56) as u32, split: state & ((1 << 56) - 1), segments })
}
