//! Compares PostgreSQL's result with namdb's.
//!
//! Decision: docs/decisions/0226-postgresqls-tables-are-in-its-buffers-before-the-clock.md

use super::clients::{ClientPlan, ClientRun, Kind};
use crate::Verdict;
use crate::bench::load::Loaded;
use crate::bench::measure::KindWindow;
use crate::bench::report::{LoadReport, Report, quantile_us};
use crate::bench::text::{counted, duration_us, grouped, rate};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Width of the longest procedure name.
const NAME_COLUMNS: usize = 22;
const COLUMNS: usize = 80;

/// A comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    /// Committed transactions per second: namdb over PostgreSQL.
    pub ratio: f64,
    /// The same, including transactions rolled back by the workload's rules.
    pub attempted_ratio: f64,
    /// PostgreSQL's result.
    pub postgresql: TheirReport,
    /// Result of namdb.
    pub namdb: Report,
}

/// Result of PostgreSQL's clients. Rates are per second of the measured time.
#[derive(Clone, Debug, Serialize)]
pub struct TheirReport {
    /// Version of the server.
    pub version: String,
    /// PostgreSQL's name of the isolation level.
    pub isolation: &'static str,
    /// Number of clients, each with a connection.
    pub clients: u32,
    /// Rows loaded and the time it took.
    pub load: LoadReport,
    /// Measured seconds.
    pub seconds: f64,
    /// Processor time of the clients in the measured time, in seconds, without the server's.
    pub client_cpu_seconds: f64,
    /// Whether the user ended the run early.
    pub is_interrupted: bool,
    /// Number of committed calls.
    pub committed: u64,
    /// Committed calls per second.
    pub txn_per_s: f64,
    /// Calls per second that committed or were rolled back by the workload's rules.
    pub attempted_per_s: f64,
    /// Calls rolled back by the workload's rules.
    pub rolled_back: u64,
    pub retries: u64,
    /// Calls that failed with another error or were given up.
    pub failed: u64,
    /// Median latency, including all attempts.
    pub p50_us: f64,
    /// 99th percentile of the latency.
    pub p99_us: f64,
    /// Results per procedure.
    pub per_type: BTreeMap<String, TheirType>,
    /// Failed attempts per SQLSTATE.
    pub errors: BTreeMap<String, ErrorReport>,
}

/// Results of one procedure.
#[derive(Clone, Debug, Serialize)]
pub struct TheirType {
    /// Number of committed calls.
    pub count: u64,
    /// Committed calls per second.
    pub per_s: f64,
    /// Calls rolled back by the workload's rules.
    pub rolled_back: u64,
    pub retries: u64,
    /// Calls that failed with another error or were given up.
    pub failed: u64,
    /// Median latency, including all attempts.
    pub p50_us: f64,
    /// 99th percentile of the latency.
    pub p99_us: f64,
}

/// Errors with one SQLSTATE.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorReport {
    /// Number of errors.
    pub count: u64,
    /// Message of the first one.
    pub first: String,
}

impl TheirReport {
    /// Builds the report. `names` are the procedures' names.
    pub fn new(
        run: &ClientRun,
        plan: &ClientPlan,
        names: &[&str],
        version: String,
        loaded: Loaded,
    ) -> Self {
        let sum = |field: fn(&Kind) -> u64| run.kinds.iter().map(field).sum::<u64>();
        let per_s = |count: u64| count as f64 / run.seconds.max(1e-9);
        let mut latency_ns = KindWindow::default().latency_ns;
        for kind in &run.kinds {
            latency_ns.add(&kind.latency_ns).expect("all have the same bounds");
        }
        let of = |kind: &Kind| TheirType {
            count: kind.committed,
            per_s: per_s(kind.committed),
            rolled_back: kind.rolled_back,
            retries: kind.retries,
            failed: kind.failed,
            p50_us: quantile_us(&kind.latency_ns, 0.5),
            p99_us: quantile_us(&kind.latency_ns, 0.99),
        };
        let named = names.iter().zip(&run.kinds);
        let error =
            |(count, first): &(u64, String)| ErrorReport { count: *count, first: first.clone() };
        Self {
            version,
            isolation: plan.isolation,
            clients: plan.clients,
            load: LoadReport { rows: loaded.rows, seconds: loaded.seconds },
            seconds: run.seconds,
            client_cpu_seconds: run.client_cpu_seconds,
            is_interrupted: run.is_interrupted,
            committed: sum(|kind| kind.committed),
            txn_per_s: per_s(sum(|kind| kind.committed)),
            attempted_per_s: per_s(sum(|kind| kind.committed + kind.rolled_back)),
            rolled_back: sum(|kind| kind.rolled_back),
            retries: sum(|kind| kind.retries),
            failed: sum(|kind| kind.failed),
            p50_us: quantile_us(&latency_ns, 0.5),
            p99_us: quantile_us(&latency_ns, 0.99),
            per_type: named.map(|(name, kind)| ((*name).to_owned(), of(kind))).collect(),
            errors: run.errors.iter().map(|(code, told)| (code.clone(), error(told))).collect(),
        }
    }

    /// Whether too many calls failed for a comparison. Few conflicts are given up; calls that never
    /// succeed are many.
    fn fails(&self) -> bool {
        self.failed * 100 > self.committed
    }
}

impl Beside {
    /// Combines both results.
    pub fn new(postgresql: TheirReport, namdb: Report) -> Self {
        let over = |own: f64, theirs: f64| own / theirs.max(1e-9);
        Self {
            ratio: over(namdb.txn_per_s, postgresql.txn_per_s),
            attempted_ratio: over(namdb.attempted_per_s, postgresql.attempted_per_s),
            postgresql,
            namdb,
        }
    }

