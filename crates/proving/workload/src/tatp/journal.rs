//! A journal of the last updates, for the checks: each terminal keeps a limited number of its own,
//! in reused memory, so that the cost is independent of the length of a run.
//!
//! An update has a number; of two updates of the same row the later one's is larger: see
//! [`crate::recording::version`]. All updates that a terminal has forgotten have smaller numbers
//! than those that it remembers.
//!
//! Decision: docs/decisions/0190-tatps-checks-know-the-last-updates-not-all.md

use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard};

/// Number of updates that a terminal remembers.
const UPDATES_MAX: usize = 1 << 14;
/// Number of a terminal's updates that are sent to another process.
const UPDATES_TOLD_MAX: usize = 1000;
/// Number of integers that encode an update.
const UPDATE_NUMBERS: usize = 5;

/// An update: the row and the values that it wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Update {
    /// The subscriber.
    pub s_id: i32,
    /// 0: VLR_LOCATION of the subscriber; otherwise BIT_1, and DATA_A of the special facility of
    /// this type.
    pub sort: i16,
    /// VLR_LOCATION; or BIT_1 in the upper half, and DATA_A in the lower.
    pub value: i32,
    /// Among the updates of the same row, larger is later.
    pub number: i64,
    /// It may not have taken effect.
    pub is_unknown: bool,
}

impl Update {
    pub fn location(s_id: i32, location: i32) -> Self {
        Self { s_id, sort: 0, value: location, number: 0, is_unknown: false }
    }

    /// An update of BIT_1 and DATA_A.
    pub fn data(s_id: i32, sf_type: i16, bit_1: i16, data_a: i16) -> Self {
        let value = i32::from(bit_1) << 16 | i32::from(data_a as u16);
        Self { s_id, sort: sf_type, value, number: 0, is_unknown: false }
    }

    /// BIT_1 that it wrote.
    pub fn bit_1(&self) -> i16 {
        (self.value >> 16) as i16
    }

    /// DATA_A that it wrote.
    pub fn data_a(&self) -> i16 {
        self.value as i16
    }
}

/// The updates of one terminal.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Page {
    updates: Vec<Update>,
    /// The place of the next one once all places are taken.
    next: usize,
    /// The largest number among the forgotten updates.
    forgotten: Option<i64>,
}

impl Page {
    #[inline]
    pub fn note(&mut self, update: Update) {
        if self.updates.len() < UPDATES_MAX {
            self.updates.push(update);
            return;
        }
        let place = &mut self.updates[self.next];
        self.forgotten = self.forgotten.max(Some(place.number));
        *place = update;
        self.next = (self.next + 1) % UPDATES_MAX;
    }

    /// The newest `most` updates, oldest first.
    fn newest(&self, most: usize) -> Self {
        let all = self.updates[self.next..].iter().chain(&self.updates[..self.next]);
        let left_out = self.updates.len().saturating_sub(most);
        let dropped = all.clone().take(left_out).map(|update| update.number).max();
        let updates = all.skip(left_out).copied().collect();
        Self { updates, next: 0, forgotten: self.forgotten.max(dropped) }
    }
}

/// The page of a running terminal. It goes to the journal when the terminal ends, in whatever way.
#[derive(Debug)]
pub struct OpenPage {
    journal: Journal,
    page: Page,
    /// An update that has begun and not ended.
    begun: Option<Update>,
}

impl OpenPage {
    /// Records that an update is about to commit.
    #[inline]
    pub fn begin(&mut self, update: Update) {
        self.begun = Some(update);
    }

    /// Records the result of the update.
    #[inline]
    pub fn end(&mut self, result: TransactionResult) {
        let is_unknown = match result {
            TransactionResult::Committed => false,
            TransactionResult::Unknown => true,
            TransactionResult::RolledBack | TransactionResult::Aborted(_) => {
                self.begun = None;
                return;
            }
        };
        if let Some(update) = self.begun.take() {
            self.page.note(Update { is_unknown, ..update });
        }
    }
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        self.end(TransactionResult::Unknown);
        self.journal.lock().push(std::mem::take(&mut self.page));
    }
}

