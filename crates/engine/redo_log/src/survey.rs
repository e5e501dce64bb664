//! The first pass of a restart: checks every byte, and decides where the log ends and which entries
//! count.
//!
//! ```text
//! the segment is   and an invalid block is            verdict
//! sealed, closed   anywhere                           damage
//! open             before its marker                  damage
//! open             behind it, a later group follows   damage: a sync came before that group
//! open             behind it, nothing later           torn tail: the log ends with the last group
//! ```

use crate::block::{Block, BlockKind};
use crate::error::{Damage, LogError, Loss};
use crate::group::GroupRecord;
use crate::marker::{Marker, State};
use crate::position::{Incarnation, Position, file_name, segment_of};
use crate::scan::{Bad, Loaded, load};
use crate::segment::{BLOCKS, Header};
use crate::walk::{Event, Walker};
use layout::VersionWord;
use std::collections::{BTreeMap, BTreeSet};
use storage::{Directory, Disk, PlantedBug};

/// The last group of an incarnation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastGroup {
    pub number: u64,
    pub record: GroupRecord,
    /// The offset behind the record.
    pub end: Position,
}

/// A segment that can be replayed.
#[derive(Clone)]
pub(crate) struct Surveyed {
    pub(crate) header: Header,
    pub(crate) marker: Marker,
    /// The end of its last group, or of all its blocks if it is sealed or closed.
    pub(crate) end: u64,
    /// The entries that go on in it.
    pub(crate) walker: Walker,
}

/// The state of the log's files.
#[derive(Clone, Default)]
pub struct Survey {
    pub(crate) segments: Vec<Surveyed>,
    /// The start of replay.
    pub(crate) start: Option<Position>,
    groups: BTreeMap<Incarnation, LastGroup>,
    /// Entries without an end.
    unfinished: BTreeSet<(Incarnation, u64)>,
    highest: Vec<u64>,
    /// Complete entries from the start of replay to the last group.
    pub entries: u64,
    /// Their rows.
    pub rows: u64,
    /// Group records in all segments.
    pub group_records: u64,
    /// Bytes behind the last group of an open log that are no zeros, so that a restart drops them.
    pub torn_bytes: u64,
    /// The loss that the caller accepted.
    pub loss: Option<Loss>,
    /// Whether planted bugs let entries of earlier incarnations count.
    keeps_dropped: bool,
}

impl Survey {
    /// The last group of the log; `None` if it has none.
    ///
    /// A checkpoint that was completed by a later group is ahead of the log. That can only be after
    /// an accepted loss, which the checkpoint then limits.
    pub fn last_group(&self) -> Option<&LastGroup> {
        self.groups.values().next_back()
    }

    /// The number of the last group of the log, which may be in a segment that is not there any
    /// more; 0 if it had none.
    pub fn last_number(&self) -> u64 {
        let before = self.segments.last().map_or(0, |last| last.header.previous_group);
        self.last_group().map_or(before, |group| group.number.max(before))
    }

    /// The damage of a log that ends before a group that it had: the end looks torn, but it was
    /// synced.
    pub fn early_end<D: Disk>(&self, directory: &Directory<D>, reached: u64) -> Option<Damage> {
        let (end, last_group) = (self.end(), self.last_number());
        (last_group < reached).then(|| Damage {
            path: directory.path(&file_name(end.segment)),
            offset: end.offset,
            until: end.offset,
            last_group,
            newest_group: reached,
            needed_group: 0,
            later_segments: 0,
            what: "the log ends before a group that was durable".to_owned(),
        })
    }

    /// The end of the log: the next incarnation begins behind it.
    pub fn end(&self) -> Position {
        let last = self.segments.last();
        last.map_or(Position::START, |last| Position {
            segment: last.header.segment,
            offset: last.end,
        })
    }

    /// The number of segments, which [`Survey::replay`] reads one by one.
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    /// Bytes from the start of replay to the end of the log.
    pub fn bytes(&self) -> u64 {
        let begin = |segment: &Surveyed| {
            let start = self.start.filter(|start| start.segment == segment.header.segment);
            start.map_or(BLOCKS, |start| start.offset.max(BLOCKS))
        };
        self.segments.iter().map(|segment| segment.end.saturating_sub(begin(segment))).sum()
    }

