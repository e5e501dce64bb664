//! The state of the model of group commit.

/// Lanes, each with a slot of the timestamp vector.
pub const LANES: usize = 2;
/// Rows.
pub const ROWS: usize = 2;

/// A version: lane and number. Number 0 is the row as it was loaded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    pub lane: u8,
    pub number: u8,
}

impl Version {
    pub const LOADED: Self = Self { lane: 0, number: 0 };
}

/// A snapshot: one counter per lane.
pub type Snapshot = [u8; LANES];

/// Whether a snapshot covers a version.
pub fn covers(snapshot: &Snapshot, version: Version) -> bool {
    version.number <= snapshot[usize::from(version.lane)]
}

/// The guards of the design. Without one of them a promise has a counterexample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guards {
    /// The flusher takes the buffers after the snapshot.
    pub buffers_behind_snapshot: bool,
    /// A group's record counts only with all of its entries.
    pub record_needs_entries: bool,
    /// The entry is appended when nothing can abort the transaction any more.
    pub append_behind_locks: bool,
    /// The entry is appended before others can see the transaction.
    pub append_before_publish: bool,
    /// Commits are reported when a durable snapshot covers them.
    pub commits_wait: bool,
    /// Readers report when a durable snapshot is at or after theirs.
    pub readers_wait: bool,
    /// Each entry is judged by the last group of its own start of the database.
    pub starts_are_judged_apart: bool,
}

impl Guards {
    pub const OURS: Self = Self {
        buffers_behind_snapshot: true,
        record_needs_entries: true,
        append_behind_locks: true,
        append_before_publish: true,
        commits_wait: true,
        readers_wait: true,
        starts_are_judged_apart: true,
    };
}

/// A transaction of a lane: it reads one row and writes another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Work {
    pub snapshot: Snapshot,
    /// The row that it writes; it reads the other one.
    pub row: u8,
    /// The version that it has read of the other row.
    pub read: Version,
    /// Its own version, from the lock on.
    pub version: Version,
    /// The version that it replaces.
    pub replaces: Version,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    Idle,
    Begun(Work),
    Locked(Work),
    Appended(Work),
    Installed(Work),
    /// Visible, and perhaps without an entry.
    Published(Work),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lane {
    /// Transactions that it still begins in this life.
    pub left: u8,
    pub number: u8,
    pub phase: Phase,
}

/// An entry of the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Entry {
    pub life: u8,
    pub version: Version,
    pub row: u8,
    pub replaces: Version,
    pub read: Version,
}

/// A row: its versions, oldest first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Row {
    pub versions: Vec<Version>,
    pub is_locked: bool,
}

/// The group under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Group {
    pub snapshot: Option<Snapshot>,
    pub taken: [bool; LANES],
    pub entries: Vec<Entry>,
    pub is_written: bool,
}

/// The log on the disk.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Disk {
    pub entries: Vec<Entry>,
    /// The snapshot of the last group of each life.
    pub groups: Vec<Option<Snapshot>>,
}

impl Disk {
    /// The entries that count.
    pub fn counting(&self, guards: &Guards) -> Vec<Entry> {
        let last = self.groups.iter().flatten().next_back();
        let counts = |entry: &&Entry| {
            let own = self.groups.get(usize::from(entry.life)).copied().flatten();
            let judge = if guards.starts_are_judged_apart { own } else { last.copied() };
            judge.is_some_and(|snapshot| covers(&snapshot, entry.version))
        };
        self.entries.iter().filter(counts).copied().collect()
    }
}

/// The reader's report.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reading {
    pub snapshot: Snapshot,
    pub versions: [Version; ROWS],
}

/// A version with its life: a restart loads rows with new versions.
pub type OfLife = (u8, Version);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// Crashes until now.
    pub life: u8,
    pub vector: Snapshot,
    pub rows: [Row; ROWS],
    pub lanes: [Lane; LANES],
    pub buffers: [Vec<Entry>; LANES],
    pub group: Option<Group>,
    /// Groups that the flusher still begins in this life.
    pub groups_left: u8,
    pub durable: Option<Snapshot>,
    pub reader: Option<Reading>,
    pub reads_left: u8,
    pub disk: Disk,
    /// Commits that were reported as durable.
    pub acknowledged: Vec<OfLife>,
    /// Versions that a reader was shown.
    pub shown: Vec<OfLife>,
    pub aborted: Vec<OfLife>,
    /// Versions that an earlier restart did not bring back.
    pub dropped: Vec<OfLife>,
    /// The entries that the last restart brought back; `None` before the first crash.
    pub brought_back: Option<Vec<Entry>>,
}

impl State {
    pub fn initial(transactions: u8, groups: u8, reads: u8) -> Self {
        let lane = Lane { left: transactions, number: 0, phase: Phase::Idle };
        let row = Row { versions: vec![Version::LOADED], is_locked: false };
        Self {
            life: 0,
            vector: [0; LANES],
            rows: [row.clone(), row],
            lanes: [lane; LANES],
            buffers: Default::default(),
            group: None,
            groups_left: groups,
            durable: None,
            reader: None,
            reads_left: reads,
            disk: Disk { entries: Vec::new(), groups: vec![None] },
            acknowledged: Vec::new(),
            shown: Vec::new(),
            aborted: Vec::new(),
            dropped: Vec::new(),
            brought_back: None,
        }
    }

    /// The newest version of a row that a snapshot covers.
    pub fn visible(&self, row: usize, snapshot: &Snapshot) -> Version {
        let versions = self.rows[row].versions.iter().rev();
        let mut covered = versions.filter(|&&version| covers(snapshot, version));
        *covered.next().expect("every snapshot covers the loaded row")
    }
}
