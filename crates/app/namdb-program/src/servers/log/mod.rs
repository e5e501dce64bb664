//! What a server tells of itself while it runs: one line for each event on the error stream, for people or as
//! JSON for programs.

mod line;

use crate::output;
use clap::{Args, ValueEnum};
use line::Origin;
use std::sync::OnceLock;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// How a server tells what happens to it.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub struct LogArguments {
    /// How events are written to the error stream
    #[arg(
        long,
        value_enum,
        default_value = "text",
        env = "NAMDB_LOG_FORMAT",
        hide_env_values = true
    )]
    log_format: LogFormat,
    /// The least important events that are written
    #[arg(long, value_enum, default_value = "info", env = "NAMDB_LOG", hide_env_values = true)]
    log_level: LogLevel,
}

/// How an event is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum LogFormat {
    /// A line for people
    Text,
    /// A line that is an object in JSON
    Json,
}

/// How important an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum LogLevel {
    /// The server ends, or part of it does not work
    Error,
    /// Somebody was refused, or something is about to go wrong
    Warn,
    /// Who comes and goes
    Info,
    /// What helps to find a fault
    Debug,
}

impl From<LogLevel> for LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
        }
    }
}

/// Writes events as lines.
struct Lines {
    origin: Origin,
    format: LogFormat,
}

/// Whether this process writes its events.
static STARTED: OnceLock<()> = OnceLock::new();

/// Writes this process's events from now on: those of server `number` with this role, in the cluster of this
/// name.
pub fn start(arguments: &LogArguments, role: &'static str, number: u16, cluster: &str) {
    let origin = Origin { role, number, cluster: cluster.to_owned() };
    let lines = Lines { origin, format: arguments.log_format };
    let level = LevelFilter::from(arguments.log_level);
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(level));
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        STARTED.get_or_init(|| ());
    }
}

/// Whether events are written: errors are told as such then.
pub fn is_started() -> bool {
    STARTED.get().is_some()
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let line = match self.format {
            LogFormat::Text => line::text(&self.origin, event),
            LogFormat::Json => line::json(&self.origin, event),
        };
        output::say(&line);
    }
}
