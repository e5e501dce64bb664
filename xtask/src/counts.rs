//! `cargo xtask counts`: compares instructions and round trips per transaction with recorded ones.
//!
//! Seconds on a shared machine are noise, counts are not: a change that makes a transaction more
//! expensive shows here before any benchmark shows it. Counts that cannot be measured are skipped
//! with a reason; under `NAMDB_CI=1` this fails instead, as soon as there is a record to compare
//! with.

mod compare;
mod measure;
mod record;

use std::path::Path;

use anyhow::{Result, bail, ensure};
use clap::Args;

use crate::done::Done;
use measure::Measurement;
use record::{RECORD, Record};

/// The task; the default is to compare the measurements with the record.
#[derive(Args, Default)]
pub struct Options {
    /// Record what is measured now, instead of comparing with the record
    #[arg(long)]
    bless: bool,
    /// Compare round trips, verbs and bytes alone, which any build of the program counts alike
    #[arg(long, conflicts_with = "bless")]
    verbs: bool,
}

/// The workloads, and the transactions N of each: enough that loading and chance weigh little, few
/// enough that callgrind, about fifty times slower than the machine, ends within a minute.
const WORKLOADS: [(&str, u64); 6] = [
    (TPCC, 1_000),
    (TPCC_METRICS, 1_000),
    ("ycsb", 10_000),
    ("smallbank", 10_000),
    ("tatp", 20_000),
    ("point-read", 20_000),
];
const TPCC: &str = "tpcc";
/// TPC-C with metrics.
const TPCC_METRICS: &str = "tpcc-metrics";
/// Largest share of instructions that metrics may add.
const METRICS_SHARE_MAX: f64 = 0.02;

/// Measures all workloads, then compares or records.
pub fn run(root: &Path, options: &Options) -> Result<Done> {
    if options.verbs {
        return compare_verbs(root, &measure::build(root, false)?);
    }
    let is_ci = std::env::var("NAMDB_CI").is_ok_and(|value| value == "1");
    if !measure::has_valgrind() {
        return skip("valgrind is not installed", is_ci);
    }
    let recorded = Record::read(root)?;
    if recorded.is_none() && !options.bless {
        return skip(
            &format!("{RECORD} does not exist; `cargo xtask counts --bless` writes it"),
            false,
        );
    }
    let must_measure = is_ci && recorded.is_some();
    let binary = measure::build(root, true)?;
    if !measure::knows_counts(&binary) {
        return skip("the program namdb does not know `counts` yet", must_measure);
    }
    let recorded = recorded.unwrap_or_default();
    let mut measured = Record { rustc: measure::rustc_version()?, ..Record::default() };
    for (workload, transactions) in WORKLOADS {
        match measure::measure(root, &binary, workload, transactions)? {
            Measurement::Counts(counts) => {
                measured.workloads.insert(workload.to_string(), counts);
            }
            Measurement::Unknown(reason) if recorded.workloads.contains_key(workload) => {
                bail!("counts: namdb no longer runs the workload {workload}: {reason}");
            }
            Measurement::Unknown(reason) => eprintln!("counts: {workload} skipped: {reason}"),
        }
    }
    check_metrics(&measured)?;
    if options.bless {
        measured.write(root)?;
        eprintln!("counts: {} workloads recorded in {RECORD}", measured.workloads.len());
        return Ok(Done::Ran);
    }
    compare::compare(&recorded, &measured, compare::What::All { is_ci }).map(|()| Done::Ran)
}

/// Counts the verbs of all workloads by the program at `binary`, and compares them with the record.
pub fn compare_verbs(root: &Path, binary: &Path) -> Result<Done> {
    let Some(recorded) = Record::read(root)? else {
        return skip(&format!("{RECORD} does not exist"), false);
    };
    let mut measured = Record::default();
    for (workload, transactions) in WORKLOADS {
        let counts = measure::verbs(binary, workload, transactions)?;
        measured.workloads.insert(workload.to_string(), counts);
    }
    compare::compare(&recorded, &measured, compare::What::Verbs).map(|()| Done::Ran)
}

/// Checks that metrics cost almost nothing.
fn check_metrics(measured: &Record) -> Result<()> {
    let instructions = |name| measured.workloads.get(name).map(|counts| counts.instructions);
    let (Some(plain), Some(told)) = (instructions(TPCC), instructions(TPCC_METRICS)) else {
        return Ok(());
    };
    let share = told / plain - 1.0;
    eprintln!("counts: metrics cost {:.2} % of TPC-C's instructions", 100.0 * share);
    ensure!(
        share <= METRICS_SHARE_MAX,
        "metrics may cost at most {:.0} %",
        100.0 * METRICS_SHARE_MAX
    );
    Ok(())
}

fn skip(reason: &str, must_measure: bool) -> Result<Done> {
    if must_measure {
        bail!("counts: {reason}, and under NAMDB_CI=1 they must be measured");
    }
    eprintln!("skipped: {reason}");
    Ok(Done::Skipped)
}
