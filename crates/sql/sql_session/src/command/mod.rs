//! Recognises the commands that are no queries.

mod advisory;
mod comment;
mod definition;
mod grant;
mod kinds;
mod maintenance;
mod role;
mod setting;
mod sleep;
mod types;

pub(crate) use advisory::{AdvisoryCall, AdvisoryFunction, Argument};
pub(crate) use comment::Commented;
pub(crate) use grant::{GrantCommand, GrantTarget, OwnedKind, no_schema};
pub(crate) use kinds::{
    Characteristics, Command, DropKind, ExplainOptions, IsolationLevel, LockMode, Referrers,
    TableChange, TableOfQuery,
};
pub(crate) use role::{RoleCommand, RoleOption, RoleSpec};
pub(crate) use sleep::{SleepCall, SleepTime, seconds as sleep_seconds};
pub(crate) use types::{Neighbour, TypeChange};

use crate::copy::parse_copy;
use crate::cursor::{parse_close, parse_declare, parse_fetch};
use crate::error::SqlError;
use crate::lexer::{Kind, Token, characters, tokens};
use crate::statement::statements;
use sql::namespace::written_name;

/// Recognises a statement.
///
/// # Errors
/// The command is malformed, or none of PostgreSQL's.
pub(crate) fn parse(text: &str) -> Result<Command, SqlError> {
    let tokens = tokens(text)?;
    let end = tokens.iter().rposition(|token| token.kind != Kind::Sign(';')).map_or(0, |at| at + 1);
    let tokens = &tokens[..end];
    let command = Parser { text, tokens, at: 0 }.command()?;
    // The readers of definitions would take further statements for parts of the first one, which
    // is the only one that is checked. Bodies of routines have statements.
    let is_one = match command {
        Command::CreateRoutine { .. } => statements(text)?.len() <= 1,
        _ => tokens.iter().all(|token| token.kind != Kind::Sign(';')),
    };
    if !is_one {
        let message = "cannot insert multiple commands into a prepared statement";
        return Err(SqlError::new("42601", message));
    }
    Ok(command)
}

/// A position in the tokens of a command.
pub(crate) struct Parser<'t> {
    pub text: &'t str,
    pub tokens: &'t [Token<'t>],
    pub at: usize,
}

type Result2<T> = Result<T, SqlError>;

