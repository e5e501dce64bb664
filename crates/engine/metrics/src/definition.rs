//! What a number is called and what it means. The compiler refuses names against the conventions.

/// A metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Definition {
    /// `namdb_`, what is measured, the unit if there is one, and for counters `_total`.
    pub name: &'static str,
    /// How it behaves.
    pub kind: Kind,
    /// In what it is measured.
    pub unit: Unit,
    /// What it means, in a sentence.
    pub help: &'static str,
    /// What tells its values apart.
    pub labels: &'static [Label],
}

/// How a metric behaves over time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It only grows, and starts at 0 with its server.
    Counter,
    /// It rises and falls.
    Gauge,
    /// How many durations were within each of some bounds.
    Histogram,
}

/// In what a metric is measured. Units are base units, as Prometheus asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Things are counted, or there is nothing to measure: the name says which things.
    None,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
}

/// What tells values of a metric apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub meaning: &'static str,
}

impl Kind {
    /// The word of the text format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Unit {
    /// The word in documents.
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
    /// If it is none: when the program is compiled, since labels are constants.
    pub const fn new(name: &'static str, meaning: &'static str) -> Self {
        assert!(is_plain(name), "a label's name is of a-z and _");
        Self { name, meaning }
    }
}

impl Definition {
    /// Something that only grows.
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

    /// Something that rises and falls.
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

    /// Durations.
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
        Unit::Bytes => assert!(ends_with(name, "_bytes", before), "the unit stands in the name"),
        Unit::Seconds => {
            assert!(ends_with(name, "_seconds", before), "the unit stands in the name");
        }
    }
}

/// Whether a name is of small letters and single `_`, and starts and ends with a letter. Two `_` at the start
/// belong to Prometheus.
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
