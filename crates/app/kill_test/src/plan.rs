//! The transactions of a worker, as a function of seed, worker and number.
//!
//! The parent knows the database after a crash from one number per worker: the state is that after
//! the transactions 1 to this number, and nothing else. So it finds any transaction that is there
//! in part, or without an earlier one of its worker.

use crate::random::Random;
use crate::tables::{ACCOUNTS, MARKS, Note, PLACES};

/// One in this number of transactions writes all cells.
pub const CELLS_EVERY: u64 = 40;
/// Longest text of a note.
const TEXT_BYTES_MAX: u64 = 8_900;

/// The work of one transaction beside its worker's counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Transfer { from: u32, to: u32, amount: i64 },
    Note { from: u32, to: u32 },
    Toggle { mark: u32 },
    Cells,
}

/// The work of a transaction.
pub fn step(seed: u64, worker: u32, number: u64) -> Step {
    let mut random = Random::of(&[seed, u64::from(worker), number]);
    if number.is_multiple_of(CELLS_EVERY) {
        return Step::Cells;
    }
    match random.below(4) {
        0 | 1 => {
            let from = random.below(u64::from(ACCOUNTS)) as u32;
            let distance = 1 + random.below(u64::from(ACCOUNTS) - 1) as u32;
            let amount = 1 + random.below(100) as i64;
            Step::Transfer { from, to: (from + distance) % ACCOUNTS, amount }
        }
        2 => {
            let from = random.below(u64::from(PLACES)) as u32;
            let distance = 1 + random.below(u64::from(PLACES) - 1) as u32;
            Step::Note { from, to: (from + distance) % PLACES }
        }
        _ => Step::Toggle { mark: random.below(u64::from(MARKS)) as u32 },
    }
}

/// A note: the number of its title, and the transaction that wrote its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoteState {
    pub title: u32,
    pub written_by: u64,
}

/// The notes of a worker, by place.
pub type Notes = [Option<NoteState>; PLACES as usize];

/// A change of one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoteChange {
    Remove(u32),
    /// Inserts or replaces.
    Put(u32, NoteState),
}

/// The changes of a transaction [`Step::Note`], in order. A note moves with its title if the other
/// place is free. Two notes change titles, or the first is removed, by turns.
pub fn note_changes(notes: &Notes, from: u32, to: u32, number: u64) -> Vec<NoteChange> {
    let (old, other) = (notes[from as usize], notes[to as usize]);
    let written = |title: u32| NoteState { title, written_by: number };
    match (old, other) {
        (None, _) => {
            let is_free = |title: &u32| notes.iter().flatten().all(|note| note.title != *title);
            let title = (0..PLACES).find(is_free).expect("a place is free, so a title is");
            vec![NoteChange::Put(from, written(title))]
        }
        (Some(old), None) => {
            vec![NoteChange::Remove(from), NoteChange::Put(to, written(old.title))]
        }
        (Some(old), Some(other)) if number.is_multiple_of(2) => vec![
            NoteChange::Put(from, NoteState { title: other.title, ..old }),
            NoteChange::Put(to, written(old.title)),
        ],
        (Some(_), Some(_)) => vec![NoteChange::Remove(from)],
    }
}

/// Applies changes to the places.
pub fn change(notes: &mut Notes, changes: &[NoteChange]) {
    for change in changes {
        match *change {
            NoteChange::Remove(place) => notes[place as usize] = None,
            NoteChange::Put(place, state) => notes[place as usize] = Some(state),
        }
    }
}

/// The row of a note.
pub fn note(seed: u64, worker: u32, place: u32, state: NoteState) -> Note {
    let NoteState { title: title_number, written_by } = state;
    let (title, text) = (title(worker, title_number), text(seed, worker, written_by));
    Note { worker, place, title, title_number, written_by, text }
}

/// The title of this number of a worker.
pub fn title(worker: u32, title: u32) -> String {
    format!("title {title} of {worker}")
}

/// The text that a transaction writes. Some are short, and some fill several pages.
fn text(seed: u64, worker: u32, number: u64) -> String {
    let mut random = Random::of(&[seed, u64::from(worker), number, 1]);
    let bytes = if random.one_in(2) { random.below(60) } else { random.below(TEXT_BYTES_MAX) };
    let mut text = String::with_capacity(bytes as usize + 16);
    while (text.len() as u64) < bytes {
        text.push_str(&format!("{:016x}", random.word()));
    }
    text.truncate(bytes as usize);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_stay_unique_and_every_kind_of_step_is_drawn() {
        let mut notes = Notes::default();
        let mut kinds = [0; 4];
        for number in 1..5_000 {
            let step = step(7, 3, number);
            kinds[match step {
                Step::Transfer { from, to, .. } => {
                    assert_ne!(from, to);
                    0
                }
                Step::Note { from, to } => {
                    let changes = note_changes(&notes, from, to, number);
                    change(&mut notes, &changes);
                    1
                }
                Step::Toggle { .. } => 2,
                Step::Cells => 3,
            }] += 1;
            let mut titles: Vec<u32> = notes.iter().flatten().map(|note| note.title).collect();
            let count = titles.len();
            titles.sort_unstable();
            titles.dedup();
            assert_eq!(titles.len(), count, "after {number}");
        }
        assert!(kinds.iter().all(|&count| count > 50), "{kinds:?}");
    }
}