    /// For each slot the highest number in the log, of dropped entries too. New numbers must be
    /// higher.
    pub fn highest_counters(&self) -> &[u64] {
        &self.highest
    }

    /// Whether the log was closed, so that it has no torn tail.
    pub fn is_closed(&self) -> bool {
        self.segments.last().is_some_and(|last| last.marker.state == State::Closed)
    }

    /// Whether an entry counts: it has its end, and the last group of its incarnation covers it.
    pub fn is_covered(&self, incarnation: Incarnation, version: VersionWord) -> bool {
        let group = match self.keeps_dropped {
            true => self.last_group(),
            false => self.groups.get(&incarnation),
        };
        let counters = group.map_or(&[][..], |group| &group.record.counters);
        let counter = counters.get(usize::from(version.slot().0)).copied().unwrap_or(0);
        version.counter() <= counter && !self.unfinished.contains(&(incarnation, version.word()))
    }

    fn raise(&mut self, slot: usize, counter: u64) {
        if self.highest.len() <= slot {
            self.highest.resize(slot + 1, 0);
        }
        self.highest[slot] = self.highest[slot].max(counter);
    }
}

/// Reads all segments from `start` on. Returns the state up to the first damage, and the damage.
pub async fn survey<D: Disk>(
    directory: &Directory<D>,
    database: crate::DatabaseId,
    start: Position,
) -> Result<(Survey, Option<Damage>), LogError> {
    let entries = directory.list().await?;
    let numbers = entries.iter().filter_map(|entry| segment_of(&entry.name));
    let numbers: BTreeSet<u64> = numbers.filter(|&segment| segment >= start.segment).collect();
    let keeps_dropped = directory.has_planted(PlantedBug::DroppedEntriesKept);
    let survey = Survey { start: Some(start), keeps_dropped, ..Survey::default() };
    let mut surveyor = Surveyor { survey, walker: Walker::default(), pending: (0, 0) };
    let last = numbers.last().copied().unwrap_or(start.segment);
    for number in start.segment..=last {
        let loaded = match numbers.contains(&number) {
            true => load(directory, number, database).await?,
            false => Err(Bad { offset: 0, what: "the file is missing" }),
        };
        let result = match &loaded {
            Ok(loaded) => surveyor.segment(loaded, number == last),
            Err(bad) => surveyor.unreadable(*bad, number == last),
        };
        if let Err(bad) = result {
            let path = directory.path(&file_name(number));
            let mut damage = surveyor.damage(path, bad, loaded.ok().as_ref(), last - number);
            damage.newest_group =
                damage.newest_group.max(newest_group(directory, &numbers, number, database).await?);
            return Ok((surveyor.finish(), Some(damage)));
        }
    }
    let missing = surveyor.missing_end();
    let damage = missing.map(|(number, bad)| {
        let path = directory.path(&file_name(number));
        surveyor.damage(path, bad, None, 0)
    });
    Ok((surveyor.finish(), damage))
}

/// The newest group that the segments behind `damaged` say they had.
async fn newest_group<D: Disk>(
    directory: &Directory<D>,
    numbers: &BTreeSet<u64>,
    damaged: u64,
    database: crate::DatabaseId,
) -> Result<u64, LogError> {
    let mut newest = 0;
    for &number in numbers.range(damaged + 1..) {
        if let Ok(loaded) = load(directory, number, database).await? {
            newest = newest.max(loaded.newest_group(BLOCKS)).max(loaded.marker.group);
        }
    }
    Ok(newest)
}

/// The state while segments are read in their order.
struct Surveyor {
    survey: Survey,
    walker: Walker,
    /// Complete entries and rows behind the last group, which may be torn.
    pending: (u64, u64),
}

impl Surveyor {
    /// Whether the segment before this one says that this one is durable.
    fn is_expected(&self) -> bool {
        self.survey.segments.last().is_none_or(|last| last.marker.state == State::Sealed)
    }

