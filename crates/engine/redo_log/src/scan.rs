//! A segment's file in memory: its first page, and its blocks one after the other.

use crate::block::{Block, may_begin};
use crate::error::LogError;
use crate::marker::{Marker, Markers, State};
use crate::position::{DatabaseId, file_name};
use crate::segment::{BLOCKS, BadHeader, Header, MARKERS, PAGE_ZEROS};
use storage::{Directory, Disk};

/// A place that is not as it was written, and the sentence that says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bad {
    pub(crate) offset: u64,
    pub(crate) what: &'static str,
}

/// A segment whose first page is intact.
pub(crate) struct Loaded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) header: Header,
    pub(crate) seed: u32,
    pub(crate) marker: Marker,
}

/// Reads a whole segment.
///
/// A segment of another database or format is an error; a first page that is damaged is the inner
/// error, because a crash may have left it.
pub(crate) async fn load<D: Disk>(
    directory: &Directory<D>,
    segment: u64,
    database: DatabaseId,
) -> Result<Result<Loaded, Bad>, LogError> {
    let name = file_name(segment);
    let file = directory.open_file(&name).await?;
    let mut bytes = vec![0; file.length().await? as usize];
    let count = file.read_at(0, &mut bytes).await?;
    bytes.truncate(count);
    let bad = |offset, what| Ok(Err(Bad { offset, what }));
    let path = file.path();
    let header = match Header::decode(&bytes) {
        Ok(header) => header,
        Err(BadHeader::Format(found)) => return Err(LogError::Format { path, found }),
        Err(BadHeader::Damaged) => return bad(0, "the header is not what was written"),
    };
    if header.database != database {
        let (expected, found) = (database, header.database);
        return Err(LogError::OtherDatabase { path, expected, found });
    }
    if header.segment != segment {
        return bad(0, "the file belongs to another segment");
    }
    let seed = header.seed();
    let Some(Markers { newest, damaged }) = Markers::read(&bytes, seed) else {
        return bad(MARKERS[0], "both sync markers are not what was written");
    };
    // While a segment is open, a marker may be half written by a disk that tears sectors.
    if let (Some(offset), State::Closed | State::Sealed) = (damaged, newest.state) {
        return bad(offset, "a sync marker is not what was written");
    }
    if bytes.len() < BLOCKS as usize {
        return bad(bytes.len() as u64, "the file ends in its first page");
    }
    if let Some(at) = bytes[PAGE_ZEROS..BLOCKS as usize].iter().position(|&byte| byte != 0) {
        return bad((PAGE_ZEROS + at) as u64, "the first page is not what was written");
    }
    Ok(Ok(Loaded { bytes, header, seed, marker: newest }))
}

impl Loaded {
    /// The intact block at `offset`.
    pub(crate) fn block(&self, offset: u64) -> Option<Block<'_>> {
        Block::decode(&self.bytes, offset, self.seed)
    }

    /// The end of what is known to be synced in an ended segment; `None` while it is open.
    pub(crate) fn final_end(&self) -> Option<u64> {
        (self.marker.state != State::Open).then_some(self.marker.synced)
    }

    /// Whether nothing but zeros follows from `offset` on.
    pub(crate) fn is_blank_from(&self, offset: u64) -> bool {
        self.used_bytes() <= offset
    }

    /// The length without the zeros at the end.
    pub(crate) fn used_bytes(&self) -> u64 {
        used_bytes(&self.bytes)
    }

    /// The first intact block at or behind `offset` that satisfies the condition.
    pub(crate) fn next_block(
        &self,
        offset: u64,
        is_wanted: impl Fn(&Block<'_>) -> bool,
    ) -> Option<Block<'_>> {
        let mut at = offset;
        let end = self.used_bytes();
        while at < end {
            if may_begin(&self.bytes[at as usize..])
                && let Some(block) = self.block(at)
            {
                if is_wanted(&block) {
                    return Some(block);
                }
                at = block.end();
            } else {
                at += 1;
            }
        }
        None
    }

    /// The newest group that an intact block at or behind `offset` was written with; 0 if none is
    /// there.
    pub(crate) fn newest_group(&self, mut offset: u64) -> u64 {
        let mut newest = 0;
        while let Some(block) = self.next_block(offset, |_| true) {
            newest = newest.max(block.group);
            offset = block.end();
        }
        newest
    }
}

/// The length without the zeros at the end: an open segment is mostly zeros.
pub(crate) fn used_bytes(bytes: &[u8]) -> u64 {
    const CHUNK: usize = 4096;
    let is_used = |chunk: &[u8]| chunk.iter().fold(0, |all, &byte| all | byte) != 0;
    let mut chunks = bytes.chunks(CHUNK);
    let Some(last) = chunks.by_ref().rposition(is_used) else { return 0 };
    let chunk = &bytes[last * CHUNK..bytes.len().min((last + 1) * CHUNK)];
    let zeros = chunk.iter().rev().take_while(|&&byte| byte == 0).count();
    (last * CHUNK + chunk.len() - zeros) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_end_are_not_used() {
        for length in [0, 1, 4095, 4096, 4097, 9000] {
            let mut bytes = vec![0; length];
            assert_eq!(used_bytes(&bytes), 0);
            for at in [0, length / 2, length.saturating_sub(1)] {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = 1;
                    assert_eq!(used_bytes(&bytes), at as u64 + 1, "{length}");
                }
            }
        }
    }
}
