//! A temporary folder that is removed with its owner.

use super::interrupt::note_folder;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static COUNT: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates a folder that no other user may enter.
    pub fn new() -> std::io::Result<Self> {
        let number = COUNT.fetch_add(1, Relaxed);
        let name = format!("namdb-plan-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        note_folder(&path, true);
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .inspect_err(|_| note_folder(&path, false))?;
        Ok(Self { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes another user the folder's owner, which only root can do.
    pub fn give_to(&self, user: u32, group: u32) -> std::io::Result<()> {
        chown(&self.path, Some(user), Some(group))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // An error is not reported; the system cleans its temporary files.
        let _ = std::fs::remove_dir_all(&self.path);
        note_folder(&self.path, false);
    }
}
