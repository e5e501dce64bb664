//! The subcommands and the arguments they share.

pub mod bench;
pub mod check;
pub mod choice;
pub mod cluster;
pub mod compute_server;
pub mod counts;
pub mod demo;
pub mod directory;
pub mod doctor;
pub mod help;
pub mod memory_server;
pub mod named;
pub mod pages;
pub mod part_run;
pub mod postgres;
pub mod remote_calls;
pub mod signals;
pub mod simulated;
pub mod soak;
pub mod sql;
pub mod start;
pub mod status;
pub mod trace;

use crate::bench::text::parse_bytes;
use crate::bench::world::{DirectoryPlan, THREADS_MAX, WorldPlan};
use crate::output;
use crate::servers::data;
use clap::{Args, ValueEnum};
use namdb::{Durability, Isolation, Oracle, host};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Maximal duration of a run in seconds; `soak` is for longer ones.
const SECONDS_MAX: f64 = 86_400.0;
/// Minimal duration of a run in seconds or minutes; a shorter one measures nothing.
const SPAN_MIN: f64 = 0.001;
/// Maximal units of scale; more would need more rows than any machine holds.
const UNITS_MAX: u64 = 1_000_000_000;
/// Minimal rate in transactions per second.
const RATE_MIN: f64 = 0.01;
/// Maximal rate in transactions per second; no machine reaches it.
const RATE_MAX: f64 = 1e9;

/// Names of isolation levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum IsolationName {
    /// Snapshot isolation: first committer wins
    Snapshot,
    /// As if transactions ran one after the other
    Serializable,
}

impl From<IsolationName> for Isolation {
    fn from(name: IsolationName) -> Self {
        match name {
            IsolationName::Snapshot => Self::Snapshot,
            IsolationName::Serializable => Self::Serializable,
        }
    }
}

/// Names of the ways to take snapshots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum OracleName {
    /// Read the timestamp vector until two reads agree
    DoubleCollect,
    /// Read numbered copies of the vector that are frozen one after another
    Frozen,
}

impl From<OracleName> for Oracle {
    fn from(name: OracleName) -> Self {
        match name {
            OracleName::DoubleCollect => Self::DoubleCollect,
            OracleName::Frozen => Self::Frozen,
        }
    }
}

/// Arguments of the database of a run.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "World")]
pub struct WorldArguments {
    /// Number of threads that run transactions [default: one per processor]
    #[arg(long, global = true, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=i64::from(THREADS_MAX)))]
    pub threads: Option<u32>,
    /// Number of memory servers that share the tables
    #[arg(long, global = true, allow_negative_numbers = true, default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=64))]
    pub servers: u16,
    /// Total memory of all servers, such as 4G [default: most of the available memory]
    #[arg(long, global = true, allow_negative_numbers = true, value_parser = parse_bytes)]
    pub memory: Option<u64>,
    /// How transactions take snapshots
    #[arg(long, global = true, value_enum, default_value = "double-collect")]
    pub oracle: OracleName,
    /// Isolation level of the transactions
    #[arg(long, global = true, value_enum, default_value = "snapshot")]
    pub isolation: IsolationName,
    /// Seed of all random numbers: equal seeds load equal data and draw equal inputs
    #[arg(long, global = true, allow_negative_numbers = true, value_parser = parse_count::<u64>, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub directory: DirectoryArguments,
}

/// Arguments of a database whose data is on the disk.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Directory")]
pub struct DirectoryArguments {
    /// Keep the data in DIR, which is created if it is missing [default: the data is lost at the
    /// end]
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// When a commit counts: `synchronous`: when it is on the disk; `periodic`: at once, and the
    /// disk is written every 10 ms (`periodic=MS` chooses); `none`: at once, and it is lost at the
    /// end [default: synchronous]
    #[arg(long, global = true, value_name = "LEVEL", value_parser = parse_durability)]
    pub durability: Option<Durability>,
    /// Open a damaged directory without the commits behind the damage, and say what is gone
    #[arg(long, global = true, requires = "data")]
    pub accept_loss: bool,
    /// Growth of the redo log until the next checkpoint begins, such as 1G: more means fewer
    /// checkpoints and a longer restart [default: 256M]
    #[arg(long, global = true, value_name = "SIZE", requires = "data", value_parser = parse_bytes)]
    pub checkpoint_log: Option<u64>,
}

/// Default interval of `--durability periodic`.
const PERIOD_MS: u64 = 10;

