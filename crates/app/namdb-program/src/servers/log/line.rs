//! Formats an event as a line.
//!
//! Decision: docs/decisions/0100-events-use-tracing-the-lines-are-ours.md

use serde_json::Value;
use std::fmt::{Debug, Write};
use tracing::Event;
use tracing::field::{Field, Visit};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

/// The server that logs.
pub struct Origin {
    /// Role of the server.
    pub role: &'static str,
    /// Number of the server within its role.
    pub number: u16,
    /// The cluster's name.
    pub cluster: String,
}

/// Message and fields of an event, in the order in which they were written.
#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, Value)>,
}

impl Fields {
    fn of(event: &Event<'_>) -> Self {
        let mut fields = Self::default();
        event.record(&mut fields);
        fields
    }

    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => self.others.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, Value::from(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, Value::from(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, Value::from(value));
    }
}

/// Text format: `TIME LEVEL memory server 0: caller refused  peer=10.0.0.7:4711 reason="..."`
pub fn text(origin: &Origin, event: &Event<'_>) -> String {
    let fields = Fields::of(event);
    let level = event.metadata().level().as_str();
    let mut line = format!("{} {level:<5} {} server {}: ", time(), origin.role, origin.number);
    line += &fields.message;
    for (index, (name, value)) in fields.others.iter().enumerate() {
        let gap = if index == 0 { "  " } else { " " };
        // A single word needs no quotes.
        let _ = match value.as_str().filter(|text| is_word(text)) {
            Some(word) => write!(line, "{gap}{name}={word}"),
            None => write!(line, "{gap}{name}={value}"),
        };
    }
    line
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"')
}

/// JSON format: `time`, `level`, `cluster`, `server`, `number`, `message`, then the event's fields.
pub fn json(origin: &Origin, event: &Event<'_>) -> String {
    let fields = Fields::of(event);
    let level = event.metadata().level().as_str().to_ascii_lowercase();
    let own = [
        ("time", Value::from(time())),
        ("level", Value::from(level)),
        ("cluster", Value::from(origin.cluster.as_str())),
        ("server", Value::from(origin.role)),
        ("number", Value::from(origin.number)),
        ("message", Value::from(fields.message)),
    ];
    let pairs = own.into_iter().chain(fields.others);
    // Field names are identifiers, so they need no escaping.
    let texts: Vec<String> = pairs.map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", texts.join(","))
}

/// The current time in UTC as RFC 3339.
fn time() -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}
