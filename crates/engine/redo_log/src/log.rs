//! Writing the log: group commits.

use crate::block::{Block, BlockKind, CONTENT_BYTES_MAX};
use crate::entry::whole_records;
use crate::error::LogError;
use crate::group::GroupRecord;
use crate::lane::{GivenUp, Lanes};
use crate::marker::{Marker, State};
use crate::position::{DatabaseId, Incarnation, Position, file_name, segment_of};
use crate::segment::Header;
use layout::VersionWord;
use std::collections::{BTreeMap, VecDeque};
use storage::{Directory, Disk, File, PlantedBug};

/// Size after which a new segment begins. A segment is replayed by one core and deleted whole.
const SEGMENT_BYTES: u64 = 64 << 20;

/// Memory that is kept for the next group.
const STAGED_BYTES_KEPT: usize = 16 << 20;

/// The properties of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    pub database: DatabaseId,
    /// Size after which a new segment begins; the file is allocated in this size. 64 MiB is usual.
    pub segment_bytes: u64,
    /// The log is known to have this group, so that an earlier end is damage.
    pub reached_group: u64,
    /// A loss that reaches back before this group cannot be accepted: other files have later rows.
    pub needed_group: u64,
}

impl Config {
    pub const fn new(database: DatabaseId) -> Self {
        Self { database, segment_bytes: SEGMENT_BYTES, reached_group: 0, needed_group: 0 }
    }
}

/// A durable group of commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    pub number: u64,
    /// A checkpoint whose first snapshot is at or after the group's replays from here.
    pub replay_from: Position,
    /// Bytes that were written and synced.
    pub bytes: u64,
}

/// The segment that groups are written to.
pub(crate) struct OpenSegment<D: Disk> {
    pub(crate) header: Header,
    pub(crate) seed: u32,
    /// `None` while it is synced, and for ever after a failed or interrupted sync.
    pub(crate) file: Option<File<D>>,
    /// The offset behind the last synced group.
    pub(crate) end: u64,
    /// The newest marker. It is written with the next group, except for the first one of a segment.
    pub(crate) marker: Marker,
}

/// A block with the begin of an entry.
struct Piece {
    at: Position,
    /// The last entry that begins in it.
    last: VersionWord,
}

/// The log, open for group commits. One flusher owns it.
pub struct Log<D: Disk> {
    pub(crate) directory: Directory<D>,
    pub(crate) config: Config,
    pub(crate) incarnation: Incarnation,
    pub(crate) lanes: Lanes,
    pub(crate) segment: OpenSegment<D>,
    /// The number of the last durable group.
    pub(crate) group: u64,
    /// The snapshot of the last group in this segment.
    pub(crate) counters: Option<Vec<u64>>,
    /// The next group: blocks that were taken from lanes, and behind them the group record. If the
    /// disk is full, the blocks stay.
    staged: Vec<u8>,
    /// Bytes of the blocks.
    staged_blocks: usize,
    /// For each lane, the pieces with entries that no durable snapshot covers, oldest first.
    uncovered: BTreeMap<u32, VecDeque<Piece>>,
}

impl<D: Disk> Log<D> {
    pub(crate) fn start(
        directory: Directory<D>,
        config: Config,
        segment: OpenSegment<D>,
        group: u64,
    ) -> Self {
        let incarnation = segment.header.incarnation;
        Self {
            directory,
            config,
            incarnation,
            lanes: Lanes::new(incarnation),
            segment,
            group,
            counters: None,
            staged: Vec::new(),
            staged_blocks: 0,
            uncovered: BTreeMap::new(),
        }
    }

    /// The lanes of this incarnation.
    pub fn lanes(&self) -> Lanes {
        self.lanes.clone()
    }

    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Size after which a new segment begins.
    pub fn segment_bytes(&self) -> u64 {
        self.config.segment_bytes
    }

    /// Whether lanes have entries that no durable group covers: entries that wait for a group, and
    /// those of commits that were published after the snapshot of the group with the entry.
    pub fn has_uncovered(&self) -> bool {
        let snapshot = self.counters.as_deref().unwrap_or_default();
        let is_covered = |piece: &Piece| {
            let counter = snapshot.get(usize::from(piece.last.slot().0));
            counter.is_some_and(|&counter| piece.last.counter() <= counter)
        };
        self.lanes.waiting_bytes() > 0
            || self.uncovered.values().flatten().any(|piece| !is_covered(piece))
    }

