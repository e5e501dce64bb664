//! A memo of computed costs with the measurements that each depends on. The search computes the
//! same costs repeatedly; when one measurement is perturbed, most costs stay valid.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A set of lines, by number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lines(Vec<u64>);

impl Lines {
    pub fn put(&mut self, line: usize) {
        let (word, bit) = (line / 64, line % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    pub fn put_all(&mut self, others: &Self) {
        if self.0.len() < others.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        self.0.iter_mut().zip(&others.0).for_each(|(own, other)| *own |= other);
    }

    pub fn has(&self, line: usize) -> bool {
        self.0.get(line / 64).is_some_and(|word| word >> (line % 64) & 1 == 1)
    }
}

/// A value with the lines that it depends on.
#[derive(Clone, Debug)]
struct Found<V> {
    value: V,
    lines: Lines,
}

type All<K, V> = BTreeMap<K, Found<V>>;

/// An earlier memo, and the line that was perturbed since. `None` invalidates everything.
type Before<K, V> = (Rc<All<K, V>>, Option<usize>);

#[cfg(test)]
thread_local! {
    /// Counts the values that this thread has computed and stored; the tuner spends most of its
    /// time computing them.
    static PUT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Values by their arguments.
#[derive(Clone, Debug)]
pub struct Memo<K, V> {
    own: RefCell<Rc<All<K, V>>>,
    before: Option<Before<K, V>>,
}

impl<K: Ord + Clone, V: Clone> Memo<K, V> {
    /// An empty memo.
    pub fn new() -> Self {
        Self { own: RefCell::default(), before: None }
    }

    /// A memo for measurements in which a line is perturbed; `None` invalidates everything. Values
    /// that do not depend on the line stay valid.
    pub fn off_by(&self, line: Option<usize>) -> Self {
        let before = Rc::clone(&self.own.borrow());
        Self { own: RefCell::default(), before: Some((before, line)) }
    }

    /// The value, if it is valid; adds the lines that it depends on to `used`.
    pub fn get(&self, key: &K, used: &RefCell<Lines>) -> Option<V> {
        let take = |of: &Found<V>| {
            used.borrow_mut().put_all(&of.lines);
            of.value.clone()
        };
        if let Some(found) = self.own.borrow().get(key) {
            return Some(take(found));
        }
        let (before, line) = self.before.as_ref()?;
        let holds = |of: &&Found<V>| line.is_some_and(|line| !of.lines.has(line));
        before.get(key).filter(holds).map(take)
    }

    /// The value before the perturbation, valid or not.
    pub fn before(&self, key: &K) -> Option<V> {
        let (before, _) = self.before.as_ref()?;
        before.get(key).map(|found| found.value.clone())
    }

    /// Stores a value.
    pub fn put(&self, key: K, value: V, lines: Lines) {
        #[cfg(test)]
        PUT.set(PUT.get() + 1);
        let mut own = self.own.borrow_mut();
        Rc::make_mut(&mut own).insert(key, Found { value, lines });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(all: &[usize]) -> Lines {
        let mut lines = Lines::default();
        all.iter().for_each(|line| lines.put(*line));
        lines
    }

    #[test]
    fn values_from_other_lines_stay_valid() {
        let kept = Memo::new();
        kept.put("one", 1, lines(&[3, 70]));
        kept.put("two", 2, lines(&[4]));
        let off = kept.off_by(Some(70));
        let used = RefCell::default();
        assert_eq!((off.get(&"one", &used), off.before(&"one")), (None, Some(1)));
        assert_eq!(off.get(&"two", &used), Some(2));
        assert_eq!(*used.borrow(), lines(&[4]));
        off.put("one", 5, lines(&[70]));
        assert_eq!((off.get(&"one", &used), kept.get(&"one", &used)), (Some(5), Some(1)));
        assert_eq!(kept.off_by(None).get(&"two", &used), None);
    }

    /// Counts computations, which are the same on every machine. A search with a third more of
    /// them, or intervals that recompute all costs, exceed the limits.
    #[test]
    fn tuning_computes_few_costs_again() {
        use crate::measurement::Measurements;
        use crate::tune::contention::throughput::EVALUATIONS;
        use crate::tune::{Input, Options, tune};
        let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(crates.join("measurements/connectx3-fdr.json"));
        let measurements = &Measurements::parse(&text.expect("it is shipped")).expect("it is read");
        for (name, most, throughputs) in [("tatp", 7_000, 12_000), ("tpcc", 20_000, 45_000)] {
            let folder = crates.join("../../../workloads").join(name);
            let workload = &procedure::Workload::read(&folder).expect("it is shipped");
            let folder = &sql::WorkloadFolder::read(&folder).expect("it is shipped");
            let (before, profile) = (PUT.get(), EVALUATIONS.get());
            tune(Input { folder, workload, measurements }, &Options::default()).expect("it fits");
            let found = PUT.get() - before;
            assert!(found < most, "{name}: {found} computations, {most} are expected at most");
            // Starting from the last throughput takes a dozen evaluations; starting from nothing
            // takes at least twice as many.
            let profile = EVALUATIONS.get() - profile;
            assert!(
                profile < throughputs,
                "{name}: {profile} looks at lanes, {throughputs} are expected at most"
            );
        }
    }

    #[test]
    fn lines_are_put_together() {
        let mut all = lines(&[1]);
        all.put_all(&lines(&[130]));
        assert_eq!([1, 2, 130, 900].map(|line| all.has(line)), [true, false, true, false]);
    }
}
