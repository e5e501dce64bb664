//! A writer: its phase, and its possible next steps.

use crate::config::Config;
use crate::install::{Install, InstallWord};
use crate::snapshot::{Floor, TakeMove, Taking};
use crate::state::{Counters, ROW_COUNT, SLOT_COUNT, State, Version};

/// The named points of a commit, after each effect that others can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CommitStep {
    /// The write set is known; no verb has been posted.
    Started,
    /// Every header has been swapped.
    LocksHeld,
    /// Every row that was read still has the version read. Serializable only.
    ReadsValidated,
    /// Every version buffer has a free slot. Beyond this point the commit must not abort.
    BuffersReady,
    /// One row: its old version is in the buffer, and the chain word leads there.
    OldVersionWritten,
    /// One row: its payload is in place, between the invalid version and the new one.
    PayloadWritten,
    /// One row: its header is unlocked with the new version.
    HeaderWritten,
    VersionsInstalled,
    /// The slot holds the number.
    TimestampPublished,
    /// The commit was refused, and every header that it had swapped is restored.
    LocksReleased,
}

/// The phase of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It has nothing to do.
    Absent,
    Taking(Taking),
    /// It reads headers and will swap from the values found. Only without the guard against it.
    ReadingHeaders,
    /// It commits, and has passed this step.
    At(CommitStep),
    /// It was refused because of this row, and releases its locks.
    Aborting {
        /// The row in conflict.
        row: usize,
    },
    /// It has given up because of this row.
    Aborted {
        /// The row in conflict.
        row: usize,
    },
}

/// The progress of a writer on one row of its write set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Progress {
    Untouched,
    /// The swap failed.
    Refused,
    /// The swap succeeded; the row is installed as far as recorded.
    Held(Install),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Writer {
    pub phase: Phase,
    /// The number of its attempt.
    pub counter: u8,
    pub snapshot: Option<Counters>,
    /// The version of each row that it has read.
    pub version_read: [Version; ROW_COUNT],
    /// The version it swaps each header from; `None` until known.
    pub expected: [Option<Version>; ROW_COUNT],
    /// Its progress on each row.
    pub progress: [Progress; ROW_COUNT],
    /// Which of the rows that it has only read are validated.
    pub validated: [bool; ROW_COUNT],
    /// It takes no further step.
    pub crashed: bool,
}

/// One step of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriterMove {
    /// A step towards its snapshot.
    Take(TakeMove),
    /// Read this row's header, to swap from it.
    ReadHeader(usize),
    Swap(usize),
    /// Validate this row, which was only read.
    Validate(usize),
    /// Make sure that every version buffer has a free slot: a step without effect, because a buffer
    /// of the model has room or overwrites.
    ReadyBuffers,
    /// Install the next word of a row.
    Install {
        row: usize,
        write: InstallWord,
        word: usize,
    },
    /// Write the slot.
    Publish,
    /// Restore this row's header.
    Release(usize),
    Crash,
}

impl Writer {
    /// A writer before its first attempt.
    pub fn initial(config: &Config, index: usize) -> Writer {
        let is_absent = config.writers[index].writes == [false; ROW_COUNT];
        let start = Phase::Taking(Taking::start(config.snapshot_way(index)));
        Writer {
            phase: if is_absent { Phase::Absent } else { start },
            counter: 1,
            snapshot: None,
            version_read: [Version::INITIAL; ROW_COUNT],
            expected: [None; ROW_COUNT],
            progress: [Progress::Untouched; ROW_COUNT],
            validated: [false; ROW_COUNT],
            crashed: false,
        }
    }

    /// Whether it has terminated, alive.
    pub fn is_finished(&self) -> bool {
        let published = Phase::At(CommitStep::TimestampPublished);
        matches!(self.phase, Phase::Absent | Phase::Aborted { .. }) || self.phase == published
    }

    /// The commit steps that it has reached; while it installs, those of its rows.
    pub fn commit_steps(&self, config: &Config) -> Vec<CommitStep> {
        match self.phase {
            Phase::At(CommitStep::BuffersReady) => {
                let held = self.progress.iter().filter_map(|progress| match progress {
                    Progress::Held(install) => Some(install.commit_step(config)),
                    Progress::Untouched | Progress::Refused => None,
                });
                held.collect()
            }
            Phase::At(step) => vec![step],
            Phase::Aborted { .. } => vec![CommitStep::LocksReleased],
            _ => Vec::new(),
        }
    }