/// Parses a level of durability.
fn parse_durability(text: &str) -> Result<Durability, String> {
    let (name, interval) = text.split_once('=').unwrap_or((text, ""));
    match (name, interval) {
        ("synchronous", "") => Ok(Durability::Synchronous),
        ("none", "") => Ok(Durability::None),
        ("periodic", "") => Ok(Durability::Periodic(Duration::from_millis(PERIOD_MS))),
        ("periodic", milliseconds) => match milliseconds.parse() {
            Ok(milliseconds @ 1..=60_000) => {
                Ok(Durability::Periodic(Duration::from_millis(milliseconds)))
            }
            _ => Err("the interval is 1 to 60000 milliseconds".to_owned()),
        },
        _ => Err("a level is synchronous, periodic, periodic=MS or none".to_owned()),
    }
}

impl DirectoryArguments {
    /// Refuses a level without a directory.
    pub fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.data.is_some() || self.durability.is_none(),
            "--durability needs --data DIR: without a directory nothing is kept"
        );
        Ok(())
    }
}

impl WorldArguments {
    /// Defaults for a run in this process with this number of threads.
    pub fn of_this_process(threads: u32, seed: u64) -> Self {
        Self {
            threads: Some(threads),
            servers: 1,
            memory: None,
            oracle: OracleName::DoubleCollect,
            isolation: IsolationName::Snapshot,
            seed,
            directory: DirectoryArguments::default(),
        }
    }

    pub fn thread_count(&self) -> u32 {
        self.threads.unwrap_or_else(|| (host::processor_count() as u32).min(THREADS_MAX))
    }

    /// Parameters for opening the database.
    pub fn plan(&self) -> WorldPlan {
        WorldPlan {
            servers: self.servers,
            memory_bytes: self.memory,
            threads: self.thread_count(),
            oracle: self.oracle.into(),
            seed: self.seed,
            directory: DirectoryPlan {
                data: self.directory.data.clone(),
                durability: self.directory.durability.unwrap_or_default(),
                accept_loss: self.directory.accept_loss,
                checkpoint_log_bytes: self.directory.checkpoint_log,
            },
        }
    }
}

/// Parses a duration of a run in seconds or minutes.
pub fn parse_span(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(span) if (SPAN_MIN..=SECONDS_MAX).contains(&span) => Ok(span),
        _ => Err(format!("a duration is a number from {SPAN_MIN} to {SECONDS_MAX}")),
    }
}

/// Parses a rate in transactions per second.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (RATE_MIN..=RATE_MAX).contains(&rate) => Ok(rate),
        _ => Err(format!(
            "a rate is a number of transactions per second, from {RATE_MIN} to {RATE_MAX}"
        )),
    }
}

/// Parses a non-negative integer.
pub fn parse_count<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let count = text.parse().ok().and_then(|count: u64| N::try_from(count).ok());
    let bits = 8 * size_of::<N>();
    count.ok_or_else(|| format!("expected a whole number from 0 to {}", u64::MAX >> (64 - bits)))
}

/// Parses units of scale.
pub fn parse_units(text: &str) -> Result<u64, String> {
    let units = text.parse().ok().filter(|units| (1..=UNITS_MAX).contains(units));
    units.ok_or_else(|| {
        format!("units of scale are a whole number from 1 to {UNITS_MAX}; workload.toml says what one is")
    })
}

/// Parses a duration in seconds that may be 0.
pub fn parse_wait(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(span) if (0.0..=SECONDS_MAX).contains(&span) => Ok(span),
        _ => Err(format!("a duration is a number from 0 to {SECONDS_MAX}")),
    }
}

/// Set when the user wants the run to end.
pub fn interruption() -> &'static AtomicBool {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    &INTERRUPTED
}

/// Makes the first Ctrl-C, SIGTERM or SIGHUP end the run instead of the program; a second one
/// exits.
pub fn catch_interrupts() -> anyhow::Result<()> {
    catch_interrupts_with(|| {
        output::say("\n  ending the run; press Ctrl-C again to exit at once");
    })
}

/// Like [`catch_interrupts`], with another reaction to the first signal.
pub fn catch_interrupts_with(mut say: impl FnMut() + Send + 'static) -> anyhow::Result<()> {
    ctrlc::set_handler(move || {
        if interruption().swap(true, Relaxed) {
            if data::must_write() {
                tracing::warn!(
                    "the data is not written yet, and the end of this process would lose it"
                );
                return;
            }
            // The process exits without dropping anything, so this must clean up.
            postgres_plan::clear_away();
            std::process::exit(130);
        }
        postgres_plan::interrupt();
        say();
    })?;
    Ok(())
}
