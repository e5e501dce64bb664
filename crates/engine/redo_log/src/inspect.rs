//! The contents of segments for tools: what is in a file, block by block.

use crate::block::BlockKind;
use crate::error::LogError;
use crate::group::GroupRecord;
use crate::marker::State;
use crate::position::{DatabaseId, Incarnation};
use crate::scan::load;
use crate::segment::BLOCKS;
use crate::survey::Survey;
use storage::{Directory, Disk};

/// A segment of a surveyed log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentInfo {
    pub segment: u64,
    pub incarnation: Incarnation,
    pub state: State,
    /// Where its last group ends, or all its blocks if it is sealed or closed.
    pub end: u64,
    /// Up to where its marker says that it was synced.
    pub synced: u64,
    /// The number of the last group before it.
    pub previous_group: u64,
}

/// A block of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockInfo {
    pub offset: u64,
    /// Bytes of header and content.
    pub bytes: u64,
    /// The group that it was written with.
    pub group: u64,
    pub content: Content,
}

/// The content of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// Entries of a lane.
    Entries {
        lane: u32,
    },
    Group(GroupRecord),
}

impl Survey {
    /// The segments in their order.
    pub fn segments(&self) -> impl Iterator<Item = SegmentInfo> {
        self.segments.iter().map(|surveyed| SegmentInfo {
            segment: surveyed.header.segment,
            incarnation: surveyed.header.incarnation,
            state: surveyed.marker.state,
            end: surveyed.end,
            synced: surveyed.marker.synced,
            previous_group: surveyed.header.previous_group,
        })
    }

    /// The intact blocks of segment `index` up to its end.
    ///
    /// # Panics
    /// If there is no such segment.
    pub async fn blocks<D: Disk>(
        &self,
        directory: &Directory<D>,
        database: DatabaseId,
        index: usize,
    ) -> Result<Vec<BlockInfo>, LogError> {
        let surveyed = &self.segments[index];
        let mut blocks = Vec::new();
        // The survey reports damage; here it ends the list.
        let Ok(loaded) = load(directory, surveyed.header.segment, database).await? else {
            return Ok(blocks);
        };
        let mut counters: Option<Vec<u64>> = None;
        let mut offset = BLOCKS;
        while offset < surveyed.end
            && let Some(block) = loaded.block(offset)
        {
            let content = match block.kind {
                BlockKind::Entries { lane } => Content::Entries { lane },
                BlockKind::Group => {
                    let record = GroupRecord::decode(block.content, counters.as_deref());
                    let Some(record) = record else { break };
                    counters = Some(record.counters.clone());
                    Content::Group(record)
                }
            };
            let bytes = block.end() - offset;
            blocks.push(BlockInfo { offset, bytes, group: block.group, content });
            offset = block.end();
        }
        Ok(blocks)
    }
}
