//! A program that commits through the log, and what it may find after a crash.
//!
//! After each restart the recovered transactions must be exactly those that one of the program's
//! snapshots covers, and that snapshot must be at or after the last acknowledged one. Snapshots are
//! closed under reading and overwriting, so this is the whole promise of the log.

use fabric::random::SplitMix64;
use fabric::run_now;
use layout::{SlotId, VersionWord};
use redo_log::{
    Change, Config, DatabaseId, Group, Image, Incarnation, Lane, Log, LogError, OnDamage, Position,
    Row, Survey,
};
use sim::disk::{DiskAccess, SimulatedDisk};
use std::collections::BTreeMap;
use storage::Directory;

pub const DATABASE: DatabaseId = DatabaseId(*b"a test database.");
/// Small segments, so that programs begin many.
pub const CONFIG: Config = Config { segment_bytes: 6_000, ..Config::new(DATABASE) };
pub const LANES: usize = 3;

/// The rows of a transaction: key and image.
type Rows = Vec<(Vec<u8>, Vec<u8>)>;
/// Transactions by incarnation and version.
pub type Transactions = BTreeMap<(u32, u64), Rows>;

fn covers(snapshot: &[u64], version: u64) -> bool {
    let version = VersionWord::from_word(version);
    let counter = snapshot.get(usize::from(version.slot().0)).copied().unwrap_or(0);
    version.counter() <= counter
}

/// The program's knowledge, over all its starts.
#[derive(Clone)]
pub struct Model {
    random: SplitMix64,
    /// The transactions that the restart before has found.
    surviving: Transactions,
    /// The entries of this incarnation that are at their end.
    appended: Transactions,
    incarnation: u32,
    /// The visible numbers, and the highest drawn ones.
    counters: Vec<u64>,
    drawn: Vec<u64>,
    /// For each lane the transaction that is appended and not published.
    unpublished: Vec<Option<VersionWord>>,
    /// The snapshot of the last acknowledged group of this incarnation.
    pub acknowledged: Vec<u64>,
    /// The snapshots of all groups of this incarnation, those that failed too.
    attempted: Vec<Vec<u64>>,
    last_group: Option<Group>,
    /// A checkpoint: the start of replay, and its transactions.
    pub start: Position,
    checkpoint: Transactions,
    /// Whether some transactions are larger than a lane's piece.
    pub has_large: bool,
    /// Whether the log exists, so that the next start opens it.
    pub is_created: bool,
    /// Whether the program takes checkpoints, and deletes segments behind them.
    pub takes_checkpoints: bool,
    /// Whether the program closes the log at the end of a start.
    pub closes: bool,
}

impl Model {
    pub fn new(seed: u64) -> Self {
        Self {
            random: SplitMix64::new(seed),
            surviving: Transactions::new(),
            appended: Transactions::new(),
            incarnation: 1,
            counters: vec![0; LANES],
            drawn: vec![0; LANES],
            unpublished: vec![None; LANES],
            acknowledged: vec![0; LANES],
            attempted: vec![vec![0; LANES]],
            last_group: None,
            start: Position::START,
            checkpoint: Transactions::new(),
            has_large: false,
            is_created: false,
            takes_checkpoints: true,
            closes: false,
        }
    }

    fn draw(&mut self, count: u64) -> u64 {
        self.random.draw() % count
    }

