//! A process's access to a simulated disk: the operations of [`storage::Disk`].

use crate::disk::fault::DiskFault;
use crate::disk::file::SECTOR;
use crate::disk::names::FileId;
use crate::disk::{State, Sync};
use crate::env::Endpoint;
use fabric::Env;
use std::cell::RefCell;
use std::rc::Rc;
use storage::{Disk, Entry, Failure, FailureKind, PlantedBug};

/// The disk as one process sees it. Dropping it gives the lock back.
pub struct DiskAccess {
    state: Rc<RefCell<State>>,
    env: Option<Endpoint>,
    number: u64,
    life: u64,
}

/// An open file.
pub struct Handle(FileId);

/// The fate of an operation.
enum Course {
    Whole,
    /// The power fails in it.
    Interrupted,
}

impl DiskAccess {
    pub(super) fn new(
        state: Rc<RefCell<State>>,
        env: Option<Endpoint>,
        number: u64,
        life: u64,
    ) -> Self {
        Self { state, env, number, life }
    }

    /// Lets the operation's virtual time pass.
    async fn take_time(&self) {
        if let Some(env) = &self.env {
            let duration_ns = {
                let state = &mut *self.state.borrow_mut();
                state.config.operation_ns.draw(&mut state.random)
            };
            env.sleep_ns(duration_ns).await;
        }
    }

    fn look<T>(&self, look: impl FnOnce(&mut State) -> Result<T, Failure>) -> Result<T, Failure> {
        let state = &mut *self.state.borrow_mut();
        if state.life != self.life || !state.has_power {
            return Err(Failure::new(FailureKind::Other, "the simulated machine has no power"));
        }
        look(state)
    }

    /// Counts a change or a sync, which the power may fail in. An interrupted operation happens in
    /// part, and its caller gets an error.
    async fn change<T>(
        &self,
        change: impl FnOnce(&mut State, Course) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.operation(None, change).await
    }

    async fn operation<T>(
        &self,
        sync: Option<Sync>,
        change: impl FnOnce(&mut State, Course) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.take_time().await;
        self.look(|state| {
            state.operations += 1;
            if !state.fails_power(sync) {
                return change(state, Course::Whole);
            }
            state.has_power = false;
            // The caller never learns the result.
            let _ = change(state, Course::Interrupted);
            Err(Failure::new(FailureKind::Other, "the simulated machine loses power"))
        })
    }
}

impl Drop for DiskAccess {
    fn drop(&mut self) {
        // A panic may have left the state borrowed.
        if let Ok(mut state) = self.state.try_borrow_mut()
            && state.locked_by == Some(self.number)
        {
            state.locked_by = None;
        }
    }
}

impl State {
    /// Whether an interrupted change of a name, a length or a sync still happens.
    fn happens(&mut self, course: &Course) -> bool {
        matches!(course, Course::Whole) || self.random.one_in(2)
    }

    /// The bytes of a write that happen: all, or if the power fails whole sectors of it.
    fn part(&mut self, course: &Course, offset: usize, bytes: usize) -> usize {
        match course {
            Course::Whole => bytes,
            Course::Interrupted => {
                let end = offset + self.random.up_to(bytes as u64) as usize;
                (end / SECTOR * SECTOR).saturating_sub(offset)
            }
        }
    }

    /// Whether the power fails in this operation.
    fn fails_power(&mut self, sync: Option<Sync>) -> bool {
        if let Some((planned, before)) = &mut self.power_off_in
            && sync == Some(*planned)
        {
            match before.checked_sub(1) {
                Some(fewer) => *before = fewer,
                None => return true,
            }
        }
        self.power_off_at == Some(self.operations)
    }

    fn fails_sync(&mut self) -> bool {
        let is_planned = self.sync_failure_in == Some(0);
        self.sync_failure_in = self.sync_failure_in.and_then(|count| count.checked_sub(1));
        let fails = is_planned || self.random.one_in(self.config.failed_sync_one_in);
        if fails {
            self.coverage.count(DiskFault::FailedSync);
        }
        fails
    }

    fn missing(&self, name: &str) -> Result<FileId, Failure> {
        let failure = || Failure::new(FailureKind::Missing, "no such file");
        self.names.find(name).ok_or_else(failure)
    }

    /// The length to which a file may grow if it needs `end` bytes.
    fn room(&mut self, file: FileId, end: usize) -> Result<usize, usize> {
        let length = self.files[file].live().len();
        let free = self.config.capacity_bytes.saturating_sub(self.used_bytes()) as usize;
        if end <= length.saturating_add(free) {
            return Ok(end);
        }
        self.coverage.count(DiskFault::Full);
        Err(length + free)
    }

    fn write(
        &mut self,
        file: FileId,
        offset: usize,
        bytes: &[u8],
        course: &Course,
    ) -> Result<(), Failure> {
        let room = self.room(file, offset + bytes.len());
        let fits = room.unwrap_or_else(|end| end.saturating_sub(offset).min(bytes.len()));
        let count = self.part(course, offset, fits.min(bytes.len()));
        let write = self.operations;
        self.files[file].write(write, offset, &bytes[..count]);
        match room {
            Ok(_) => Ok(()),
            Err(_) => Err(full()),
        }
    }
}

