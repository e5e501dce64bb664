//! The memory of all memory servers: for every word its value at any moment of the near past and of
//! the future that is already decided.
//!
//! A verb touches each of its words at a separate moment. The moments of a write are drawn when it
//! is posted, so all its words are entered at once, each with its moment. The moments of a read are
//! drawn when it ends, and each word is looked up as of its moment. So no word access needs an
//! event, and a word that no verb writes meanwhile costs no more than a copy.
//!
//! ```text
//!           now                      words[7]   what word 7 holds at last
//!   ---------+------------------->   entries    newest first: (time 90, was 5), (time 40, was 3)
//!      40        90       time       so: 3 until 39, 5 from 40 on, words[7] from 90 on
//! ```

use crate::config::Tearing;
use crate::random::Random;
use layout::{GlobalPtr, WORD_BYTES, region};

/// Words whose entries share a list.
const GRANULE_WORDS: u64 = 8;
/// Marks the absence of an entry; places of entries are counted from 1.
const NONE: u32 = 0;
/// Number of entries up to which no clean-up is tried.
const ENTRIES_MIN: usize = 2048;

/// A change of a word.
#[derive(Clone, Copy, Default)]
struct Entry {
    time_ns: u64,
    /// The value before the change.
    was: u64,
    /// The batch that made the change.
    owner: u32,
    /// The word, within the region.
    word: u32,
    /// The next older entry of the granule; among equally old ones, the one entered earlier.
    next: u32,
}

/// Memory of one server.
struct Region {
    words: Vec<u64>,
    /// Newest entry of each granule.
    heads: Vec<u32>,
}

/// One region per memory server.
pub(crate) struct Memory {
    regions: Vec<Region>,
    entries: Vec<Entry>,
    free: u32,
    used: usize,
    /// The number of entries at which old ones are cleaned up.
    sweep_at: usize,
    /// Granules with entries: region and number.
    dirty: Vec<(u32, u32)>,
    /// No read looks further back than this.
    reach_ns: u64,
}

/// The moments at which a verb touches its words.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Moments {
    pub(crate) start_ns: u64,
    /// Time from the first possible moment to the last.
    pub(crate) stretch_ns: u64,
}

impl Moments {
    /// The last possible moment.
    #[inline]
    pub(crate) fn end_ns(&self) -> u64 {
        self.start_ns + self.stretch_ns
    }

    /// Draws the moment of word `index` of `count`.
    #[inline]
    pub(crate) fn draw(
        &self,
        tearing: Tearing,
        index: u64,
        count: u64,
        random: &mut Random,
    ) -> u64 {
        match tearing {
            _ if self.stretch_ns == 0 => self.start_ns,
            Tearing::AnyOrder => self.start_ns + random.up_to(self.stretch_ns),
            Tearing::InOrder => {
                let share_ns = self.stretch_ns / count;
                self.start_ns + index * share_ns + random.up_to(share_ns)
            }
            Tearing::None => self.end_ns(),
        }
    }
}

impl Memory {
    /// Zeroed regions with the header words that a memory server writes, and their replicas.
    pub(crate) fn new(server_words: &[u64], replica_count: u16) -> Self {
        let all = (0..replica_count).flat_map(|_| server_words);
        Self {
            regions: all.map(|&words| Region::new(words)).collect(),
            entries: vec![Entry::default()],
            free: NONE,
            used: 0,
            sweep_at: ENTRIES_MIN,
            dirty: Vec::new(),
            reach_ns: 0,
        }
    }

    /// Zeroes a region and writes its header again.
    pub(crate) fn empty(&mut self, region: usize) {
        self.cut(|place, _| place == region as u32);
        self.regions[region] = Region::new(self.region_words(region));
        self.dirty.retain(|&(place, _)| place != region as u32);
    }

    pub(crate) fn region_words(&self, region: usize) -> u64 {
        self.regions[region].words.len() as u64
    }

    /// Whether `words` words from `at` on lie inside a region.
    #[inline]
    pub(crate) fn contains(&self, at: GlobalPtr, words: u32) -> bool {
        let Some(region) = self.regions.get(usize::from(at.region().0)) else {
            return false;
        };
        let first = at.offset() / WORD_BYTES;
        at.offset().is_multiple_of(WORD_BYTES)
            && first + u64::from(words) <= region.words.len() as u64
    }

