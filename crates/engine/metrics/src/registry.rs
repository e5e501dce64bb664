//! Where the numbers come from.

use crate::definition::{Definition, Kind};
use crate::latency::LatencyHistogram;
use crate::text;
use crate::value::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The metrics that a server tells. Clones are the same registry.
///
/// Sources are read by the thread that answers, one scrape at a time, and must not wait for others. Values with
/// equal labels add up, so each worker of a server may enter counters of its own.
#[derive(Clone, Default)]
pub struct Registry {
    /// By name, which is the order they are told in.
    families: Arc<Mutex<BTreeMap<&'static str, Family>>>,
}

pub(crate) struct Family {
    pub(crate) definition: &'static Definition,
    pub(crate) sources: Vec<Source>,
}

pub(crate) enum Source {
    One { labels: Vec<String>, read: Box<dyn Fn() -> Value + Send> },
    Many(Box<dyn Fn(&mut Samples) + Send>),
    Latencies { labels: Vec<String>, histogram: Arc<LatencyHistogram> },
}

/// Values of one metric by their labels.
pub struct Samples {
    label_count: usize,
    pub(crate) values: BTreeMap<Vec<String>, Value>,
}

impl Samples {
    pub(crate) fn new(definition: &Definition) -> Self {
        Self { label_count: definition.labels.len(), values: BTreeMap::new() }
    }

    /// Enters a value with the values of its labels, in the order of the definition.
    ///
    /// # Panics
    /// If there are not as many as the definition has.
    pub fn put(&mut self, labels: &[&str], value: impl Into<Value>) {
        assert!(labels.len() == self.label_count, "every label of the definition has a value");
        self.add(labels.iter().map(|&label| label.to_owned()).collect(), value.into());
    }

    pub(crate) fn add(&mut self, labels: Vec<String>, value: Value) {
        let sum = self.values.entry(labels).or_insert(Value::Whole(0));
        *sum = *sum + value;
    }
}

impl Registry {
    /// One without metrics.
    pub fn new() -> Self {
        Self::default()
    }

    /// A value with these labels, read by calling `read`.
    ///
    /// # Panics
    /// As all that enter sources: if the labels or the kind are not those of the definition.
    pub fn add<V: Into<Value>>(
        &self,
        definition: &'static Definition,
        labels: &[&str],
        read: impl Fn() -> V + Send + 'static,
    ) {
        assert!(definition.kind != Kind::Histogram, "latencies come from a histogram");
        let read = Box::new(move || read().into());
        self.enter(definition, Source::One { labels: owned(definition, labels), read });
    }

    /// A value with these labels, read from where it is counted.
    pub fn add_cell(
        &self,
        definition: &'static Definition,
        labels: &[&str],
        cell: &Arc<AtomicU64>,
    ) {
        let cell = cell.clone();
        self.add(definition, labels, move || cell.load(Relaxed));
    }

    /// All values whose labels are only known when they are read.
    pub fn add_many(
        &self,
        definition: &'static Definition,
        read: impl Fn(&mut Samples) + Send + 'static,
    ) {
        assert!(definition.kind != Kind::Histogram, "latencies come from a histogram");
        self.enter(definition, Source::Many(Box::new(read)));
    }

    /// Latencies with these labels.
    pub fn add_latencies(
        &self,
        definition: &'static Definition,
        labels: &[&str],
        histogram: &Arc<LatencyHistogram>,
    ) {
        assert!(definition.kind == Kind::Histogram, "a histogram tells latencies");
        let (labels, histogram) = (owned(definition, labels), histogram.clone());
        self.enter(definition, Source::Latencies { labels, histogram });
    }

    /// Everything as it is now, in Prometheus' text format, version 0.0.4.
    pub fn text(&self) -> String {
        let mut page = String::new();
        self.lock().values().for_each(|family| text::write(&mut page, family));
        page
    }

    fn enter(&self, definition: &'static Definition, source: Source) {
        let mut families = self.lock();
        let family = families
            .entry(definition.name)
            .or_insert_with(|| Family { definition, sources: Vec::new() });
        assert!(family.definition == definition, "a name has one definition");
        family.sources.push(source);
    }

    /// A source that panicked has broken its scrape and nothing else.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Family>> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn owned(definition: &Definition, labels: &[&str]) -> Vec<String> {
    assert!(labels.len() == definition.labels.len(), "every label of the definition has a value");
    labels.iter().map(|&label| label.to_owned()).collect()
}