    /// The number of the last durable group.
    pub fn last_group(&self) -> u64 {
        self.group
    }

    /// Whether a guard is removed; constant on real disks.
    #[inline]
    pub fn has_planted(&self, bug: PlantedBug) -> bool {
        self.directory.has_planted(bug)
    }

    /// The end of the last durable group.
    pub fn position(&self) -> Position {
        Position { segment: self.segment.header.segment, offset: self.segment.end }
    }

    /// Makes the commits durable that `snapshot` covers.
    ///
    /// The snapshot must be taken before this call, which takes the lanes' buffers: an entry is
    /// appended before its transaction is published, so that every covered entry is in a buffer by
    /// now. If the disk is full, the log is unchanged and the call may be repeated with this or a
    /// later snapshot. After any other error of the disk no later call succeeds.
    pub async fn commit_group(&mut self, snapshot: &[u64]) -> Result<Group, LogError> {
        self.check()?;
        if self.staged_blocks == 0 && self.segment.end >= self.config.segment_bytes {
            self.roll().await?;
        }
        let number = self.group + 1;
        let record = GroupRecord {
            incarnation: self.incarnation,
            replay_from: self.replay_from(snapshot),
            counters: snapshot.to_vec(),
        };
        let content = record.encode(self.counters.as_deref());
        self.stage_group(number, &content);
        let count = self.staged.len() as u64;
        let next = Marker {
            state: State::Open,
            sequence: self.segment.marker.sequence + 1,
            synced: self.segment.end + count,
            group: number,
        };
        let early = self.directory.has_planted(PlantedBug::MarkerBeforeSync);
        self.write(&self.staged, if early { next } else { self.segment.marker }).await?;
        self.sync().await?;
        self.staged.clear();
        self.staged.shrink_to(STAGED_BYTES_KEPT);
        self.staged_blocks = 0;
        self.segment.marker = next;
        self.segment.end += count;
        self.group = number;
        self.counters = Some(record.counters);
        Ok(Group { number, replay_from: record.replay_from, bytes: count })
    }

    /// Refuses to go on after a failed or interrupted sync.
    pub(crate) fn check(&self) -> Result<(), LogError> {
        match (&self.segment.file, self.directory.ended()) {
            (_, Some(error)) => Err(LogError::Disk(error.clone())),
            (None, None) => Err(LogError::Interrupted),
            (Some(_), None) => Ok(()),
        }
    }

    /// The begin of the oldest entry that `snapshot` may not cover: one of those that were taken
    /// before and are not covered, or the first that is taken now.
    fn replay_from(&mut self, snapshot: &[u64]) -> Position {
        let covers = |version: VersionWord| {
            let counter = snapshot.get(usize::from(version.slot().0));
            counter.is_some_and(|&counter| version.counter() <= counter)
        };
        for pieces in self.uncovered.values_mut() {
            // A lane's transactions become visible in their order.
            while pieces.front().is_some_and(|piece| covers(piece.last)) {
                pieces.pop_front();
            }
        }
        self.uncovered.retain(|_, pieces| !pieces.is_empty());
        let oldest =
            self.uncovered.values().filter_map(VecDeque::front).map(|piece| piece.at).min();
        oldest.map_or(self.position(), |oldest| oldest.min(self.position()))
    }

    /// Stages the blocks of all lanes, and the group record behind them.
    fn stage_group(&mut self, number: u64, content: &[u8]) {
        let (seed, end) = (self.segment.seed, self.segment.end);
        let group = |offset| Block { kind: BlockKind::Group, group: number, offset, content };
        if self.directory.has_planted(PlantedBug::GroupBeforeBlocks) {
            let record = group(end);
            self.stage(number, record.end());
            let blocks = std::mem::take(&mut self.staged);
            record.append(seed, &mut self.staged);
            self.staged.extend(blocks);
            return;
        }
        // The record of an attempt that found the disk full.
        self.staged.truncate(self.staged_blocks);
        self.stage(number, end);
        self.staged_blocks = self.staged.len();
        group(end + self.staged.len() as u64).append(seed, &mut self.staged);
    }

