//! A development cluster's state: files in its directory, each replaced as a whole by renaming,
//! under one lock.
//!
//! A member's lease is a lock (`flock`) on its entry; the kernel releases it when the process ends,
//! for whatever reason. An unlocked entry means that its owner is gone.
//!
//! Decision: docs/decisions/0068-leases-of-a-development-cluster-are-file-locks.md

use crate::clock::{self, Moment};
use crate::error::RegistryError;
use crate::record::Stored;
use crate::store::{Change, EntryChange, Hold, Renewal};
use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// The folder in the cluster's directory.
const FOLDER: &str = "registry";
/// The record's file; entries are called as their members.
const RECORD: &str = "record";
/// Readers hold it shared and writers exclusively, so that all files are read in a consistent
/// state. Readers do not wait for each other: members read the map several times a second, and on a
/// busy machine taking turns would take too long.
const LOCK: &str = "lock";
/// Suffix of a file that is being written, until it is renamed.
const NEW: &str = ".new";
/// How long to wait for the lock: its holders never block, unless they are stopped.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// The state of a cluster in a directory.
pub(crate) struct FileStore {
    directory: PathBuf,
    place: String,
}

/// The entry of a member, locked.
#[derive(Default)]
pub(crate) struct FileHold(Mutex<Option<File>>);

impl FileHold {
    pub(crate) fn release(&self) {
        *self.0.lock().expect("no holder panics") = None;
    }

    fn take(&self, entry: File) {
        *self.0.lock().expect("no holder panics") = Some(entry);
    }
}

impl FileStore {
    /// Opens the state in `directory`, which is created if it is missing.
    pub(crate) fn open(directory: &Path) -> Result<Self, RegistryError> {
        let refuse = |why| RegistryError::Directory { path: directory.display().to_string(), why };
        let ours = directory.join(FOLDER);
        DirBuilder::new().recursive(true).mode(0o700).create(&ours).map_err(|error| {
            refuse(format!("{error}; set another `directory` in the cluster's file"))
        })?;
        for path in [directory.parent(), Some(directory), Some(&ours)].into_iter().flatten() {
            let metadata = std::fs::metadata(path).map_err(|error| refuse(error.to_string()))?;
            if let Some(why) = untrusted(&metadata, path == directory.parent().unwrap_or(path)) {
                return Err(RegistryError::Directory { path: path.display().to_string(), why });
            }
        }
        let place = ours.display().to_string();
        Ok(Self { directory: ours, place })
    }

    /// Whether a registry was made in `directory`.
    pub(crate) fn is_in(directory: &Path) -> bool {
        directory.join(FOLDER).is_dir()
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Removes everything unless a member is alive; returns whether it did. A process that waits
    /// for the lock finds the folder missing and changes nothing.
    pub(crate) fn clear(&self) -> Result<bool, RegistryError> {
        let _lock = self.lock(FlockOperation::NonBlockingLockExclusive)?;
        for name in self.entry_names()? {
            if self.is_held(&name)? {
                return Ok(false);
            }
        }
        std::fs::remove_dir_all(&self.directory).map_err(|error| self.refuse("", &error))?;
        Ok(true)
    }

    pub(crate) fn read(&self) -> Result<Stored, RegistryError> {
        let _lock = self.lock(FlockOperation::NonBlockingLockShared)?;
        let record = self.text(RECORD)?;
        let mut entries = Vec::new();
        for name in self.entry_names()? {
            if self.is_held(&name)?
                && let Some(text) = self.text(&name)?
            {
                entries.push((name, text));
            }
        }
        Ok(Stored { record, entries })
    }

    pub(crate) fn change(&self, change: &Change<'_>) -> Result<bool, RegistryError> {
        let _lock = self.lock(FlockOperation::NonBlockingLockExclusive)?;
        if self.text(RECORD)?.as_deref() != change.seen {
            return Ok(false);
        }
        for name in self.entry_names()? {
            if !self.is_held(&name)? {
                self.remove(&name)?;
            }
        }
        // The entry first: if this process dies in between, its lock is released.
        match change.entry {
            EntryChange::Put { name, text, hold: Hold::File(hold) } => {
                hold.take(self.write(name, text)?);
            }
            EntryChange::Put { hold: Hold::Etcd(_), .. } => unreachable!("a hold is of its store"),
            EntryChange::Remove { name } => self.remove(name)?,
            EntryChange::None => {}
        }
        self.write(RECORD, change.record)?;
        Ok(true)
    }

    /// The lease lasts as long as its entry is in the directory: removing the entry stops the
    /// server.
    pub(crate) fn renew(&self, hold: &FileHold, name: &str) -> Result<Renewal, RegistryError> {
        let ours = hold.0.lock().expect("no holder panics");
        let Some(ours) = ours.as_ref() else { return Ok(Renewal::Gone) };
        let ours = ours.metadata().map_err(|error| self.refuse(name, &error))?;
        match std::fs::metadata(self.directory.join(name)) {
            Ok(found) if (found.dev(), found.ino()) == (ours.dev(), ours.ino()) => {
                Ok(Renewal::Until(None))
            }
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.refuse(name, &error)),
            _ => Ok(Renewal::Gone),
        }
    }

