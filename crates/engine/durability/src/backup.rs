//! A copy of a directory, also of one that a running database writes to.
//!
//! The copy is a state that a crash could have left: the newest checkpoint, the log behind it up to
//! a group, and a control file that names both. So it opens as the directory after a crash would.
//!
//! Without the directory's lock the files change while they are read:
//! - A new checkpoint removes old files. All files are opened first, and an open file stays
//!   readable after its name is gone.
//! - The log grows at its end. The last segment is read again until what it had at the first
//!   reading has stopped changing: a group is written whole before the next one begins. Its first
//!   page, with its markers, is that of the first reading: it may say less than there is, but never
//!   more.
//! - The log goes on in a new segment. Until the one before is sealed, the new one has no groups
//!   and is left out if it is not complete. A last segment that is sealed by the time it is read
//!   is not the last one, and the copy begins again.
//! - The control file is read before and behind the log, and the copy begins again if it has
//!   changed: an older one lacks the tables of rows in the log, and a newer one may have a unique
//!   index that the rows of an older log violate.

use crate::checkpoint_file::FileIdentity;
use crate::control::Control;
use crate::error::{DurabilityError, Result};
use redo_log::marker::{Marker, State};
use redo_log::segment::{BLOCKS, Header, MARKERS};
use redo_log::{Damage, Survey, file_name, segment_of};
use storage::{Directory, Disk, ErrorKind, File};

/// Attempts before the copy gives up, if checkpoints and changes of the catalog come too fast.
const TRIES_MAX: u32 = 20;
/// Readings of a segment until its content is stable.
const READINGS_MAX: u32 = 100;
/// Zeros at which a segment that is being written ends: more than one value has.
const ZEROS_BYTES: usize = 4 << 20;
/// Bytes of checkpoints that are copied at a time.
const PIECE_BYTES: usize = 1 << 20;

/// The properties of a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copied {
    pub files: u64,
    pub bytes: u64,
    /// The last group of the log in it; 0 without one.
    pub group: u64,
    pub tables: usize,
}

/// Copies the database in `from` to the empty directory `to`, and checks the copied log. `note`
/// gets the number of bytes copied each time.
pub async fn copy_directory<D: Disk, T: Disk>(
    from: &Directory<D>,
    to: &Directory<T>,
    mut note: impl FnMut(u64),
) -> Result<Copied> {
    if let Some(entry) = to.list().await?.into_iter().next() {
        let directory = to.label();
        if Control::read(to).await.is_ok_and(|control| control.is_some()) {
            return Err(DurabilityError::HasDatabase { directory });
        }
        return Err(DurabilityError::NotEmpty { directory, file: entry.name });
    }
    for _ in 0..TRIES_MAX {
        let Some(Sources { control, files, last }) = open_all(from).await? else { continue };
        let mut bytes = 0;
        for file in &files {
            bytes += copy_file(file, to, &mut note).await?;
        }
        let (name, last) = last;
        let target = to.create(&name).await?;
        target.write_at(0, &last[..used_bytes(&last)]).await?;
        // A sealed segment has a length that is checked.
        target.allocate(last.len() as u64).await?;
        target.sync().await?;
        note(last.len() as u64);
        to.sync().await?;
        control.write(to).await?;
        let survey = survey_of(to, &control).await?;
        let group = survey.last_group().map_or(0, |group| group.number);
        let (files, bytes) = (files.len() as u64 + 2, bytes + last.len() as u64);
        return Ok(Copied { files, bytes, group, tables: control.tables.len() });
    }
    Err(DurabilityError::Busy { directory: from.label() })
}

/// The state of a directory's log, which must be intact.
pub async fn survey_of<D: Disk>(directory: &Directory<D>, control: &Control) -> Result<Survey> {
    let (identity, start) = (control.identity(), control.replay_from());
    match redo_log::survey::survey(directory, identity, start).await? {
        (survey, None) => match survey.early_end(directory, control.reached_group()) {
            None => Ok(survey),
            Some(damage) => Err(damaged(control, damage)),
        },
        (_, Some(damage)) => Err(damaged(control, damage)),
    }
}

fn damaged(control: &Control, damage: Damage) -> DurabilityError {
    redo_log::LogError::Damaged(Damage { needed_group: control.needed_group(), ..damage }).into()
}

/// The control file of a directory, which must have a database.
pub async fn control_of<D: Disk>(directory: &Directory<D>) -> Result<Control> {
    let control = Control::read(directory).await?;
    control.ok_or_else(|| DurabilityError::NoDatabase { directory: directory.label() })
}

/// The open files of a database.
struct Sources<D: Disk> {
    control: Control,
    files: Vec<File<D>>,
    /// The last segment of the log, as it was.
    last: (String, Vec<u8>),
}

