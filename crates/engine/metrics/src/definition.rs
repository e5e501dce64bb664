//! Definitions of metrics. The compiler rejects names that violate Prometheus's conventions.

/// A metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Definition {
    /// `namdb_`, the measured quantity, the unit if there is one, and `_total` for counters.
    pub name: &'static str,
    pub kind: Kind,
    pub unit: Unit,
    /// Meaning, as a sentence.
    pub help: &'static str,
    /// The labels that distinguish its values.
    pub labels: &'static [Label],
}

/// Behaviour of a metric over time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Only grows; starts at 0 with its server.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts durations per bucket.
    Histogram,
}

/// Unit of a metric: a base unit, as Prometheus recommends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A count or a dimensionless number.
    None,
    Bytes,
    Seconds,
}

/// A label of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label {
    pub name: &'static str,
    /// A label, which distinguishes values of a metric.
    pub meaning: &'static str,
}

impl Kind {
    /// The keyword in Prometheus's text format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Unit {
    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Bytes => "bytes",
            Self::Seconds => "seconds",
        }
    }
}

impl Label {
    /// A label.
    ///
    /// # Panics
    /// If the name is invalid. Labels are constants, so this happens at compile time.
    pub const fn new(name: &'static str, meaning: &'static str) -> Self {
        assert!(is_plain(name), "a label's name is of a-z and _");
        Self { name, meaning }
    }
}

impl Definition {
    /// Defines a counter.
    pub const fn counter(
        name: &'static str,
        unit: Unit,
        labels: &'static [Label],
        help: &'static str,
    ) -> Self {
        assert!(ends_with(name, "_total", 0), "a counter's name ends with _total");
        check_unit(name, unit, "_total".len());
        Self::new(name, Kind::Counter, unit, labels, help)
    }

    /// Defines a gauge.
    pub const fn gauge(
        name: &'static str,
        unit: Unit,
        labels: &'static [Label],
        help: &'static str,
    ) -> Self {
        assert!(!ends_with(name, "_total", 0), "only a counter's name ends with _total");
        check_unit(name, unit, 0);
        Self::new(name, Kind::Gauge, unit, labels, help)
    }

    /// Defines a histogram of durations.
    pub const fn latency(name: &'static str, labels: &'static [Label], help: &'static str) -> Self {
        check_unit(name, Unit::Seconds, 0);
        Self::new(name, Kind::Histogram, Unit::Seconds, labels, help)
    }

    const fn new(
        name: &'static str,
        kind: Kind,
        unit: Unit,
        labels: &'static [Label],
        help: &'static str,
    ) -> Self {
        assert!(is_plain(name), "a metric's name is of a-z and _");
        assert!(starts_with(name, "namdb_"), "a metric's name begins with namdb_");
        assert!(!help.is_empty() && ends_with(help, ".", 0), "a metric has a sentence");
        Self { name, kind, unit, help, labels }
    }
}

const fn check_unit(name: &str, unit: Unit, before: usize) {
    match unit {
        Unit::None => {}
        Unit::Bytes => assert!(ends_with(name, "_bytes", before), "the name contains the unit"),
        Unit::Seconds => {
            assert!(ends_with(name, "_seconds", before), "the name contains the unit");
        }
    }
}

/// Whether a name consists of lower-case letters and single `_`, and starts and ends with a letter.
/// Prometheus reserves names that start with `__`.
const fn is_plain(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut n = 0;
    while n < bytes.len() {
        let is_inner = n > 0 && n + 1 < bytes.len() && bytes[n - 1] != b'_';
        let is_letter = bytes[n].is_ascii_lowercase();
        let is_joint = bytes[n] == b'_' && is_inner;
        if !is_letter && !is_joint {
            return false;
        }
        n += 1;
    }
    !bytes.is_empty()
}

const fn starts_with(text: &str, start: &str) -> bool {
    let (text, start) = (text.as_bytes(), start.as_bytes());
    text.len() >= start.len() && equals_at(text, start, 0)
}

/// Whether `text` without its last `after` bytes ends with `end`.
const fn ends_with(text: &str, end: &str, after: usize) -> bool {
    let (text, end) = (text.as_bytes(), end.as_bytes());
    text.len() >= end.len() + after && equals_at(text, end, text.len() - after - end.len())
}

const fn equals_at(text: &[u8], part: &[u8], at: usize) -> bool {
    let mut n = 0;
    while n < part.len() {
        if text[at + n] != part[n] {
            return false;
        }
        n += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(definition: fn() -> Definition) -> bool {
        std::panic::catch_unwind(definition).is_err()
    }

    #[test]
    fn names_keep_the_conventions() {
        const GOOD: Definition =
            Definition::counter("namdb_moved_bytes_total", Unit::Bytes, &[], "What moved.");
        assert_eq!((GOOD.kind.name(), GOOD.unit.name()), ("counter", "bytes"));
        assert!(is_refused(|| Definition::counter("namdb_moved", Unit::None, &[], "It.")));
        assert!(is_refused(|| Definition::counter("namdb_total", Unit::Bytes, &[], "It.")));
        assert!(is_refused(|| Definition::gauge("namdb_size", Unit::Bytes, &[], "It.")));
        assert!(is_refused(|| Definition::gauge("namdb_rows_total", Unit::None, &[], "It.")));
        assert!(is_refused(|| Definition::gauge("rows", Unit::None, &[], "It.")));
        assert!(is_refused(|| Definition::gauge("namdb__rows", Unit::None, &[], "It.")));
        assert!(is_refused(|| Definition::gauge("namdb_Rows", Unit::None, &[], "It.")));
        assert!(is_refused(|| Definition::gauge("namdb_rows", Unit::None, &[], "No sentence")));
        assert!(is_refused(|| Definition::latency("namdb_run_ms", &[], "It.")));
    }
}
