//! The words that a work of upkeep has locked, and the journal that its batches are written to.
//!
//! A work locks words, changes what they protect, and unlocks them. Its batches either lock or
//! write, and it keeps one rule: between two batches, unlocking all words undoes the work. So
//! everything that must happen together is in one batch, which ends by unlocking. If the process
//! dies, others read the newest entry of the lane: they carry its writes out, except those that an
//! unlocked word proves, and then release the locks that are left.
//!
//! The entry is posted with the batch, to every server that the batch changes and ahead of the
//! changes there. It costs no round trip, and a server without a whole entry was not changed.

use crate::batch::Batch;
use crate::error::FabricError;
use crate::mutant::Mutant;
use crate::verb::Verb;
use crate::write_list::append_writes;
use crate::{Env, Span};
use layout::upkeep_entry::{self, UpkeepLock};
use layout::{GlobalPtr, RegionId, VersionWord};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximal number of words of one write: every fabric sends them at once.
const WRITE_WORDS_MAX: usize = 8192;

/// Makes room for an entry of `words` words on the server of a region, and tells the journal.
pub type MakeRoom<E> = for<'a> fn(
    &'a E,
    &'a UpkeepJournal,
    RegionId,
    u64,
) -> Pin<Box<dyn Future<Output = Result<(), FabricError>> + 'a>>;

/// The journal of a lane's upkeep: see [`layout::upkeep_entry`].
#[derive(Debug)]
pub struct UpkeepJournal {
    list: GlobalPtr,
    step: AtomicU64,
    places: Mutex<BTreeMap<RegionId, Place>>,
}

/// The journal on one server.
#[derive(Debug)]
struct Place {
    at: GlobalPtr,
    words: u64,
    /// Number of entries so far.
    entries: u64,
}

impl UpkeepJournal {
    /// A journal without room. `list` is the word that leads to the journals of the lane's slot.
    pub fn new(list: GlobalPtr) -> Self {
        Self { list, step: AtomicU64::new(0), places: Mutex::default() }
    }

    /// The word that leads to the journals of the lane's slot.
    pub fn list(&self) -> GlobalPtr {
        self.list
    }

    /// Adds room for changes of a region: a journal of `words` words at `at`, on the same server.
    /// It replaces a smaller one.
    pub fn add(&self, region: RegionId, at: GlobalPtr, words: u64) {
        lock(&self.places).insert(region, Place { at, words, entries: 0 });
    }

    /// Whether an entry of `words` words fits on the server of a region.
    pub fn has_room(&self, region: RegionId, words: u64) -> bool {
        let places = lock(&self.places);
        places.get(&region).is_some_and(|place| words <= upkeep_entry::room(place.words))
    }

    /// Where the next entry on the server of a region goes; there is room.
    fn next_place(&self, region: RegionId, is_last: bool) -> GlobalPtr {
        let mut places = lock(&self.places);
        let place = places.get_mut(&region).expect("room was made");
        place.entries += u64::from(!is_last);
        upkeep_entry::place(place.at, place.words, place.entries)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A journal, with the way to make room in it.
pub struct JournalOf<E> {
    pub journal: Arc<UpkeepJournal>,
    pub make_room: MakeRoom<E>,
}

/// A work of upkeep.
pub(crate) struct Work<E> {
    held: Mutex<Held>,
    journal: Option<JournalOf<E>>,
    is_undone: AtomicBool,
    is_given_up: AtomicBool,
}

/// The words that a work has locked.
#[derive(Default)]
struct Held {
    words: BTreeMap<GlobalPtr, Lock>,
    /// All locks that the work has used.
    locks: BTreeSet<u64>,
}

/// The lock of a word, and the word's value before.
#[derive(Clone, Copy, Debug)]
pub struct Lock {
    pub locked: u64,
    pub before: u64,
}

/// The entry that was put ahead of a batch's own verbs, and behind its arena.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    verbs: usize,
    arena_end: u32,
}

impl Ahead {
    /// The verbs of the batch itself.
    pub fn own<'a>(&self, verbs: &'a [Verb]) -> &'a [Verb] {
        &verbs[self.verbs..]
    }

    /// Removes what was put to the batch, which is complete: its other verbs go, too.
    pub fn remove_from(self, batch: &mut Batch) {
        if self.verbs > 0 {
            batch.clear_verbs();
            batch.truncate(self.arena_end);
        }
    }
}

