//! A simulated disk with one directory: it loses what a program forgot to sync.
//!
//! ```text
//! operation   visible to processes   durable after a sync of   after a crash before that
//! write       at once                the file                  any of the sector's states
//! length      at once                the file                  any of the lengths
//! name        at once                the directory             before, after, or both
//! ```
//!
//! Each sector of 512 bytes, each length and each name survives on its own, so that writes are
//! torn and reordered. A failed sync of a file drops the bytes that it did not write, and counts
//! them as written, as Linux does: reads and the next sync succeed. Lengths and names stay dirty.
//!
//! A [`SimulatedDisk`] belongs to the test; a process uses it through a [`DiskAccess`], alone
//! ([`SimulatedDisk::access`]; operations are ready at once) or on an endpoint of a world
//! ([`SimulatedDisk::access_on`]; operations take virtual time). [`SimulatedDisk::crash`] leaves
//! one of the legal images, drawn from the seed, [`SimulatedDisk::power_off_at`] interrupts an
//! operation, and [`SimulatedDisk::coverage`] counts the faults that had an effect.
//!
//! ```
//! use fabric::run_now;
//! use sim::disk::{DiskConfig, SimulatedDisk};
//! use storage::Directory;
//!
//! let disk = SimulatedDisk::new(DiskConfig::new(7));
//! run_now(async {
//!     let directory = Directory::open(disk.access()).await?;
//!     let file = directory.create("kept").await?;
//!     file.write_at(0, b"words").await?;
//!     file.sync().await?;
//!     directory.sync().await?;
//!     directory.create("lost").await?.write_at(0, b"words").await
//! })?;
//! disk.crash();
//! assert_eq!(disk.read("kept").as_deref(), Some(&b"words"[..]));
//! # Ok::<(), storage::DiskError>(())
//! ```

mod access;
mod fault;
mod file;
mod names;
#[cfg(test)]
mod tests;

pub use access::{DiskAccess, Handle};
pub use fault::{DiskCoverage, DiskFault};

use crate::config::Interval;
use crate::env::Endpoint;
use crate::random::Random;
use file::{FileState, Survival};
use names::{FileId, Names};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use storage::PlantedBug;

/// The stream of random numbers of disks.
const STREAM: u64 = 0xd15c;

/// A kind of sync.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sync {
    File,
    /// Of the directory, while a name has changed to another one.
    Rename,
}

/// The properties of a simulated disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiskConfig {
    pub seed: u64,
    /// Room for all files together.
    pub capacity_bytes: u64,
    /// One in this many syncs of files and directory fails; 0: none.
    pub failed_sync_one_in: u32,
    /// The virtual time of each operation on an endpoint.
    pub operation_ns: Interval,
    /// Guards that are removed.
    pub planted: Vec<PlantedBug>,
}

impl DiskConfig {
    /// A large disk whose syncs succeed.
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            capacity_bytes: 1 << 40,
            failed_sync_one_in: 0,
            operation_ns: Interval::new(1_000, 100_000),
            planted: Vec::new(),
        }
    }
}

#[derive(Clone)]
struct State {
    config: DiskConfig,
    random: Random,
    files: Vec<FileState>,
    names: Names,
    /// Changes and syncs since the disk was made.
    operations: u64,
    /// The operation that the power fails in.
    power_off_at: Option<u64>,
    /// Syncs before the one that the power fails in.
    power_off_in: Option<(Sync, u64)>,
    has_power: bool,
    /// Syncs that still succeed before one fails.
    sync_failure_in: Option<u64>,
    /// Crashes and kills: handles of an earlier life are refused.
    life: u64,
    /// The access that holds the directory's lock.
    locked_by: Option<u64>,
    accesses: u64,
    coverage: DiskCoverage,
}

impl State {
    fn used_bytes(&self) -> u64 {
        self.names.live().map(|(_, file)| self.files[file].live().len() as u64).sum()
    }

    /// Ends all processes.
    fn end_life(&mut self) {
        self.life += 1;
        self.locked_by = None;
        self.has_power = true;
        self.power_off_at = None;
        self.power_off_in = None;
        self.sync_failure_in = None;
    }
}

/// A disk, as the test that owns it sees it; clones are the same disk.
#[derive(Clone)]
pub struct SimulatedDisk(Rc<RefCell<State>>);

impl SimulatedDisk {
    /// An empty disk.
    pub fn new(config: DiskConfig) -> Self {
        Self::with_files(config, BTreeMap::new())
    }

