//! `pg_sleep`, alone in a `SELECT`.

use super::Parser;
use crate::lexer::{Kind, Token};
use std::time::Duration;

/// A call such as `SELECT pg_sleep(0.5)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SleepCall {
    pub time: SleepTime,
    /// The name of the result's column.
    pub column: String,
}

/// How long a session sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SleepTime {
    Constant(Duration),
    /// `$n` counted from 0, in seconds.
    Parameter(usize),
}

/// A time in seconds; one that is too long is the longest one, and one before now is none.
pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

impl Parser<'_> {
    /// Parses a call from behind the function's name; `None` for other forms.
    pub(super) fn sleep(&mut self) -> Option<SleepCall> {
        self.accept_sign('(').then_some(())?;
        let is_negative = self.accept_sign('-');
        let token: Token<'_> = *self.peek()?;
        self.at += 1;
        let time = match token.kind {
            Kind::Parameter if !is_negative => {
                let number: usize = token.text.strip_prefix('$')?.parse().ok()?;
                SleepTime::Parameter(number.checked_sub(1)?)
            }
            Kind::Number | Kind::Text => {
                let text =
                    if token.kind == Kind::Text { token.string()? } else { token.text.into() };
                let number: f64 = text.trim().parse().ok()?;
                SleepTime::Constant(seconds(if is_negative { -number } else { number }))
            }
            _ => return None,
        };
        if self.accept_sign(':') {
            self.accept_sign(':').then_some(())?;
            self.accept("DOUBLE");
            self.name().ok()?;
        }
        self.accept_sign(')').then_some(())?;
        let has_alias = self.accept("AS") || !self.is_at_end();
        let column = if has_alias { self.name().ok()? } else { "pg_sleep".to_owned() };
        self.is_at_end().then_some(SleepCall { time, column })
    }
}
