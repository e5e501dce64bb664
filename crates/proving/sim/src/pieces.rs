//! The shadow of memory: which pieces the pools have given away, outside the protocol.
//!
//! A piece is in use from the note of the pool that gives it away to the note of one that gets it
//! back. It is never given away twice at a time, and in a database at rest, without garbage, some
//! structure leads to it.

use fabric::Note;
use layout::{GlobalPtr, WORD_BYTES};
use std::collections::{BTreeMap, BTreeSet};

/// The pieces in use, and those that a structural check has reached.
#[derive(Default)]
pub(crate) struct Pieces {
    /// Words of each piece, by its address.
    in_use: BTreeMap<GlobalPtr, u32>,
    reached: BTreeSet<GlobalPtr>,
    /// Pieces that are lost for good.
    lost: BTreeSet<GlobalPtr>,
}

impl Pieces {
    /// Follows a note; an error if memory would have two owners, or be freed twice. Notes that say
    /// nothing of memory are ignored.
    pub(crate) fn note(&mut self, note: Note<'_>) -> Result<(), String> {
        match note {
            Note::Allocates { at, words } => self.allocate(at, words),
            Note::Frees { at, words } => match self.in_use.remove(&at) {
                Some(held) if held == words => Ok(()),
                Some(held) => {
                    Err(format!("{words} words at {at:?} were freed, and {held} were allocated"))
                }
                None => Err(format!("{words} words at {at:?} were freed, and nobody had them")),
            },
            Note::Loses { at } => {
                self.lost.insert(at);
                Ok(())
            }
            Note::FreesExtent { at, bytes } => {
                let end = at.add_words(bytes / WORD_BYTES);
                self.in_use.retain(|piece, _| *piece < at || *piece >= end);
                self.lost.retain(|piece| *piece < at || *piece >= end);
                Ok(())
            }
            Note::Reaches { at } => {
                self.reached.insert(at);
                Ok(())
            }
            Note::Writes { .. }
            | Note::Undoes { .. }
            | Note::Reads { .. }
            | Note::Searches { .. } => Ok(()),
        }
    }

    fn allocate(&mut self, at: GlobalPtr, words: u32) -> Result<(), String> {
        let end = at.add_words(u64::from(words));
        let before = self.in_use.range(..end).next_back();
        let shared = before.filter(|(held, words)| held.add_words(u64::from(**words)) > at);
        if let Some((held, held_words)) = shared {
            return Err(format!(
                "{words} words at {at:?} were allocated, and {held_words} at {held:?} are in use"
            ));
        }
        self.in_use.insert(at, words);
        Ok(())
    }

    /// The pieces in use that no structural check has reached since the last call.
    pub(crate) fn take_unreached(&mut self) -> Vec<(GlobalPtr, u32)> {
        let reached = std::mem::take(&mut self.reached);
        let is_missing = |piece: &GlobalPtr| !reached.contains(piece) && !self.lost.contains(piece);
        let unreached = self.in_use.iter().filter(|(piece, _)| is_missing(piece));
        unreached.map(|(piece, words)| (*piece, *words)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::RegionId;

    fn at(word: u64) -> GlobalPtr {
        GlobalPtr::new(RegionId(0), word * WORD_BYTES)
    }

    fn noted(notes: &[Note<'_>]) -> (Pieces, Result<(), String>) {
        let mut pieces = Pieces::default();
        let result = notes.iter().try_for_each(|note| pieces.note(*note));
        (pieces, result)
    }

    #[test]
    fn a_piece_has_one_owner_at_a_time() {
        let first = Note::Allocates { at: at(8), words: 4 };
        for (word, words) in [(8, 4), (8, 2), (10, 1), (6, 3), (4, 20)] {
            let second = Note::Allocates { at: at(word), words };
            assert!(noted(&[first, second]).1.is_err(), "{words} words at {word}");
        }
        let freed = Note::Frees { at: at(8), words: 4 };
        let around = [(6, 2), (12, 3)].map(|(word, words)| Note::Allocates { at: at(word), words });
        assert_eq!(noted(&[first, around[0], around[1], freed, first]).1, Ok(()));
        let extent = Note::FreesExtent { at: at(0), bytes: 12 * WORD_BYTES };
        assert_eq!(noted(&[first, extent, first]).1, Ok(()));
    }

    #[test]
    fn a_piece_is_freed_once_and_whole() {
        let first = Note::Allocates { at: at(8), words: 4 };
        let frees = |words| Note::Frees { at: at(8), words };
        assert!(noted(&[frees(4)]).1.is_err());
        assert!(noted(&[first, frees(3)]).1.is_err());
        assert!(noted(&[first, frees(4), frees(4)]).1.is_err());
    }

    #[test]
    fn a_piece_that_nothing_leads_to_is_lost() {
        let piece = |word| Note::Allocates { at: at(word), words: 4 };
        let reached = Note::Reaches { at: at(4) };
        let (mut pieces, result) = noted(&[piece(0), piece(4), reached]);
        assert_eq!((result, pieces.take_unreached()), (Ok(()), vec![(at(0), 4)]));
        assert_eq!(pieces.take_unreached(), [(at(0), 4), (at(4), 4)], "reached is forgotten");
    }
}
