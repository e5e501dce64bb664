//! Calls of the functions of advisory locks, each alone in a `SELECT`.

use super::{Command, Parser};
use crate::error::SqlError;
use crate::lexer::{Kind, Token};

/// A call such as `SELECT pg_advisory_lock(7)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AdvisoryCall {
    pub function: AdvisoryFunction,
    pub arguments: Vec<Argument>,
    /// The name of the result's column.
    pub column: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AdvisoryFunction {
    Lock { is_shared: bool, waits: bool, is_of_transaction: bool },
    Unlock { is_shared: bool },
    UnlockAll,
}

/// An argument: a number, or `$n` counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Argument {
    Constant(i64),
    Parameter(usize),
}

impl AdvisoryFunction {
    fn named(name: &str) -> Option<Self> {
        let lock = |waits, is_of_transaction, is_shared| Self::Lock {
            is_shared,
            waits,
            is_of_transaction,
        };
        Some(match name {
            "pg_advisory_lock" => lock(true, false, false),
            "pg_advisory_lock_shared" => lock(true, false, true),
            "pg_advisory_xact_lock" => lock(true, true, false),
            "pg_advisory_xact_lock_shared" => lock(true, true, true),
            "pg_try_advisory_lock" => lock(false, false, false),
            "pg_try_advisory_lock_shared" => lock(false, false, true),
            "pg_try_advisory_xact_lock" => lock(false, true, false),
            "pg_try_advisory_xact_lock_shared" => lock(false, true, true),
            "pg_advisory_unlock" => Self::Unlock { is_shared: false },
            "pg_advisory_unlock_shared" => Self::Unlock { is_shared: true },
            "pg_advisory_unlock_all" => Self::UnlockAll,
            _ => return None,
        })
    }

    /// Whether it returns a truth value; the others return nothing.
    pub fn returns_truth(self) -> bool {
        matches!(self, Self::Lock { waits: false, .. } | Self::Unlock { .. })
    }
}

impl Parser<'_> {
    /// The command of a `SELECT`, which is a query unless it calls such a function.
    pub(super) fn select(&mut self) -> Result<Command, SqlError> {
        let from = self.at;
        self.at += 1;
        let _ = self.accept("pg_catalog") && self.accept_sign('.');
        let name = self.peek().and_then(Token::name).unwrap_or_default();
        if name == "set_config" {
            self.at += 1;
            if let Some(command) = self.set_config() {
                return Ok(command);
            }
        }
        if name == "pg_sleep" {
            self.at += 1;
            return self.sleep().map(Command::Sleep).ok_or_else(|| {
                SqlError::unsupported("pg_sleep in a larger query")
                    .hint("Write SELECT and the call alone, with a number or a parameter.")
            });
        }
        let Some(function) = AdvisoryFunction::named(&name) else {
            self.at = from;
            return Ok(Command::Query);
        };
        self.at += 1;
        match self.advisory_call(function, name) {
            Some(call) => Ok(Command::Advisory(call)),
            None => Err(SqlError::unsupported("an advisory lock in a larger query")
                .hint("Write SELECT and the call alone, with numbers or parameters.")),
        }
    }

    /// The constants of a call of `set_config` that is alone; `None` for other calls.
    fn set_config(&mut self) -> Option<Command> {
        self.accept_sign('(').then_some(())?;
        let name = self.text().ok()?;
        self.accept_sign(',').then_some(())?;
        let value = self.text().ok()?;
        self.accept_sign(',').then_some(())?;
        let is_local = self.accept("TRUE");
        (is_local || self.accept("FALSE")).then_some(())?;
        (self.accept_sign(')') && self.is_at_end()).then_some(())?;
        Some(Command::SetConfig { name, value, is_local })
    }

    fn advisory_call(&mut self, function: AdvisoryFunction, name: String) -> Option<AdvisoryCall> {
        let mut arguments = Vec::new();
        self.accept_sign('(').then_some(())?;
        while !self.accept_sign(')') {
            if !arguments.is_empty() {
                self.accept_sign(',').then_some(())?;
            }
            arguments.push(self.advisory_argument()?);
        }
        let count = arguments.len();
        let fits = match function {
            AdvisoryFunction::UnlockAll => count == 0,
            _ => (1..=2).contains(&count),
        };
        let has_alias = self.accept("AS") || !self.is_at_end();
        let column = if has_alias { self.name().ok()? } else { name };
        (fits && self.is_at_end()).then_some(AdvisoryCall { function, arguments, column })
    }

    fn advisory_argument(&mut self) -> Option<Argument> {
        let is_negative = self.accept_sign('-');
        let token = *self.peek()?;
        self.at += 1;
        let argument = match token.kind {
            Kind::Parameter if !is_negative => {
                let number: usize = token.text.strip_prefix('$')?.parse().ok()?;
                Argument::Parameter(number.checked_sub(1)?)
            }
            Kind::Number => {
                let number: i64 =
                    format!("{}{}", if is_negative { "-" } else { "" }, token.text).parse().ok()?;
                Argument::Constant(number)
            }
            Kind::Text => Argument::Constant(token.string()?.trim().parse().ok()?),
            _ => return None,
        };
        if self.accept_sign(':') {
            self.accept_sign(':').then_some(())?;
            self.name().ok()?;
        }
        Some(argument)
    }
}
