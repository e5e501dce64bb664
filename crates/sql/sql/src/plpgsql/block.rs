//! Blocks, and the dispatch of statements by their first word.

use super::declare::Declared;
use super::{Compiler, Enclosing};
use crate::error::Result;
use crate::keyword::keyword_meant;
use crate::procedure::{Block, Statement, StatementKind};
use sqlparser::tokenizer::{Span, Token};
use std::mem::{replace, take};

/// Words that end a list of statements.
const END_WORDS: [&str; 6] = ["END", "ELSIF", "ELSEIF", "ELSE", "WHEN", "EXCEPTION"];

impl Compiler<'_> {
    pub(crate) fn body(&mut self) -> Result<Block> {
        let label = self.label()?;
        if !self.cursor.is_word("DECLARE") && !self.cursor.is_word("BEGIN") {
            return Err(self.cursor.expected("`DECLARE` or `BEGIN`"));
        }
        let block = self.block(label)?;
        self.cursor.accept(&Token::SemiColon);
        if self.cursor.is_at_end() {
            Ok(block)
        } else {
            Err(self.cursor.expected("the end of the body"))
        }
    }

    /// Parses from `DECLARE` or `BEGIN` to `END`, without the semicolon.
    pub(super) fn block(&mut self, label: Option<String>) -> Result<Block> {
        self.names.open(label.as_deref());
        let mut declared = Declared::default();
        while self.cursor.accept_word("DECLARE") {
            self.declarations(&mut declared)?;
        }
        self.cursor.expect_word("BEGIN")?;
        self.enclosing.push(Enclosing::new(label.clone(), false));
        let statements = self.guarded_statements()?;
        self.leave_enclosing();
        self.cursor.expect_word("END")?;
        self.end_label(label.as_deref())?;
        self.names.close();
        Ok(declared.block(label, statements))
    }

    /// Parses `<<label>>`, if there is one.
    pub(super) fn label(&mut self) -> Result<Option<String>> {
        if !self.cursor.accept(&Token::ShiftLeft) {
            return Ok(None);
        }
        let (label, _) = self.cursor.name("a label")?;
        self.cursor.expect(&Token::ShiftRight)?;
        Ok(Some(label))
    }

    /// Parses the optional label after `END`.
    pub(super) fn end_label(&mut self, label: Option<&str>) -> Result<()> {
        if !matches!(self.cursor.peek(), Some(Token::Word(_))) {
            return Ok(());
        }
        let (found, span) = self.cursor.name("a label")?;
        match label {
            Some(label) if label == found => Ok(()),
            Some(label) => Err(self.syntax(span, format!("this ends `{label}`, not `{found}`"))),
            None => Err(self.syntax(span, "the block or loop that ends here has no label")),
        }
    }

    /// Parses statements up to a word that ends them.
    pub(super) fn statements(&mut self) -> Result<Vec<Statement>> {
        self.deeper(|compiler| {
            let mut statements = Vec::new();
            while !END_WORDS.iter().any(|word| compiler.cursor.is_word(word)) {
                if compiler.cursor.is_at_end() {
                    return Err(compiler.cursor.expected("`END`"));
                }
                let (from, span) = (compiler.cursor.position(), compiler.cursor.span());
                let (read, calls) = compiler.with_calls(Self::statement);
                let kind = match read {
                    Ok(kind) => kind,
                    Err(error) => compiler.skip_statement(from, error)?,
                };
                statements.extend(calls);
                let statement = Statement { line: compiler.line(span), kind };
                compiler.pass(&statement);
                statements.push(statement);
            }
            Ok(statements)
        })
    }

    /// Runs `read`, and returns the bodies of the calls that it has found.
    pub(crate) fn with_calls<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> T,
    ) -> (T, Vec<Statement>) {
        let outer = take(&mut self.before);
        let read = read(self);
        (read, replace(&mut self.before, outer))
    }

    pub(super) fn semicolon(&mut self) -> Result<()> {
        self.cursor.expect(&Token::SemiColon)
    }

    fn statement(&mut self) -> Result<StatementKind> {
        let label = self.label()?;
        if self.cursor.is_word("DECLARE") || self.cursor.is_word("BEGIN") {
            let block = self.block(label)?;
            self.semicolon()?;
            return Ok(StatementKind::Block(block));
        }
        if ["LOOP", "WHILE", "FOR", "FOREACH"].iter().any(|word| self.cursor.is_word(word)) {
            return self.loop_statement(label);
        }
        let span = self.cursor.span();
        if label.is_some() {
            return Err(self.cursor.expected("a block or loop after the label"));
        }
        if self.begins_assignment() {
            return self.assignment();
        }
        let Some(Token::Word(word)) = self.cursor.peek() else {
            return Err(self.cursor.expected("a statement"));
        };
        let word =
            if word.quote_style.is_some() { String::new() } else { word.value.to_uppercase() };
        self.worded(&word, span)
    }

    fn worded(&mut self, word: &str, span: Span) -> Result<StatementKind> {
        match word {
            "IF" => self.if_statement(),
            "CASE" => self.case_statement(),
            "EXIT" | "CONTINUE" => self.leave(),
            "RETURN" => self.return_statement(),
            "RAISE" => self.raise(),
            "GET" => self.get_diagnostics(),
            "PERFORM" => self.perform(),
            "CALL" if self.called.is_some() => self.call_statement(),
            "EXECUTE" if self.called.is_some() => self.execute_statement(),
            "COMMIT" | "ROLLBACK" if self.called.is_some() => self.end_transaction(word, span),
            "OPEN" if self.called.is_some() => self.open_statement(),
            "FETCH" | "MOVE" if self.called.is_some() => self.fetch_statement(),
            "CLOSE" if self.called.is_some() => self.close_statement(),
            "ASSERT" if self.called.is_some() => self.assert_statement(),
            "NULL" => {
                self.cursor.next();
                self.semicolon()?;
                Ok(StatementKind::Nothing)
            }
            "SELECT" | "INSERT" | "UPDATE" | "DELETE" | "VALUES" | "WITH" => self.sql_statement(),
            _ => Err(self.refused_statement(word, span)),
        }
    }

    /// `COMMIT` and `ROLLBACK`. A function is always a part of a transaction, and fails here.
    fn end_transaction(&mut self, word: &str, span: Span) -> Result<StatementKind> {
        let commits = word == "COMMIT";
        if commits && !self.inlining.is_function {
            return Err(self.refused_statement(word, span));
        }
        self.cursor.next();
        if self.cursor.accept_word("AND") {
            self.cursor.accept_word("NO");
            self.cursor.expect_word("CHAIN")?;
        }
        self.semicolon()?;
        match self.inlining.is_function {
            true => Ok(super::inline::failing("2D000", "invalid transaction termination")),
            false => Ok(StatementKind::RollBack),
        }
    }

    fn refused_statement(&self, word: &str, span: Span) -> crate::error::Error {
        let advice = match word {
            "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "START" => {
                "leave it out: each call is one transaction, and RAISE EXCEPTION rolls it back"
            }
            "EXECUTE" => "write the statement itself, not text built at run time",
            "CALL" | "DO" => "write the statements of the procedure here",
            "OPEN" | "FETCH" | "MOVE" | "CLOSE" => "write FOR row IN query LOOP",
            "ASSERT" => "write IF ... THEN RAISE EXCEPTION",
            "MERGE" => "write UPDATE, and INSERT if NOT FOUND",
            "CREATE" | "DROP" | "ALTER" | "TRUNCATE" | "LOCK" | "SET" | "RESET" | "COPY"
            | "NOTIFY" | "LISTEN" | "GRANT" | "REVOKE" | "ANALYZE" | "VACUUM" | "REFRESH"
            | "EXPLAIN" | "DECLARE" | "PREPARE" | "DEALLOCATE" | "DISCARD" | "COMMENT"
            | "IMPORT" | "REINDEX" | "CLUSTER" | "CHECKPOINT" | "SHOW" | "TABLE" | "ABORT"
            | "SECURITY" | "UNLISTEN" | "LOAD" | "REASSIGN" | "RELEASE" | "END" => {
                "a procedure only reads and writes rows, by SELECT, INSERT, UPDATE and DELETE"
            }
            _ => {
                let shown = self.source.piece(span);
                let sentence =
                    format!("`{shown}` is neither a variable nor the beginning of a statement");
                return self.syntax(span, sentence).advise(keyword_meant(self.cursor.peek()));
            }
        };
        self.outside(span, word, advice)
    }
}