impl<E: Env> Work<E> {
    /// A work that holds no lock yet.
    pub fn new(journal: Option<JournalOf<E>>) -> Self {
        let (is_undone, is_given_up) = Default::default();
        Self { held: Mutex::default(), journal, is_undone, is_given_up }
    }

    /// Puts the entry of a batch ahead of it, if it is one of those that others must complete or
    /// undo.
    pub async fn put_entry(&self, env: &E, batch: &mut Batch) -> Result<Ahead, FabricError> {
        let arena_end = batch.arena_words() as u32;
        let none = Ahead { verbs: 0, arena_end };
        let Some(JournalOf { journal, make_room }) = &self.journal else { return Ok(none) };
        let mut entry = Vec::new();
        let omits = env.mutant(Mutant::UpkeepOmitWrites);
        let described = lock(&self.held).describe(batch, &mut entry, omits);
        let Some(number) = described else { return Ok(none) };
        let changing = batch.verbs().iter().filter(|verb| verb.is_write() || swaps_lock(verb));
        let regions: BTreeSet<RegionId> = changing.map(|verb| verb.target().region()).collect();
        for &region in &regions {
            if !journal.has_room(region, entry.len() as u64) {
                make_room(env, journal, region, entry.len() as u64).await?;
            }
        }
        upkeep_entry::close(&mut entry, number, journal.step.fetch_add(1, Relaxed));
        let span = batch.put(&entry);
        let mut writes = Vec::new();
        for region in regions {
            let to = journal.next_place(region, env.mutant(Mutant::UpkeepOnePlace));
            for first in (0..entry.len()).step_by(WRITE_WORDS_MAX) {
                let words = (entry.len() - first).min(WRITE_WORDS_MAX) as u32;
                let part = Span { at: span.at + first as u32, words };
                writes.push((to.add_words(first as u64), part));
            }
        }
        batch.write_ahead(&writes);
        Ok(Ahead { verbs: writes.len(), arena_end })
    }

    /// Notes the words that these verbs have locked and unlocked; `batch` has their results. Words
    /// that others cannot reach yet are locked by writes.
    pub fn note(&self, verbs: &[Verb], batch: &Batch) {
        lock(&self.held).note(verbs, batch);
    }

    /// The words that the work holds, and those that these verbs may have locked.
    pub fn locked_by(&self, verbs: &[Verb]) -> BTreeMap<GlobalPtr, Lock> {
        let mut words = lock(&self.held).words.clone();
        for verb in verbs.iter().filter(|verb| swaps_lock(verb)) {
            if let Verb::CompareAndSwap { word, expected, desired, .. } = *verb {
                words.insert(word, Lock { locked: desired, before: expected });
            }
        }
        words
    }

    /// Whether the work was undone.
    pub fn is_undone(&self) -> bool {
        self.is_undone.load(Relaxed)
    }

    /// Whether the outcome of a batch stays unknown. The work may hold locks, and posts nothing.
    pub fn is_given_up(&self) -> bool {
        self.is_given_up.load(Relaxed)
    }

    pub fn give_up(&self) {
        self.is_given_up.store(true, Relaxed);
    }

    /// The work holds no lock any more, and posts nothing.
    pub fn end_undone(&self) {
        lock(&self.held).words.clear();
        self.is_undone.store(true, Relaxed);
    }

    /// The held words that these verbs unlock, each with its lock.
    pub fn unlocked_by(&self, verbs: &[Verb]) -> BTreeMap<GlobalPtr, Lock> {
        let held = lock(&self.held);
        let lock_of = |verb: &Verb| match *verb {
            Verb::WriteWord { to, .. } => Some((to, *held.words.get(&to)?)),
            _ => None,
        };
        verbs.iter().filter_map(lock_of).collect()
    }
}

