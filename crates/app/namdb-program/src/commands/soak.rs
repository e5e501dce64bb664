//! `namdb soak`: runs TPC-C for a long time and takes samples, to find growth of memory, aborts or
//! latency.

use super::choice::{Choice, Job, TpccArguments};
use super::{WorldArguments, catch_interrupts, interruption};
use crate::Verdict;
use crate::bench::checks::BeforeRun;
use crate::bench::driver::{self, Phase, RunPlan, Span, Standing, Watcher};
use crate::bench::json_lines::JsonLines;
use crate::bench::part::Part;
use crate::bench::progress::Progress;
use crate::bench::report::{Parameters, Report, Subject, quantile_us};
use crate::bench::{AnyWorkload, LocalWorkload, json, load, table, text, world};
use crate::output;
use crate::plot;
use anyhow::{Context, Result, ensure};
use clap::Args;
use namdb::{Db, host};
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  namdb soak --minutes 10
  namdb soak --minutes 480 --warehouses 8 --sample 60 --json soak.json --plot night.svg
  namdb soak --minutes 60 --rate 5000           a fixed load for which the memory suffices
  tail -f soak.jsonl                            the samples while it runs

Each sample is written to the file of --log at once, so that nothing is lost if the process dies \
before its report.";

/// Default interval of samples in seconds.
const SAMPLE_S: f64 = 5.0;
/// Minimal interval of samples in seconds: the driver reads its clock 50 times per second.
const SAMPLE_S_MIN: f64 = 0.1;

/// Arguments of `namdb soak`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct SoakArguments {
    /// Duration in minutes
    #[arg(long, default_value = "10", value_parser = super::parse_span, allow_negative_numbers = true)]
    minutes: f64,
    /// Interval of samples in seconds, at least 0.1 [default: 5, or the whole run if it is shorter]
    #[arg(long, value_parser = super::parse_span, allow_negative_numbers = true)]
    sample: Option<f64>,
    /// Maximal transactions per second that all threads together start [default: no limit; each
    /// takes half a kilobyte of memory]
    #[arg(long, value_name = "N", value_parser = super::parse_rate, allow_negative_numbers = true)]
    rate: Option<f64>,
    #[command(flatten)]
    tpcc: TpccArguments,
    #[command(flatten)]
    world: WorldArguments,
    /// Also write samples and report as JSON; `-` is standard output, and the text then goes to
    /// standard error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// File for samples, one line of JSON each
    #[arg(long, value_name = "FILE", default_value = "soak.jsonl")]
    log: PathBuf,
    /// File for the plot of the samples
    #[arg(long, value_name = "FILE", default_value = "soak.svg")]
    plot: PathBuf,
}

/// A sample: the work since the previous sample, and the current memory.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sample {
    /// Seconds since the start.
    pub at_s: f64,
    /// Committed transactions per second.
    pub txn_per_s: f64,
    /// Processor time of the whole process per committed transaction, in microseconds.
    pub cpu_us_per_txn: f64,
    /// The part of it spent in the kernel, mostly for the first touch of memory.
    pub kernel_us_per_txn: f64,
    /// Aborted attempts per second.
    pub aborts_per_s: f64,
    /// Median latency of all types.
    pub p50_us: f64,
    /// 99th percentile of the latency.
    pub p99_us: f64,
    /// Maximal latency.
    pub max_us: f64,
    /// Memory allocated to tables.
    pub used_bytes: u64,
    /// Resident memory of the process.
    pub process_bytes: u64,
    /// Version buffers in use.
    pub buffers_in_use: u64,
    /// Reads of old versions per second.
    pub old_version_reads_per_s: f64,
    /// Versions moved to overflow lists per second.
    pub versions_moved_per_s: f64,
    /// Version buffers collected per second.
    pub buffers_collected_per_s: f64,
}

/// Samples and report in one file.
#[derive(Serialize)]
struct SoakReport {
    samples: Vec<Sample>,
    report: Report,
}

