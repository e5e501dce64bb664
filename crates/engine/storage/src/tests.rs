//! The rules of a directory, over the operating system's disk and over one whose sync fails.

use crate::disk::{Disk, Entry, Failure, FailureKind};
use crate::error::{DiskError, ErrorKind};
use crate::real::RealDisk;
use crate::{Directory, File};
use fabric::run_now;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that the test removes at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("namdb-storage-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn disk(&self) -> RealDisk {
        RealDisk::create(&self.0).expect("the folder can be made")
    }

    fn open(&self) -> Result<Directory<RealDisk>, DiskError> {
        run_now(Directory::open(self.disk()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_keep_what_is_written() {
    let folder = Folder::new();
    let directory = folder.open().expect("nobody has it");
    run_now(async {
        let file = directory.create("a.log").await?;
        file.write_at(3, b"words").await?;
        assert_eq!(file.length().await?, 8);
        let file = file.sync().await?;
        let mut buffer = [9; 12];
        assert_eq!(file.read_at(0, &mut buffer).await?, 8);
        assert_eq!(&buffer, b"\0\0\0words\x09\x09\x09\x09");
        file.truncate(4).await?;
        file.allocate(6).await?;
        file.allocate(2).await?;
        assert_eq!(file.read_at(0, &mut buffer).await?, 6, "room is never taken away");
        assert_eq!(&buffer[..6], b"\0\0\0w\0\0");
        directory.sync().await?;
        directory.rename("a.log", "b.log").await?;
        directory.create("c.log").await?;
        let entries = directory.list().await?;
        let entry = |name: &str, bytes| Entry { name: name.to_owned(), bytes };
        assert_eq!(entries, [entry("b.log", 6), entry("c.log", 0)], "the lock is not listed");
        directory.remove("c.log").await?;
        directory.sync().await?;
        assert_eq!(directory.list().await?.len(), 1);
        assert!(directory.free_bytes().await? > 0);
        Ok::<(), DiskError>(())
    })
    .expect("the disk works");
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let folder = Folder::new();
    let directory = folder.open().expect("nobody has it");
    let label = folder.0.display().to_string();
    let error = run_now(directory.open_file("gone.log")).expect_err("it is not there");
    assert_eq!(error.kind, ErrorKind::Missing);
    let sentence = error.to_string();
    assert!(sentence.starts_with(&format!("cannot open `{label}/gone.log`: ")), "{sentence}");
    assert!(sentence.ends_with("check the path, or restore the file from a backup"), "{sentence}");
    run_now(directory.create("a.log")).expect("it is new");
    let error = run_now(directory.create("a.log")).expect_err("it is there");
    assert_eq!(error.kind, ErrorKind::Exists);
    let file = run_now(directory.open_file("a.log")).expect("it is there");
    let error = run_now(file.write_at(u64::MAX, b"x")).expect_err("no file is that long");
    let sentence = error.to_string();
    assert!(sentence.contains(&format!("a.log` at byte {}: ", u64::MAX)), "{sentence}");
}

#[test]
fn names_lead_to_no_other_directory() {
    let folder = Folder::new();
    let directory = folder.open().expect("nobody has it");
    let long = "a".repeat(129);
    for name in ["", "..", "../a", "a/b", "/a", ".a", "a\0", "lock", &long] {
        let error = run_now(directory.create(name)).expect_err("the name is refused");
        assert_eq!(error.kind, ErrorKind::Name, "{name:?}");
        let error = run_now(directory.rename("a.log", name)).expect_err("the name is refused");
        assert_eq!(error.kind, ErrorKind::Name, "{name:?}");
    }
}

#[test]
fn a_second_process_gets_a_clear_error() {
    let folder = Folder::new();
    let first = folder.open().expect("nobody has it");
    let error = folder.open().err().expect("the first has it");
    assert_eq!(error.kind, ErrorKind::Locked);
    let sentence = error.to_string();
    let owner = format!("(process {})", std::process::id());
    assert!(sentence.contains(&owner) && sentence.contains("end the other process"), "{sentence}");
    drop(first);
    folder.open().expect("the lock ends with its owner");
}

#[test]
fn tools_read_without_the_lock_and_change_nothing() {
    let folder = Folder::new();
    let owner = folder.open().expect("nobody has it");
    let file = run_now(owner.create("a.log")).expect("it is new");
    run_now(file.write_at(0, b"abc")).expect("there is room");
    let tool = Directory::read_only(folder.disk());
    let file = run_now(tool.open_file("a.log")).expect("it may be read");
    let mut buffer = [0; 3];
    assert_eq!(run_now(file.read_at(0, &mut buffer)).expect("it may be read"), 3);
    let refused = [
        run_now(file.write_at(0, b"x")).err(),
        run_now(file.truncate(0)).err(),
        run_now(file.allocate(9)).err(),
        run_now(file.sync()).err(),
        run_now(tool.create("b.log")).err(),
        run_now(tool.rename("a.log", "b.log")).err(),
        run_now(tool.remove("a.log")).err(),
        run_now(tool.sync()).err(),
    ];
    for error in refused {
        assert_eq!(error.expect("a change is refused").kind, ErrorKind::ReadOnly);
    }
}

#[test]
fn missing_parents_are_reported() {
    let failed = RealDisk::create(Path::new("/nonexistent/a/b")).err().expect("no parent");
    assert_eq!(failed.kind, FailureKind::Missing);
}

/// A disk whose next sync fails and whose later ones succeed, as Linux reports a lost write once.
struct FailsOnce {
    inner: RealDisk,
    fails: Cell<bool>,
}

impl FailsOnce {
    fn result(&self) -> Result<(), Failure> {
        match self.fails.replace(false) {
            true => Err(Failure::new(FailureKind::Full, "Input/output error")),
            false => Ok(()),
        }
    }
}

impl Disk for FailsOnce {
    type Handle = std::fs::File;

    fn label(&self) -> String {
        self.inner.label()
    }
    async fn lock(&self) -> Result<(), Failure> {
        self.inner.lock().await
    }
    async fn create(&self, name: &str) -> Result<Self::Handle, Failure> {
        self.inner.create(name).await
    }
    async fn open(&self, name: &str, is_writable: bool) -> Result<Self::Handle, Failure> {
        self.inner.open(name, is_writable).await
    }
    async fn list(&self) -> Result<Vec<Entry>, Failure> {
        self.inner.list().await
    }
    async fn length(&self, file: &Self::Handle) -> Result<u64, Failure> {
        self.inner.length(file).await
    }
    async fn read_at(
        &self,
        file: &Self::Handle,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<usize, Failure> {
        self.inner.read_at(file, offset, buffer).await
    }
    async fn write_at(
        &self,
        file: &Self::Handle,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        self.inner.write_at(file, offset, bytes).await
    }
    async fn allocate(&self, file: &Self::Handle, bytes: u64) -> Result<(), Failure> {
        self.inner.allocate(file, bytes).await
    }
    async fn truncate(&self, file: &Self::Handle, bytes: u64) -> Result<(), Failure> {
        self.inner.truncate(file, bytes).await
    }
    async fn sync(&self, _file: &Self::Handle) -> Result<(), Failure> {
        self.result()
    }
    async fn rename(&self, from: &str, to: &str) -> Result<(), Failure> {
        self.inner.rename(from, to).await
    }
    async fn remove(&self, name: &str) -> Result<(), Failure> {
        self.inner.remove(name).await
    }
    async fn sync_directory(&self) -> Result<(), Failure> {
        self.result()
    }
    async fn free_bytes(&self) -> Result<u64, Failure> {
        self.inner.free_bytes().await
    }
}

fn failing(folder: &Folder) -> (Directory<FailsOnce>, File<FailsOnce>, File<FailsOnce>) {
    let disk = FailsOnce { inner: folder.disk(), fails: Cell::new(true) };
    let directory = run_now(Directory::open(disk)).expect("nobody has it");
    let synced = run_now(directory.create("a.log")).expect("it is new");
    let other = run_now(directory.create("b.log")).expect("it is new");
    (directory, synced, other)
}

fn all_refused(directory: &Directory<FailsOnce>, other: File<FailsOnce>) {
    let refused = [
        run_now(other.read_at(0, &mut [0; 4])).err(),
        run_now(other.write_at(0, b"x")).err(),
        run_now(other.length()).err(),
        run_now(other.sync()).err(),
        run_now(directory.sync()).err(),
        run_now(directory.create("c.log")).err(),
        run_now(directory.open_file("a.log")).err(),
        run_now(directory.list()).err(),
        run_now(directory.free_bytes()).err(),
    ];
    for error in refused {
        let error = error.expect("everything is refused");
        assert_eq!(error.kind, ErrorKind::Ended);
        assert!(error.is_final() && !error.is_full());
        let sentence = error.to_string();
        assert!(sentence.contains("an earlier sync failed") && sentence.contains("Input/output"));
        assert!(sentence.contains("open the database again"), "{sentence}");
    }
}

/// The retry of a sync succeeded in PostgreSQL and others while the data was gone.
#[test]
fn a_failed_sync_of_a_file_ends_everything() {
    let folder = Folder::new();
    let (directory, file, other) = failing(&folder);
    let error = run_now(file.sync()).expect_err("the disk fails");
    assert_eq!(error.kind, ErrorKind::SyncFailed, "a full disk at a sync is final, too");
    assert_eq!(directory.ended(), Some(&error));
    all_refused(&directory, other);
}

#[test]
fn a_failed_sync_of_the_directory_ends_everything() {
    let folder = Folder::new();
    let (directory, _file, other) = failing(&folder);
    let error = run_now(directory.sync()).expect_err("the disk fails");
    assert_eq!(error.kind, ErrorKind::SyncFailed);
    all_refused(&directory.clone(), other);
}
