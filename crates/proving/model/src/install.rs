//! Installing one row: the words that a writer writes, and their order.

use crate::config::{BufferKind, Config, InstallOrder};
use crate::state::{Header, Row, Version, WORD_COUNT};
use crate::writer::CommitStep;

/// One of the writes by which a row is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallWord {
    /// The invalid version, to a slot of the buffer that held an older one.
    OldInvalid,
    /// Successor and payload of the displaced version, to the buffer.
    OldPayload,
    /// The version word of the displaced version; from here on readers may accept it.
    OldVersion,
    /// The chain word, which links the buffer to the row.
    Chain,
    /// The invalid version, beside the payload.
    Invalid,
    Payload,
    /// The new version, beside the payload.
    Version,
    /// The header, unlocked, with the new version.
    Header,
    /// The header, unlocked, with the version that was read.
    HeaderAsRead,
    /// Header, version and payload in one write, which may be torn like any other.
    WholeRow,
    /// The same with the chain word.
    WholeRowWithChain,
    /// Version, successor and payload of the displaced version in one write, to the buffer.
    WholeOld,
}

use InstallWord::{
    Chain, Header as NewHeader, HeaderAsRead, Invalid, OldInvalid, OldPayload, OldVersion, Payload,
    Version as NewVersion, WholeOld, WholeRow, WholeRowWithChain,
};

const HEADER_LAST: &[InstallWord] =
    &[OldInvalid, OldPayload, OldVersion, Chain, Invalid, Payload, NewVersion, NewHeader];
const SINGLE_WRITE: &[InstallWord] = &[OldInvalid, OldPayload, OldVersion, Chain, WholeRow];
const PAYLOAD_FIRST: &[InstallWord] =
    &[Invalid, Payload, NewVersion, OldInvalid, OldPayload, OldVersion, Chain, NewHeader];
const UNLOCK_FIRST_TO_NEW: &[InstallWord] =
    &[NewHeader, OldInvalid, OldPayload, OldVersion, Chain, Invalid, Payload, NewVersion];
const UNLOCK_FIRST_TO_OLD: &[InstallWord] = &[
    HeaderAsRead,
    OldInvalid,
    OldPayload,
    OldVersion,
    Chain,
    Invalid,
    Payload,
    NewVersion,
    NewHeader,
];
const ROW_AT_ONCE: &[InstallWord] = &[WholeOld, Chain, WholeRowWithChain];
const CHAIN_IN_ROW: &[InstallWord] = &[WholeOld, WholeRowWithChain];

fn plan(order: InstallOrder) -> &'static [InstallWord] {
    match order {
        InstallOrder::HeaderLast => HEADER_LAST,
        InstallOrder::SingleWrite => SINGLE_WRITE,
        InstallOrder::PayloadFirst => PAYLOAD_FIRST,
        InstallOrder::UnlockFirstToNew => UNLOCK_FIRST_TO_NEW,
        InstallOrder::UnlockFirstToOld => UNLOCK_FIRST_TO_OLD,
        InstallOrder::RowAtOnce => ROW_AT_ONCE,
        InstallOrder::ChainInRow => CHAIN_IN_ROW,
    }
}

/// The words of a row without its chain: header, version and payload.
const ROW_WORD_COUNT: usize = 2 + WORD_COUNT;
/// The words of the largest write: those of a row, and its chain.
const WRITE_WORD_COUNT_MAX: usize = ROW_WORD_COUNT + 1;

/// The progress of installing one row. Its words go to one server in order; the words of two rows
/// are not ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Install {
    /// The number of entries of the plan that have been written completely.
    written_count: u8,
    /// The words of the current entry that have been written.
    words: [bool; WRITE_WORD_COUNT_MAX],
}

/// The new version and the one that it displaces.
#[derive(Clone, Copy, Debug)]
pub struct Displacement {
    pub new: Version,
    /// The version that was read, whose payload goes to the buffer.
    pub old: Version,
}

impl Install {
    pub const START: Install = Install { written_count: 0, words: [false; WRITE_WORD_COUNT_MAX] };

    /// Whether every word has been written.
    pub fn is_complete(self, config: &Config) -> bool {
        usize::from(self.written_count) == plan(config.guards.install).len()
    }

    /// The commit step that the row has reached.
    pub fn commit_step(self, config: &Config) -> CommitStep {
        let written = &plan(config.guards.install)[..usize::from(self.written_count)];
        match written.last() {
            Some(NewHeader | WholeRow | WholeRowWithChain) => CommitStep::HeaderWritten,
            Some(NewVersion) => CommitStep::PayloadWritten,
            Some(Chain | Invalid) => CommitStep::OldVersionWritten,
            _ => CommitStep::BuffersReady,
        }
    }