/// The pages of all terminals that have ended, including those of other processes.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    pages: Arc<Mutex<Vec<Page>>>,
}

impl Journal {
    /// Opens the page of one more terminal.
    pub fn open(&self) -> OpenPage {
        OpenPage { journal: self.clone(), page: Page::default(), begun: None }
    }

    /// The last updates of everything, as far as they are known.
    pub fn last_updates(&self) -> LastUpdates {
        LastUpdates::new(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Page>> {
        self.pages.lock().expect("no holder panics")
    }

    /// The pages as text for another process: what each has forgotten, and its updates.
    pub fn testimony(&self) -> String {
        let mut text = String::new();
        for page in self.lock().iter() {
            let page = page.newest(UPDATES_TOLD_MAX);
            let forgotten = page.forgotten.unwrap_or(i64::MIN);
            write!(text, "{forgotten}").expect("a string takes all");
            for update in &page.updates {
                let Update { s_id, sort, value, number, is_unknown } = update;
                let is_unknown = i64::from(*is_unknown);
                write!(text, " {s_id} {sort} {value} {number} {is_unknown}")
                    .expect("a string takes all");
            }
            text.push('\n');
        }
        text
    }

    /// Takes the pages of another process.
    pub fn hear(&self, testimony: &str) -> Result<(), WorkloadError> {
        for line in testimony.lines() {
            let page = read_page(line).ok_or_else(|| {
                WorkloadError::Testimony(format!("`{line}` is not a page of updates"))
            })?;
            self.lock().push(page);
        }
        Ok(())
    }
}

fn read_page(line: &str) -> Option<Page> {
    let numbers: Vec<i64> = line.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let (&forgotten, numbers) = numbers.split_first()?;
    let mut page = Page { forgotten: Some(forgotten), ..Page::default() };
    page.forgotten = page.forgotten.filter(|&number| number != i64::MIN);
    let updates = numbers.chunks_exact(UPDATE_NUMBERS);
    if !updates.remainder().is_empty() {
        return None;
    }
    for update in updates {
        page.updates.push(Update {
            s_id: update[0].try_into().ok()?,
            sort: update[1].try_into().ok()?,
            value: update[2].try_into().ok()?,
            number: update[3],
            is_unknown: update[4] != 0,
        });
    }
    Some(page)
}

/// The last update of one column of one row, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Last {
    /// Unknown: it may have been updated before the remembered updates.
    Forgotten,
    /// No update since the load.
    Never,
    Update(Update),
    /// One of unknown outcome may have come after all others.
    Open,
}

#[derive(Debug)]
pub struct LastUpdates {
    /// By number within the same thing, sorted for search.
    updates: Vec<(Thing, Update)>,
    /// All forgotten updates have at most this number.
    forgotten: Option<i64>,
}

/// An updated column: subscriber, and 0 for VLR_LOCATION, 1 to 4 for DATA_A of a type, 5 for BIT_1.
type Thing = (i32, i16);
const BIT_1: i16 = 5;

impl LastUpdates {
    /// Merges the pages of all terminals.
    fn new(pages: &[Page]) -> Self {
        let mut updates = Vec::new();
        for update in pages.iter().flat_map(|page| &page.updates) {
            updates.push(((update.s_id, update.sort), *update));
            if update.sort != 0 {
                updates.push(((update.s_id, BIT_1), *update));
            }
        }
        updates.sort_unstable_by_key(|(thing, update)| (*thing, update.number));
        let forgotten = pages.iter().filter_map(|page| page.forgotten).max();
        Self { updates, forgotten }
    }

    /// The last update of VLR_LOCATION.
    pub fn of_location(&self, s_id: i32) -> Last {
        self.of((s_id, 0))
    }

    /// The last update of BIT_1.
    pub fn of_bit_1(&self, s_id: i32) -> Last {
        self.of((s_id, BIT_1))
    }

    /// The last update of DATA_A of a special facility.
    pub fn of_data_a(&self, s_id: i32, sf_type: i16) -> Last {
        self.of((s_id, sf_type))
    }

