//! Compares the forecast of a design with its measurement.

use crate::tune::{DesignForecast, ProcedureForecast, Target};
use serde::Serialize;
use std::fmt::Write;

const FORMAT: u32 = 2;
/// If more than this share of calls raises an error, it is worth a note.
const UNSAID_MIN: f64 = 0.1;
const NAME_WIDTH: usize = 24;

/// The measurement of a design.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Measured {
    /// `simulated`, or the fabric of this process or of the cluster.
    pub place: String,
    /// Calls per second that ended, by commit or by an error of the procedure, on all machines.
    pub calls_per_s: f64,
    /// Retries as a percentage of all attempts.
    pub retries_percent: f64,
    /// The busiest stage of a machine, with its utilization. `None` if it was not measured.
    pub busiest: Option<(String, f64)>,
    /// Mean latency of a call in nanoseconds while all other lanes are idle. `None` if it was not
    /// measured.
    pub alone_ns: Option<f64>,
    /// By procedure, in the order of the file.
    pub procedures: Vec<MeasuredProcedure>,
    /// Number of measured calls.
    pub calls: u64,
    /// Of 100 calls whose arguments locate their rows, those that arrived at another machine.
    /// `None` if this was not counted.
    pub remote_percent: Option<f64>,
    /// Of 100 calls, those that owners of their rows executed. `None` if this was not counted, or
    /// the design ships none.
    pub shipped_percent: Option<f64>,
    /// Differences from the forecast's assumptions, and what was not measured, as sentences.
    pub notes: Vec<String>,
}

/// The measurement of a procedure.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MeasuredProcedure {
    pub procedure: String,
    /// Calls under load.
    pub calls: u64,
    /// Calls among these that ended by an error of the procedure and changed nothing.
    pub rolled_back: u64,
    /// Mean latency of a call under load in nanoseconds; `None` without calls.
    pub loaded_ns: Option<f64>,
    /// Mean latency of a call on one lane while all others are idle.
    pub alone_ns: Option<f64>,
    /// Verbs and round trips of a call under load, at the caller.
    pub traffic: Option<[f64; 2]>,
}

/// A forecast and a measurement. Errors are relative to the measurement: 0.1 means that the
/// forecast is 10 % too high.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verification {
    pub format: u32,
    pub throughput_error: f64,
    /// The error of the mean latency of a call that runs alone.
    pub latency_error: Option<f64>,
    /// By procedure: the name, and the error of the latency of a call that runs alone.
    pub procedure_errors: Vec<(String, Option<f64>)>,
    pub forecast: DesignForecast,
    pub measured: Measured,
}

impl Verification {
    pub fn new(forecast: DesignForecast, measured: Measured) -> Self {
        let throughput_error =
            error(forecast.forecast.transactions_per_s[1], measured.calls_per_s).unwrap_or(0.0);
        let latency_error = measured
            .alone_ns
            .and_then(|measured_ns| error(1e3 * forecast.forecast.latency_us[1], measured_ns));
        let procedure_errors = measured.procedures.iter().map(|measured| {
            let of = find(&forecast, &measured.procedure);
            let error = of
                .zip(measured.alone_ns)
                .and_then(|(of, measured_ns)| error(1e3 * of.latency_us[1], measured_ns));
            (measured.procedure.clone(), error)
        });
        let procedure_errors = procedure_errors.collect();
        let format = FORMAT;
        Self { format, throughput_error, latency_error, procedure_errors, forecast, measured }
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        self.head(&mut text);
        self.total(&mut text);
        self.procedures(&mut text);
        for note in self.unsaid().iter().chain(&self.measured.notes) {
            let _ = writeln!(text, "\n{note}");
        }
        text
    }

    /// Notes about procedures that often fail although the load does not set `succeeds`.
    fn unsaid(&self) -> Vec<String> {
        let each = self.measured.procedures.iter().filter_map(|of| {
            let is_said = find(&self.forecast, &of.procedure)?.succeeds.is_some();
            let share = of.rolled_back as f64 / of.calls.max(1) as f64;
            (!is_said && share > UNSAID_MIN).then(|| {
                format!(
                    "{:.0} of 100 calls of {} raised an error and changed nothing, but the forecast assumes that all \
                     succeed; set `succeeds` in workload.toml",
                    100.0 * share,
                    of.procedure
                )
            })
        });
        each.collect()
    }

