//! Reading one row word by word, in place or from the buffer.
//!
//! One verb reads a row with its version word at both ends. The model's reader stops as soon as the
//! outcome is certain; a real one stops after the whole verb. The only difference is time.
//!
//! If rows have checksums, a reader accepts a read if all of it is of one write. The version word
//! comes first here as well: since every word must match, a read in another order is equivalent to
//! one that began at another time.

use crate::config::{BufferKind, Config};
use crate::reader::{Reader, ReaderMove};
use crate::state::{BUFFER_SLOT_COUNT, Counters, Record, Row, Version, WORD_COUNT};

/// The progress of a reader on one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowRead {
    /// Nothing read yet, or all to be read again.
    Start,
    /// It has the version word, and some words of the payload in place.
    InPlace {
        /// The value of the version word.
        version: Version,
        words: [Option<Version>; WORD_COUNT],
    },
    /// The version in place did not match, nor did these slots of the buffer.
    Old {
        /// The slots that were tried.
        tried: [bool; BUFFER_SLOT_COUNT],
    },
    /// It has the version word of a slot, and some of the slot's other words.
    OldWords {
        /// The slots that were tried before.
        tried: [bool; BUFFER_SLOT_COUNT],
        slot: usize,
        /// The value of its version word.
        version: Version,
        /// The successor; the outer `None` until read.
        successor: Option<Option<Version>>,
        words: [Option<Version>; WORD_COUNT],
    },
}

/// Adds the steps of reading a row that are possible from here.
pub fn moves(config: &Config, read: RowRead, moves: &mut Vec<ReaderMove>) {
    let choice_count = if config.left_to_right { 1 } else { WORD_COUNT + 1 };
    match read {
        RowRead::Start => moves.push(ReaderMove::ReadVersion),
        RowRead::InPlace { words, .. } => {
            let unread = (0..WORD_COUNT).filter(|word| words[*word].is_none());
            moves.extend(unread.take(choice_count).map(ReaderMove::ReadWord));
            if words.iter().all(Option::is_some) {
                moves.push(ReaderMove::ReadVersionAgain);
            }
        }
        RowRead::Old { tried } => {
            let mut untried = (0..config.buffer.slot_count()).filter(|slot| !tried[*slot]);
            // The published reader tries the newest version first.
            match config.left_to_right {
                true => moves.extend(untried.next_back().map(ReaderMove::ReadOld)),
                false => moves.extend(untried.map(ReaderMove::ReadOld)),
            }
        }
        RowRead::OldWords { successor, words, .. } => {
            let unread = (0..WORD_COUNT).filter(|word| words[*word].is_none());
            moves.extend(unread.map(ReaderMove::ReadOldWord));
            if successor.is_none() {
                moves.push(ReaderMove::ReadOldWord(WORD_COUNT));
            }
            if moves.is_empty() {
                moves.push(ReaderMove::ReadOldVersionAgain);
            }
        }
    }
}

/// Executes one step of reading a row.
pub fn step(config: &Config, reader: &mut Reader, row: &Row, read: RowRead, step: ReaderMove) {
    let snapshot = reader.snapshot.expect("taken before the first row");
    match (read, step) {
        (RowRead::Start, ReaderMove::ReadVersion) => match version_in_place(config, row) {
            Some(version) if version.is_covered_by(snapshot) => {
                reader.go_on(RowRead::InPlace { version, words: [None; WORD_COUNT] });
            }
            // A lock hides nothing; an invalid or uncovered version sends the reader to the buffer.
            _ => reader.go_on(RowRead::Old { tried: [false; BUFFER_SLOT_COUNT] }),
        },
        (RowRead::InPlace { version, mut words }, ReaderMove::ReadWord(word)) => {
            words[word] = Some(row.body.payload[word]);
            let is_last = words.iter().all(Option::is_some);
            match is_last && !config.guards.version_read_again {
                true => reader.accept(config, version, words),
                false => reader.go_on(RowRead::InPlace { version, words }),
            }
        }
        (RowRead::InPlace { version, words }, ReaderMove::ReadVersionAgain) => {
            let is_intact = match config.guards.checksum {
                true => words.iter().all(|word| *word == Some(version)),
                false => version_in_place(config, row) == Some(version),
            };
            match is_intact {
                true => reader.accept(config, version, words),
                false => reader.go_on(RowRead::Old { tried: [false; BUFFER_SLOT_COUNT] }),
            }
        }
        (RowRead::Old { tried }, ReaderMove::ReadOld(slot)) => {
            read_old(config, reader, row, tried, slot);
        }
        (RowRead::OldWords { .. }, step) => read_old_words(config, reader, row, read, step),
        (read, step) => unreachable!("{step:?} in {read:?}"),
    }
}