    fn lock(&self, operation: FlockOperation) -> Result<File, RegistryError> {
        let refuse = |error: std::io::Error| self.refuse(LOCK, &error);
        let file = private()
            .create(true)
            .truncate(false)
            .open(self.directory.join(LOCK))
            .map_err(refuse)?;
        let deadline = Moment::now() + LOCK_PATIENCE;
        loop {
            match flock(&file, operation) {
                Ok(()) => return Ok(file),
                Err(rustix::io::Errno::WOULDBLOCK) if !deadline.is_past() => {
                    clock::sleep(Duration::from_micros(500));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    let why = format!(
                        "`{LOCK}` was held by other processes for {} s; kill or resume one that is suspended, or reduce the machine's load",
                        LOCK_PATIENCE.as_secs()
                    );
                    return Err(RegistryError::Directory { path: self.place.clone(), why });
                }
                Err(error) => return Err(refuse(error.into())),
            }
        }
    }

    /// Lists the entries.
    fn entry_names(&self) -> Result<Vec<String>, RegistryError> {
        let refuse = |error: std::io::Error| self.refuse("", &error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.directory).map_err(refuse)? {
            let name = entry.map_err(refuse)?.file_name().to_string_lossy().into_owned();
            if name != RECORD && name != LOCK && !name.ends_with(NEW) {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Whether the owner of an entry is alive: it holds the entry's lock.
    fn is_held(&self, name: &str) -> Result<bool, RegistryError> {
        let Some(file) = self.open_entry(name)? else { return Ok(false) };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
            Err(error) => Err(self.refuse(name, &error.into())),
        }
    }

    fn open_entry(&self, name: &str) -> Result<Option<File>, RegistryError> {
        match File::open(self.directory.join(name)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.refuse(name, &error)),
        }
    }

    fn text(&self, name: &str) -> Result<Option<String>, RegistryError> {
        let Some(mut file) = self.open_entry(name)? else { return Ok(None) };
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| self.refuse(name, &error))?;
        Ok(Some(text))
    }

    /// Writes a new version of a file, locked before it gets its name.
    fn write(&self, name: &str, text: &str) -> Result<File, RegistryError> {
        let refuse = |error: std::io::Error| self.refuse(name, &error);
        let new = self.directory.join(format!("{name}{NEW}"));
        let mut file = private().create(true).truncate(true).open(&new).map_err(refuse)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| refuse(error.into()))?;
        file.write_all(text.as_bytes()).map_err(refuse)?;
        std::fs::rename(&new, self.directory.join(name)).map_err(refuse)?;
        Ok(file)
    }

    fn remove(&self, name: &str) -> Result<(), RegistryError> {
        match std::fs::remove_file(self.directory.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.refuse(name, &error)),
            _ => Ok(()),
        }
    }

    fn refuse(&self, name: &str, error: &std::io::Error) -> RegistryError {
        let path = self.directory.join(name).display().to_string();
        RegistryError::Directory { path, why: error.to_string() }
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

/// Returns why other users could replace files in this directory, if they could.
fn untrusted(metadata: &Metadata, is_above: bool) -> Option<String> {
    let user = rustix::process::getuid().as_raw();
    let is_trusted_owner = metadata.uid() == user || (is_above && metadata.uid() == 0) || user == 0;
    // Write permission on a directory allows renaming its files, unless the sticky bit is set.
    let is_sticky = is_above && metadata.mode() & 0o1000 != 0;
    let is_open = metadata.mode() & 0o002 != 0 && !is_sticky;
    if !metadata.is_dir() {
        Some("it is not a directory; set another `directory` in the cluster's file".to_owned())
    } else if !is_trusted_owner {
        let owner = metadata.uid();
        Some(format!("it belongs to user {owner}; set another `directory` in the cluster's file"))
    } else if is_open {
        Some("others may write to it; remove that permission (chmod o-w)".to_owned())
    } else {
        None
    }
}
