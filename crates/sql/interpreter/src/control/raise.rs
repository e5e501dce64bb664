//! Executes `RAISE`.

use super::Interpreter;
use crate::error::{Failure, Result, plain};
use crate::program::{Expression, Raise};
use fabric::Env;
use sql::procedure::Level;
use sql_value::{Error, Value};
use std::borrow::Cow;

/// A message raised by a procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    pub level: Level,
    pub message: String,
}

impl<E: Env> Interpreter<'_, '_, E> {
    pub(super) async fn raise(&mut self, raise: &Raise) -> Result<()> {
        let mut message = String::new();
        let mut sqlstate = raise.sqlstate.clone();
        if let Some(code) = &raise.code {
            let text = self.raised_option(Some(code)).await?.unwrap_or_default();
            sqlstate = code_of(&text)?;
            if raise.message.is_empty() {
                message = text;
            }
        }
        for (at, piece) in raise.message.iter().enumerate() {
            message.push_str(piece);
            if let Some(value) = raise.values.get(at) {
                match self.evaluate(value).await? {
                    Value::Text(text) => message.push_str(&text),
                    _ => message.push_str("<NULL>"),
                }
            }
        }
        let detail = self.raised_option(raise.detail.as_ref()).await?;
        let hint = self.raised_option(raise.hint.as_ref()).await?;
        if raise.level != Level::Exception {
            self.frame.notices.push(Notice { level: raise.level, message });
            return Ok(());
        }
        let sqlstate = Cow::Owned(sqlstate);
        Err(Failure::Sql(Box::new(Error { sqlstate, message, detail, hint })))
    }

    async fn raised_option(&mut self, expression: Option<&Expression>) -> Result<Option<String>> {
        let Some(expression) = expression else { return Ok(None) };
        match self.evaluate(expression).await? {
            Value::Text(text) => Ok(Some(text.to_string())),
            _ => Err(plain("22004", "RAISE statement option cannot be null")),
        }
    }
}

/// The SQLSTATE of a computed code or name of a condition.
fn code_of(text: &str) -> Result<String> {
    if sql::is_sqlstate(text) {
        return Ok(text.to_owned());
    }
    let named = sql::sqlstate(text).map(str::to_owned);
    named.ok_or_else(|| plain("42704", format!("unrecognized exception condition \"{text}\"")))
}
