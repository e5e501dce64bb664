//! The text format of Prometheus, version 0.0.4.
//!
//! A metric is a `# HELP` line, a `# TYPE` line, and a line per value. Help texts escape backslash
//! and line end; label values also escape the quotation mark. A histogram has a line per bound with
//! the cumulative count, the last one for `+Inf`, and lines for sum and count.

use crate::definition::{Definition, Label};
use crate::latency::{BOUNDS_NS, LatencyCounts};
use crate::registry::{Family, Samples, Source};
use crate::value::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

const NS_PER_S: f64 = 1e9;

/// Content type of the page.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes one metric with its current values.
pub(crate) fn write(page: &mut String, family: &Family) {
    let Definition { name, kind, help, labels, .. } = *family.definition;
    line(page, &format!("# HELP {name} {}", escape_help(help)));
    line(page, &format!("# TYPE {name} {}", kind.name()));
    let mut samples = Samples::new(family.definition);
    let mut histograms: BTreeMap<&[String], LatencyCounts> = BTreeMap::new();
    for source in &family.sources {
        match source {
            Source::One { labels, read } => samples.add(labels.clone(), read()),
            Source::Many(read) => read(&mut samples),
            Source::Latencies { labels, histogram } => {
                let counts = histogram.counts();
                histograms.entry(labels).and_modify(|sum| sum.add(&counts)).or_insert(counts);
            }
        }
    }
    for (values, value) in &samples.values {
        line(page, &format!("{name}{} {value}", label_set(labels, values, None)));
    }
    for (values, counts) in histograms {
        write_histogram(page, family.definition, values, &counts);
    }
}

/// The count is the sum of the buckets just written, so that they always agree.
fn write_histogram(
    page: &mut String,
    definition: &Definition,
    values: &[String],
    counts: &LatencyCounts,
) {
    let Definition { name, labels, .. } = *definition;
    let bounds = BOUNDS_NS.iter().map(|&bound_ns| bound_ns as f64 / NS_PER_S);
    let mut count = 0;
    for (bound_s, within) in bounds.chain([f64::INFINITY]).zip(counts.buckets) {
        count += within;
        let bound = Value::Real(bound_s).to_string();
        line(page, &format!("{name}_bucket{} {count}", label_set(labels, values, Some(&bound))));
    }
    let set = label_set(labels, values, None);
    line(page, &format!("{name}_sum{set} {}", Value::Real(counts.sum_ns as f64 / NS_PER_S)));
    line(page, &format!("{name}_count{set} {count}"));
}

fn line(page: &mut String, text: &str) {
    writeln!(page, "{text}").expect("memory takes text");
}

/// Labels in braces, or nothing without labels; `bound` is the upper bound of a histogram's line.
fn label_set(labels: &[Label], values: &[String], bound: Option<&str>) -> String {
    let own = labels.iter().zip(values).map(|(label, value)| (label.name, value.as_str()));
    let pairs = own.chain(bound.map(|bound| ("le", bound)));
    let pairs: Vec<String> =
        pairs.map(|(name, value)| format!("{name}=\"{}\"", escape_label(value))).collect();
    match pairs.is_empty() {
        true => String::new(),
        false => format!("{{{}}}", pairs.join(",")),
    }
}

fn escape_help(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn escape_label(text: &str) -> String {
    escape_help(text).replace('"', "\\\"")
}
