//! The limits of statements, of waits, and of a client's silence.
//!
//! A statement ends at the request of another thread, and at the deadlines of `statement_timeout`
//! and `transaction_timeout`. It looks between rows and while it waits for others; a commit that
//! waits for the disk goes on.

use super::{BlockKind, SqlSession};
use crate::error::SqlError;
use crate::host::Host;
use crate::waiting::Waiter;
use fabric::Env;
use interpreter::{Deadline, Interrupt};
use std::sync::Arc;
use std::time::Duration;

const NS_PER_MS: u64 = 1_000_000;

/// How long a client may be silent, and the error that ends its session then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SilenceLimit {
    pub after: Duration,
    pub sqlstate: &'static str,
    pub message: &'static str,
}

impl<H: Host> SqlSession<H> {
    /// Gives the session the request that ends its running statement; until then it has one of its
    /// own. The maker of requests also clears them, before the next statement.
    pub fn set_interrupt(&mut self, interrupt: Arc<Interrupt>) {
        self.runner.set_interrupt(interrupt.clone());
        self.interrupt = interrupt;
    }

    /// Ends the running statement when it is requested.
    pub fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    /// The limit of the client's silence from now on, by `idle_in_transaction_session_timeout`,
    /// `transaction_timeout` and `idle_session_timeout`; `None` without one.
    pub fn silence_limit(&self) -> Option<SilenceLimit> {
        let effects = self.settings.effects();
        let limit = |ms, sqlstate, message| SilenceLimit {
            after: Duration::from_millis(ms),
            sqlstate,
            message,
        };
        let Some(block) = self.block.as_ref().filter(|block| block.kind == BlockKind::Explicit)
        else {
            let message = "terminating connection due to idle-session timeout";
            let ms = effects.idle_session_ms;
            return (ms > 0 && self.block.is_none()).then(|| limit(ms, "57P05", message));
        };
        let idle = (effects.idle_in_transaction_ms > 0).then(|| {
            let message = "terminating connection due to idle-in-transaction timeout";
            limit(effects.idle_in_transaction_ms, "25P03", message)
        });
        let whole = block.timer_ns.filter(|_| effects.transaction_ms > 0).map(|begun_ns| {
            let passed_ms = self.env.now_ns().saturating_sub(begun_ns) / NS_PER_MS;
            let message = "terminating connection due to transaction timeout";
            limit(effects.transaction_ms.saturating_sub(passed_ms), "25P04", message)
        });
        idle.into_iter().chain(whole).min_by_key(|limit| limit.after)
    }

    /// The duration from which on `log_min_duration_statement` has statements logged; `None` logs
    /// none.
    pub fn log_min(&self) -> Option<Duration> {
        u64::try_from(self.settings.effects().log_min_ms).ok().map(Duration::from_millis)
    }

    /// A statement begins.
    pub(super) fn start_timers(&mut self) {
        let effects = self.settings.effects();
        self.runner.set_work_memory(effects.work_memory);
        if effects.statement_ms == 0 && effects.transaction_ms == 0 {
            self.runner.set_deadlines(None, None);
            return;
        }
        let now_ns = self.env.now_ns();
        let at = |from_ns: u64, ms: u64, is_of_transaction| {
            let at_ns = from_ns.saturating_add(ms.saturating_mul(NS_PER_MS));
            (ms > 0).then_some(Deadline { at_ns, is_of_transaction })
        };
        let begun_ns = match &mut self.block {
            Some(block) => *block.timer_ns.get_or_insert(now_ns),
            None => now_ns,
        };
        let of_statement = at(now_ns, effects.statement_ms, false);
        let of_transaction = at(begun_ns, effects.transaction_ms, true);
        self.runner.set_deadlines(of_statement, of_transaction);
    }

    /// The begin of a transaction, if it is needed.
    pub(super) fn transaction_timer(&self) -> Option<u64> {
        (self.settings.effects().transaction_ms > 0).then(|| self.env.now_ns())
    }
}

impl<H: Host> Waiter for SqlSession<H> {
    fn check(&self) -> Result<(), SqlError> {
        Ok(self.runner.check(&self.env)?)
    }

    fn now_ns(&self) -> u64 {
        self.env.now_ns()
    }

    fn lock_timeout(&self) -> Option<Duration> {
        let ms = self.settings.effects().lock_ms;
        (ms > 0).then(|| Duration::from_millis(ms))
    }
}