fn full() -> Failure {
    Failure::new(FailureKind::Full, "no space left on device")
}

fn input_output() -> Failure {
    Failure::new(FailureKind::Other, "input/output error")
}

impl Disk for DiskAccess {
    type Handle = Handle;
    const IS_SIMULATED: bool = true;

    fn label(&self) -> String {
        "simulated".to_owned()
    }

    async fn lock(&self) -> Result<(), Failure> {
        self.take_time().await;
        self.look(|state| {
            if state.locked_by.is_some() {
                let reason = "another process has it open (simulated)";
                return Err(Failure::new(FailureKind::Locked, reason));
            }
            state.locked_by = Some(self.number);
            Ok(())
        })
    }

    async fn create(&self, name: &str) -> Result<Handle, Failure> {
        self.change(|state, course| {
            if state.names.find(name).is_some() {
                return Err(Failure::new(FailureKind::Exists, "the file exists"));
            }
            let file = state.files.len();
            state.files.push(Default::default());
            if state.happens(&course) {
                state.names.create(name, file);
            }
            Ok(Handle(file))
        })
        .await
    }

    async fn open(&self, name: &str, _is_writable: bool) -> Result<Handle, Failure> {
        self.take_time().await;
        self.look(|state| state.missing(name).map(Handle))
    }

    async fn list(&self) -> Result<Vec<Entry>, Failure> {
        self.take_time().await;
        self.look(|state| {
            let entry = |(name, file): (&String, FileId)| Entry {
                name: name.clone(),
                bytes: state.files[file].live().len() as u64,
            };
            Ok(state.names.live().map(entry).collect())
        })
    }

    async fn length(&self, file: &Handle) -> Result<u64, Failure> {
        self.take_time().await;
        self.look(|state| Ok(state.files[file.0].live().len() as u64))
    }

    async fn read_at(
        &self,
        file: &Handle,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<usize, Failure> {
        self.take_time().await;
        self.look(|state| {
            let live = state.files[file.0].live();
            let from = live.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
            let count = buffer.len().min(live.len() - from);
            buffer[..count].copy_from_slice(&live[from..from + count]);
            Ok(count)
        })
    }

    async fn write_at(&self, file: &Handle, offset: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.change(|state, course| state.write(file.0, offset as usize, bytes, &course)).await
    }

    async fn allocate(&self, file: &Handle, bytes: u64) -> Result<(), Failure> {
        self.change(|state, course| {
            let end = state.room(file.0, bytes as usize).map_err(|_| full())?;
            if state.happens(&course) {
                let write = state.operations;
                state.files[file.0].lengthen(write, end);
            }
            Ok(())
        })
        .await
    }

    async fn truncate(&self, file: &Handle, bytes: u64) -> Result<(), Failure> {
        self.change(|state, course| {
            let end = state.room(file.0, bytes as usize).map_err(|_| full())?;
            if state.happens(&course) {
                let write = state.operations;
                state.files[file.0].truncate(write, end);
            }
            Ok(())
        })
        .await
    }

    async fn sync(&self, file: &Handle) -> Result<(), Failure> {
        self.operation(Some(Sync::File), |state, course| {
            if state.files[file.0].is_dirty() && state.fails_sync() {
                state.files[file.0].fail_sync(&mut state.random);
                return Err(input_output());
            }
            // A crash in the middle of a sync draws from the unsynced writes like any other.
            if state.happens(&course) {
                state.files[file.0].sync();
            }
            Ok(())
        })
        .await
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), Failure> {
        self.change(|state, course| {
            state.missing(from)?;
            if state.happens(&course) {
                state.names.rename(from, to);
            }
            Ok(())
        })
        .await
    }

    async fn remove(&self, name: &str) -> Result<(), Failure> {
        self.change(|state, course| {
            state.missing(name)?;
            if state.happens(&course) {
                state.names.remove(name);
            }
            Ok(())
        })
        .await
    }

    async fn sync_directory(&self) -> Result<(), Failure> {
        let is_rename = self.state.borrow().names.has_renamed();
        self.operation(is_rename.then_some(Sync::Rename), |state, course| {
            if state.fails_sync() {
                // Names are metadata: they stay dirty, and a later sync may still write them.
                return Err(input_output());
            }
            if state.happens(&course) {
                state.names.sync();
            }
            Ok(())
        })
        .await
    }

    async fn free_bytes(&self) -> Result<u64, Failure> {
        self.take_time().await;
        self.look(|state| {
            let free = state.config.capacity_bytes.saturating_sub(state.used_bytes());
            Ok(free / SECTOR as u64 * SECTOR as u64)
        })
    }

    fn has_planted(&self, bug: PlantedBug) -> bool {
        self.state.borrow().config.planted.contains(&bug)
    }
}