    /// Whether its transaction will be committed, unless the writer dies.
    pub fn is_beyond_return(&self) -> bool {
        matches!(self.phase, Phase::At(step) if step >= CommitStep::BuffersReady)
    }
}

/// Adds the steps that a writer may take.
pub fn moves(config: &Config, state: &State, index: usize, moves: &mut Vec<WriterMove>) {
    let writer = &state.writers[index];
    if writer.crashed || writer.phase == Phase::Absent {
        return;
    }
    match writer.phase {
        Phase::Taking(taking) => {
            let mut take_moves = Vec::new();
            taking.moves(config, state, Floor::NONE, &mut take_moves);
            moves.extend(take_moves.into_iter().map(WriterMove::Take));
        }
        Phase::ReadingHeaders => {
            let unread = written_rows(config, index).filter(|row| writer.expected[*row].is_none());
            moves.extend(unread.map(WriterMove::ReadHeader));
        }
        Phase::At(CommitStep::Started) => {
            let untouched = |row: &usize| writer.progress[*row] == Progress::Untouched;
            moves.extend(written_rows(config, index).filter(untouched).map(WriterMove::Swap));
        }
        Phase::At(CommitStep::LocksHeld) if config.guards.writers_validate => {
            let unvalidated = read_rows(config, index).filter(|row| !writer.validated[*row]);
            moves.extend(unvalidated.map(WriterMove::Validate));
        }
        Phase::At(CommitStep::LocksHeld | CommitStep::ReadsValidated) => {
            moves.push(WriterMove::ReadyBuffers);
        }
        Phase::At(CommitStep::TimestampPublished) | Phase::Absent | Phase::Aborted { .. } => {}
        Phase::At(_) => install_or_publish(config, state, index, moves),
        Phase::Aborting { .. } => {
            let held = |row: &usize| matches!(writer.progress[*row], Progress::Held(_));
            moves.extend(written_rows(config, index).filter(held).map(WriterMove::Release));
        }
    }
    if may_crash(config, state, index) {
        moves.push(WriterMove::Crash);
    }
}

fn install_or_publish(config: &Config, state: &State, index: usize, moves: &mut Vec<WriterMove>) {
    let writer = &state.writers[index];
    for row in written_rows(config, index) {
        if let Progress::Held(install) = writer.progress[row] {
            let words = install.moves(config, &state.rows[row]);
            moves.extend(words.into_iter().map(|(write, word)| WriterMove::Install {
                row,
                write,
                word,
            }));
        }
    }
    let installed = writer.phase == Phase::At(CommitStep::VersionsInstalled);
    if !state.is_published(index) && (installed || !config.guards.publish_waits) {
        moves.push(WriterMove::Publish);
    }
}

fn may_crash(config: &Config, state: &State, index: usize) -> bool {
    let is_freezing = matches!(state.writers[index].phase, Phase::Taking(Taking::Freezing { .. }));
    let is_first = state.writers.iter().all(|writer| !writer.crashed);
    config.crashes && is_first && (config.freezer_crashes || !is_freezing)
}

/// The commit timestamp of a writer's attempt.
pub fn own_version(index: usize, counter: u8) -> Version {
    assert!(index < SLOT_COUNT);
    Version { slot: u8::try_from(index).expect("slots are few"), counter }
}

/// The rows that a writer writes.
pub(crate) fn written_rows(
    config: &Config,
    index: usize,
) -> impl Iterator<Item = usize> + Clone + use<> {
    let writes = config.writers[index].writes;
    (0..ROW_COUNT).filter(move |row| writes[*row])
}

/// The rows that a writer reads and does not write.
pub(crate) fn read_rows(
    config: &Config,
    index: usize,
) -> impl Iterator<Item = usize> + Clone + use<> {
    let reads = config.writers[index].reads;
    (0..ROW_COUNT).filter(move |row| reads[*row])
}
