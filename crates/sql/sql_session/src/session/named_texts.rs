//! Statements of `PREPARE` that the session cannot plan, such as queries on the system catalog: the
//! server that prepares them keeps their texts here.

use super::SqlSession;
use super::transaction::done;
use crate::command::{Command, arguments, parse};
use crate::error::SqlError;
use crate::host::Host;
use crate::lexer::{Kind, tokens};
use crate::outcome::Outcome;

/// The name and the statement of a `PREPARE`; `None` for other commands.
pub fn prepared_text(text: &str) -> Option<(String, String)> {
    begins(text, "PREPARE")?;
    match parse(text) {
        Ok(Command::Prepare { name, text, .. }) => Some((name, text)),
        _ => None,
    }
}

fn begins(text: &str, word: &str) -> Option<()> {
    let first = text.trim_start().get(..word.len())?;
    first.eq_ignore_ascii_case(word).then_some(())
}

impl<H: Host> SqlSession<H> {
    /// Keeps the text of a `PREPARE`.
    ///
    /// # Errors
    /// Another statement has the name.
    pub fn keep_text(&mut self, name: &str, text: &str) -> Result<Outcome, SqlError> {
        if self.named.contains_key(name) || self.named_texts.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            self.fail();
            return Err(SqlError::new("42P05", message));
        }
        self.named_texts.insert(name.to_owned(), text.to_owned());
        Ok(done("PREPARE"))
    }

    /// The statement that an `EXECUTE` of such a text runs, with the arguments in the places of its
    /// parameters; `None` for other commands.
    pub fn executed_text(&self, text: &str) -> Option<String> {
        if self.named_texts.is_empty() {
            return None;
        }
        begins(text, "EXECUTE")?;
        let Ok(Command::Execute { name, arguments: list }) = parse(text) else { return None };
        let kept = self.named_texts.get(&name)?;
        let given = arguments(&list).ok()?;
        let (mut filled, mut from) = (String::new(), 0);
        for token in tokens(kept).ok()?.iter().filter(|token| token.kind == Kind::Parameter) {
            let number: usize = token.text[1..].parse().ok()?;
            filled += &kept[from..token.at];
            filled += &format!("({})", given.get(number.checked_sub(1)?)?);
            from = token.end();
        }
        Some(filled + &kept[from..])
    }
}