pub fn run(arguments: &SoakArguments) -> Result<Verdict> {
    let duration_s = arguments.minutes * 60.0;
    // A short run shortens the default interval; an explicit one must fit.
    let sample_s = match arguments.sample {
        None => SAMPLE_S.min(duration_s),
        Some(sample_s) => sample_s,
    };
    ensure!(
        (SAMPLE_S_MIN..=duration_s).contains(&sample_s),
        "--sample must be at least {SAMPLE_S_MIN} s and at most the {duration_s} s of the run"
    );
    probe_files(arguments)?;
    catch_interrupts()?;
    let world = &arguments.world;
    world.directory.check()?;
    let choice = Choice::Tpcc(arguments.tpcc.clone());
    // All windows have the same length and together the requested duration.
    let windows = (duration_s / sample_s).round().max(1.0);
    let mut lines = JsonLines::new(arguments.log.clone());
    let sample_s = duration_s / windows;
    let job =
        Soak { world, sample_s, windows: windows as u64, rate: arguments.rate, lines: &mut lines };
    let soak = choice.run(world.isolation.into(), world.thread_count(), world.seed, job)?;
    let told = format!("{}\n{}\n", table::draw(&soak.report), trend(&soak.samples));
    let delivered = json::deliver(&soak, arguments.json.as_deref(), &told);
    if !soak.samples.is_empty() {
        plot::draw(&soak.samples, &arguments.plot)
            .with_context(|| format!("cannot draw {}", arguments.plot.display()))?;
        output::say(&format!("  the plot is in {}", arguments.plot.display()));
    }
    delivered.and(lines.finish()).map(|()| soak.report.verdict())
}

/// Rejects files that cannot be written, and two results in one file.
fn probe_files(arguments: &SoakArguments) -> Result<()> {
    for path in [&arguments.log, &arguments.plot] {
        ensure!(
            !json::is_output(path),
            "--log and --plot need files; standard output has the report"
        );
    }
    let files = [Some(&arguments.log), Some(&arguments.plot), arguments.json.as_ref()];
    let files: Vec<&PathBuf> = files.into_iter().flatten().collect();
    for (index, path) in files.iter().enumerate() {
        ensure!(
            !files[..index].contains(path),
            "--log, --json and --plot must name different files"
        );
        json::probe(path, &[])?;
    }
    Ok(())
}

struct Soak<'a> {
    world: &'a WorldArguments,
    sample_s: f64,
    windows: u64,
    rate: Option<f64>,
    lines: &'a mut JsonLines,
}

impl Job for Soak<'_> {
    type Output = SoakReport;

    fn run<W: AnyWorkload>(self, workload: W, parameters: Parameters) -> Result<SoakReport> {
        self.run_here(workload, parameters)
    }
}

impl Soak<'_> {
    fn run_here<W: LocalWorkload>(self, workload: W, parameters: Parameters) -> Result<SoakReport> {
        let threads = self.world.thread_count();
        let db = world::open(&self.world.plan(), workload.memory_bytes())?;
        let loaded = load::load(&db, &workload, threads, interruption())?;
        let plan = RunPlan {
            threads,
            warm_up_s: self.sample_s.min(5.0),
            window_s: self.sample_s,
            windows: self.windows,
            seed: self.world.seed,
            rate: self.rate,
            part: Part::WHOLE,
            run_metrics: None,
        };
        let before = BeforeRun::new(&db, &workload, loaded);
        let progress = Progress::begin("running", (plan.window_s * plan.windows as f64) as u64);
        let (samples, lines) = (Vec::new(), self.lines);
        let mut sampler = Sampler { db: &db, progress: &progress, samples, lines };
        let run = driver::run(&db, &workload, &plan, interruption(), &mut sampler)?;
        let samples = sampler.samples;
        progress.finish(&text::counted(samples.len() as u64, "sample"));
        let isolation = self.world.isolation.into();
        let (rate, seed) = (self.rate, self.world.seed);
        let subject = Subject { parameters, isolation, threads, rate, seed };
        let report = Report::new(&db, &workload, &subject, before, &run, &[]);
        db.close().context("the directory could not be closed")?;
        Ok(SoakReport { samples, report })
    }
}

/// Turns each finished window into a sample and writes it.
struct Sampler<'a> {
    db: &'a Db,
    progress: &'a Progress,
    samples: Vec<Sample>,
    lines: &'a mut JsonLines,
}