impl Held {
    /// Begins the entry of a batch; `None` if nothing of it must be completed or undone: no word
    /// is locked, so that nobody else reaches what it writes.
    fn describe(
        &self,
        batch: &Batch,
        entry: &mut Vec<u64>,
        omits_writes: bool,
    ) -> Option<VersionWord> {
        let verbs = batch.verbs();
        let swaps = verbs.iter().filter_map(|verb| match *verb {
            Verb::CompareAndSwap { word, expected, desired, .. } if is_lock(desired) => {
                Some(UpkeepLock { word, locked: desired, before: expected })
            }
            _ => None,
        });
        let has_writes = verbs.iter().any(Verb::is_write);
        let has_swaps = swaps.clone().next().is_some();
        if !has_swaps && (self.words.is_empty() || !has_writes) {
            return None;
        }
        assert!(!(has_swaps && has_writes), "a batch of upkeep either locks or writes");
        let held = self.words.iter().map(|(&word, &lock)| UpkeepLock {
            word,
            locked: lock.locked,
            before: lock.before,
        });
        upkeep_entry::begin(entry, held.chain(swaps.clone()));
        if !omits_writes {
            append_writes(batch, verbs, entry);
        }
        let numbers = self.words.values().map(|lock| lock.locked);
        let numbers = numbers.chain(swaps.map(|swap| swap.locked)).map(VersionWord::from_word);
        numbers.map(VersionWord::timestamp).max_by_key(|number| number.counter())
    }

    fn note(&mut self, verbs: &[Verb], batch: &Batch) {
        let Self { words, locks } = self;
        for verb in verbs {
            match *verb {
                Verb::CompareAndSwap { word, expected, desired, at }
                    if is_lock(desired) && batch.word(at) == expected =>
                {
                    locks.insert(desired);
                    words.insert(word, Lock { locked: desired, before: expected });
                }
                Verb::WriteWord { to, value } => {
                    words.remove(&to);
                    if locks.contains(&value) {
                        words.insert(to, Lock { locked: value, before: value });
                    }
                }
                Verb::Write { to, at, words: count } => {
                    let written = (0..).zip(batch.words(Span { at, words: count }));
                    let locked = written.filter(|(_, value)| locks.contains(value));
                    words.extend(locked.map(|(place, &value)| {
                        (to.add_words(place), Lock { locked: value, before: value })
                    }));
                }
                _ => {}
            }
        }
    }
}

/// Whether a word with this value is locked by a number.
pub(crate) fn is_lock(value: u64) -> bool {
    let word = VersionWord::from_word(value);
    word.is_locked() && word != VersionWord::MOVED && word != VersionWord::TORN
}