    /// Runs `steps` random steps.
    pub async fn run(&mut self, log: &mut Log<DiskAccess>, steps: u64) -> Result<(), LogError> {
        let lanes = log.lanes();
        let mut lanes: Vec<Lane> = (0..LANES).map(|_| lanes.add()).collect();
        for _ in 0..steps {
            let lane = self.draw(LANES as u64) as usize;
            match self.draw(20) {
                0..9 => self.append(&mut lanes[lane], lane),
                9..13 => self.publish(lane),
                13..18 => self.commit(log, &mut lanes).await?,
                18 => log.mark().await?,
                _ if self.takes_checkpoints => self.take_checkpoint(log).await?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Appends the entry of a transaction, after publishing the lane's last one.
    pub fn append(&mut self, lane: &mut Lane, slot: usize) {
        self.publish(slot);
        self.drawn[slot] += 1 + self.draw(2);
        let version = VersionWord::new(SlotId(slot as u16), self.drawn[slot]);
        let mut entry = lane.begin(version);
        let mut rows = Rows::new();
        for row in 0..self.draw(4) {
            let long = if self.has_large && self.draw(30) == 0 { 300_000 } else { 120 };
            let image = vec![self.drawn[slot] as u8; self.draw(long) as usize];
            let key = vec![slot as u8, row as u8];
            entry.row(&Row {
                table: 7,
                key: &key,
                replaces: VersionWord::NONE,
                change: Change::Insert,
                image: Image::Whole(&image),
            });
            rows.push((key, image));
        }
        if self.draw(12) == 0 {
            // Given up: it is never published, but later numbers of the slot pass it.
            return;
        }
        entry.finish();
        // Replay shows rows only.
        if !rows.is_empty() {
            self.appended.insert((self.incarnation, version.word()), rows);
        }
        self.unpublished[slot] = Some(version);
    }

    pub fn publish(&mut self, slot: usize) {
        if let Some(version) = self.unpublished[slot].take() {
            self.counters[slot] = version.counter();
        }
    }

    async fn commit(
        &mut self,
        log: &mut Log<DiskAccess>,
        lanes: &mut [Lane],
    ) -> Result<(), LogError> {
        let snapshot = self.counters.clone();
        // Lanes go on between the snapshot and the flusher's look at their buffers.
        let lane = self.draw(LANES as u64) as usize;
        self.append(&mut lanes[lane], lane);
        self.commit_snapshot(log, snapshot).await
    }

    pub async fn commit_snapshot(
        &mut self,
        log: &mut Log<DiskAccess>,
        snapshot: Vec<u64>,
    ) -> Result<(), LogError> {
        self.attempt(&snapshot);
        let group = log.commit_group(&snapshot).await?;
        self.acknowledge(snapshot, group);
        Ok(())
    }

    pub fn attempt(&mut self, snapshot: &[u64]) {
        self.attempted.push(snapshot.to_vec());
    }

    pub fn acknowledge(&mut self, snapshot: Vec<u64>, group: Group) {
        self.acknowledged = snapshot;
        self.last_group = Some(group);
    }

    /// The visible numbers.
    pub fn snapshot(&self) -> Vec<u64> {
        self.counters.clone()
    }

    /// Commits everything that is visible.
    pub async fn commit_all(&mut self, log: &mut Log<DiskAccess>) -> Result<(), LogError> {
        (0..LANES).for_each(|slot| self.publish(slot));
        self.commit_snapshot(log, self.counters.clone()).await
    }

    /// Closes the log after a last group.
    pub async fn close(&mut self, log: Log<DiskAccess>) -> Result<(), LogError> {
        (0..LANES).for_each(|slot| self.publish(slot));
        let snapshot = self.counters.clone();
        self.attempted.push(snapshot.clone());
        log.close(&snapshot).await?;
        self.acknowledged = snapshot;
        Ok(())
    }

    async fn take_checkpoint(&mut self, log: &mut Log<DiskAccess>) -> Result<(), LogError> {
        let Some(group) = self.last_group else { return Ok(()) };
        self.checkpoint = self.expected(&self.acknowledged);
        self.start = group.replay_from;
        log.delete_before(self.start).await
    }

    /// The transactions that a restart must find if it finds the group with this snapshot.
    fn expected(&self, snapshot: &[u64]) -> Transactions {
        let appended = self.appended.iter();
        let covered = appended.filter(|((_, version), _)| covers(snapshot, *version));
        let covered = covered.map(|(version, rows)| (*version, rows.clone()));
        self.surviving.clone().into_iter().chain(covered).collect()
    }

    /// Judges a restart, and goes on from what it has found.
    pub fn restarted(
        &mut self,
        survey: &Survey,
        found: Transactions,
        incarnation: Incarnation,
    ) -> Result<(), String> {
        let group =
            survey.last_group().filter(|last| last.record.incarnation.0 == self.incarnation);
        let snapshot = group.map_or(vec![0; LANES], |last| last.record.counters.clone());
        if !self.attempted.contains(&snapshot) {
            return Err(format!("the snapshot {snapshot:?} is of no group"));
        }
        if snapshot.iter().zip(&self.acknowledged).any(|(found, known)| found < known) {
            let known = &self.acknowledged;
            return Err(format!("the snapshot {snapshot:?} is before the known {known:?}"));
        }
        let found: Transactions = self.checkpoint.clone().into_iter().chain(found).collect();
        let expected = self.expected(&snapshot);
        for (version, rows) in &expected {
            if found.get(version) != Some(rows) {
                return Err(format!("{version:?} is lost or wrong"));
            }
        }
        if let Some(version) = found.keys().find(|version| !expected.contains_key(version)) {
            return Err(format!("{version:?} is there and must not be"));
        }
        let highest = survey.highest_counters();
        for slot in 0..LANES {
            self.drawn[slot] = highest.get(slot).copied().unwrap_or(0).max(self.counters_of(slot));
        }
        self.counters.clone_from(&self.drawn);
        self.surviving = found;
        self.appended.clear();
        self.unpublished = vec![None; LANES];
        self.acknowledged = vec![0; LANES];
        self.attempted = vec![vec![0; LANES]];
        self.last_group = None;
        self.incarnation = incarnation.0;
        Ok(())
    }

    /// The highest number of a slot that survives, checkpoint included.
    fn counters_of(&self, slot: usize) -> u64 {
        let versions = self.surviving.keys().chain(self.checkpoint.keys());
        let versions = versions.map(|(_, version)| VersionWord::from_word(*version));
        let of_slot = versions.filter(|version| usize::from(version.slot().0) == slot);
        of_slot.map(VersionWord::counter).max().unwrap_or(0)
    }
}

pub fn directory(disk: &SimulatedDisk) -> Directory<DiskAccess> {
    run_now(Directory::open(disk.access())).expect("nobody has it")
}

/// Reads the transactions that count.
pub fn replayed(
    survey: &Survey,
    directory: &Directory<DiskAccess>,
) -> Result<Transactions, LogError> {
    let mut found = Transactions::new();
    for index in 0..survey.segment_count() {
        run_now(survey.replay(directory, DATABASE, index, |row| {
            if row.is_covered {
                let Image::Whole(image) = row.row.image else { panic!("rows are written whole") };
                let rows = found.entry((row.incarnation.0, row.version.word())).or_default();
                rows.push((row.row.key.to_vec(), image.to_vec()));
            }
            Ok::<(), LogError>(())
        }))?;
    }
    Ok(found)
}

/// A start of the program: opens the log, replays it, and judges the result.
pub fn restart(disk: &SimulatedDisk, model: &mut Model) -> Result<Log<DiskAccess>, String> {
    let opened = run_now(Log::open(directory(disk), CONFIG, model.start, OnDamage::Refuse));
    let opened = opened.map_err(|error| error.to_string())?;
    let reader = Directory::read_only(disk.access());
    let found = replayed(&opened.survey, &reader).map_err(|error| error.to_string())?;
    model.restarted(&opened.survey, found, opened.log.incarnation())?;
    Ok(opened.log)
}
