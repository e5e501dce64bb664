//! A new segment: durable with its name before the segment before it is sealed, and that before the
//! first group.
//!
//! ```text
//! on the disk                      a restart finds
//! 1 new file: page, length, sync   the old segment open: the new file is replaced
//! 2 its name, sync                 likewise
//! 3 old file: end, sealed, sync    the old segment sealed: the new one must be there
//! 4 first group in the new file
//! ```

use crate::error::LogError;
use crate::log::{Log, OpenSegment};
use crate::marker::{Marker, State};
use crate::position::file_name;
use crate::segment::{BLOCKS, Header};
use storage::{Directory, Disk, ErrorKind, PlantedBug};

impl<D: Disk> Log<D> {
    /// Goes on in a new segment.
    pub(crate) async fn roll(&mut self) -> Result<(), LogError> {
        let header = Header {
            segment: self.segment.header.segment + 1,
            previous_end: self.segment.end,
            previous_group: self.group,
            ..self.segment.header
        };
        let next = create(&self.directory, header, self.config.segment_bytes).await?;
        self.finish(State::Sealed).await?;
        self.segment = next;
        self.counters = None;
        Ok(())
    }
}

/// Creates a segment without groups, durably, with room for `room_bytes`. A file of that name is
/// left over from an attempt that found the disk full or was interrupted by a crash, and is
/// replaced.
pub(crate) async fn create<D: Disk>(
    directory: &Directory<D>,
    header: Header,
    room_bytes: u64,
) -> Result<OpenSegment<D>, LogError> {
    let name = file_name(header.segment);
    let file = match directory.create(&name).await {
        Err(error) if error.kind == ErrorKind::Exists => {
            let file = directory.open_file(&name).await?;
            file.truncate(0).await?;
            file
        }
        created => created?,
    };
    let marker =
        Marker { state: State::Open, sequence: 0, synced: BLOCKS, group: header.previous_group };
    file.allocate(room_bytes.max(BLOCKS)).await?;
    file.write_at(0, &header.page(&marker)).await?;
    let file = file.sync().await?;
    if !directory.has_planted(PlantedBug::NewSegmentUnsynced) {
        directory.sync().await?;
    }
    let marker = Marker { sequence: marker.sequence + 1, ..marker };
    Ok(OpenSegment { header, seed: header.seed(), file: Some(file), end: BLOCKS, marker })
}