    /// The final values of words from `at` on; for worlds in which those are the present values.
    #[inline]
    pub(crate) fn span(&self, at: GlobalPtr, words: u32) -> &[u64] {
        let first = (at.offset() / WORD_BYTES) as usize;
        &self.regions[usize::from(at.region().0)].words[first..first + words as usize]
    }

    /// As [`Memory::span`], mutable; changes are final.
    #[inline]
    pub(crate) fn span_mut(&mut self, at: GlobalPtr, words: u32) -> &mut [u64] {
        let first = (at.offset() / WORD_BYTES) as usize;
        &mut self.regions[usize::from(at.region().0)].words[first..first + words as usize]
    }

    /// A read that ends at its own end looks back at most `reach_ns`.
    #[inline]
    pub(crate) fn expect_reach(&mut self, reach_ns: u64) {
        self.reach_ns = self.reach_ns.max(reach_ns);
    }

    /// The value of a word at `time_ns`.
    #[inline]
    pub(crate) fn load(&self, at: GlobalPtr, time_ns: u64) -> u64 {
        let region = &self.regions[usize::from(at.region().0)];
        region.load((at.offset() / WORD_BYTES) as usize, time_ns, &self.entries)
    }

    /// Reads words from `at` on, each at a moment of its own.
    pub(crate) fn read(
        &self,
        at: GlobalPtr,
        (moments, tearing): (Moments, Tearing),
        random: &mut Random,
        words: &mut [u64],
    ) {
        let region = &self.regions[usize::from(at.region().0)];
        let first = (at.offset() / WORD_BYTES) as usize;
        words.copy_from_slice(&region.words[first..first + words.len()]);
        let (mut index, count) = (0, words.len());
        while index < count {
            let granule = (first + index) / GRANULE_WORDS as usize;
            let end = ((granule + 1) * GRANULE_WORDS as usize - first).min(count);
            let head = region.heads[granule];
            // Only words that changed since the read began can have another value.
            if head != NONE && self.entries[head as usize].time_ns > moments.start_ns {
                for (place, word) in words.iter_mut().enumerate().take(end).skip(index) {
                    let time_ns = moments.draw(tearing, place as u64, count as u64, random);
                    *word = region.load(first + place, time_ns, &self.entries);
                }
            }
            index = end;
        }
    }

    /// A word has `value` from `time_ns` on, until its next change.
    #[inline]
    pub(crate) fn store(&mut self, at: GlobalPtr, time_ns: u64, value: u64, owner: u32) {
        let number = usize::from(at.region().0);
        self.enter(number, (at.offset() / WORD_BYTES) as u32, time_ns, value, owner);
    }

    /// Writes words from `at` on, each at its own moment, except moments after `cut_ns`.
    pub(crate) fn write(
        &mut self,
        at: GlobalPtr,
        words: &[u64],
        left_out: Option<usize>,
        (moments, tearing, cut_ns): (Moments, Tearing, u64),
        random: &mut Random,
        owner: u32,
    ) {
        let number = usize::from(at.region().0);
        let first = (at.offset() / WORD_BYTES) as u32;
        let count = words.len() as u64;
        for (place, &value) in words.iter().enumerate() {
            if Some(place) == left_out {
                continue;
            }
            let time_ns = moments.draw(tearing, place as u64, count, random);
            if time_ns <= cut_ns {
                self.enter(number, first + place as u32, time_ns, value, owner);
            }
        }
    }

    #[inline]
    fn enter(&mut self, number: usize, word: u32, time_ns: u64, value: u64, owner: u32) {
        let region = &mut self.regions[number];
        let granule = (u64::from(word) / GRANULE_WORDS) as usize;
        let entries = &mut self.entries[..];
        let head = region.heads[granule];
        let (mut newer, mut older, mut later) = (NONE, head, NONE);
        while older != NONE {
            let entry = &entries[older as usize];
            if entry.time_ns <= time_ns {
                break;
            }
            if entry.word == word {
                later = older;
            }
            (newer, older) = (older, entry.next);
        }
        if head == NONE {
            self.dirty.push((number as u32, granule as u32));
        }
        let held = match later {
            NONE => &mut region.words[word as usize],
            _ => &mut entries[later as usize].was,
        };
        let was = std::mem::replace(held, value);
        let entry = Entry { time_ns, was, owner, word, next: older };
        let place = self.free;
        let place = if place == NONE {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        } else {
            self.free = std::mem::replace(&mut self.entries[place as usize], entry).next;
            place
        };
        match newer {
            NONE => region.heads[granule] = place,
            _ => self.entries[newer as usize].next = place,
        }
        self.used += 1;
    }