    fn head(&self, text: &mut String) {
        let target = &self.forecast.target;
        let Target { workload, machines, lanes, world, .. } = target;
        let _ = writeln!(text, "{workload}, {}", target.scale());
        let of = if *machines == 1 { "machine" } else { "machines" };
        let _ = writeln!(
            text,
            "on {machines} {of} of {} ({}; operations were measured with {}), {lanes} lanes each",
            world.hardware, self.measured.place, world.machines
        );
        let _ = write!(text, "{} calls were counted", self.measured.calls);
        let wanted = self.forecast.remote_calls.map(|share| 100.0 * share);
        if let Some(remote) = self.measured.remote_percent.or(wanted) {
            let _ = write!(
                text,
                "; {remote:.0} of 100 arrived at another machine than the one with their rows"
            );
        }
        if let Some(shipped) = self.measured.shipped_percent {
            let _ = write!(text, ", and {shipped:.0} of 100 were executed by the owners of these");
        }
        text.push_str("\n\n");
    }

    fn total(&self, text: &mut String) {
        let (forecast, measured) = (&self.forecast.forecast, &self.measured);
        let _ = writeln!(
            text,
            "  {:<NAME_WIDTH$}{:>14}{:>14}{:>9}",
            "", "forecast", "measured", "error"
        );
        let [least, expected, most] = forecast.transactions_per_s;
        row(
            text,
            "calls per second",
            [rate(expected), rate(measured.calls_per_s)],
            Some(self.throughput_error),
            &format!("{} to {}", rate(least), rate(most)),
        );
        let [least, expected, most] = forecast.latency_us;
        let alone = measured.alone_ns.map_or_else(unknown, |ns| us(ns / 1e3));
        let range = format!("{} to {}", us(least), us(most));
        row(text, "latency alone", [us(expected), alone], self.latency_error, &range);
        let busiest = measured.busiest.as_ref().map_or_else(unknown, |(stage, _)| stage.clone());
        let share = measured.busiest.as_ref();
        let share =
            share.map_or_else(String::new, |(_, share)| format!("{:.0} % used", 100.0 * share));
        row(text, "bottleneck", [forecast.bottleneck.clone(), busiest], None, &share);
        let retries = format!("{:.1} %", measured.retries_percent);
        let foretold = format!("{:.1} %", self.forecast.retries_percent);
        row(text, "retries", [foretold, retries], None, "");
    }

    fn procedures(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\nProcedures: latency alone; measured only: latency under load, verbs, round trips, calls"
        );
        for (measured, (_, error)) in self.measured.procedures.iter().zip(&self.procedure_errors) {
            let of = find(&self.forecast, &measured.procedure);
            if measured.calls == 0 && measured.alone_ns.is_none() {
                continue;
            }
            let forecast = of.map_or_else(unknown, |of| us(of.latency_us[1]));
            let alone = measured.alone_ns.map_or_else(unknown, |ns| us(ns / 1e3));
            let loaded = measured.loaded_ns.map_or_else(unknown, |ns| us(ns / 1e3));
            let traffic = measured.traffic.map_or_else(unknown, |[verbs, round_trips]| {
                format!("{verbs:>6.1} {round_trips:>6.1}")
            });
            let behind = format!("{loaded:>9} {traffic} {:>7}", measured.calls);
            row(text, &measured.procedure, [forecast, alone], *error, &behind);
        }
    }
}

/// The relative error of a forecast.
fn error(forecast: f64, measured: f64) -> Option<f64> {
    (measured > 0.0).then(|| forecast / measured - 1.0)
}

fn find<'f>(forecast: &'f DesignForecast, procedure: &str) -> Option<&'f ProcedureForecast> {
    forecast.procedures.iter().find(|of| of.procedure == procedure)
}

fn row(
    text: &mut String,
    name: &str,
    [forecast, measured]: [String; 2],
    error: Option<f64>,
    behind: &str,
) {
    let error = error.map_or_else(String::new, |error| format!("{:+.1} %", 100.0 * error));
    let line = format!("  {name:<NAME_WIDTH$}{forecast:>14}{measured:>14}{error:>9}  {behind}");
    let _ = writeln!(text, "{}", line.trim_end());
}

fn rate(per_s: f64) -> String {
    match per_s {
        many if many >= 1e6 => format!("{:.2} M/s", many / 1e6),
        some if some >= 1e3 => format!("{:.1} k/s", some / 1e3),
        few => format!("{few:.0} /s"),
    }
}

fn us(microseconds: f64) -> String {
    format!("{microseconds:.2} us")
}

fn unknown() -> String {
    "-".to_owned()
}