impl Watcher for Sampler<'_> {
    fn show(&mut self, standing: &Standing) {
        let per_second = text::rate(standing.transactions as f64 / standing.seconds.max(1e-3));
        let process = text::bytes(host::resident_bytes());
        let message = format!("{per_second} transactions/s, process size {process}");
        match standing.phase {
            Phase::WarmUp => self.progress.announce(&format!("warming up, {message}")),
            Phase::TouchingMemory { percent } => {
                self.progress.announce(&format!("touching memory, {percent} %"));
            }
            Phase::Measuring => self.progress.show(standing.seconds as u64, &message),
        }
    }

    fn span(&mut self, span: &Span) {
        let before_s = self.samples.last().map_or(0.0, |sample| sample.at_s);
        let sample = sample(before_s + span.elapsed.seconds, span, memory_now(self.db));
        self.lines.add(&sample);
        self.samples.push(sample);
    }
}

/// Memory of the tables and of the process. A failed measurement must not end a run of hours.
fn memory_now(db: &Db) -> (u64, u64) {
    let used = db.memory_usage().map(|tables| tables.iter().map(|table| table.used_bytes).sum());
    (used.unwrap_or(0), host::resident_bytes())
}

fn sample(at_s: f64, span: &Span, (used_bytes, process_bytes): (u64, u64)) -> Sample {
    let latency_ns = span.window.latency_ns();
    let per_s = |count: u64| count as f64 / span.elapsed.seconds.max(1e-9);
    let committed = span.window.totals.committed();
    let us_per_txn = |seconds: f64| seconds * 1e6 / committed.max(1) as f64;
    let statistics = &span.window.statistics;
    Sample {
        at_s,
        txn_per_s: per_s(committed),
        cpu_us_per_txn: us_per_txn(span.elapsed.cpu_seconds),
        kernel_us_per_txn: us_per_txn(span.elapsed.kernel_seconds),
        aborts_per_s: per_s(span.window.totals.aborts().map(|(_, count)| count).sum()),
        p50_us: quantile_us(&latency_ns, 0.5),
        p99_us: quantile_us(&latency_ns, 0.99),
        max_us: latency_ns.max() as f64 / 1e3,
        used_bytes,
        process_bytes,
        buffers_in_use: span.buffers_in_use,
        old_version_reads_per_s: per_s(statistics.old_version_reads),
        versions_moved_per_s: per_s(statistics.versions_moved),
        buffers_collected_per_s: per_s(statistics.buffers_collected),
    }
}

/// Compares the first and the last fifth of the run.
fn trend(samples: &[Sample]) -> String {
    if samples.is_empty() {
        return "  No sample was taken: the run ended before the first one.".to_owned();
    }
    let fifth = samples.len().div_ceil(5);
    let mean = |part: &[Sample], field: fn(&Sample) -> f64| {
        part.iter().map(field).sum::<f64>() / part.len().max(1) as f64
    };
    let (early, late) = (&samples[..fifth], &samples[samples.len() - fifth..]);
    let both = |field: fn(&Sample) -> f64| [mean(early, field), mean(late, field)];
    let [throughput, cpu, kernel, aborts, median, p99, buffers, memory, process] = [
        both(|sample| sample.txn_per_s).map(text::rate),
        both(|sample| sample.cpu_us_per_txn).map(text::duration_us),
        both(|sample| sample.kernel_us_per_txn).map(text::duration_us),
        both(|sample| sample.aborts_per_s).map(text::rate),
        both(|sample| sample.p50_us).map(text::duration_us),
        both(|sample| sample.p99_us).map(text::duration_us),
        both(|sample| sample.buffers_in_use as f64).map(|count| text::grouped(count as u64)),
        both(|sample| sample.used_bytes as f64).map(|bytes| text::bytes(bytes as u64)),
        both(|sample| sample.process_bytes as f64).map(|bytes| text::bytes(bytes as u64)),
    ];
    let line = |name, [early, late]: [String; 2]| format!("  {name:<28} {early:>16} {late:>16}\n");
    format!(
        "  {:<28} {:>16} {:>16}\n{}{}{}{}{}{}{}{}{}",
        format!("over {}", text::counted(samples.len() as u64, "sample")),
        "first fifth",
        "last fifth",
        line("transactions per second", throughput),
        line("processor time of each", cpu),
        line("of that, in the kernel", kernel),
        line("aborted attempts per second", aborts),
        line("median latency", median),
        line("99 % faster than", p99),
        line("version buffers in use", buffers),
        line("memory of the tables", memory),
        line("memory of the process", process)
    )
}
