//! The subcommands, and the options they share.

pub mod bench;
pub mod check;
pub mod choice;
pub mod cluster;
pub mod compute_server;
pub mod counts;
pub mod demo;
pub mod doctor;
pub mod help;
pub mod memory_server;
pub mod named;
pub mod part_run;
pub mod postgres;
pub mod remote_calls;
pub mod simulated;
pub mod soak;
pub mod status;
pub mod trace;

use crate::bench::text::parse_bytes;
use crate::bench::world::{THREADS_MAX, WorldPlan};
use crate::output;
use clap::{Args, ValueEnum};
use namdb::{Isolation, Oracle, host};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Most seconds of a run: longer ones are for `soak`.
const SECONDS_MAX: f64 = 86_400.0;
/// Fewest seconds or minutes of a run: in less time nothing can be measured.
const SPAN_MIN: f64 = 0.001;
/// Most units of scale: with more, numbers of rows are beyond what any machine holds.
const UNITS_MAX: u64 = 1_000_000_000;
/// Fewest transactions per second that can be asked for.
const RATE_MIN: f64 = 0.01;
/// Most transactions per second that can be asked for: more than any machine does.
const RATE_MAX: f64 = 1e9;

/// Isolation levels by their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum IsolationName {
    /// Snapshot isolation: first committer wins
    Snapshot,
    /// As if one transaction ran after another
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

/// Ways of taking snapshots by their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum OracleName {
    /// Read the timestamp vector until two reads agree
    DoubleCollect,
    /// Read numbered vectors that are frozen one after another
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

/// Where a run takes place.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "World")]
pub struct WorldArguments {
    /// Threads that run transactions, each busy all the time [default: one per processor]
    #[arg(long, global = true, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=i64::from(THREADS_MAX)))]
    pub threads: Option<u32>,
    /// Memory servers to spread the tables over
    #[arg(long, global = true, allow_negative_numbers = true, default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=64))]
    pub servers: u16,
    /// Memory of all servers together, such as 4G [default: most of what is available]
    #[arg(long, global = true, allow_negative_numbers = true, value_parser = parse_bytes)]
    pub memory: Option<u64>,
    /// How snapshots are taken
    #[arg(long, global = true, value_enum, default_value = "double-collect")]
    pub oracle: OracleName,
    /// How strictly transactions are kept apart
    #[arg(long, global = true, value_enum, default_value = "snapshot")]
    pub isolation: IsolationName,
    /// Seed of all randomness: equal seeds load equal data and draw equal inputs
    #[arg(long, global = true, allow_negative_numbers = true, value_parser = parse_count::<u64>, default_value_t = 1)]
    pub seed: u64,
}

impl WorldArguments {
    /// This process with so many threads, and all else as if nothing were said.
    pub fn of_this_process(threads: u32, seed: u64) -> Self {
        Self {
            threads: Some(threads),
            servers: 1,
            memory: None,
            oracle: OracleName::DoubleCollect,
            isolation: IsolationName::Snapshot,
            seed,
        }
    }

    /// How many threads run.
    pub fn thread_count(&self) -> u32 {
        self.threads.unwrap_or_else(|| (host::processor_count() as u32).min(THREADS_MAX))
    }

    /// How to open the database.
    pub fn plan(&self) -> WorldPlan {
        WorldPlan {
            servers: self.servers,
            memory_bytes: self.memory,
            threads: self.thread_count(),
            oracle: self.oracle.into(),
            seed: self.seed,
        }
    }
}

/// Reads a number of seconds or minutes of a run.
pub fn parse_span(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(span) if (SPAN_MIN..=SECONDS_MAX).contains(&span) => Ok(span),
        _ => Err(format!("a time is a number over 0, from {SPAN_MIN} to {SECONDS_MAX}")),
    }
}

/// Reads a number of transactions per second.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (RATE_MIN..=RATE_MAX).contains(&rate) => Ok(rate),
        _ => Err(format!(
            "a rate is a number of transactions per second, from {RATE_MIN} to {RATE_MAX}"
        )),
    }
}

/// Reads a whole number that is not negative.
pub fn parse_count<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let count = text.parse().ok().and_then(|count: u64| N::try_from(count).ok());
    let bits = 8 * size_of::<N>();
    count.ok_or_else(|| format!("it takes a whole number from 0 to {}", u64::MAX >> (64 - bits)))
}

/// Reads units of scale.
pub fn parse_units(text: &str) -> Result<u64, String> {
    let units = text.parse().ok().filter(|units| (1..=UNITS_MAX).contains(units));
    units.ok_or_else(|| {
        format!("units of scale are a whole number from 1 to {UNITS_MAX}; workload.toml says what one is")
    })
}

/// Reads a number of seconds that may be none.
pub fn parse_wait(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(span) if (0.0..=SECONDS_MAX).contains(&span) => Ok(span),
        _ => Err(format!("a time is a number from 0 to {SECONDS_MAX}")),
    }
}

/// Set once the user wants the run to end.
pub fn interruption() -> &'static AtomicBool {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    &INTERRUPTED
}

/// Lets Ctrl-C, and requests to terminate or hang up, end the run instead of the program; a second one
/// ends the program.
pub fn catch_interrupts() -> anyhow::Result<()> {
    catch_interrupts_with(|| {
        output::say("\n  ending the run; press Ctrl-C again to leave at once");
    })
}

/// As [`catch_interrupts`], with something else to say at the first one.
pub fn catch_interrupts_with(mut say: impl FnMut() + Send + 'static) -> anyhow::Result<()> {
    ctrlc::set_handler(move || {
        if interruption().swap(true, Relaxed) {
            // Nothing is dropped.
            postgres_plan::clear_away();
            std::process::exit(130);
        }
        postgres_plan::interrupt();
        say();
    })?;
    Ok(())
}
