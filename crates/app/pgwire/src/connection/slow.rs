//! The log of slow statements.

use super::Connection;
use crate::clock;
use crate::session::Session;
use std::time::{Duration, Instant};

/// The begin of a statement, and the time from which on it is slow; `None` if none is logged.
pub(super) type Watch = Option<(Instant, Duration)>;

impl<S: Session> Connection<S> {
    /// A statement begins.
    pub(super) fn watch(&self) -> Watch {
        self.session.log_min().map(|least| (clock::now(), least))
    }

    /// Logs a statement that has ended, in the words of PostgreSQL, if it was slow.
    pub(super) fn log_slow(watch: Watch, kind: &str, text: &str) {
        let Some((begin, least)) = watch else { return };
        let took = clock::now() - begin;
        if took >= least {
            let milliseconds = took.as_secs_f64() * 1e3;
            let text = sql_session::without_passwords(text);
            tracing::info!("duration: {milliseconds:.3} ms  {kind}: {text}");
        }
    }
}
