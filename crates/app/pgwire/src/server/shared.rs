//! Limits, counts and keys, which all threads of a server share.

use super::cancel::Keys;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Limits of a server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at a time.
    pub connections_max: usize,
    /// Bytes of a client's message.
    pub message_bytes_max: usize,
    /// Time from the connection to the end of its startup packet.
    pub startup: Duration,
    /// How long a thread waits for the next message of a client before it leaves it to the lobby.
    pub linger: Duration,
    /// How long a stopping server waits for running statements.
    pub drain: Duration,
    /// Settings of sessions, which clients may change.
    pub settings: Vec<(String, String)>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 2_500,
            message_bytes_max: 64 << 20,
            startup: Duration::from_secs(10),
            linger: Duration::from_millis(50),
            drain: Duration::from_secs(10),
            settings: Vec::new(),
        }
    }
}

/// Counts of a server since its start.
#[derive(Default, Debug)]
pub struct Counters {
    connections: AtomicU64,
    refused: AtomicU64,
    statements: AtomicU64,
    errors: AtomicU64,
    cancels: AtomicU64,
}

/// A copy of the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Connections that were accepted.
    pub connections: u64,
    /// Connections that were refused, because there were too many or they did not start in time.
    pub refused: u64,
    pub statements: u64,
    /// Errors that were reported to clients.
    pub errors: u64,
    /// Cancel requests with a valid key.
    pub cancels: u64,
}

impl Counters {
    pub fn count_connection(&self) {
        self.connections.fetch_add(1, Relaxed);
    }

    pub fn count_refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    pub fn count_statement(&self) {
        self.statements.fetch_add(1, Relaxed);
    }

    pub fn count_error(&self) {
        self.errors.fetch_add(1, Relaxed);
    }

    pub fn count_cancel(&self) {
        self.cancels.fetch_add(1, Relaxed);
    }

    pub fn counts(&self) -> Counts {
        Counts {
            connections: self.connections.load(Relaxed),
            refused: self.refused.load(Relaxed),
            statements: self.statements.load(Relaxed),
            errors: self.errors.load(Relaxed),
            cancels: self.cancels.load(Relaxed),
        }
    }
}

/// State that lobby, crew and connections share.
#[derive(Debug)]
pub struct Shared {
    pub limits: Limits,
    pub counters: Counters,
    pub keys: Arc<Keys>,
    is_stopping: AtomicBool,
}

impl Shared {
    pub fn new(limits: Limits) -> Self {
        let (counters, keys) = (Counters::default(), Arc::default());
        Self { limits, counters, keys, is_stopping: AtomicBool::new(false) }
    }

    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Relaxed)
    }

    pub fn stop(&self) {
        self.is_stopping.store(true, Relaxed);
    }
}