    /// The words that may be written next, with their writes.
    pub fn moves(self, config: &Config, row: &Row) -> Vec<(InstallWord, usize)> {
        if self.is_complete(config) {
            return Vec::new();
        }
        let word_count = self.word_count(config, row);
        let unwritten = (0..word_count).filter(|word| !self.words[*word]);
        let choice_count = if config.left_to_right { 1 } else { word_count };
        let entry = plan(config.guards.install)[usize::from(self.written_count)];
        unwritten.take(choice_count).map(|word| (entry, word)).collect()
    }

    /// Whether the configuration's order of installation contains this write.
    pub fn has(config: &Config, entry: InstallWord) -> bool {
        plan(config.guards.install).contains(&entry)
    }

    /// The number of steps of the current entry of the plan.
    ///
    /// The words of a fresh slot are written in one step: no reader looks at them before its
    /// version word is written, so the states in between are indistinguishable. The same holds for
    /// a version that is written at once: its checksum matches nothing before all of it is written.
    fn word_count(self, config: &Config, row: &Row) -> usize {
        match plan(config.guards.install)[usize::from(self.written_count)] {
            Payload => WORD_COUNT,
            WholeRow => ROW_WORD_COUNT,
            // A chain word that exists already is overwritten with itself.
            WholeRowWithChain if row.has_chain && !self.words[ROW_WORD_COUNT] => ROW_WORD_COUNT,
            WholeRowWithChain => WRITE_WORD_COUNT_MAX,
            WholeOld if is_reused(row, config.buffer) => WORD_COUNT + 2,
            OldPayload if is_reused(row, config.buffer) => WORD_COUNT + 1,
            _ => 1,
        }
    }

    pub fn write(&mut self, config: &Config, row: &mut Row, rows: Displacement, word: usize) {
        let word_count = self.word_count(config, row);
        let entry = plan(config.guards.install)[usize::from(self.written_count)];
        match (entry, word_count) {
            (OldPayload, 1) => {
                (0..=WORD_COUNT).for_each(|word| write_old(config, row, rows, word));
            }
            (OldPayload, _) => write_old(config, row, rows, word),
            (WholeOld, 1) => {
                (0..WORD_COUNT + 2).for_each(|word| write_word(config, row, rows, entry, word));
            }
            _ => write_word(config, row, rows, entry, word),
        }
        self.words[word] = true;
        if self.words[..word_count].iter().all(|written| *written) {
            // Only the lock holder uses the counter, so its word needs no step of its own.
            row.displaced_count += u8::from(matches!(entry, OldVersion | WholeOld));
            *self = Install { written_count: self.written_count + 1, ..Install::START };
        }
    }
}

fn is_reused(row: &Row, buffer: BufferKind) -> bool {
    usize::from(row.displaced_count) >= buffer.slot_count()
}

fn write_old(config: &Config, row: &mut Row, rows: Displacement, word: usize) {
    let slot = row.next_buffer_slot(config.buffer);
    if word == WORD_COUNT {
        row.buffer[slot].successor = Some(rows.new);
    } else {
        row.buffer[slot].payload[word] = rows.old;
    }
}

fn write_word(config: &Config, row: &mut Row, rows: Displacement, entry: InstallWord, word: usize) {
    let slot = row.next_buffer_slot(config.buffer);
    match entry {
        OldInvalid => row.buffer[slot].version = None,
        OldPayload => unreachable!("written by its own function"),
        OldVersion => row.buffer[slot].version = Some(rows.old),
        WholeOld if word <= WORD_COUNT => write_old(config, row, rows, word),
        WholeOld => row.buffer[slot].version = Some(rows.old),
        Chain => row.has_chain = true,
        Invalid => row.body.version = None,
        Payload => row.body.payload[word] = rows.new,
        NewVersion => row.body.version = Some(rows.new),
        NewHeader => row.header = Header::unlocked(rows.new),
        WholeRowWithChain if word == ROW_WORD_COUNT => row.has_chain = true,
        // In the order of the row's addresses.
        WholeRow | WholeRowWithChain => match word {
            0 => row.header = Header::unlocked(rows.new),
            1 => row.body.version = Some(rows.new),
            _ => row.body.payload[word - 2] = rows.new,
        },
        HeaderAsRead => row.header = Header::unlocked(rows.old),
    }
}
