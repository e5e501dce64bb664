//! A copy of a directory, also of one that a running database writes to.
//!
//! The copy is a state that a crash could have left: the newest checkpoint, the log behind it up to
//! a group, and a control file that names both. So it opens as the directory after a crash would.
//!
//! Without the directory's lock the files change while they are read:
//! - A new checkpoint removes old files. The copy then begins again.
//! - The log grows at its end. A segment is read again until what it had at the first reading has
//!   stopped changing: a group is written whole before the next one begins.
//! - The first page of a segment, with its markers, is taken from before the rest: it may say less
//!   than there is, but never more.
//! - The control file is read last, so that it has every table of which the log has rows.

use crate::checkpoint_file::FileIdentity;
use crate::control::Control;
use crate::error::{DurabilityError, Result};
use crate::open::is_own_file;
use redo_log::segment::BLOCKS;
use redo_log::{Survey, file_name, segment_of};
use storage::{Directory, Disk, ErrorKind, File};

/// Attempts before the copy gives up, if the database makes checkpoints faster than it is copied.
const TRIES_MAX: u32 = 20;
/// Readings of a segment until its content is stable.
const READINGS_MAX: u32 = 100;
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
        return Err(DurabilityError::NotEmpty { directory, file: entry.name });
    }
    for _ in 0..TRIES_MAX {
        let mut copy = Copy { from, to, files: 0, bytes: 0, note: &mut note };
        let Some(control) = copy.attempt().await? else {
            remove_all(to).await?;
            continue;
        };
        let (files, bytes) = (copy.files + 1, copy.bytes);
        to.sync().await?;
        control.write(to).await?;
        let survey = survey_of(to, &control).await?;
        let group = survey.last_group().map_or(0, |group| group.number);
        return Ok(Copied { files, bytes, group, tables: control.tables.len() });
    }
    Err(DurabilityError::Busy { directory: from.label() })
}

/// The state of a directory's log, which must be intact.
pub async fn survey_of<D: Disk>(directory: &Directory<D>, control: &Control) -> Result<Survey> {
    let (identity, start) = (control.identity(), control.replay_from());
    match redo_log::survey::survey(directory, identity, start).await? {
        (survey, None) => Ok(survey),
        (_, Some(damage)) => Err(redo_log::LogError::Damaged(damage).into()),
    }
}

/// The control file of a directory, which must have a database.
pub async fn control_of<D: Disk>(directory: &Directory<D>) -> Result<Control> {
    let control = Control::read(directory).await?;
    control.ok_or_else(|| DurabilityError::NoDatabase { directory: directory.label() })
}

async fn remove_all<T: Disk>(to: &Directory<T>) -> Result<()> {
    for entry in to.list().await?.into_iter().filter(|entry| is_own_file(&entry.name)) {
        to.remove(&entry.name).await?;
    }
    Ok(())
}

struct Copy<'a, D: Disk, T: Disk, N: FnMut(u64)> {
    from: &'a Directory<D>,
    to: &'a Directory<T>,
    files: u64,
    bytes: u64,
    note: &'a mut N,
}

impl<D: Disk, T: Disk, N: FnMut(u64)> Copy<'_, D, T, N> {
    /// Copies everything but the control file; `None` if a new checkpoint has removed files.
    async fn attempt(&mut self) -> Result<Option<Control>> {
        let control = control_of(self.from).await?;
        if let Some(checkpoint) = &control.checkpoint {
            for file in &checkpoint.files {
                let (database, number) = (control.identity(), checkpoint.number);
                let identity = FileIdentity { database, checkpoint: number, table: file.table };
                if !self.copy_file(&identity.name()).await? {
                    return Ok(None);
                }
            }
        }
        let mut segment = control.replay_from().segment;
        loop {
            if !self.copy_segment(segment).await? {
                return Ok(None);
            }
            let names = self.from.list().await?;
            let newest = names.iter().filter_map(|entry| segment_of(&entry.name)).max();
            if newest.is_none_or(|newest| newest <= segment) {
                break;
            }
            segment += 1;
        }
        let last = control_of(self.from).await?;
        Ok((last.checkpoint == control.checkpoint).then_some(last))
    }

    /// Opens a file of the database; `None` if it is gone.
    async fn open(&self, name: &str) -> Result<Option<File<D>>> {
        match self.from.open_file(name).await {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind == ErrorKind::Missing => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Copies a file that does not change.
    async fn copy_file(&mut self, name: &str) -> Result<bool> {
        let Some(source) = self.open(name).await? else { return Ok(false) };
        let target = self.to.create(name).await?;
        let (mut piece, mut offset) = (vec![0; PIECE_BYTES], 0);
        loop {
            let count = source.read_at(offset, &mut piece).await?;
            if count == 0 {
                break;
            }
            target.write_at(offset, &piece[..count]).await?;
            offset += count as u64;
            self.count(count as u64);
        }
        target.sync().await?;
        self.files += 1;
        Ok(true)
    }

    async fn copy_segment(&mut self, segment: u64) -> Result<bool> {
        let name = file_name(segment);
        let Some(source) = self.open(&name).await? else { return Ok(false) };
        let blocks = BLOCKS as usize;
        let mut bytes = read_all(&source).await?;
        // A segment that is being created may be shorter than its first page.
        let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        for _ in 0..READINGS_MAX {
            if used <= blocks {
                break;
            }
            let mut again = vec![0; used - blocks];
            let count = source.read_at(BLOCKS, &mut again).await?;
            again.truncate(count);
            if again == bytes[blocks..used] {
                break;
            }
            bytes[blocks..blocks + again.len()].copy_from_slice(&again);
        }
        let target = self.to.create(&name).await?;
        target.write_at(0, &bytes).await?;
        target.sync().await?;
        self.files += 1;
        self.count(bytes.len() as u64);
        Ok(true)
    }

    fn count(&mut self, bytes: u64) {
        self.bytes += bytes;
        (self.note)(bytes);
    }
}

async fn read_all<D: Disk>(file: &File<D>) -> Result<Vec<u8>> {
    let mut bytes = vec![0; file.length().await? as usize];
    let count = file.read_at(0, &mut bytes).await?;
    bytes.truncate(count);
    Ok(bytes)
}