    /// Takes the lanes' buffers and appends them to the staged blocks, which begin at `begin`.
    fn stage(&mut self, number: u64, begin: u64) {
        let segment = self.segment.header.segment;
        for taken in self.lanes.take() {
            let offset = begin + self.staged.len() as u64;
            let pieces = self.uncovered.entry(taken.lane()).or_default();
            let at = Position { segment, offset };
            pieces.extend(taken.last.map(|last| Piece { at, last }));
            if let Some(GivenUp { version, before }) = taken.given_up {
                pieces.retain_mut(|piece| {
                    let is_it = piece.last == version;
                    piece.last = if is_it { before.unwrap_or(version) } else { piece.last };
                    !is_it || before.is_some()
                });
            }
            let mut rest = &taken.bytes[..];
            while !rest.is_empty() {
                let (content, after) = rest.split_at(whole_records(rest, CONTENT_BYTES_MAX));
                let offset = begin + self.staged.len() as u64;
                let kind = BlockKind::Entries { lane: taken.lane() };
                let block = Block { kind, group: number, offset, content };
                block.append(self.segment.seed, &mut self.staged);
                rest = after;
            }
            taken.give_back();
        }
    }

    async fn write(&self, bytes: &[u8], marker: Marker) -> Result<(), LogError> {
        let file = self.segment.file.as_ref().ok_or(LogError::Interrupted)?;
        file.write_at(self.segment.end, bytes).await?;
        file.write_at(marker.offset(), &marker.encode(self.segment.seed)).await?;
        Ok(())
    }

    /// Syncs the segment. While that is under way, and for ever after a failure, there is no file.
    pub(crate) async fn sync(&mut self) -> Result<(), LogError> {
        let file = self.segment.file.take().ok_or(LogError::Interrupted)?;
        self.segment.file = Some(file.sync().await?);
        Ok(())
    }

    /// Writes how far the log was synced, and syncs that. For a flusher that has nothing else to
    /// write for a while: until then damage of the last group looks like a torn tail.
    pub async fn mark(&mut self) -> Result<(), LogError> {
        self.check()?;
        self.write(&[], self.segment.marker).await?;
        self.sync().await
    }

    /// Commits a last group and closes the log: from now on any damage of the files is noticed.
    pub async fn close(mut self, snapshot: &[u64]) -> Result<(), LogError> {
        self.commit_group(snapshot).await?;
        self.finish(State::Closed).await
    }

    /// Ends the segment at its last group, durably.
    pub(crate) async fn finish(&mut self, state: State) -> Result<(), LogError> {
        let file = self.segment.file.take().ok_or(LogError::Interrupted)?;
        let file = seal(file, &self.segment, state).await?;
        self.segment.file = Some(file);
        Ok(())
    }

    /// Deletes the segments that no checkpoint needs: those before the segment of `position`.
    pub async fn delete_before(&mut self, position: Position) -> Result<(), LogError> {
        let newest = self.segment.header.segment;
        delete_before(&self.directory, position.segment.min(newest)).await
    }
}

/// Ends a segment's file at its last group, and then says so in its markers, durably.
pub(crate) async fn seal<D: Disk>(
    file: File<D>,
    segment: &OpenSegment<D>,
    state: State,
) -> Result<File<D>, LogError> {
    let OpenSegment { header, end, marker, .. } = segment;
    file.truncate(*end).await?;
    let file = file.sync().await?;
    let marker = Marker { state, sequence: marker.sequence + 1, synced: *end, ..*marker };
    file.write_at(0, &header.page(&marker)).await?;
    Ok(file.sync().await?)
}

/// Removes the segments that no restart from `position` needs, durably. The log itself need not
/// know: it goes on in a later segment.
pub async fn remove_segments_before<D: Disk>(
    directory: &Directory<D>,
    position: Position,
) -> Result<(), LogError> {
    delete_before(directory, position.segment).await
}

/// Removes the segments before `first`, durably. A restart passes over those that a crash leaves.
pub(crate) async fn delete_before<D: Disk>(
    directory: &Directory<D>,
    first: u64,
) -> Result<(), LogError> {
    let entries = directory.list().await?;
    let segments = entries.iter().filter_map(|entry| segment_of(&entry.name));
    let old: Vec<u64> = segments.filter(|&segment| segment < first).collect();
    for &segment in &old {
        directory.remove(&file_name(segment)).await?;
    }
    if !old.is_empty() {
        directory.sync().await?;
    }
    Ok(())
}