fn swaps_lock(verb: &Verb) -> bool {
    matches!(*verb, Verb::CompareAndSwap { desired, .. } if is_lock(desired))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insistent::{Copies, Insistent};
    use crate::local::{LocalEnv, LocalWorld, WorldConfig, run_now};
    use crate::{Fabric, batch_of_writes};
    use layout::SlotId;
    use layout::upkeep_entry::UpkeepEntry;

    const JOURNAL_WORDS: u64 = 256;

    fn ptr(region: u16, offset: u64) -> GlobalPtr {
        GlobalPtr::new(RegionId(region), 4096 + offset)
    }

    fn no_more_room<'a>(
        _: &'a LocalEnv,
        _: &'a UpkeepJournal,
        _: RegionId,
        words: u64,
    ) -> Pin<Box<dyn Future<Output = Result<(), FabricError>> + 'a>> {
        Box::pin(async move { Err(FabricError::NoJournal { bytes: words }) })
    }

    /// An endpoint for upkeep with a journal on both servers, and one without.
    fn endpoints() -> (LocalEnv, LocalEnv) {
        let config = WorldConfig { server_bytes: vec![1 << 20; 2], seed: 1 };
        let plain = LocalWorld::new(&config).expect("little memory").endpoint();
        (plain.for_upkeep(Some(journal())), plain)
    }

    /// A journal on both servers.
    fn journal() -> JournalOf<LocalEnv> {
        let journal = UpkeepJournal::new(ptr(0, 0));
        for region in 0..2 {
            journal.add(RegionId(region), ptr(region, 8192), JOURNAL_WORDS);
        }
        JournalOf { journal: Arc::new(journal), make_room: no_more_room }
    }

    /// The whole entries on a server, the newest last.
    fn entries(plain: &LocalEnv, region: u16) -> Vec<Vec<u64>> {
        let mut batch = Batch::new();
        let room = upkeep_entry::room(JOURNAL_WORDS) as u32;
        let places = [0, 1].map(|turn| upkeep_entry::place(ptr(region, 8192), JOURNAL_WORDS, turn));
        let reads = places.map(|place| batch.read(place, room));
        let batch = run_now(plain.execute(batch)).expect("it is there");
        let words = reads.map(|read| batch.words(read).to_vec());
        let mut whole: Vec<Vec<u64>> =
            words.into_iter().filter(|words| UpkeepEntry::read(words).is_some()).collect();
        whole.sort_by_key(|words| UpkeepEntry::read(words).map(|entry| entry.order()));
        whole
    }

    #[test]
    fn every_server_that_a_batch_changes_gets_its_entry() {
        let (env, plain) = endpoints();
        let locked = VersionWord::new(SlotId(1), 5).locked_by_upkeep().word();
        let mut batch = Batch::new();
        batch.write_word(ptr(1, 512), 1);
        batch = run_now(env.execute(batch)).expect("it is there");
        assert!(entries(&plain, 1).is_empty(), "nobody else reaches what is written without locks");

        batch.reset();
        let swap = batch.compare_and_swap(ptr(0, 64), 0, locked);
        batch = run_now(env.execute(batch)).expect("it is there");
        assert!(batch.swapped(swap) && batch.arena_words() == 1, "the caller's words are its own");
        let lock = UpkeepLock { word: ptr(0, 64), locked, before: 0 };
        let of_lock = entries(&plain, 0);
        let entry = UpkeepEntry::read(&of_lock[0]).expect("it is whole");
        assert_eq!((entry.locks().collect(), entry.writes().len()), (vec![lock], 0));
        assert!(entries(&plain, 1).is_empty());

        batch.reset();
        batch.write_word(ptr(1, 128), 7);
        batch.fence();
        batch.write_word(ptr(0, 64), 5);
        run_now(env.execute(batch)).expect("it is there");
        let (here, there) = (entries(&plain, 0), entries(&plain, 1));
        assert_eq!((here.len(), there.len()), (2, 1), "the entry before is still there");
        assert_eq!(here[0], of_lock[0]);
        assert_eq!(here[1], there[0]);
        let entry = UpkeepEntry::read(&here[1]).expect("it is whole");
        assert_eq!(entry.locks().collect::<Vec<_>>(), [lock]);
        let writes = batch_of_writes(entry.writes()).expect("a list of writes");
        let targets = [ptr(1, 128), ptr(0, 64)];
        let written = writes.verbs().iter().filter(|verb| verb.is_write()).map(Verb::target);
        assert!(written.eq(targets));
    }

    #[test]
    fn a_batch_without_room_for_its_entry_changes_nothing() {
        let (env, plain) = endpoints();
        let mut batch = Batch::new();
        for number in 0..JOURNAL_WORDS {
            let locked = VersionWord::new(SlotId(1), 5).locked_by_upkeep().word();
            batch.compare_and_swap(ptr(0, 16_384 + 8 * number), 0, locked);
        }
        let refused = run_now(env.execute(batch)).map(drop);
        assert!(matches!(refused, Err(FabricError::NoJournal { .. })), "{refused:?}");
        let mut batch = Batch::new();
        let read = batch.read(ptr(0, 16_384), JOURNAL_WORDS as u32);
        let batch = run_now(plain.execute(batch)).expect("it is there");
        assert!(batch.words(read).iter().all(|word| *word == 0));
    }

    #[test]
    fn the_entry_of_a_batch_that_is_given_up_stays_the_newest() {
        let (_, plain) = endpoints();
        let env = Insistent::new(plain.clone(), Some(journal()), Copies::default());
        let locked = VersionWord::new(SlotId(1), 5).locked_by_upkeep().word();
        let mut batch = Batch::new();
        batch.compare_and_swap(ptr(0, 64), 0, locked);
        batch = run_now(env.execute(batch)).expect("it is there");

        // The second write fails.
        batch.reset();
        batch.write_word(ptr(0, 128), 7);
        batch.write_word(ptr(0, 1 << 30), 7);
        run_now(env.execute(batch)).map(drop).expect_err("the region is smaller");
        let before = entries(&plain, 0);
        let newest = UpkeepEntry::read(before.last().expect("it is whole")).expect("it is whole");
        assert!(!newest.writes().is_empty(), "it tells how to complete the work");

        let mut batch = Batch::new();
        batch.write_word(ptr(0, 256), 1);
        let refused = run_now(env.execute(batch)).map(drop);
        assert!(matches!(refused, Err(FabricError::Unreachable(_))), "{refused:?}");
        assert_eq!(entries(&plain, 0), before);
        assert!(!env.is_undone(), "it keeps its locks");
    }
}
