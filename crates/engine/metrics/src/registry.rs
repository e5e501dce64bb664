//! The registry: metrics and the sources of their values.

use crate::definition::{Definition, Kind};
use crate::latency::LatencyHistogram;
use crate::text;
use crate::value::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The metrics of a server. Clones share the registry.
///
/// The endpoint's thread reads the sources, one scrape at a time, so they must not block. Values
/// with equal labels are summed, so each worker of a server may register its own counters.
#[derive(Clone, Default)]
pub struct Registry {
    /// By name, the order in the page.
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

/// The values of one metric, by labels.
pub struct Samples {
    label_count: usize,
    pub(crate) values: BTreeMap<Vec<String>, Value>,
}

impl Samples {
    pub(crate) fn new(definition: &Definition) -> Self {
        Self { label_count: definition.labels.len(), values: BTreeMap::new() }
    }

    /// Adds a value with its label values, in the definition's order.
    ///
    /// # Panics
    /// If the number of label values is wrong.
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
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a value with these labels, read by calling `read`.
    ///
    /// # Panics
    /// Like all functions that register sources: if labels or kind do not match the definition.
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

    /// Registers a counter with these labels, read where it is counted.
    pub fn add_cell(
        &self,
        definition: &'static Definition,
        labels: &[&str],
        cell: &Arc<AtomicU64>,
    ) {
        let cell = cell.clone();
        self.add(definition, labels, move || cell.load(Relaxed));
    }

    /// Registers values whose labels are only known when they are read.
    pub fn add_many(
        &self,
        definition: &'static Definition,
        read: impl Fn(&mut Samples) + Send + 'static,
    ) {
        assert!(definition.kind != Kind::Histogram, "latencies come from a histogram");
        self.enter(definition, Source::Many(Box::new(read)));
    }

    /// Registers a latency histogram with these labels.
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

    /// The current page in Prometheus's text format, version 0.0.4.
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

    /// A source that panicked has only broken its own scrape.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Family>> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn owned(definition: &Definition, labels: &[&str]) -> Vec<String> {
    assert!(labels.len() == definition.labels.len(), "every label of the definition has a value");
    labels.iter().map(|&label| label.to_owned()).collect()
}
