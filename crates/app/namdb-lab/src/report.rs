//! The report of a run on a simulated cluster.

use crate::Verdict;
use crate::bench::report::{CheckReport, Parameters};
use crate::bench::table::{self, line};
use crate::bench::text::{counted, duration_us, grouped, rate};
use namdb::Isolation;
use reproduce::bench::{Simulated, SimulatedKind};
use reproduce::verify::Cluster;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The report of a run on a simulated cluster.
#[derive(Serialize)]
pub struct SimulatedReport {
    workload: String,
    parameters: String,
    options: serde_json::Value,
    fabric: &'static str,
    hardware: String,
    machines: u16,
    lanes_each: u32,
    replicas: u32,
    isolation: &'static str,
    /// Commit from which the program was built.
    commit: &'static str,
    seed: u64,
    /// Measured virtual seconds.
    virtual_seconds: f64,
    txn_per_s: f64,
    attempted_per_s: f64,
    retries_percent: f64,
    busiest: String,
    /// Per transaction type.
    per_type: BTreeMap<String, TypeReport>,
    /// The types in the workload's order.
    #[serde(skip)]
    type_order: Vec<String>,
    /// Aborted attempts per reason.
    aborts: BTreeMap<String, u64>,
    checks: Vec<CheckReport>,
}

/// Measurements of one transaction type; microseconds are virtual.
#[derive(Serialize)]
struct TypeReport {
    count: u64,
    per_s: f64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    /// Median latency while one lane alone makes calls.
    alone_p50_us: Option<f64>,
    round_trips: Option<f64>,
    verbs: Option<f64>,
    bytes: Option<f64>,
}

impl TypeReport {
    fn new(kind: &SimulatedKind) -> Self {
        Self {
            count: kind.count,
            per_s: kind.committed_per_s,
            p50_us: kind.latency_us.map(|[median, _]| median),
            p99_us: kind.latency_us.map(|[_, tail]| tail),
            alone_p50_us: kind.alone_us,
            round_trips: kind.traffic.map(|[round_trips, ..]| round_trips),
            verbs: kind.traffic.map(|[_, verbs, _]| verbs),
            bytes: kind.traffic.map(|[.., bytes]| bytes),
        }
    }
}

impl SimulatedReport {
    /// Builds the report from the measurements.
    pub fn new(
        workload: &str,
        Parameters { words, options }: Parameters,
        isolation: Isolation,
        (cluster, seen): (Cluster, Simulated),
    ) -> Self {
        let type_order = seen.kinds.iter().map(|kind| kind.name.to_owned()).collect();
        let per_type = seen.kinds.into_iter().map(|kind| {
            let report = TypeReport::new(&kind);
            (kind.name.to_owned(), report)
        });
        let mut aborts = BTreeMap::new();
        for (_, reason, count) in seen.aborts {
            *aborts.entry(reason.name().to_owned()).or_default() += count;
        }
        Self {
            workload: workload.to_owned(),
            parameters: words,
            options,
            fabric: "sim",
            hardware: cluster.profile,
            machines: cluster.machines,
            lanes_each: cluster.lanes,
            replicas: cluster.replicas,
            isolation: isolation.name(),
            commit: namdb_program::COMMIT,
            seed: cluster.seed,
            virtual_seconds: seen.window_ns as f64 / 1e9,
            txn_per_s: seen.committed_per_s,
            attempted_per_s: seen.ended_per_s,
            retries_percent: seen.retries_percent,
            busiest: seen.busiest,
            per_type: per_type.collect(),
            type_order,
            aborts,
            checks: seen.checks.into_iter().map(CheckReport::from).collect(),
        }
    }

    /// The verdict for the exit code.
    pub fn verdict(&self) -> Verdict {
        if self.checks.iter().any(CheckReport::shows_damage) {
            Verdict::Damaged
        } else if self.checks.iter().any(CheckReport::shows_rate) {
            Verdict::Unexpected
        } else {
            Verdict::Sound
        }
    }

    /// The report as text, in 80 columns.
    pub fn draw(&self) -> String {
        let mut text = String::new();
        self.heading(&mut text);
        self.throughput(&mut text);
        self.by_type(&mut text);
        let by_folder = self.options.get("folder").is_some();
        table::verdicts(&mut text, &self.checks, &[], by_folder);
        line!(text);
        line!(text, "  commit {}, seed {}", self.commit, self.seed);
        text
    }

    fn heading(&self, text: &mut String) {
        let copies = match self.replicas {
            1 => "rows once".to_owned(),
            several => format!("{several} modelled copies of each row"),
        };
        let world = format!(
            "{} isolation, simulated: {} of {}, {} each, {copies}, {:.3} ms of virtual time",
            self.isolation,
            counted(u64::from(self.machines), "machine"),
            self.hardware,
            counted(u64::from(self.lanes_each), "lane"),
            1e3 * self.virtual_seconds
        );
        table::title(text, &self.workload, &self.parameters, &[world]);
    }

    fn throughput(&self, text: &mut String) {
        line!(text, "  {:>12}  transactions committed per second, simulated", rate(self.txn_per_s));
        if self.attempted_per_s > self.txn_per_s {
            let attempted = rate(self.attempted_per_s);
            line!(text, "  {attempted:>12}  attempted, including those rolled back by the rules");
        }
        let retries = format!("{:.2} %", self.retries_percent);
        line!(text, "  {retries:>12}  of all attempts were retried");
        for (reason, count) in &self.aborts {
            line!(text, "  {:>12}    {reason}", grouped(*count));
        }
        line!(text, "  {:>12}  {}", "busiest", self.busiest);
        line!(text);
    }

    fn by_type(&self, text: &mut String) {
        let mut row = |name: &str, [per_s, p50, p99, alone, trips, verbs, bytes]: [&str; 7]| {
            line!(
                text,
                "  {name:<22} {per_s:>10} {p50:>7} {p99:>7} {alone:>7} {trips:>5} {verbs:>5} {bytes:>6}"
            );
        };
        let heads = ["per second", "median", "99 %", "alone", "trips", "verbs", "bytes"];
        row("transaction", heads);
        row(
            &"-".repeat(22),
            ["----------", "-------", "-------", "-------", "-----", "-----", "------"],
        );
        for name in &self.type_order {
            let kind = &self.per_type[name];
            let time = |us: Option<f64>| us.map_or("-".to_owned(), duration_us);
            let number = |number: Option<f64>, digits: usize| {
                number.map_or("-".to_owned(), |number| format!("{number:.digits$}"))
            };
            let cells = [
                rate(kind.per_s),
                time(kind.p50_us),
                time(kind.p99_us),
                time(kind.alone_p50_us),
                number(kind.round_trips, 1),
                number(kind.verbs, 1),
                number(kind.bytes, 0),
            ];
            row(name, cells.each_ref().map(String::as_str));
        }
        line!(
            text,
            "  Times are virtual and include retries. alone: the median while a single lane"
        );
        line!(text, "  runs. Round trips, verbs and bytes are the client's.");
        line!(text);
    }
}
