//! A block: a piece of a lane's entries, or a group record, with its checksum.

use crate::bytes::{put, u32_at, u64_at};

/// Bytes before the content of a block.
pub const BLOCK_HEADER_BYTES: usize = 24;
/// Longest content.
pub const CONTENT_BYTES_MAX: usize = 1 << 31;

const ENTRIES_MAGIC: [u8; 4] = *b"ndbE";
const GROUP_MAGIC: [u8; 4] = *b"ndbG";
const CHECKSUM: usize = 4;
const LENGTH: usize = 8;
const LANE: usize = 12;
const GROUP: usize = 16;

const _: () = {
    assert!(CHECKSUM == ENTRIES_MAGIC.len() && CHECKSUM == GROUP_MAGIC.len());
    assert!(LENGTH == CHECKSUM + 4 && LANE == LENGTH + 4 && GROUP == LANE + 4);
    assert!(BLOCK_HEADER_BYTES == GROUP + 8 && CONTENT_BYTES_MAX <= u32::MAX as usize);
};

/// The kinds of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockKind {
    /// Records of a lane's entries: see [`crate::entry`].
    Entries { lane: u32 },
    /// A group record: see [`crate::group`].
    Group,
}

/// A block of a segment.
///
/// ```text
/// byte | field    | bytes | meaning
///    0 | magic    |     4 | "ndbE" entries, "ndbG" group record
///    4 | checksum |     4 | CRC-32 of the block's offset in its file, the header from byte 8, and
///      |          |       | the content; begins with the seed of the segment
///    8 | length   |     4 | bytes of the content
///   12 | lane     |     4 | the lane whose entries these are; 0 for a group record
///   16 | group    |     8 | number of the group that the block is written with
///   24 | content  |       |
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block<'a> {
    pub kind: BlockKind,
    /// The number of the group that it is written with.
    pub group: u64,
    /// The offset in the file.
    pub offset: u64,
    pub content: &'a [u8],
}

impl Block<'_> {
    /// The offset behind the block.
    pub fn end(&self) -> u64 {
        self.offset + (BLOCK_HEADER_BYTES + self.content.len()) as u64
    }

    /// Appends the block to `bytes`.
    ///
    /// # Panics
    /// If the content is longer than [`CONTENT_BYTES_MAX`]; longer buffers are divided.
    pub fn append(&self, seed: u32, bytes: &mut Vec<u8>) {
        assert!(self.content.len() <= CONTENT_BYTES_MAX, "the log divides longer buffers");
        let (magic, lane) = match self.kind {
            BlockKind::Entries { lane } => (ENTRIES_MAGIC, lane),
            BlockKind::Group => (GROUP_MAGIC, 0),
        };
        let mut header = [0; BLOCK_HEADER_BYTES];
        put(&mut header, 0, &magic);
        put(&mut header, LENGTH, &(self.content.len() as u32).to_le_bytes());
        put(&mut header, LANE, &lane.to_le_bytes());
        put(&mut header, GROUP, &self.group.to_le_bytes());
        let checksum = checksum(seed, self.offset, &header, self.content);
        put(&mut header, CHECKSUM, &checksum.to_le_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(self.content);
    }
}

impl<'a> Block<'a> {
    /// The block at `offset` of a segment's bytes; `None` if there is no intact one.
    pub fn decode(segment: &'a [u8], offset: u64, seed: u32) -> Option<Self> {
        let bytes = segment.get(offset as usize..)?;
        let header = bytes.get(..BLOCK_HEADER_BYTES)?;
        let lane = u32_at(header, LANE);
        let kind = match header.first_chunk() {
            Some(&ENTRIES_MAGIC) => BlockKind::Entries { lane },
            Some(&GROUP_MAGIC) if lane == 0 => BlockKind::Group,
            _ => return None,
        };
        let length = u32_at(header, LENGTH) as usize;
        let content = bytes.get(BLOCK_HEADER_BYTES..)?.get(..length)?;
        (u32_at(header, CHECKSUM) == checksum(seed, offset, header, content)).then_some(Self {
            kind,
            group: u64_at(header, GROUP),
            offset,
            content,
        })
    }
}

/// Whether a block may begin with these bytes: cheap, and wrong only for one of two.
pub(crate) fn may_begin(bytes: &[u8]) -> bool {
    bytes.starts_with(&ENTRIES_MAGIC) || bytes.starts_with(&GROUP_MAGIC)
}

fn checksum(seed: u32, offset: u64, header: &[u8], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(seed);
    hasher.update(&offset.to_le_bytes());
    hasher.update(&header[..CHECKSUM]);
    hasher.update(&header[LENGTH..]);
    hasher.update(content);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_come_back_at_their_place_only(
            content in prop::collection::vec(any::<u8>(), 0..200),
            lane: u32,
            group: u64,
            is_group: bool,
            seed: u32,
            before in 0..50_usize,
            bit: prop::sample::Index,
        ) {
            let kind = if is_group { BlockKind::Group } else { BlockKind::Entries { lane } };
            let block = Block { kind, group, offset: before as u64, content: &content };
            let mut bytes = vec![0; before];
            block.append(seed, &mut bytes);
            prop_assert_eq!(bytes.len() as u64, block.end());
            bytes.push(1);
            prop_assert_eq!(Block::decode(&bytes, before as u64, seed), Some(block));
            prop_assert_eq!(Block::decode(&bytes, before as u64, seed ^ 1), None);
            prop_assert_eq!(Block::decode(&bytes[..bytes.len() - 2], before as u64, seed), None);
            let mut moved = vec![0];
            moved.extend(&bytes);
            prop_assert_eq!(Block::decode(&moved, before as u64 + 1, seed), None);
            let bit = 8 * before + bit.index(8 * (bytes.len() - 1 - before));
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Block::decode(&bytes, before as u64, seed), None);
        }
    }
}
