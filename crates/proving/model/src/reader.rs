//! A reader: snapshot, each row, and validation if serializable.

use crate::config::Config;
use crate::row_read::{self, RowRead};
use crate::snapshot::{Floor, TakeMove, Taking};
use crate::state::{Counters, Header, ROW_COUNT, State, Version, WORD_COUNT};

/// The result of reading a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reading {
    /// The version that the reader believes to have read.
    pub version: Version,
    /// The version of the first payload word that belongs to another version, if the read was torn.
    pub foreign: Option<Version>,
}

/// The phase of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// It has nothing to do.
    Absent,
    /// It takes its snapshot, or one fetched in advance.
    Taking(Taking),
    /// It has a fetched snapshot; its session's next transaction has not begun.
    Fetched(Counters),
    Reading {
        row: usize,
        /// How far it is.
        read: RowRead,
    },
    /// It validates this row. Serializable only.
    Validating { row: usize },
    /// It has committed: it accepts its reads.
    Finished,
    /// Validation found this row changed or locked.
    Refused { row: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reader {
    pub phase: Phase,
    /// Its snapshot, once its transaction has begun.
    pub snapshot: Option<Counters>,
    /// The last commit of its session when its transaction began.
    pub floor: Floor,
    /// The result for each row.
    pub got: [Option<Reading>; ROW_COUNT],
}

/// One step of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderMove {
    /// A step towards its snapshot.
    Take(TakeMove),
    /// Begin the transaction on the fetched snapshot, or fetch again.
    Begin,
    /// Read the row's version word.
    ReadVersion,
    ReadWord(usize),
    /// Read the version word again, or check the checksum.
    ReadVersionAgain,
    /// Read the chain word and this slot of the buffer: the whole slot, or its version word.
    ReadOld(usize),
    /// Read this word of the slot; the successor follows the payload.
    ReadOldWord(usize),
    /// Read the slot's version word again, or check the checksum.
    ReadOldVersionAgain,
    /// Read the header, to validate.
    Validate,
}

impl Reader {
    /// A reader before its first step.
    pub fn initial(config: &Config, index: usize) -> Reader {
        let start = Phase::Taking(Taking::start(config.snapshot_way(index)));
        Reader {
            phase: if index < config.reader_count { start } else { Phase::Absent },
            snapshot: None,
            floor: Floor::NONE,
            got: [None; ROW_COUNT],
        }
    }

    pub fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Absent | Phase::Finished | Phase::Refused { .. })
    }

    fn begin_on(&mut self, snapshot: Counters) {
        self.snapshot = Some(snapshot);
        self.phase = Phase::Reading { row: 0, read: RowRead::Start };
    }

    /// Accepts these words as the row's payload, and continues with the next row.
    pub(crate) fn accept(
        &mut self,
        config: &Config,
        version: Version,
        words: [Option<Version>; WORD_COUNT],
    ) {
        let Phase::Reading { row, .. } = self.phase else { unreachable!("accepts what it reads") };
        let foreign = words.into_iter().flatten().find(|word| *word != version);
        self.got[row] = Some(Reading { version, foreign });
        self.phase = match row + 1 < ROW_COUNT {
            true => Phase::Reading { row: row + 1, read: RowRead::Start },
            false if config.guards.readers_validate => Phase::Validating { row: 0 },
            false => Phase::Finished,
        };
    }

    /// Continues with the current row.
    pub(crate) fn go_on(&mut self, next: RowRead) {
        let Phase::Reading { read, .. } = &mut self.phase else {
            unreachable!("only a row under way is gone on with");
        };
        *read = next;
    }
}

/// Adds the steps that a reader may take.
pub fn moves(config: &Config, state: &State, index: usize, moves: &mut Vec<ReaderMove>) {
    match state.readers[index].phase {
        Phase::Taking(taking) => {
            let mut take_moves = Vec::new();
            let floor = session_floor(config, state, index);
            taking.moves(config, state, floor, &mut take_moves);
            moves.extend(take_moves.into_iter().map(ReaderMove::Take));
        }
        Phase::Fetched(_) => moves.push(ReaderMove::Begin),
        Phase::Reading { read, .. } => row_read::moves(config, read, moves),
        Phase::Validating { .. } => moves.push(ReaderMove::Validate),
        Phase::Absent | Phase::Finished | Phase::Refused { .. } => {}
    }
}

/// Executes one step of a reader.
pub fn step(config: &Config, state: &mut State, index: usize, reader_move: ReaderMove) {
    match reader_move {
        ReaderMove::Take(take_move) => take(config, state, index, take_move),
        ReaderMove::Begin => begin(config, state, index),
        ReaderMove::Validate => validate(state, index),
        row_move => {
            let reader = &mut state.readers[index];
            let Phase::Reading { row, read } = reader.phase else {
                unreachable!("a row is read after the snapshot was taken");
            };
            row_read::step(config, reader, &state.rows[row], read, row_move);
        }
    }
}

fn take(config: &Config, state: &mut State, index: usize, take_move: TakeMove) {
    let reader = &mut state.readers[index];
    let Phase::Taking(mut taking) = reader.phase else {
        unreachable!("only a reader without snapshot takes one");
    };
    let way = config.snapshot_way(index);
    let taken = taking.step(way, state.slots, &mut state.frozen, take_move);
    reader.phase = Phase::Taking(taking);
    match taken {
        Some(snapshot) if config.sessions => reader.phase = Phase::Fetched(snapshot),
        Some(snapshot) => reader.begin_on(snapshot),
        None => {}
    }
}

/// The last commit of a reader's session so far: the slot of the writer with its index.
fn session_floor(config: &Config, state: &State, index: usize) -> Floor {
    let has_committed = config.sessions && state.is_published(index);
    let counter = if has_committed { state.writers[index].counter } else { 0 };
    Floor { slot: index, counter }
}

fn begin(config: &Config, state: &mut State, index: usize) {
    let floor = session_floor(config, state, index);
    let reader = &mut state.readers[index];
    reader.floor = floor;
    let Phase::Fetched(mut snapshot) = reader.phase else {
        unreachable!("only a fetched snapshot is begun on");
    };
    if !config.guards.leave_own_slot {
        snapshot[floor.slot] = snapshot[floor.slot].max(floor.counter);
    }
    match floor.is_reached_by(snapshot) {
        true => reader.begin_on(snapshot),
        false => reader.phase = Phase::Taking(Taking::start(config.snapshot_way(index))),
    }
}

/// Reads the header of a row that was read: it must be unlocked, with the same version in place.
fn validate(state: &mut State, index: usize) {
    let reader = &mut state.readers[index];
    let Phase::Validating { row } = reader.phase else {
        unreachable!("only a reader with all its rows validates");
    };
    let got = reader.got[row].expect("every row was read");
    reader.phase = match state.rows[row].header == Header::unlocked(got.version) {
        false => Phase::Refused { row },
        true if row + 1 < ROW_COUNT => Phase::Validating { row: row + 1 },
        true => Phase::Finished,
    };
}
