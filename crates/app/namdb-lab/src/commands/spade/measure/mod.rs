//! `namdb spade measure`: measures the costs of single operations, on any fabric and on simulated
//! clusters.

mod machines;
mod patience;
mod real;
mod simulated;
mod told;

use crate::bench::json;
use crate::bench::progress::Progress;
use crate::bench::world::THREADS_MAX;
use crate::commands::memory_server::{CLUSTER_FILE, parse_setting};
use crate::commands::{catch_interrupts_with, interruption, parse_count, parse_span};
use crate::{Verdict, output};
use ::microbench::experiment::Choice;
use ::microbench::{Record, version};
use anyhow::Result;
use clap::Args;
use machines::Machines;
use namdb::host::Moment;
use patience::Tried;
use spade::measurement::{Effort, Measured, Parameters, Point, Version};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

const EXAMPLES: &str = "\
Examples:
  namdb spade measure                             this process, whose threads share memory, for at most 10 minutes
  namdb spade measure --quick                     the same in less than a minute, for a first look
  namdb spade measure --profile connectx3-fdr     a simulated cluster of 5 machines
  namdb spade measure --profile connectx3-fdr --machines 5..50
                                                  of 5, 10, 20, 40 and 50 machines in turn
  namdb spade measure --cluster namdb.toml        a real cluster, with threads of this process
  namdb spade measure --file mine.json --json -   keep the points in mine.json, and print them as JSON

Each point is one operation (lookup, scan, update, insert, delete), through the primary key or a secondary index, on \
local rows, by one-sided verbs, or shipped to the owner of the rows, on a table of one design. A point has the latency \
while nothing else runs, throughput and latency while all lanes do the same, and the time that one operation takes on \
cards and cores.

A cluster is measured once. Each point is kept in the file at once, and the same command continues an interrupted run \
without repeating points. Simulated clusters use virtual time: equal seeds give equal files.

Progress goes to standard error, the summary to standard output. docs/spade/model.md lists the points, and what is modelled. \
Exit codes: 0 all points are measured; 2 nothing can be measured or kept; 3 the run ended before.";

/// Default duration on a real fabric, in seconds.
const SECONDS: f64 = 600.0;
/// The same with `--quick`.
const QUICK_SECONDS: f64 = 40.0;

/// Arguments of `namdb spade measure`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct MeasureArguments {
    /// Few points and few operations, for a first look; not suitable for tuning
    #[arg(long)]
    quick: bool,
    /// File of the points
    #[arg(long, value_name = "FILE", default_value = "measurements.json")]
    file: PathBuf,
    /// Also write all points as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also write all points as a table, a quarter as large; commands that read measurements accept
    /// it
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Maximal duration in seconds; the run ends before the next table once it has passed [default:
    /// 600, or 40 with --quick; no limit for simulated clusters]
    #[arg(long, value_name = "N", value_parser = parse_span, allow_negative_numbers = true)]
    seconds: Option<f64>,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>, default_value_t = 1, allow_negative_numbers = true)]
    seed: u64,
    #[command(flatten)]
    simulated: SimulatedArguments,
    #[command(flatten)]
    real: RealArguments,
}

/// Arguments of a simulated cluster.
#[derive(Args)]
#[command(next_help_heading = "Simulated clusters")]
struct SimulatedArguments {
    /// Measure simulated clusters of machines with this hardware profile
    #[arg(long, value_name = "NAME", conflicts_with_all = ["cluster", "threads"])]
    profile: Option<String>,
    /// Machines per cluster: numbers separated by commas, or 5..50 for 5, 10, 20, 40 and 50
    #[arg(
        long,
        value_name = "LIST",
        requires = "profile",
        default_value = "5",
        allow_negative_numbers = true
    )]
    machines: Machines,
    /// Concurrent operations per simulated machine, or per thread of a cluster where verbs take
    /// time [default: 32 per machine, 8 per thread]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=48))]
    lanes: Option<u32>,
}

/// Arguments of threads of this process, on its own memory or on a cluster.
#[derive(Args)]
#[command(next_help_heading = "Real fabrics")]
struct RealArguments {
    /// Measure on the memory servers of the cluster with this file instead of memory of this
    /// process
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = CLUSTER_FILE)]
    cluster: Option<PathBuf>,
    /// Override a setting of the file
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting, requires = "cluster")]
    set: Vec<(String, String)>,
    /// Number of threads that execute operations [default: one per processor]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=i64::from(THREADS_MAX / 2)))]
    threads: Option<u32>,
}