/// Opens all files; `None` if the control file changes meanwhile.
async fn open_all<D: Disk>(from: &Directory<D>) -> Result<Option<Sources<D>>> {
    let control = control_of(from).await?;
    let checkpoint = control.checkpoint.iter();
    let mut names: Vec<String> = checkpoint
        .flat_map(|checkpoint| {
            let (database, number) = (control.identity(), checkpoint.number);
            let identity = move |table| FileIdentity { database, checkpoint: number, table };
            checkpoint.files.iter().map(move |file| identity(file.table).name())
        })
        .collect();
    let first = control.replay_from().segment;
    let Some((number, last)) = last_segment(from, first).await? else { return Ok(None) };
    names.extend((first..number).map(file_name));
    let mut files = Vec::new();
    for name in names {
        let Some(file) = open(from, &name).await? else { return Ok(None) };
        files.push(file);
    }
    let last = (file_name(number), last);
    let is_same = control_of(from).await? == control;
    Ok(is_same.then_some(Sources { control, files, last }))
}

/// Reads the last segment; `None` if the log goes on in another one meanwhile.
async fn last_segment<D: Disk>(from: &Directory<D>, first: u64) -> Result<Option<(u64, Vec<u8>)>> {
    let mut number = newest_segment(from).await?.max(first);
    let Some(mut bytes) = read_segment(from, number).await? else { return Ok(None) };
    if number > first && Header::decode(&bytes).is_err() {
        // The next segment is being made, or was left over by a full disk: it has no groups until
        // the one before it is sealed.
        let Some(before) = read_segment(from, number - 1).await? else { return Ok(None) };
        if is_sealed(&before) {
            let Some(again) = read_segment(from, number).await? else { return Ok(None) };
            bytes = again;
        } else {
            (number, bytes) = (number - 1, before);
        }
    }
    let goes_on = is_sealed(&bytes) && newest_segment(from).await? > number;
    Ok((!goes_on).then_some((number, bytes)))
}

async fn newest_segment<D: Disk>(from: &Directory<D>) -> Result<u64> {
    let entries = from.list().await?;
    Ok(entries.iter().filter_map(|entry| segment_of(&entry.name)).max().unwrap_or(0))
}

async fn read_segment<D: Disk>(from: &Directory<D>, number: u64) -> Result<Option<Vec<u8>>> {
    match open(from, &file_name(number)).await? {
        Some(file) => stable_bytes(&file).await.map(Some),
        None => Ok(None),
    }
}

/// Whether the segment says that another one follows.
fn is_sealed(bytes: &[u8]) -> bool {
    let Ok(header) = Header::decode(bytes) else { return false };
    let marker = |&at: &u64| Marker::decode(bytes.get(at as usize..)?, header.seed());
    MARKERS.iter().filter_map(marker).any(|marker| marker.state == State::Sealed)
}

/// Opens a file; `None` if it is gone.
async fn open<D: Disk>(from: &Directory<D>, name: &str) -> Result<Option<File<D>>> {
    match from.open_file(name).await {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind == ErrorKind::Missing => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The bytes of a segment that may be written to: what it has at the first reading, whole.
async fn stable_bytes<D: Disk>(file: &File<D>) -> Result<Vec<u8>> {
    let mut bytes = read_used(file).await?;
    let (blocks, used) = (BLOCKS as usize, used_bytes(&bytes));
    for _ in 0..READINGS_MAX {
        if used <= blocks {
            break;
        }
        let mut again = vec![0; used - blocks];
        let count = file.read_at(BLOCKS, &mut again).await?;
        again.truncate(count);
        if again == bytes[blocks..used] {
            break;
        }
        bytes[blocks..blocks + again.len()].copy_from_slice(&again);
    }
    Ok(bytes)
}

/// Reads a segment up to a long run of zeros: most of an open one is not written yet. A run inside
/// a group would cut it off; before the sync marker, that is found as damage of the copy.
async fn read_used<D: Disk>(file: &File<D>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let begin = bytes.len();
        bytes.resize(begin + ZEROS_BYTES, 0);
        let count = file.read_at(begin as u64, &mut bytes[begin..]).await?;
        bytes.truncate(begin + count);
        if count < ZEROS_BYTES || bytes[begin..].iter().all(|&byte| byte == 0) {
            return Ok(bytes);
        }
    }
}

fn used_bytes(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
}

/// Copies a file that does not change; returns its bytes.
async fn copy_file<D: Disk, T: Disk>(
    source: &File<D>,
    to: &Directory<T>,
    note: &mut impl FnMut(u64),
) -> Result<u64> {
    let target = to.create(source.name()).await?;
    let (mut piece, mut offset) = (vec![0; PIECE_BYTES], 0);
    loop {
        let count = source.read_at(offset, &mut piece).await?;
        if count == 0 {
            break;
        }
        target.write_at(offset, &piece[..count]).await?;
        offset += count as u64;
        note(count as u64);
    }
    target.sync().await?;
    Ok(offset)
}