impl<'t> Parser<'t> {
    pub fn peek(&self) -> Option<&'t Token<'t>> {
        self.tokens.get(self.at)
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub fn is_word(&self, word: &str) -> bool {
        self.peek().is_some_and(|token| token.is_word(word))
    }

    pub fn accept(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    /// Takes all the words, or none of them.
    pub fn accept_all(&mut self, words: &[&str]) -> bool {
        let rest = &self.tokens[self.at.min(self.tokens.len())..];
        let found = rest.len() >= words.len()
            && words.iter().zip(rest).all(|(word, token)| token.is_word(word));
        self.at += if found { words.len() } else { 0 };
        found
    }

    pub fn accept_sign(&mut self, sign: char) -> bool {
        let found = self.peek().is_some_and(|token| token.kind == Kind::Sign(sign));
        self.at += usize::from(found);
        found
    }

    pub fn expect(&mut self, word: &str) -> Result2<()> {
        if self.accept(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub fn expect_sign(&mut self, sign: char) -> Result2<()> {
        if self.accept_sign(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// A syntax error at the next token.
    pub fn unexpected(&self) -> SqlError {
        match self.peek() {
            Some(token) => {
                let message = format!("syntax error at or near \"{}\"", token.text);
                SqlError::new("42601", message).at(characters(self.text, token.at) + 1)
            }
            None => {
                let end = characters(self.text, self.text.len()) + 1;
                SqlError::new("42601", "syntax error at end of input").at(end)
            }
        }
    }

    pub fn expect_end(&self) -> Result2<()> {
        if self.is_at_end() { Ok(()) } else { Err(self.unexpected()) }
    }

    pub fn name(&mut self) -> Result2<String> {
        let name = self.peek().and_then(Token::name).ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(name)
    }

    /// A name that a schema may precede, see [`sql::namespace::written_name`].
    pub fn relation(&mut self) -> Result2<String> {
        let first = self.name()?;
        if !self.accept_sign('.') {
            return Ok(first);
        }
        Ok(written_name(Some(&first), &self.name()?))
    }

    /// A text in quotes.
    pub fn text(&mut self) -> Result2<String> {
        let token = self.peek().filter(|token| token.kind == Kind::Text);
        let text = token.and_then(|token| token.string()).ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(text)
    }

    pub fn relations(&mut self) -> Result2<Vec<String>> {
        let mut names = Vec::new();
        loop {
            self.accept("ONLY");
            names.push(self.relation()?);
            self.accept_sign('*');
            if !self.accept_sign(',') {
                return Ok(names);
            }
        }
    }

    /// The text from the next token to the end.
    pub fn rest(&self) -> (&'t str, usize) {
        match (self.peek(), self.tokens.last()) {
            (Some(first), Some(last)) => (&self.text[first.at..last.end()], first.at),
            _ => ("", self.text.len()),
        }
    }

    /// The rest of a `TRUNCATE`.
    fn referrers(&mut self) -> Referrers {
        if self.cascade() { Referrers::Truncate } else { Referrers::Refuse }
    }

    pub fn cascade(&mut self) -> bool {
        let cascade = self.accept("CASCADE");
        self.accept("RESTRICT");
        cascade
    }

    fn command(&mut self) -> Result2<Command> {
        let Some(first) = self.peek() else { return Ok(Command::Empty) };
        if first.kind == Kind::Sign('(') {
            return Ok(Command::Query);
        }
        if first.kind != Kind::Word {
            return Err(self.unexpected());
        }
        let word = first.text.to_ascii_uppercase();
        match &*word {
            "SELECT" => return self.select(),
            "VALUES" | "INSERT" | "UPDATE" | "DELETE" | "WITH" | "TABLE" => {
                return Ok(Command::Query);
            }
            "CALL" | "DO" => return Ok(Command::Call),
            _ => self.at += 1,
        }
        let command = match &*word {
            "BEGIN" => {
                let _ = self.accept("WORK") || self.accept("TRANSACTION");
                Command::Begin(self.characteristics()?)
            }
            "START" => {
                self.expect("TRANSACTION")?;
                Command::Begin(self.characteristics()?)
            }
            "COMMIT" | "END" => Command::Commit { chain: self.chain()? },
            "ROLLBACK" | "ABORT" => self.rollback()?,
            "SAVEPOINT" => Command::Savepoint(self.name()?),
            "RELEASE" => {
                self.accept("SAVEPOINT");
                Command::Release(self.name()?)
            }
            "SET" => self.set()?,
            "SHOW" => Command::Show(self.shown()?),
            "RESET" => self.reset()?,
            "DISCARD" => self.discard()?,
            "PREPARE" => self.prepare()?,
            "EXECUTE" => self.execute()?,
            "DEALLOCATE" => {
                self.accept("PREPARE");
                let name = self.name()?;
                Command::Deallocate((name != "all").then_some(name))
            }
            "CREATE" => return self.create(),
            "DROP" => self.drop()?,
            "ALTER" => return self.alter(),
            "TRUNCATE" => {
                self.accept("TABLE");
                let tables = self.relations()?;
                let _ = self.accept_all(&["RESTART", "IDENTITY"])
                    || self.accept_all(&["CONTINUE", "IDENTITY"]);
                Command::Truncate { tables, referrers: self.referrers() }
            }
            "DECLARE" => return parse_declare(self),
            "FETCH" => return parse_fetch(self),
            "CLOSE" => return parse_close(self),
            "COPY" => return parse_copy(self).map(|copy| Command::Copy(Box::new(copy))),
            "EXPLAIN" => return self.explain(),
            "VACUUM" => return self.vacuum(),
            "ANALYZE" | "ANALYSE" => return self.analyze("ANALYZE"),
            _ => return self.others(&word),
        };
        self.expect_end()?;
        Ok(command)
    }

    fn reset(&mut self) -> Result2<Command> {
        let name = self.shown()?;
        Ok(match &*name {
            "all" => Command::Reset(None),
            "role" => Command::SetRole { is_local: false, name: None },
            "session_authorization" => Command::SetSessionUser { is_local: false, name: None },
            _ => Command::Reset(Some(name)),
        })
    }

    fn discard(&mut self) -> Result2<Command> {
        let all = self.name()?;
        Ok(if all == "all" { Command::DiscardAll } else { ignored("DISCARD") })
    }

    /// Commands that are accepted without effect, or unknown.
    fn others(&mut self, word: &str) -> Result2<Command> {
        match word {
            "COMMENT" => self.comment(),
            "GRANT" if !self.has_objects() => self.grant_role(),
            "REVOKE" if !self.has_objects() => self.revoke_role(),
            "GRANT" | "REVOKE" => self.grant(word == "GRANT"),
            "CHECKPOINT" | "CLUSTER" | "REINDEX" => Ok(ignored(word)),
            "LOCK" => self.lock_table(),
            "LISTEN" | "UNLISTEN" | "NOTIFY" | "MOVE" | "MERGE" | "REFRESH" | "IMPORT" | "LOAD"
            | "REASSIGN" | "SECURITY" => {
                Err(SqlError::unsupported(format!("{word} is not supported")))
            }
            _ => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    /// Whether a `GRANT` or `REVOKE` is about privileges for objects.
    fn has_objects(&self) -> bool {
        let mut words = self.tokens[self.at..].iter();
        let is_end = |token: &&Token<'_>| token.is_word("TO") || token.is_word("FROM");
        words.by_ref().take_while(|token| !is_end(token)).any(|token| token.is_word("ON"))
    }

    fn prepare(&mut self) -> Result2<Command> {
        let name = self.name()?;
        let mut types = Vec::new();
        if self.accept_sign('(') {
            let mut depth = 0;
            let mut from = self.at;
            loop {
                let token = self.peek().ok_or_else(|| self.unexpected())?;
                let ends = depth == 0 && matches!(token.kind, Kind::Sign(',' | ')'));
                if ends {
                    let of = self.tokens[from..self.at].iter().map(|token| token.text);
                    types.push(of.collect::<Vec<_>>().join(" "));
                    from = self.at + 1;
                }
                depth += i32::from(token.kind == Kind::Sign('('));
                depth -= i32::from(token.kind == Kind::Sign(')') && !ends);
                self.at += 1;
                if ends && token.kind == Kind::Sign(')') {
                    break;
                }
            }
        }
        self.expect("AS")?;
        let text = self.rest().0.to_owned();
        self.at = self.tokens.len();
        Ok(Command::Prepare { name, types, text })
    }

    fn execute(&mut self) -> Result2<Command> {
        let name = self.name()?;
        let mut arguments = String::new();
        if self.accept_sign('(') {
            let last = self.tokens.last().filter(|last| last.kind == Kind::Sign(')'));
            let last = last.ok_or_else(|| self.unexpected())?;
            let from = self.peek().map_or(last.at, |token| token.at);
            arguments = self.text[from..last.at].trim().to_owned();
            self.at = self.tokens.len();
        }
        Ok(Command::Execute { name, arguments })
    }
}

fn ignored(tag: &str) -> Command {
    Command::Ignored(tag.to_owned())
}

/// Whether a statement may run in a failed transaction block.
pub(crate) fn ends_transaction(text: &str) -> bool {
    let tokens = tokens(text).unwrap_or_default();
    let words = ["COMMIT", "END", "ROLLBACK", "ABORT"];
    tokens.is_empty() || words.iter().any(|word| tokens[0].is_word(word))
}

/// Splits a list of expressions at its commas.
pub(crate) fn arguments(list: &str) -> Result<Vec<&str>, SqlError> {
    let tokens = tokens(list)?;
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0);
    for token in &tokens {
        match token.kind {
            Kind::Sign('(' | '[') => depth += 1,
            Kind::Sign(')' | ']') => depth -= 1,
            Kind::Sign(',') if depth == 0 => {
                parts.push(list[from..token.at].trim());
                from = token.end();
            }
            _ => {}
        }
    }
    if !tokens.is_empty() {
        parts.push(list[from..].trim());
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_recognised() {
        let parsed = |text: &str| parse(text).expect("it is a command");
        assert_eq!(parsed(""), Command::Empty);
        assert_eq!(parsed("select 1;"), Command::Query);
        let isolation = Some(IsolationLevel::RepeatableRead);
        let characteristics = Characteristics { isolation, is_read_only: Some(true) };
        let text = "begin work isolation level repeatable read, read only";
        assert_eq!(parsed(text), Command::Begin(characteristics));
        assert_eq!(parsed("END"), Command::Commit { chain: false });
        assert_eq!(parsed("rollback to savepoint \"A\""), Command::RollbackTo("A".into()));
        let set = |value: Option<&str>| Command::Set {
            is_local: false,
            name: "search_path".into(),
            value: value.map(str::to_owned),
        };
        assert_eq!(parsed("SET search_path TO a, 'B'"), set(Some("a, \"B\"")));
        assert_eq!(parsed("set session search_path = default"), set(None));
        let types = vec!["int".to_owned(), "numeric ( 3 , 1 )".to_owned()];
        let text = "SELECT $1".to_owned();
        let prepare = Command::Prepare { name: "p".into(), types, text };
        assert_eq!(parsed("PREPARE p (int, numeric(3,1)) AS SELECT $1"), prepare);
        let execute = Command::Execute { name: "p".into(), arguments: "1, f(2, 3)".into() };
        assert_eq!(parsed("EXECUTE p (1, f(2, 3))"), execute);
        let tables = vec!["a".to_owned(), written_name(Some("s"), "b")];
        assert_eq!(
            parsed("truncate a, s.b"),
            Command::Truncate { tables, referrers: Referrers::Refuse }
        );
        let names = vec!["t".to_owned()];
        let drop = Command::Drop { kind: DropKind::Table, names, if_exists: true, cascade: true };
        assert_eq!(parsed("drop table if exists t cascade"), drop);
    }

    #[test]
    fn errors_have_their_place() {
        let error = parse("COMIT").expect_err("it is misspelled");
        assert_eq!(error.message, "syntax error at or near \"COMIT\"");
        assert_eq!((&*error.sqlstate, error.position), ("42601", Some(1)));
        let error = parse("SET x").expect_err("it has no value");
        assert_eq!(error.message, "syntax error at end of input");
        let error = parse("BEGIN 1").expect_err("that is no characteristic");
        assert_eq!((&*error.message, error.position), ("syntax error at or near \"1\"", Some(7)));
    }

    #[test]
    fn arguments_are_split_at_commas() {
        assert_eq!(arguments("1, f(2, 3), 'a,b'").expect("fine"), ["1", "f(2, 3)", "'a,b'"]);
        assert_eq!(arguments(" ").expect("fine"), [""; 0]);
    }
}