    /// The verdict for the exit code: that of namdb, or that PostgreSQL's calls failed although
    /// namdb's succeeded.
    pub fn verdict(&self) -> Verdict {
        both(self.namdb.verdict(), &self.postgresql)
    }

    /// The comparison as text, printed after namdb's report.
    pub fn draw(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let Self { postgresql: theirs, namdb: ours, .. } = self;
        let line = "-".repeat(COLUMNS - 4);
        writeln!(text, "  Beside PostgreSQL {}:", theirs.version)?;
        writeln!(
            text,
            "  {}, {} with prepared calls, {:.1} s",
            theirs.isolation,
            counted(u64::from(theirs.clients), "client"),
            theirs.seconds
        )?;
        writeln!(text, "  {:<NAME_COLUMNS$} {:>23} {:>25}", "", "PostgreSQL", "namdb")?;
        writeln!(
            text,
            "  {:<NAME_COLUMNS$} {:>7} {:>7} {:>7} {:>9} {:>7} {:>7} {:>5}",
            "transaction", "per s", "median", "99 %", "per s", "median", "99 %", "gain"
        )?;
        writeln!(text, "  {line}")?;
        for (name, kind) in &theirs.per_type {
            let ours = ours.per_type.get(name);
            let (per_s, p50_us, p99_us) =
                ours.map_or((0.0, 0.0, 0.0), |kind| (kind.per_s, kind.p50_us, kind.p99_us));
            writeln!(
                text,
                "  {name:<NAME_COLUMNS$} {:>7} {:>7} {:>7} {:>9} {:>7} {:>7} {:>5}",
                rate(kind.per_s),
                duration_us(kind.p50_us),
                duration_us(kind.p99_us),
                rate(per_s),
                duration_us(p50_us),
                duration_us(p99_us),
                gain(kind.p50_us, p50_us)
            )?;
        }
        writeln!(text, "  {line}")?;
        writeln!(
            text,
            "  {:<NAME_COLUMNS$} {:>7} {:>7} {:>7} {:>9} {:>7} {:>7} {:>5}",
            "all, committed",
            rate(theirs.txn_per_s),
            duration_us(theirs.p50_us),
            duration_us(theirs.p99_us),
            rate(ours.txn_per_s),
            "",
            "",
            ""
        )?;
        self.write_notes(text)?;
        writeln!(text, "  namdb commits {} times as many transactions.", ratio(self.ratio))
    }

    /// Notes below the table: the meaning of `gain`, the load of PostgreSQL's clients, and errors.
    fn write_notes(&self, text: &mut String) -> std::fmt::Result {
        let theirs = &self.postgresql;
        writeln!(
            text,
            "  gain: median latency of PostgreSQL over that of namdb. Both run one mix, so"
        )?;
        writeln!(
            text,
            "  transactions per second differ by one factor in all rows, see the last line."
        )?;
        let busy = theirs.client_cpu_seconds / theirs.seconds.max(1e-9);
        writeln!(
            text,
            "  PostgreSQL's clients took {busy:.2} processors; {} calls were retried.",
            grouped(theirs.retries)
        )?;
        for (code, ErrorReport { count, first }) in &theirs.errors {
            let told = format!("    SQLSTATE {code} {:>9}  {first}", grouped(*count));
            writeln!(text, "{}", told.chars().take(COLUMNS).collect::<String>())?;
        }
        if theirs.fails() {
            let sentence =
                "of PostgreSQL's calls failed (not by the workload's rules) or were given up:";
            writeln!(text, "  {} {sentence}", grouped(theirs.failed))?;
            writeln!(text, "  both did different work, so the ratio says little.")?;
        }
        Ok(())
    }
}

fn both(ours: Verdict, theirs: &TheirReport) -> Verdict {
    match ours {
        Verdict::Sound if theirs.fails() => Verdict::Unexpected,
        ours => ours,
    }
}

/// Ratio of the median latencies; empty if there were no calls.
fn gain(theirs_us: f64, ours_us: f64) -> String {
    let is_measured = theirs_us > 0.0 && ours_us > 0.0;
    if is_measured { ratio(theirs_us / ours_us) } else { "-".to_owned() }
}

/// Formats a ratio with three digits.
fn ratio(value: f64) -> String {
    match value {
        value if value < 9.95 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theirs(committed: u64, failed: u64) -> TheirReport {
        let latency_ns = KindWindow::default().latency_ns;
        let kind = Kind { committed, rolled_back: 5, retries: 0, failed, latency_ns };
        let run = ClientRun {
            seconds: 1.0,
            client_cpu_seconds: 1.0,
            kinds: vec![kind],
            errors: BTreeMap::new(),
            is_interrupted: false,
        };
        let plan = ClientPlan { clients: 1, warm_up_s: 0.0, window_s: 1.0, isolation: "" };
        TheirReport::new(&run, &plan, &["pay"], String::new(), Loaded { rows: 1, seconds: 1.0 })
    }

    /// In a closed mix all rates differ by one factor, but medians do not.
    #[test]
    fn the_gain_of_a_row_is_that_of_its_median() {
        assert_eq!(gain(300.0, 20.0), "15.0");
        assert_eq!(gain(30.0, 40.0), "0.75");
        assert_eq!((gain(0.0, 20.0), gain(300.0, 0.0)), ("-".to_owned(), "-".to_owned()));
    }

    #[test]
    fn calls_that_fail_in_postgresql_alone_make_a_comparison_unexpected() {
        assert_eq!(both(Verdict::Sound, &theirs(1000, 10)), Verdict::Sound);
        assert_eq!(both(Verdict::Sound, &theirs(1000, 11)), Verdict::Unexpected);
        assert_eq!(both(Verdict::Damaged, &theirs(1000, 900)), Verdict::Damaged);
    }
}
