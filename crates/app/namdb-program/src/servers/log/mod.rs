//! A server's log: one line per event on standard error, as text or JSON.

mod line;

use crate::output;
use clap::{Args, ValueEnum};
use line::Origin;
use std::sync::OnceLock;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// Arguments of a server's log.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub struct LogArguments {
    /// Format of events on standard error
    #[arg(
        long,
        value_enum,
        default_value = "text",
        env = "NAMDB_LOG_FORMAT",
        hide_env_values = true
    )]
    log_format: LogFormat,
    /// Lowest level of events that are written
    #[arg(long, value_enum, default_value = "info", env = "NAMDB_LOG", hide_env_values = true)]
    log_level: LogLevel,
}

/// Formats of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum LogFormat {
    /// A line of text
    Text,
    /// A JSON object per line
    Json,
}

/// Levels of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum LogLevel {
    /// The server stops, or a part of it does not work
    Error,
    /// A caller was refused, or a failure is imminent
    Warn,
    /// Members join and leave
    Info,
    /// Details for debugging
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

/// Set once this process writes its events.
static STARTED: OnceLock<()> = OnceLock::new();

/// Starts to write this process's events, as server `number` of this role in the cluster with this
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

/// Whether events are written, so that errors must be logged as events.
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
