//! A registry's page conforms to the text format, checked by an independent parser.

use metrics::{Definition, Label, LatencyHistogram, LatencyTally, Registry, Unit, catalog};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Name, labels in order, and value of a line.
type Sample = (String, Vec<(String, String)>, f64);

/// A metric as read from the page.
struct ParsedMetric {
    kind: String,
    help: String,
    samples: Vec<Sample>,
}

/// Parses a page by the rules of the format; panics if one is violated.
fn read(page: &str) -> BTreeMap<String, ParsedMetric> {
    assert!(page.is_empty() || page.ends_with('\n'), "the last line ends, too");
    let mut told: BTreeMap<String, ParsedMetric> = BTreeMap::new();
    let mut current = String::new();
    let mut seen = BTreeSet::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a name and a sentence");
            let help = unescape(help, false);
            let fresh = ParsedMetric { kind: String::new(), help, samples: Vec::new() };
            assert!(told.insert(name.to_owned(), fresh).is_none(), "{name} is told in one place");
            current = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a name and a type");
            let metric = told.get_mut(name).expect("help comes first here");
            assert!(name == current && metric.samples.is_empty(), "the type precedes all values");
            metric.kind = kind.to_owned();
        } else {
            let sample = read_sample(line);
            let metric = told.get_mut(&current).expect("values follow their type");
            let suffixes: &[&str] = match &*metric.kind {
                "counter" | "gauge" => &[""],
                "histogram" => &["_bucket", "_sum", "_count"],
                other => panic!("there is no type {other}"),
            };
            let is_own = suffixes.iter().any(|suffix| sample.0 == format!("{current}{suffix}"));
            assert!(is_own, "{line} stands below {current}");
            let mut labels = sample.1.clone();
            labels.sort();
            assert!(
                seen.insert((sample.0.clone(), labels)),
                "{line} is the second with its labels"
            );
            metric.samples.push(sample);
        }
    }
    told
}

fn read_sample(line: &str) -> Sample {
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
    let (name, mut rest) = line.split_at(end.expect("a value follows"));
    assert!(!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()));
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest.split_once("=\"").expect("a label has a value in quotes");
            let end = closing_quote(after);
            labels.push((label.to_owned(), unescape(&after[..end], true)));
            rest = &after[end + 1..];
            match rest.strip_prefix(',') {
                Some(next) => rest = next,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').expect("the brace is closed");
    }
    let value = rest.strip_prefix(' ').expect("a space precedes the value");
    (name.to_owned(), labels, value.parse().unwrap_or_else(|_| panic!("{value} is no number")))
}

fn closing_quote(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    panic!("the quote is not closed: {text}");
}

fn unescape(text: &str, has_quotes: bool) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        plain.push(match c {
            '\\' => match characters.next() {
                Some('\\') => '\\',
                Some('n') => '\n',
                Some('"') if has_quotes => '"',
                other => panic!("\\{other:?} is no escape"),
            },
            other => other,
        });
    }
    plain
}

const NAMED: Definition = Definition::gauge(
    "namdb_named_bytes",
    Unit::Bytes,
    &[Label::new("table", "any text"), Label::new("index", "any text")],
    "A help with \\ and \n in it.",
);

#[test]
fn a_page_keeps_the_rules_of_the_format() {
    let registry = Registry::new();
    let cell = Arc::new(AtomicU64::new(7));
    registry.add_cell(&catalog::COMMITS, &[], &cell);
    registry.add(&catalog::COMMITS, &[], || 3_u64);
    registry.add_many(&catalog::ABORTS, |samples| {
        samples.put(&["user"], 1_u64);
        samples.put(&["contended"], 2_u64);
    });
    registry.add(&catalog::LEASE_LEFT, &[], || 2.5);
    let told = read(&registry.text());
    assert_eq!(told["namdb_commits_total"].kind, "counter");
    assert_eq!(told["namdb_commits_total"].help, catalog::COMMITS.help);
    assert_eq!(told["namdb_commits_total"].samples[0].2, 10.0, "workers add up");
    assert_eq!(told["namdb_aborts_total"].samples.len(), 2);
    assert_eq!(told["namdb_lease_left_seconds"].kind, "gauge");
    assert_eq!(told["namdb_lease_left_seconds"].samples[0].2, 2.5);
    cell.store(8, Relaxed);
    assert_eq!(read(&registry.text())["namdb_commits_total"].samples[0].2, 11.0);
}

#[test]
fn a_histogram_is_cumulative_and_ends_with_all() {
    let registry = Registry::new();
    let histograms = [Arc::new(LatencyHistogram::default()), Arc::default(), Arc::default()];
    for (histogram, transaction) in histograms.iter().zip(["payment", "payment", "delivery"]) {
        registry.add_latencies(&catalog::TRANSACTION_SECONDS, &[transaction], histogram);
        let mut tally = LatencyTally::default();
        [1500, 3_000_000, 60_000_000_000].iter().for_each(|&ns| tally.record_ns(ns));
        histogram.take(&mut tally);
    }
    let told = read(&registry.text());
    let samples = &told["namdb_transaction_seconds"].samples;
    let of = |name: &str, transaction: &str| -> Vec<&Sample> {
        let label = ("type".to_owned(), transaction.to_owned());
        samples.iter().filter(|sample| sample.0.ends_with(name) && sample.1[0] == label).collect()
    };
    let buckets = of("_bucket", "payment");
    let bounds: Vec<f64> =
        buckets.iter().map(|sample| sample.1[1].1.parse().expect("a number")).collect();
    assert!(buckets.iter().all(|sample| sample.1[1].0 == "le"));
    assert!(bounds.is_sorted() && bounds.last() == Some(&f64::INFINITY));
    assert!(buckets.is_sorted_by_key(|sample| sample.2), "each counts all up to its bound");
    let at = |bound_s| buckets[bounds.iter().position(|&bound| bound == bound_s).expect("it is")].2;
    assert_eq!([at(1e-6), at(2e-6), at(5e-3), at(10.0), at(f64::INFINITY)], [0., 2., 4., 4., 6.]);
    assert_eq!(of("_count", "payment")[0].2, 6.0);
    assert_eq!(of("_sum", "delivery")[0].2, 60.0030015);
}

#[test]
#[should_panic(expected = "every label of the definition has a value")]
fn a_label_that_is_missing_is_a_mistake_of_ours() {
    Registry::new().add(&catalog::ABORTS, &[], || 1_u64);
}

proptest! {
    #[test]
    fn any_text_is_a_label(tables in prop::collection::btree_set("[ -~\\n\"\\\\\u{e9}]{0,12}", 0..5)) {
        let registry = Registry::new();
        let wanted = tables.clone();
        registry.add_many(&NAMED, move |samples| {
            tables.iter().for_each(|table| samples.put(&[table, "a\\\"\n"], 1_u64));
        });
        let told = read(&registry.text());
        prop_assert_eq!(&told["namdb_named_bytes"].help, NAMED.help);
        let found: BTreeSet<String> =
            told["namdb_named_bytes"].samples.iter().map(|sample| sample.1[0].1.clone()).collect();
        prop_assert_eq!(found, wanted);
    }
}
