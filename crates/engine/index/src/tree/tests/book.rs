//! The expected contents of a tree, recorded by its writers: each key is present, absent, or being
//! changed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// The state of a key; the number distinguishes equal states at different times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fact {
    Present(u64),
    Absent(u64),
    Changing,
}

/// The facts about all keys that were ever written.
#[derive(Default)]
pub struct Book {
    facts: RefCell<BTreeMap<u64, Fact>>,
    stamp: Cell<u64>,
}

/// The facts at the start of a read.
pub struct Page(BTreeMap<u64, Fact>);

impl Book {
    /// A change of these keys begins; if its writer dies, their state is unknown.
    pub fn begin(&self, numbers: &[u64]) {
        let facts = &mut *self.facts.borrow_mut();
        facts.extend(numbers.iter().map(|&number| (number, Fact::Changing)));
    }

    /// The change of these keys has ended.
    pub fn end(&self, numbers: &[u64], present: bool) {
        self.stamp.set(self.stamp.get() + 1);
        let stamp = self.stamp.get();
        let fact = if present { Fact::Present(stamp) } else { Fact::Absent(stamp) };
        self.facts.borrow_mut().extend(numbers.iter().map(|&number| (number, fact)));
    }

    /// Keys of `client` (of `clients`) that are present, from `low` on.
    pub fn present(&self, low: u64, client: u64, clients: u64) -> Vec<u64> {
        let facts = self.facts.borrow();
        let present = |(&number, &fact): (&u64, &Fact)| {
            (number % clients == client && matches!(fact, Fact::Present(_))).then_some(number)
        };
        facts.range(low..).filter_map(present).collect()
    }

    /// Whether `number` is known to be present.
    pub fn is_present(&self, number: u64) -> bool {
        matches!(self.facts.borrow().get(&number), Some(Fact::Present(_)))
    }

    pub fn open(&self) -> Page {
        Page(self.facts.borrow().clone())
    }

    /// Checks a read of `range` that began at `page`: each key occurs once, and every fact that
    /// held during the whole read is reflected.
    pub fn check(&self, page: &Page, range: RangeInclusive<u64>, found: &[u64]) {
        let set: BTreeSet<u64> = found.iter().copied().collect();
        assert!(set.len() == found.len(), "a key came twice: {found:?}");
        let facts = self.facts.borrow();
        for number in &set {
            assert!(range.contains(number), "{number} lies outside {range:?}");
            assert!(facts.contains_key(number), "nobody ever wrote {number}");
        }
        for (number, fact) in page.0.range(range) {
            match fact {
                fact if facts[number] != *fact => {}
                Fact::Present(_) => assert!(set.contains(number), "{number} is missing: {found:?}"),
                Fact::Absent(_) => assert!(!set.contains(number), "{number} is back: {found:?}"),
                Fact::Changing => {}
            }
        }
    }
}