    /// A disk with these files, all durable.
    pub fn with_files(config: DiskConfig, files: BTreeMap<String, Vec<u8>>) -> Self {
        let names = files.keys().cloned().zip(0..).collect();
        let state = State {
            random: Random::new(config.seed, STREAM),
            config,
            files: files.into_values().map(FileState::of).collect(),
            names: Names::of(names),
            operations: 0,
            power_off_at: None,
            power_off_in: None,
            has_power: true,
            sync_failure_in: None,
            life: 0,
            locked_by: None,
            accesses: 0,
            coverage: DiskCoverage::default(),
        };
        Self(Rc::new(RefCell::new(state)))
    }

    /// A copy of the disk as it is, whose further fate is drawn from `seed`. Processes of the
    /// original have no access to it.
    pub fn fork(&self, seed: u64) -> Self {
        let mut state = self.0.borrow().clone();
        state.random = Random::new(seed, STREAM);
        state.config.seed = seed;
        state.locked_by = None;
        state.coverage = DiskCoverage::default();
        Self(Rc::new(RefCell::new(state)))
    }

    /// A process on this machine, whose operations are ready at once.
    pub fn access(&self) -> DiskAccess {
        self.connect(None)
    }

    /// A process of a simulated world, whose operations take virtual time.
    pub fn access_on(&self, env: &Endpoint) -> DiskAccess {
        self.connect(Some(env.clone()))
    }

    fn connect(&self, env: Option<Endpoint>) -> DiskAccess {
        let state = &mut *self.0.borrow_mut();
        state.accesses += 1;
        DiskAccess::new(self.0.clone(), env, state.accesses, state.life)
    }

    /// The machine loses power: one of the legal images remains, and no process.
    pub fn crash(&self) {
        let state = &mut *self.0.borrow_mut();
        let State { random, files, names, coverage, .. } = state;
        coverage.count(DiskFault::PowerLoss);
        let survival = Survival::draw(random);
        names.crash(survival, random, coverage);
        for file in files {
            file.crash(survival, random, coverage);
        }
        state.end_life();
    }

    /// All processes end, as by SIGKILL; the page cache keeps what they wrote.
    pub fn kill(&self) {
        let state = &mut *self.0.borrow_mut();
        state.coverage.count(DiskFault::ProcessEnd);
        state.end_life();
    }

    /// Lets the power fail in the operation with this number: a part of it may happen, and every
    /// later operation is refused until [`Self::crash`] or [`Self::kill`].
    pub fn power_off_at(&self, operation: u64) {
        self.0.borrow_mut().power_off_at = Some(operation);
    }

    /// Lets the power fail in a sync, after `count` others of its kind:
    /// where the most is unsynced.
    pub fn power_off_in_sync(&self, sync: Sync, count: u64) {
        self.0.borrow_mut().power_off_in = Some((sync, count));
    }

    /// Whether the power has not failed since the last crash.
    pub fn has_power(&self) -> bool {
        self.0.borrow().has_power
    }

    /// Changes and syncs until now: creations, writes, allocations, truncations, renames, removals
    /// and syncs.
    pub fn operations(&self) -> u64 {
        self.0.borrow().operations
    }

    /// Lets one sync fail, after `count` that succeed.
    pub fn fail_sync_after(&self, count: u64) {
        self.0.borrow_mut().sync_failure_in = Some(count);
    }

    /// Changes the room for all files together.
    pub fn set_capacity(&self, bytes: u64) {
        self.0.borrow_mut().config.capacity_bytes = bytes;
    }

    /// Removes guards, or none.
    pub fn plant(&self, bugs: &[PlantedBug]) {
        self.0.borrow_mut().config.planted = bugs.to_vec();
    }

    /// Changes bit `bit` of a file.
    ///
    /// # Panics
    /// If there is no such file or bit.
    pub fn flip(&self, name: &str, bit: u64) {
        let file = self.find(name);
        let state = &mut *self.0.borrow_mut();
        state.files[file].flip(bit);
        state.coverage.count(DiskFault::BitFlip);
    }

    /// Cuts a file to `bytes` bytes.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn cut(&self, name: &str, bytes: u64) {
        let file = self.find(name);
        let state = &mut *self.0.borrow_mut();
        state.files[file].cut(bytes as usize);
        state.coverage.count(DiskFault::CutFile);
    }

    fn find(&self, name: &str) -> FileId {
        let found = self.0.borrow().names.find(name);
        found.unwrap_or_else(|| panic!("the simulated disk has no file `{name}`"))
    }

    /// The bytes of a file as processes read them; `None` if there is no such file.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.0.borrow();
        state.names.find(name).map(|file| state.files[file].live().to_vec())
    }

    /// All files as processes read them.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.0.borrow();
        let file = |(name, file): (&String, FileId)| (name.clone(), state.files[file].live());
        state.names.live().map(file).map(|(name, bytes)| (name, bytes.to_vec())).collect()
    }

    /// The faults that had an effect.
    pub fn coverage(&self) -> DiskCoverage {
        self.0.borrow().coverage.clone()
    }
}
