//! Compares measurements with the record.

use anyhow::{Result, bail};

use super::record::{Counts, RECORD, Record};

/// Instructions may grow by this much: memory placement and hash seeds move them a little.
const INSTRUCTIONS_GROWTH_MAX: f64 = 0.03;

/// Round trips follow from the design; the allowance is for conflicts that differ by chance.
const ROUND_TRIPS_GROWTH_MAX: f64 = 0.005;

/// Verbs likewise.
const VERBS_GROWTH_MAX: f64 = 0.005;

/// The kind of a measurement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Round trips, verbs and bytes.
    Verbs,
    /// Instructions, too.
    All { is_ci: bool },
}

/// Prints every workload beside its record, and fails if one grew too much. Another compiler
/// generates other instructions: then they are compared only in CI.
pub fn compare(recorded: &Record, measured: &Record, what: What) -> Result<()> {
    let is_other_compiler = what != What::Verbs && recorded.rustc != measured.rustc;
    if is_other_compiler {
        let (before, now) = (&recorded.rustc, &measured.rustc);
        eprintln!("counts: recorded with {before}, measured with {now}");
    }
    let holds_instructions = match what {
        What::Verbs => false,
        What::All { is_ci } => is_ci || !is_other_compiler,
    };
    if what != What::Verbs && !holds_instructions {
        eprintln!("skipped: instructions, which are compared only with the record's compiler");
    }
    let mut failures = Vec::new();
    for (workload, now) in &measured.workloads {
        match recorded.workloads.get(workload) {
            Some(before) => {
                print(workload, before, now, holds_instructions);
                failures.extend(judge(workload, before, now, holds_instructions));
            }
            None => failures.push(format!("{workload} has no record")),
        }
    }
    for failure in &failures {
        eprintln!("counts: {failure}");
    }
    if failures.is_empty() {
        return Ok(());
    }
    bail!(
        "counts: {} counts differ from {RECORD}; find the cause, or accept it with \
         `cargo xtask counts --bless`",
        failures.len()
    )
}

fn print(workload: &str, before: &Counts, now: &Counts, has_instructions: bool) {
    let rows = [
        ("instructions", before.instructions, now.instructions),
        ("round trips", before.round_trips, now.round_trips),
        ("verbs", before.verbs, now.verbs),
        ("bytes", before.bytes, now.bytes),
    ];
    for (name, before, now) in rows.into_iter().skip(usize::from(!has_instructions)) {
        let percent = 100.0 * growth(before, now);
        eprintln!(
            "counts: {workload:<10} {name:<12} {before:>12.2} -> {now:>12.2} {percent:>+7.2} %"
        );
    }
}

/// Descriptions of all counts that grew beyond their allowance, of the workload and of each
/// transaction type.
fn judge(workload: &str, before: &Counts, now: &Counts, holds_instructions: bool) -> Vec<String> {
    if before.transactions != now.transactions {
        let (before, now) = (before.transactions, now.transactions);
        return vec![format!("{workload} was recorded with {before} transactions, not {now}")];
    }
    let mut failures = Vec::new();
    let mut hold = |name: String, before: f64, now: f64, growth_max: f64| {
        // NaN compares false with everything, so it must not pass as small.
        let is_held = growth(before, now) <= growth_max;
        if !is_held {
            let percent = 100.0 * growth_max;
            failures.push(format!(
                "{name} grew from {before:.2} to {now:.2} per transaction, {percent} % are allowed"
            ));
        }
    };
    if holds_instructions {
        let instructions = format!("{workload} instructions");
        hold(instructions, before.instructions, now.instructions, INSTRUCTIONS_GROWTH_MAX);
    }
    let round_trips = format!("{workload} round trips");
    hold(round_trips, before.round_trips, now.round_trips, ROUND_TRIPS_GROWTH_MAX);
    hold(format!("{workload} verbs"), before.verbs, now.verbs, VERBS_GROWTH_MAX);
    for (kind, now) in &now.types {
        if let Some(before) = before.types.get(kind) {
            let name = format!("{workload} {kind} round trips");
            hold(name, before.round_trips, now.round_trips, ROUND_TRIPS_GROWTH_MAX);
        }
    }
    let kinds = || before.types.keys().chain(now.types.keys());
    let unpaired =
        |kind: &&String| !before.types.contains_key(*kind) || !now.types.contains_key(*kind);
    failures.extend(
        kinds()
            .filter(unpaired)
            .map(|kind| format!("{workload} {kind} is either not recorded or no longer measured")),
    );
    failures
}

/// The relative growth from `before` to `now`.
fn growth(before: f64, now: f64) -> f64 {
    if before == now { 0.0 } else { (now - before) / before }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::record::TypeCounts;
    use super::*;

    fn counts(instructions: f64, round_trips: f64) -> Counts {
        let kind = TypeCounts { count: 10.0, round_trips, verbs: 4.0, bytes: 64.0 };
        Counts {
            transactions: 100,
            instructions,
            round_trips: 2.0,
            verbs: 4.0,
            bytes: 64.0,
            types: BTreeMap::from([("payment".to_string(), kind)]),
        }
    }

    fn failures(now: &Counts) -> usize {
        judge("tpcc", &counts(1000.0, 2.0), now, true).len()
    }

    #[test]
    fn small_growth_and_any_gain_are_held() {
        assert_eq!(failures(&counts(1030.0, 2.01)), 0);
        assert_eq!(failures(&counts(500.0, 1.0)), 0);
    }

    #[test]
    fn more_instructions_or_round_trips_are_caught() {
        assert_eq!(failures(&counts(1031.0, 2.0)), 1);
        assert_eq!(failures(&counts(1000.0, 2.02)), 1);
        assert_eq!(failures(&Counts { round_trips: 2.02, ..counts(1000.0, 2.0) }), 1);
        assert_eq!(failures(&counts(f64::NAN, 2.0)), 1);
    }

    #[test]
    fn what_cannot_be_compared_is_caught() {
        assert_eq!(failures(&Counts { transactions: 99, ..counts(1000.0, 2.0) }), 1);
        assert_eq!(failures(&Counts { types: BTreeMap::new(), ..counts(1000.0, 2.0) }), 1);
        let measured = Record {
            workloads: BTreeMap::from([("tpcc".to_string(), counts(1000.0, 2.0))]),
            ..Record::default()
        };
        assert!(compare(&Record::default(), &measured, What::All { is_ci: false }).is_err());
        assert!(compare(&measured, &measured, What::All { is_ci: false }).is_ok());
    }

    #[test]
    fn instructions_of_another_compiler_are_held_by_the_integration_alone() {
        let record = |rustc: &str, instructions, round_trips| Record {
            rustc: rustc.to_string(),
            workloads: BTreeMap::from([("tpcc".to_string(), counts(instructions, round_trips))]),
        };
        let before = record("rustc 1", 1000.0, 2.0);
        let now = record("rustc 2", 2000.0, 2.0);
        assert!(compare(&before, &now, What::All { is_ci: false }).is_ok());
        assert!(compare(&before, &now, What::All { is_ci: true }).is_err());
        assert!(
            compare(&before, &record("rustc 2", 1000.0, 3.0), What::All { is_ci: false }).is_err()
        );
    }
}