    fn group(&self) -> u64 {
        self.survey.last_number()
    }

    /// A segment whose first page cannot be read. A crash leaves one only while it is created.
    fn unreadable(&self, bad: Bad, is_last: bool) -> Result<(), Bad> {
        if is_last && !self.is_expected() { Ok(()) } else { Err(bad) }
    }

    fn segment(&mut self, loaded: &Loaded, is_last: bool) -> Result<(), Bad> {
        if !self.is_expected() {
            // A start was interrupted before its first group; the next one replaces the file.
            if is_last && loaded.is_blank_from(BLOCKS) {
                return Ok(());
            }
            let what = "the file has commits, but the segment before it is not sealed";
            return Err(Bad { offset: BLOCKS, what });
        }
        self.follow(loaded)?;
        let (header, marker) = (loaded.header, loaded.marker);
        let walker = self.walker.clone();
        self.survey.segments.push(Surveyed { header, marker, end: BLOCKS, walker });
        let end = self.blocks(loaded)?;
        self.set_end(end);
        if loaded.marker.state == State::Open {
            self.cut(loaded, end)?;
        }
        Ok(())
    }

    fn set_end(&mut self, end: u64) {
        self.survey.segments.last_mut().expect("the segment was added").end = end;
    }

    /// Checks that the segment continues the one before it.
    fn follow(&mut self, loaded: &Loaded) -> Result<(), Bad> {
        let Some(before) = self.survey.segments.last() else { return Ok(()) };
        let header = &loaded.header;
        let follows = header.previous_end == before.end
            && header.previous_group == self.group()
            && header.incarnation >= before.header.incarnation;
        if !follows {
            return Err(Bad { offset: 0, what: "the file does not continue the one before it" });
        }
        if header.incarnation > before.header.incarnation {
            self.end_incarnation(before.header.incarnation);
        }
        Ok(())
    }

    /// No later incarnation ends the entries of this one.
    fn end_incarnation(&mut self, incarnation: Incarnation) {
        let unfinished = self.walker.end_incarnation().into_iter();
        self.survey.unfinished.extend(unfinished.map(|version| (incarnation, version.word())));
    }

    /// Reads the blocks; returns the end of the last intact one.
    fn blocks(&mut self, loaded: &Loaded) -> Result<u64, Bad> {
        let limit = loaded.final_end().unwrap_or(loaded.bytes.len() as u64);
        let mut offset = BLOCKS;
        let mut counters: Option<Vec<u64>> = None;
        while offset < limit {
            let Some(block) = loaded.block(offset) else { break };
            self.block(loaded, &block, &mut counters)?;
            offset = block.end();
        }
        if let Some(end) = loaded.final_end() {
            let length = loaded.bytes.len() as u64;
            if offset != end {
                let offset = offset.min(end).min(length);
                return Err(Bad { offset, what: "a block is not what was written" });
            }
            if length != end {
                return Err(Bad { offset: end, what: "the file is longer than it was" });
            }
        }
        Ok(offset)
    }

    fn block(
        &mut self,
        loaded: &Loaded,
        block: &Block<'_>,
        counters: &mut Option<Vec<u64>>,
    ) -> Result<(), Bad> {
        let bad = |what| Bad { offset: block.offset, what };
        if block.group != self.group() + 1 {
            return Err(bad("a block belongs to another group"));
        }
        let incarnation = loaded.header.incarnation;
        match block.kind {
            BlockKind::Entries { lane } => self.entries(loaded, block, lane).map_err(bad),
            BlockKind::Group => {
                let record = GroupRecord::decode(block.content, counters.as_deref());
                let record = record.filter(|record| record.incarnation == incarnation);
                let record = record.ok_or(bad("a group record is malformed"))?;
                *counters = Some(record.counters.clone());
                for (slot, &counter) in record.counters.iter().enumerate() {
                    self.survey.raise(slot, counter);
                }
                let end = Position { segment: loaded.header.segment, offset: block.end() };
                let group = LastGroup { number: block.group, record, end };
                self.survey.groups.insert(incarnation, group);
                self.survey.group_records += 1;
                let (entries, rows) = std::mem::take(&mut self.pending);
                self.survey.entries += entries;
                self.survey.rows += rows;
                Ok(())
            }
        }
    }

