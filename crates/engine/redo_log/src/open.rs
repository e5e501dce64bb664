//! A start of the database: the changes on the disk that end the last incarnation and begin the
//! next one.
//!
//! ```text
//! on the disk                                        a crash before the next step leaves
//! 1 a segment of the new incarnation, with its name  an unsealed segment and a file to replace
//! 2 the last segment: its tail again, cut, sync      likewise, without the torn tail
//! 3 the last segment: sealed, sync                   the new incarnation, without commits
//! 4 segments before the start of replay: removed     some of them
//! ```
//!
//! Step 2 writes the bytes behind the marker again because reading does not prove that the disk has
//! them: after a failed sync they may be in the page cache only. Steps 1 to 3 drop what the last
//! group does not cover: it belongs to an incarnation that has ended.

use crate::error::{Damage, LogError, Loss};
use crate::log::{Config, Log, OpenSegment, delete_before, seal};
use crate::marker::{Marker, State};
use crate::position::{Incarnation, Position, file_name, segment_of};
use crate::roll::create;
use crate::scan::used_bytes;
use crate::segment::{BLOCKS, Header};
use crate::survey::{Survey, Surveyed, survey};
use storage::{Directory, Disk, File, PlantedBug};

/// The reaction to damage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnDamage {
    #[default]
    Refuse,
    /// End the log with the last group before the damage. The file is cut there, and later files
    /// get other names.
    AcceptLoss,
}

/// A log that was opened: entries to replay, and a new incarnation.
pub struct Opened<D: Disk> {
    pub log: Log<D>,
    pub survey: Survey,
}

impl<D: Disk> Log<D> {
    /// Creates the log of a new database. Files without commits, from an attempt that was
    /// interrupted, are replaced.
    pub async fn create(directory: Directory<D>, config: Config) -> Result<Self, LogError> {
        for entry in directory.list().await? {
            let Some(segment) = segment_of(&entry.name) else { continue };
            let file = directory.open_file(&entry.name).await?;
            if segment > 1 || !is_blank(&file).await? {
                return Err(LogError::Exists { path: file.path() });
            }
        }
        let header = Header {
            database: config.database,
            segment: Position::START.segment,
            incarnation: Incarnation(1),
            previous_end: 0,
            previous_group: 0,
        };
        let segment = create(&directory, header, config.segment_bytes).await?;
        Ok(Self::start(directory, config, segment, 0))
    }

    /// Opens the log of a database whose newest checkpoint replays from `start`, and begins a new
    /// incarnation. [`Survey::replay`] then reads the entries.
    pub async fn open(
        directory: Directory<D>,
        config: Config,
        start: Position,
        on_damage: OnDamage,
    ) -> Result<Opened<D>, LogError> {
        let (mut survey, damage) = survey(&directory, config.database, start).await?;
        let damage = damage.or_else(|| survey.early_end(&directory, config.reached_group));
        if let Some(damage) = damage {
            let damage = Damage { needed_group: config.needed_group, ..damage };
            let is_refused = on_damage == OnDamage::Refuse || !damage.is_acceptable();
            if is_refused || survey.segments.is_empty() {
                return Err(LogError::Damaged(damage));
            }
            accept(&directory, &mut survey, damage).await?;
        }
        let last = survey.segments.last().cloned().expect("a log without segments is damaged");
        if let [.., before, _] = &survey.segments[..] {
            seal_again(&directory, before).await?;
        }
        let group = survey.last_number();
        let file = write_again(&directory, &last).await?;
        let header = Header {
            segment: last.header.segment + 1,
            incarnation: Incarnation(last.header.incarnation.0 + 1),
            previous_end: last.end,
            previous_group: group,
            ..last.header
        };
        let next = match create(&directory, header, config.segment_bytes).await {
            // Reading works on a full disk too. Commits then fail until there is room.
            Err(error) if error.is_full() => create(&directory, header, 0).await?,
            created => created?,
        };
        let old = open_segment(&last, group);
        seal(file, &old, State::Sealed).await?;
        delete_before(&directory, start.segment).await?;
        Ok(Opened { log: Self::start(directory, config, next, group), survey })
    }
}

/// Whether a file has nothing behind its first page.
async fn is_blank<D: Disk>(file: &File<D>) -> Result<bool, LogError> {
    let length = file.length().await?;
    let mut bytes = vec![0; length.saturating_sub(BLOCKS) as usize];
    file.read_at(BLOCKS, &mut bytes).await?;
    Ok(used_bytes(&bytes) == 0)
}

fn open_segment<D: Disk>(surveyed: &Surveyed, group: u64) -> OpenSegment<D> {
    let header = surveyed.header;
    let marker = Marker { group, ..surveyed.marker };
    OpenSegment { header, seed: header.seed(), file: None, end: surveyed.end, marker }
}

/// Writes the last segment's bytes behind its marker again, for the next sync.
async fn write_again<D: Disk>(
    directory: &Directory<D>,
    last: &Surveyed,
) -> Result<File<D>, LogError> {
    let file = directory.open_file(&file_name(last.header.segment)).await?;
    let begin = last.marker.synced.min(last.end);
    let mut tail = vec![0; (last.end - begin) as usize];
    let count = file.read_at(begin, &mut tail).await?;
    file.write_at(begin, &tail[..count]).await?;
    Ok(file)
}

/// Writes the first page of a sealed segment again. If the sync that sealed it failed, the page may
/// be in the page cache only.
async fn seal_again<D: Disk>(directory: &Directory<D>, sealed: &Surveyed) -> Result<(), LogError> {
    let file = directory.open_file(&file_name(sealed.header.segment)).await?;
    let segment = open_segment(sealed, sealed.marker.group);
    seal(file, &segment, State::Sealed).await?;
    Ok(())
}

/// Ends the log before its damage: later files get other names, the damaged one is reopened.
async fn accept<D: Disk>(
    directory: &Directory<D>,
    survey: &mut Survey,
    damage: Damage,
) -> Result<(), LogError> {
    survey.end_at_last_group();
    if directory.has_planted(PlantedBug::UncoveredEntriesKept) {
        survey.cover_all();
    }
    let last = survey.end().segment;
    let entries = directory.list().await?;
    let mut renamed = Vec::new();
    // From the last to the first, so that after a crash none is missing between others.
    for entry in entries.iter().rev() {
        if segment_of(&entry.name).is_some_and(|segment| segment > last) {
            let stem = entry.name.trim_end_matches(".log");
            let names = (1_u32..).map(|copy| format!("lost-{stem}-{copy}.log"));
            let mut free = names.filter(|name| entries.iter().all(|entry| entry.name != *name));
            let name = free.next().expect("a directory has fewer files");
            directory.rename(&entry.name, &name).await?;
            renamed.push((entry.name.clone(), name));
        }
    }
    directory.sync().await?;
    let surveyed = survey.segments.last().expect("the log has an intact segment");
    let file = directory.open_file(&file_name(last)).await?;
    seal(file, &open_segment(surveyed, damage.last_group), State::Open).await?;
    let surveyed = survey.segments.last_mut().expect("the log has an intact segment");
    surveyed.marker.sequence += 2;
    survey.loss = Some(Loss { damage, renamed });
    Ok(())
}