    /// Drops entries that no read can reach any more, once there are many.
    #[inline]
    pub(crate) fn sweep(&mut self, now_ns: u64) {
        if self.used > self.sweep_at {
            self.forget_before(now_ns.saturating_sub(self.reach_ns));
            self.sweep_at = (2 * self.used).max(ENTRIES_MIN);
        }
    }

    /// Everything decided has happened: words have their final values, and no read looks back.
    pub(crate) fn settle(&mut self) {
        self.forget_before(u64::MAX);
    }

    fn forget_before(&mut self, horizon_ns: u64) {
        let Self { regions, entries, dirty, free, used, .. } = self;
        dirty.retain(|&(region, granule)| {
            let head = &mut regions[region as usize].heads[granule as usize];
            let (mut newer, mut place) = (NONE, *head);
            while place != NONE && entries[place as usize].time_ns > horizon_ns {
                (newer, place) = (place, entries[place as usize].next);
            }
            match newer {
                NONE => *head = NONE,
                _ => entries[newer as usize].next = NONE,
            }
            while place != NONE {
                let next = std::mem::replace(&mut entries[place as usize].next, *free);
                (*free, place) = (place, next);
                *used -= 1;
            }
            *head != NONE
        });
    }

    /// Replaces the values that `owner` writes after `time_ns` by `value`.
    pub(crate) fn spoil(&mut self, owner: u32, time_ns: u64, value: u64) {
        let Self { regions, entries, dirty, .. } = self;
        for &(number, granule) in dirty.iter() {
            let Region { words, heads } = &mut regions[number as usize];
            let (mut place, head) = (heads[granule as usize], heads[granule as usize]);
            while place != NONE {
                let entry = entries[place as usize];
                if entry.owner == owner && entry.time_ns > time_ns {
                    match later_of(entries, head, place) {
                        NONE => words[entry.word as usize] = value,
                        later => entries[later as usize].was = value,
                    }
                }
                place = entry.next;
            }
        }
    }

    /// Undoes the changes by `owner` after `time_ns`, in one region or in all.
    pub(crate) fn cut_batch(&mut self, owner: u32, region: Option<u16>, time_ns: u64) {
        self.cut(|place, entry| {
            let is_there = region.is_none_or(|region| u32::from(region) == place);
            is_there && entry.owner == owner && entry.time_ns > time_ns
        });
    }

    /// Undoes all changes to a region after `time_ns`.
    pub(crate) fn cut_region(&mut self, region: u16, time_ns: u64) {
        self.cut(|place, entry| place == u32::from(region) && entry.time_ns > time_ns);
    }

    fn cut(&mut self, is_cut: impl Fn(u32, &Entry) -> bool) {
        let Self { regions, entries, dirty, free, used, .. } = self;
        for &(number, granule) in dirty.iter() {
            let Region { words, heads } = &mut regions[number as usize];
            let (mut newer, mut place) = (NONE, heads[granule as usize]);
            while place != NONE {
                let entry = entries[place as usize];
                if !is_cut(number, &entry) {
                    (newer, place) = (place, entry.next);
                    continue;
                }
                // The previous value of the word is its value until its next change.
                match later_of(entries, heads[granule as usize], place) {
                    NONE => words[entry.word as usize] = entry.was,
                    later => entries[later as usize].was = entry.was,
                }
                match newer {
                    NONE => heads[granule as usize] = entry.next,
                    _ => entries[newer as usize].next = entry.next,
                }
                entries[place as usize].next = *free;
                (*free, place) = (place, entry.next);
                *used -= 1;
            }
        }
        // A granule without entries must not be entered twice.
        dirty.retain(|&(region, granule)| regions[region as usize].heads[granule as usize] != NONE);
    }
}

/// The next change of the word that the entry at `place` changes, in the list from `head` on.
fn later_of(entries: &[Entry], head: u32, place: u32) -> u32 {
    let word = entries[place as usize].word;
    let (mut later, mut newer) = (NONE, head);
    while newer != place {
        if entries[newer as usize].word == word {
            later = newer;
        }
        newer = entries[newer as usize].next;
    }
    later
}