    fn entries(
        &mut self,
        loaded: &Loaded,
        block: &Block<'_>,
        lane: u32,
    ) -> Result<(), &'static str> {
        let Header { segment, incarnation, .. } = loaded.header;
        let is_before = self.survey.is_before_start(Position { segment, offset: block.offset });
        let Self { survey, walker, pending } = self;
        walker.block(lane, incarnation, block.content, is_before, |event| {
            match event {
                Event::Begin(version) => {
                    survey.raise(usize::from(version.slot().0), version.counter());
                }
                Event::Row(..) => pending.1 += u64::from(!is_before),
                Event::End => pending.0 += u64::from(!is_before),
                Event::GivenUp(version) => {
                    survey.unfinished.insert((incarnation, version.word()));
                }
            }
            Ok(())
        })
    }

    /// Ends an open segment with its last group, unless something behind the last intact block
    /// proves that it was synced.
    fn cut(&mut self, loaded: &Loaded, intact: u64) -> Result<(), Bad> {
        if intact < loaded.marker.synced {
            return Err(Bad { offset: intact, what: "a block is not what was written" });
        }
        let next = self.group() + 1;
        if loaded.next_block(intact, |block| block.group > next).is_some() {
            return Err(Bad { offset: intact, what: "a block before a later group is damaged" });
        }
        let segment = loaded.header.segment;
        let group = self.survey.last_group().map(|group| group.end);
        let end = group.filter(|end| end.segment == segment).map_or(BLOCKS, |end| end.offset);
        self.survey.torn_bytes = loaded.used_bytes().saturating_sub(end);
        self.set_end(if self.survey.keeps_dropped { intact } else { end });
        Ok(())
    }

    /// The file that the last segment announces and that is not there.
    fn missing_end(&self) -> Option<(u64, Bad)> {
        let last = self.survey.segments.last()?;
        let number = last.header.segment + 1;
        let bad = Bad { offset: 0, what: "the file is missing" };
        (last.marker.state == State::Sealed).then_some((number, bad))
    }

    fn damage(&self, path: String, bad: Bad, loaded: Option<&Loaded>, later: u64) -> Damage {
        let next = loaded.and_then(|loaded| loaded.next_block(bad.offset + 1, |_| true));
        let length = loaded.map_or(bad.offset, |loaded| loaded.bytes.len() as u64);
        let last_group = self.group();
        Damage {
            path,
            offset: bad.offset,
            until: next.map_or(length, |block| block.offset),
            last_group,
            newest_group: last_group
                .max(loaded.map_or(0, |loaded| loaded.newest_group(bad.offset + 1)))
                .max(loaded.map_or(0, |loaded| loaded.marker.group)),
            needed_group: 0,
            later_segments: later,
            what: bad.what.to_owned(),
        }
    }

    fn finish(mut self) -> Survey {
        if let Some(last) = self.survey.segments.last() {
            self.end_incarnation(last.header.incarnation);
        }
        self.survey
    }
}

impl Survey {
    /// Whether a block is before the start of replay.
    pub(crate) fn is_before_start(&self, at: Position) -> bool {
        self.start.is_some_and(|start| at < start)
    }

    /// Lets all entries count.
    pub(crate) fn cover_all(&mut self) {
        if let Some(last) = self.groups.values_mut().next_back() {
            last.record.counters.clone_from(&self.highest);
        }
    }

    /// Ends the log with the last group before its damage.
    pub(crate) fn end_at_last_group(&mut self) {
        let Some(last) = self.segments.last_mut() else { return };
        let group = self.groups.values().next_back().map(|group| group.end);
        let group = group.filter(|end| end.segment == last.header.segment);
        last.end = group.map_or(BLOCKS, |end| end.offset);
        last.marker.state = State::Open;
        last.marker.synced = last.end;
    }
}