/// Runs the command.
pub fn run(arguments: &MeasureArguments) -> Result<Verdict> {
    if let Some(path) = &arguments.json {
        json::probe_any(path)?;
    }
    let effort = if arguments.quick { Effort::Quick } else { Effort::Full };
    // Before the file is created: a failed request must leave no file.
    let clusters = match &arguments.simulated.profile {
        Some(profile) => simulated::choices(profile, &arguments.simulated, effort)?,
        None => Vec::new(),
    };
    if arguments.simulated.profile.is_none() {
        real::ensure_lanes(&arguments.real, arguments.simulated.lanes)?;
    }
    let mut recorder = PointRecorder {
        record: Record::open(&arguments.file)?,
        version: version(effort, arguments.seed),
        start: Moment::now(),
        seconds: arguments.seconds,
        measured: 0,
        found: 0,
        left_out: Vec::new(),
    };
    catch_interrupts_with(|| {
        output::say(
            "\n  ending the run; measured points are kept. Press Ctrl-C again to exit at once",
        );
    })?;
    let worlds = match &arguments.simulated.profile {
        Some(_) => simulated::run(&clusters, &mut recorder)?,
        None => {
            let usual_s = if arguments.quick { QUICK_SECONDS } else { SECONDS };
            let seconds = *recorder.seconds.get_or_insert(usual_s);
            real::run(&arguments.real, arguments.simulated.lanes, &mut recorder, seconds)?
        }
    };
    let missing = worlds.iter().flat_map(Choice::groups).flatten();
    let missing = missing.filter(|point| !recorder.has(point)).count();
    let all = recorder.record.measurements();
    if let Some(path) = &arguments.table {
        json::spare(path)?;
        output::replace(path, all.table_json().as_bytes())?;
    }
    let PointRecorder { measured, found, left_out, .. } = &recorder;
    let kept = told::PointCounts { measured: *measured, found: *found, missing, left_out };
    let text = told::in_words(all, &worlds, &arguments.file, &kept);
    json::deliver(all, arguments.json.as_deref(), &text)?;
    Ok(if missing == 0 { Verdict::Sound } else { Verdict::Incomplete })
}

/// A run of the command: the file of points, and the end of the run.
struct PointRecorder {
    record: Record,
    version: Version,
    start: Moment,
    seconds: Option<f64>,
    /// Number of points measured by this run.
    measured: usize,
    /// Number of points that the file had already.
    found: usize,
    /// Points for which no operation ended, as text.
    left_out: Vec<String>,
}

impl PointRecorder {
    fn has(&self, point: &Parameters) -> bool {
        self.record.has(point, &self.version)
    }

    /// Whether the run must end: the user interrupted it, or its time has passed.
    fn is_over(&self) -> bool {
        let is_late = self.seconds.is_some_and(|seconds| self.start.elapsed_s() >= seconds);
        interruption().load(Relaxed) || is_late
    }

    /// Keeps points in the file and counts them.
    fn keep(&mut self, points: Vec<Point>) -> Result<()> {
        self.measured += points.iter().filter(|point| !self.has(&point.parameters)).count();
        Ok(self.record.keep(points)?)
    }

    /// Keeps the result of a point, and returns whether to continue. A point for which no operation
    /// ended is left out, so the next run measures it.
    fn take(&mut self, point: &Parameters, tried: Tried<Measured>) -> Result<bool> {
        match tried {
            Tried::Seen(measured) => {
                let version = self.version.clone();
                self.keep(vec![Point { parameters: point.clone(), version, measured }])?;
            }
            Tried::Nothing { in_s } => {
                self.left_out
                    .push(format!("{}: no operation finished within {in_s:.2} s", named(point)));
            }
            Tried::Interrupted => return Ok(false),
        }
        Ok(true)
    }

    /// The tables with missing points, and the number of missing points. The others are counted as
    /// found.
    fn missing(&mut self, choice: &Choice) -> (Vec<Vec<Parameters>>, u64) {
        let mut groups = choice.groups();
        let all: usize = groups.iter().map(Vec::len).sum();
        let count = groups.iter().flatten().filter(|point| !self.has(point)).count();
        self.found += all - count;
        groups.retain(|group| group.iter().any(|point| !self.has(point)));
        (groups, count as u64)
    }
}

/// Displays the current point.
fn tell(progress: &Progress, done: u64, point: &Parameters) {
    progress.show(done, &named(point));
}

fn named(point: &Parameters) -> String {
    let Parameters { operation, path, place, row_bytes, .. } = point;
    let storage = spade::measurement::storage_name(point.storage);
    format!("{operation} {path} {place}, {row_bytes} bytes, {storage}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use spade::measurement::{Place, World};

    #[test]
    fn what_is_too_slow_is_left_out_and_told_and_the_run_goes_on() {
        let file = std::env::temp_dir().join(format!("namdb-slow-{}.json", std::process::id()));
        let (fabric, hardware) = ("tcp".to_owned(), "a host".to_owned());
        let world = World { fabric, hardware, machines: 1, threads: 1, lanes: 8 };
        let places = vec![Place::OneSided];
        let choice = Choice { world, effort: Effort::Quick, places, replicates: false };
        let mut recorder = PointRecorder {
            record: Record::open(&file).expect("there is room"),
            version: version(Effort::Quick, 1),
            start: Moment::now(),
            seconds: None,
            measured: 0,
            found: 0,
            left_out: Vec::new(),
        };
        let slow = choice.groups()[0][0].clone();
        let goes_on = recorder.take(&slow, Tried::Nothing { in_s: 0.45 });
        assert!(goes_on.expect("nothing is kept") && !recorder.has(&slow));
        let goes_on = recorder.take(&slow, Tried::Interrupted);
        assert!(!goes_on.expect("nothing is kept"));
        let (groups, missing) = recorder.missing(&choice);
        assert!(missing > 0 && groups[0].contains(&slow), "the next run measures it");
        let PointRecorder { measured, found, left_out, .. } = &recorder;
        let missing = missing as usize;
        let kept = told::PointCounts { measured: *measured, found: *found, missing, left_out };
        let told = told::in_words(recorder.record.measurements(), &[choice], &file, &kept);
        let said = format!(
            "left out: {}: no operation finished within 0.45 s; increase --seconds\n",
            named(&slow)
        );
        assert!(told.contains(&said) && said.contains("one-sided"), "{told}");
        std::fs::remove_file(file).expect("it is ours");
    }
}