impl Region {
    /// A zeroed region with its header.
    fn new(words: u64) -> Self {
        let header = region::header(words * WORD_BYTES);
        let words = usize::try_from(words).expect("a simulated region fits into this process");
        assert!(words >= header.len(), "a region is larger than its header");
        assert!(u32::try_from(words).is_ok(), "a simulated region has less than 32 GiB");
        let mut memory = vec![0; words];
        memory[..header.len()].copy_from_slice(&header);
        Self { words: memory, heads: vec![NONE; words.div_ceil(GRANULE_WORDS as usize)] }
    }

    #[inline]
    fn load(&self, word: usize, time_ns: u64, entries: &[Entry]) -> u64 {
        let mut value = self.words[word];
        let mut place = self.heads[word / GRANULE_WORDS as usize];
        while place != NONE {
            let entry = &entries[place as usize];
            if entry.time_ns <= time_ns {
                break;
            }
            if entry.word as usize == word {
                value = entry.was;
            }
            place = entry.next;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::RegionId;

    /// A memory of one region beside a reference model: all changes of a word, each with its
    /// moment, number and owner.
    struct Twin {
        memory: Memory,
        changes: Vec<(u64, u64, u64, u32)>,
    }

    fn at(word: u64) -> GlobalPtr {
        GlobalPtr::new(RegionId(0), 4096 + 8 * word)
    }

    impl Twin {
        fn expected(&self, word: u64, time_ns: u64) -> u64 {
            let past = self.changes.iter().filter(|change| change.0 == word && change.1 <= time_ns);
            past.max_by_key(|change| change.1).map_or(0, |change| change.2)
        }

        fn compare(&self, from_ns: u64) {
            for word in 0..20 {
                for time_ns in from_ns..60 {
                    let held = self.memory.load(at(word), time_ns);
                    assert_eq!(held, self.expected(word, time_ns), "word {word} at {time_ns}");
                }
            }
        }
    }

    #[test]
    fn every_word_has_its_value_at_every_moment() {
        for seed in 0..100 {
            let mut random = Random::new(seed, 9);
            let mut twin = Twin { memory: Memory::new(&[1024], 1), changes: Vec::new() };
            for value in 1..=60 {
                let (word, time_ns) = (random.up_to(19), random.up_to(50));
                let owner = random.up_to(3) as u32;
                twin.memory.store(at(word), time_ns, value, owner);
                twin.changes.push((word, time_ns, value, owner));
            }
            twin.compare(0);
            let (owner, cut_ns) = (random.up_to(3) as u32, random.up_to(50));
            twin.memory.cut_batch(owner, Some(0), cut_ns);
            twin.changes.retain(|change| change.3 != owner || change.1 <= cut_ns);
            twin.compare(0);
            twin.memory.forget_before(20);
            twin.compare(20);
            assert_eq!(twin.memory.used, {
                let words = |change: &&(u64, u64, u64, u32)| change.1 > 20;
                twin.changes.iter().filter(words).count()
            });
            twin.memory.cut_region(0, 30);
            twin.changes.retain(|change| change.1 <= 30);
            twin.compare(20);
        }
    }

    #[test]
    fn settled_memory_has_its_final_values() {
        let mut memory = Memory::new(&[1024], 1);
        memory.store(at(0), 50, 1, 1);
        assert_eq!((memory.load(at(0), 20), memory.span(at(0), 1)), (0, &[1][..]));
        memory.settle();
        assert_eq!((memory.load(at(0), 20), memory.used), (1, 0));
    }

    #[test]
    fn torn_reads_mix_what_was_and_what_is_in_the_order_that_they_have() {
        let mut seen = [[false; 8]; 2];
        for seed in 0..1000 {
            let mut random = Random::new(seed, 9);
            let mut memory = Memory::new(&[1024], 1);
            (0..3).for_each(|word| memory.store(at(word), 50, 1, 1));
            for (row, tearing) in [Tearing::AnyOrder, Tearing::InOrder].into_iter().enumerate() {
                let moments = Moments { start_ns: random.up_to(60), stretch_ns: 30 };
                let mut words = [0; 3];
                memory.read(at(0), (moments, tearing), &mut random, &mut words);
                seen[row][(words[0] + 2 * words[1] + 4 * words[2]) as usize] = true;
            }
            let moments = Moments { start_ns: 40, stretch_ns: 30 };
            let mut words = [0; 3];
            memory.read(at(0), (moments, Tearing::None), &mut random, &mut words);
            assert_eq!(words, [1; 3]);
        }
        assert_eq!(seen[0], [true; 8]);
        // Read in order, a word is never older than the one before it.
        assert_eq!(seen[1], [true, false, false, false, true, false, true, true]);
    }
}