/// The word that decides visibility. In the published protocol it is the header, locked or not.
fn version_in_place(config: &Config, row: &Row) -> Option<Version> {
    match config.guards.version_beside_payload {
        true => row.body.version,
        false => Some(row.header.version),
    }
}

/// Reads a slot of the buffer.
///
/// The chain word is read in the same step: once set it does not change, so a later read of the
/// slot gives the same result as a read between the two.
fn read_old(
    config: &Config,
    reader: &mut Reader,
    row: &Row,
    tried: [bool; BUFFER_SLOT_COUNT],
    slot: usize,
) {
    let snapshot = reader.snapshot.expect("taken before the first row");
    let Record { version, successor, payload } = row.buffer[slot];
    if !row.has_chain {
        return reader.go_on(RowRead::Start);
    }
    match (version, config.buffer) {
        (Some(version), BufferKind::Reused) if version.is_covered_by(snapshot) => {
            let words = [None; WORD_COUNT];
            reader.go_on(RowRead::OldWords { tried, slot, version, successor: None, words });
        }
        // The checksum of a slot that is written once matches as soon as the slot is complete, and
        // not before.
        (Some(version), BufferKind::Fresh)
            if config.guards.checksum
                && !(row.buffer[slot].is_whole() && row.is_followed_by(version, successor)) =>
        {
            try_next_slot(config, reader, tried, slot);
        }
        // A slot that is written once does not change after its version word is written, so reading
        // the rest word by word would give the same result.
        (Some(version), BufferKind::Fresh) if fits(config, version, successor, snapshot) => {
            reader.accept(config, version, payload.map(Some));
        }
        _ => try_next_slot(config, reader, tried, slot),
    }
}

fn read_old_words(
    config: &Config,
    reader: &mut Reader,
    row: &Row,
    read: RowRead,
    step: ReaderMove,
) {
    let snapshot = reader.snapshot.expect("taken before the first row");
    let RowRead::OldWords { tried, slot, version, mut successor, mut words } = read else {
        unreachable!("only a slot under way is gone on with");
    };
    match step {
        ReaderMove::ReadOldWord(WORD_COUNT) => successor = Some(row.buffer[slot].successor),
        ReaderMove::ReadOldWord(word) => words[word] = Some(row.buffer[slot].payload[word]),
        ReaderMove::ReadOldVersionAgain => {
            let successor = successor.expect("read before the version is read again");
            let is_intact = match config.guards.checksum {
                true => {
                    let is_whole = words.iter().all(|word| *word == Some(version));
                    is_whole && row.is_followed_by(version, successor)
                }
                false => {
                    row.buffer[slot].version == Some(version) || !config.guards.version_read_again
                }
            };
            return match is_intact && fits(config, version, successor, snapshot) {
                true => reader.accept(config, version, words),
                false => try_next_slot(config, reader, tried, slot),
            };
        }
        step => unreachable!("{step:?} in {read:?}"),
    }
    reader.go_on(RowRead::OldWords { tried, slot, version, successor, words });
}

/// Whether the snapshot shows this old version.
fn fits(config: &Config, old: Version, successor: Option<Version>, snapshot: Counters) -> bool {
    let successor_is_covered = successor.is_some_and(|version| version.is_covered_by(snapshot));
    old.is_covered_by(snapshot) && !(successor_is_covered && config.guards.successor_check)
}

fn try_next_slot(
    config: &Config,
    reader: &mut Reader,
    mut tried: [bool; BUFFER_SLOT_COUNT],
    slot: usize,
) {
    tried[slot] = true;
    let slots = &tried[..config.buffer.slot_count()];
    // Retries have no bound, because the model checks the condition that makes one safe: a row
    // without concurrent writers is read at the first attempt, so every further attempt is due to
    // some writer's progress.
    match slots.iter().all(|tried| *tried) {
        true => reader.go_on(RowRead::Start),
        false => reader.go_on(RowRead::Old { tried }),
    }
}
