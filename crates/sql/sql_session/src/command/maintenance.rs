//! `EXPLAIN`, `VACUUM` and `ANALYZE`.

use super::{Command, ExplainOptions, LockMode, Parser, Result2, ignored};
use crate::error::SqlError;
use crate::lexer::Kind;

impl Parser<'_> {
    /// `LOCK TABLE`, behind the first word.
    pub(super) fn lock_table(&mut self) -> Result2<Command> {
        self.accept("TABLE");
        let tables = self.relations()?;
        let mut words = Vec::new();
        if self.accept("IN") {
            while !self.accept("MODE") {
                words.push(self.name()?);
            }
        }
        let waits = !self.accept("NOWAIT");
        self.expect_end()?;
        let mode = match words.join(" ").as_str() {
            "access share" | "row share" => LockMode::Reads,
            "row exclusive" | "share update exclusive" => LockMode::Writes,
            "" | "share" | "share row exclusive" | "exclusive" | "access exclusive" => {
                LockMode::Alone
            }
            _ => return Err(self.unexpected()),
        };
        Ok(Command::LockTable { tables, mode, waits })
    }

    pub(super) fn explain(&mut self) -> Result2<Command> {
        let mut options = ExplainOptions { costs: true, timing: true, ..Default::default() };
        if self.accept_sign('(') {
            self.explain_options(&mut options)?;
        } else {
            options.analyze = self.accept("ANALYZE") || self.accept("ANALYSE");
            options.verbose = self.accept("VERBOSE");
            options.summary = options.analyze;
        }
        let (text, at) = self.rest();
        Ok(Command::Explain { options, text: text.to_owned(), at })
    }

    pub(super) fn explain_options(&mut self, options: &mut ExplainOptions) -> Result2<()> {
        let mut summary = None;
        loop {
            let name = self.name()?;
            let value = match self.peek().map(|token| token.kind) {
                Some(Kind::Word | Kind::Number | Kind::Text) => {
                    let value = self.peek().map(|token| token.text.to_lowercase());
                    self.at += 1;
                    value.unwrap_or_default()
                }
                _ => "on".to_owned(),
            };
            let is_on = matches!(&*value, "on" | "true" | "1");
            match &*name {
                "analyze" => options.analyze = is_on,
                "costs" => options.costs = is_on,
                "timing" => options.timing = is_on,
                "summary" => summary = Some(is_on),
                "verbose" => options.verbose = is_on,
                "buffers" | "wal" | "settings" | "generic_plan" => {}
                "format" if value == "text" => options.is_json = false,
                "format" if value == "json" => options.is_json = true,
                "format" => {
                    let message = format!("EXPLAIN in the format {value} is not supported");
                    return Err(SqlError::unsupported(message).hint("Write FORMAT JSON."));
                }
                _ => {
                    let message = format!("unrecognized EXPLAIN option \"{name}\"");
                    return Err(SqlError::new("42601", message));
                }
            }
            if self.accept_sign(')') {
                options.summary = summary.unwrap_or(options.analyze);
                return Ok(());
            }
            self.expect_sign(',')?;
        }
    }

    pub(super) fn vacuum(&mut self) -> Result2<Command> {
        let mut analyzes = false;
        if self.accept_sign('(') {
            while !self.is_at_end() && !self.accept_sign(')') {
                analyzes |= self.is_word("ANALYZE");
                self.at += 1;
            }
        }
        for word in ["FULL", "FREEZE", "VERBOSE"] {
            self.accept(word);
        }
        analyzes |= self.accept("ANALYZE") || self.accept("ANALYSE");
        if analyzes {
            return self.analyze("VACUUM");
        }
        Ok(ignored("VACUUM"))
    }

    pub(super) fn analyze(&mut self, tag: &'static str) -> Result2<Command> {
        self.accept("VERBOSE");
        let mut tables = Vec::new();
        while !self.is_at_end() {
            tables.push(self.relation()?);
            if self.accept_sign('(') {
                while !self.is_at_end() && !self.accept_sign(')') {
                    self.at += 1;
                }
            }
            if !self.accept_sign(',') {
                break;
            }
        }
        self.expect_end()?;
        Ok(Command::Analyze { tables, tag })
    }
}
