//! `SET` and `SHOW`, and the characteristics of transactions.

use super::{Characteristics, Command, IsolationLevel, Parser, Result2, ignored};
use crate::catalog::described::quoted;
use crate::error::SqlError;
use crate::lexer::{Kind, Token};

impl Parser<'_> {
    pub(super) fn characteristics(&mut self) -> Result2<Characteristics> {
        let mut found = Characteristics::default();
        loop {
            if self.accept_all(&["ISOLATION", "LEVEL"]) {
                let first = self.name()?;
                let level = match &*first {
                    "serializable" => IsolationLevel::Serializable,
                    "repeatable" if self.accept("READ") => IsolationLevel::RepeatableRead,
                    "read" if self.accept("COMMITTED") => IsolationLevel::ReadCommitted,
                    "read" if self.accept("UNCOMMITTED") => IsolationLevel::ReadUncommitted,
                    _ => return Err(self.unexpected()),
                };
                found.isolation = Some(level);
            } else if self.accept_all(&["READ", "ONLY"]) {
                found.is_read_only = Some(true);
            } else if self.accept_all(&["READ", "WRITE"]) {
                found.is_read_only = Some(false);
            } else if !self.accept("DEFERRABLE") && !self.accept_all(&["NOT", "DEFERRABLE"]) {
                return Ok(found);
            }
            self.accept_sign(',');
        }
    }

    pub(super) fn set(&mut self) -> Result2<Command> {
        if self.accept("TRANSACTION") {
            return Ok(Command::SetTransaction(self.characteristics()?));
        }
        if self.accept_all(&["SESSION", "CHARACTERISTICS", "AS", "TRANSACTION"]) {
            return Ok(Command::SetSessionCharacteristics(self.characteristics()?));
        }
        if self.accept("CONSTRAINTS") {
            self.at = self.tokens.len();
            return Ok(ignored("SET CONSTRAINTS"));
        }
        let is_local = self.accept("LOCAL");
        if !is_local {
            self.accept("SESSION");
        }
        if self.accept_all(&["SESSION", "AUTHORIZATION"]) || self.accept("AUTHORIZATION") {
            return Ok(Command::SetSessionUser { is_local, name: self.value()? });
        }
        let name = if self.accept_all(&["TIME", "ZONE"]) {
            let value = self.zone()?;
            return Ok(Command::Set { is_local, name: "timezone".to_owned(), value });
        } else if self.accept("NAMES") {
            "client_encoding".to_owned()
        } else if self.accept("ROLE") && !self.is_word("TO") && !self.is_sign('=') {
            "role".to_owned()
        } else {
            let is_role = self.at > 0 && self.tokens[self.at - 1].is_word("ROLE");
            let name = if is_role { "role".to_owned() } else { self.dotted()? };
            if !self.accept("TO") {
                self.expect_sign('=')?;
            }
            name
        };
        let value = match name.eq_ignore_ascii_case("search_path") {
            true => self.schemas()?,
            false => self.value()?,
        };
        Ok(match &*name.to_lowercase() {
            "role" => Command::SetRole { is_local, name: value.filter(|name| name != "none") },
            "session_authorization" => Command::SetSessionUser { is_local, name: value },
            _ => Command::Set { is_local, name, value },
        })
    }

    fn is_sign(&self, sign: char) -> bool {
        self.peek().is_some_and(|token| token.kind == Kind::Sign(sign))
    }

    /// The value of `SET TIME ZONE`: an interval counts hours east of Greenwich.
    fn zone(&mut self) -> Result2<Option<String>> {
        if self.accept("LOCAL") {
            return Ok(None);
        }
        if !self.accept("INTERVAL") {
            return self.value();
        }
        let text = self.value()?.unwrap_or_default();
        if self.accept("HOUR") && self.accept("TO") {
            self.accept("MINUTE");
        }
        let read = sql_value::input::read(&text, &sql::SqlType::Interval);
        match read.map_err(|error| SqlError::from(*error))? {
            sql_value::Value::Interval(span) if span.months == 0 && span.days == 0 => {
                Ok(Some((span.microseconds as f64 / 3.6e9).to_string()))
            }
            _ => {
                let message = format!("invalid value for parameter \"TimeZone\": \"{text}\"");
                let error = SqlError::new("22023", message);
                Err(error.detail("Cannot specify months or days in time zone interval."))
            }
        }
    }

    pub(super) fn dotted(&mut self) -> Result2<String> {
        let mut name = self.name()?;
        while self.accept_sign('.') {
            name = format!("{name}.{}", self.name()?);
        }
        Ok(name)
    }

    /// The value of `search_path`, as PostgreSQL shows it: schemas in quotes where they need them.
    fn schemas(&mut self) -> Result2<Option<String>> {
        let from = self.at;
        if self.accept("DEFAULT") {
            return Ok(None);
        }
        self.value()?;
        let parts = self.tokens[from..self.at].iter().filter(|token| token.kind != Kind::Sign(','));
        let name = |token: &Token<'_>| token.string().or_else(|| token.name());
        let quoted = parts.map(|token| quoted(&name(token).unwrap_or_default()));
        Ok(Some(quoted.collect::<Vec<_>>().join(", ")))
    }

    /// The value of a setting; `None` for `DEFAULT`.
    pub(super) fn value(&mut self) -> Result2<Option<String>> {
        if self.accept("DEFAULT") {
            return Ok(None);
        }
        let mut parts = Vec::new();
        loop {
            let sign = if self.accept_sign('-') { "-" } else { "" };
            let token = self.peek().ok_or_else(|| self.unexpected())?;
            let part = match token.kind {
                Kind::Text => token.string().unwrap_or_default(),
                Kind::Word => token.text.to_lowercase(),
                Kind::Quoted => token.name().unwrap_or_default(),
                Kind::Number => token.text.to_owned(),
                _ => return Err(self.unexpected()),
            };
            self.at += 1;
            parts.push(format!("{sign}{part}"));
            if !self.accept_sign(',') {
                return Ok(Some(parts.join(", ")));
            }
        }
    }

    pub(super) fn shown(&mut self) -> Result2<String> {
        if self.accept_all(&["TIME", "ZONE"]) {
            return Ok("timezone".to_owned());
        }
        if self.accept_all(&["TRANSACTION", "ISOLATION", "LEVEL"]) {
            return Ok("transaction_isolation".to_owned());
        }
        if self.accept_all(&["SESSION", "AUTHORIZATION"]) {
            return Ok("session_authorization".to_owned());
        }
        self.dotted()
    }

    pub(super) fn rollback(&mut self) -> Result2<Command> {
        let _ = self.accept("WORK") || self.accept("TRANSACTION");
        if self.accept("TO") {
            self.accept("SAVEPOINT");
            return Ok(Command::RollbackTo(self.name()?));
        }
        Ok(Command::Rollback { chain: self.chain()? })
    }

    pub(super) fn chain(&mut self) -> Result2<bool> {
        let _ = self.accept("WORK") || self.accept("TRANSACTION");
        if self.is_word("PREPARED") {
            return Err(SqlError::unsupported("prepared transactions are not supported"));
        }
        let no_chain = self.accept_all(&["AND", "NO", "CHAIN"]);
        Ok(!no_chain && self.accept_all(&["AND", "CHAIN"]))
    }
}