    fn of(&self, thing: Thing) -> Last {
        let begin = self.updates.partition_point(|(other, _)| *other < thing);
        let end = self.updates.partition_point(|(other, _)| *other <= thing);
        let mine = &self.updates[begin..end];
        if mine.iter().any(|(_, update)| update.is_unknown) {
            return Last::Open;
        }
        match (mine.last(), self.forgotten) {
            (None, None) => Last::Never,
            (None, Some(_)) => Last::Forgotten,
            (Some((_, last)), Some(forgotten)) if last.number <= forgotten => Last::Forgotten,
            (Some((_, last)), _) => Last::Update(*last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(numbers: std::ops::Range<i64>) -> Page {
        let mut page = Page::default();
        for number in numbers {
            let update = Update { number, ..Update::location(number as i32 % 10, number as i32) };
            page.note(update);
        }
        page
    }

    #[test]
    fn the_last_of_several_terminals_is_found_and_what_is_forgotten_is_not() {
        let few = [page(1..25), page(25..28)];
        let last = LastUpdates::new(&few);
        let number = |last: Last| match last {
            Last::Update(update) => update.number,
            other => panic!("{other:?}"),
        };
        assert_eq!(number(last.of_location(4)), 24);
        assert_eq!(number(last.of_location(6)), 26);
        assert_eq!(last.of_location(11), Last::Never);
        let many = [page(1..25), page(25..20_000)];
        let last = LastUpdates::new(&many);
        assert_eq!(number(last.of_location(9)), 19_999);
        assert_eq!(last.of_location(11), Last::Forgotten);
        // Its terminal has forgotten nothing, but the other one may have had a later update of the
        // same column.
        let lone = Update { number: 30, ..Update::location(77, 1) };
        let mut third = Page::default();
        third.note(lone);
        let last = LastUpdates::new(&[many[1].clone(), third]);
        assert_eq!(last.of_location(77), Last::Forgotten);
    }

    #[test]
    fn both_columns_of_an_update_are_packed_and_unpacked() {
        for (bit_1, data_a) in [(0, 255), (1, 0), (32_767, 32_767)] {
            let update = Update::data(3, 2, bit_1, data_a);
            assert_eq!((update.bit_1(), update.data_a()), (bit_1, data_a));
        }
        let mut page = Page::default();
        page.note(Update { number: 1, ..Update::data(3, 2, 1, 9) });
        page.note(Update { number: 2, is_unknown: true, ..Update::data(3, 4, 0, 8) });
        let last = LastUpdates::new(&[page]);
        assert!(matches!(last.of_data_a(3, 2), Last::Update(update) if update.data_a() == 9));
        assert_eq!(last.of_data_a(3, 4), Last::Open);
        assert_eq!(last.of_bit_1(3), Last::Open);
    }

    /// A terminal may end between a commit and its completion, as when its compute server dies.
    #[test]
    fn an_update_without_a_known_end_is_unknown() {
        let journal = Journal::default();
        let mut open = journal.open();
        for (s_id, result) in [
            (1, TransactionResult::Committed),
            (2, TransactionResult::RolledBack),
            (3, TransactionResult::Unknown),
        ] {
            open.begin(Update { number: 1, ..Update::location(s_id, 5) });
            open.end(result);
        }
        open.begin(Update { number: 2, ..Update::location(4, 5) });
        drop(open);
        let last = journal.last_updates();
        assert!(matches!(last.of_location(1), Last::Update(_)));
        assert_eq!(last.of_location(2), Last::Never);
        assert_eq!([3, 4].map(|s_id| last.of_location(s_id)), [Last::Open; 2]);
    }

    #[test]
    fn a_testimony_tells_another_process_the_newest_updates() {
        let journal = Journal::default();
        journal.open().page = page(1..2000);
        journal.open().page = page(1..3);
        let other = Journal::default();
        other.hear(&journal.testimony()).expect("it was written");
        let pages = other.lock().clone();
        assert_eq!(pages[0].updates.len(), UPDATES_TOLD_MAX);
        assert_eq!(pages[0].forgotten, Some(999));
        assert_eq!(pages[1], page(1..3));
        for wrong in ["x", "0 1 2", "0 1 2 3 4 x"] {
            assert!(other.hear(wrong).is_err(), "{wrong}");
        }
    }
}
