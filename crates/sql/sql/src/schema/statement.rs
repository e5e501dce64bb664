//! The statements of a schema: `CREATE TABLE`, `CREATE INDEX` and `ALTER TABLE ... ADD`.

use super::SchemaReader;
use super::draft::Draft;
use crate::catalog::Index;
use crate::error::{Error, ErrorKind, Result};
use crate::namespace::beside;
use crate::token::token_is_word;
use layout::IndexKind;
use sqlparser::tokenizer::{Span, Token};

/// Words that may follow the columns of a table in PostgreSQL.
const CLAUSES: [&str; 7] =
    ["WITH", "WITHOUT", "PARTITION", "INHERITS", "TABLESPACE", "ON", "USING"];

impl SchemaReader<'_> {
    pub(super) fn statement(&mut self) -> Result<()> {
        if self.cursor.accept(&Token::SemiColon) {
            return Ok(());
        }
        if self.cursor.accept_words(&["CREATE", "TABLE"]) {
            self.create_table()?;
        } else if self.cursor.is_words(&["CREATE", "UNIQUE", "INDEX"])
            || self.cursor.is_words(&["CREATE", "INDEX"])
        {
            self.create_index()?;
        } else if self.cursor.accept_words(&["ALTER", "TABLE"]) {
            self.alter_table()?;
        } else if self.is_session && self.cursor.accept_words(&["ALTER", "INDEX"]) {
            self.alter_index()?;
        } else if self.is_session && self.cursor.accept_words(&["DROP", "TABLE"]) {
            self.drop_table()?;
        } else {
            return Err(self.refused_statement());
        }
        if self.cursor.is_at_end() {
            return Ok(());
        }
        self.cursor.expect(&Token::SemiColon)
    }

    fn create_table(&mut self) -> Result<()> {
        self.if_not_exists();
        let (name, place) = self.relation("the table's name")?;
        if self.relations.contains(&name) {
            let sentence = format!("a table or index `{name}` already exists");
            return Err(exists(self.cursor.error(place, ErrorKind::Name, sentence), &name));
        }
        self.relations.push(name.clone());
        self.drafts.push(Draft::new(name, place));
        let table = self.drafts.len() - 1;
        let mut late = Vec::new();
        self.cursor.expect(&Token::LParen)?;
        loop {
            let from = self.cursor.position();
            if let Err(error) = self.part(table, &mut late) {
                self.skip_part(from, error)?;
            }
            if !self.cursor.accept(&Token::Comma) {
                break;
            }
        }
        self.cursor.expect(&Token::RParen)?;
        let end = self.cursor.position();
        for (from, to) in late {
            self.cursor.rewind(from);
            let read = match self.late_constraint(table) {
                Ok(()) if self.cursor.position() != to => {
                    Err(self.cursor.expected("a comma or the next constraint"))
                }
                read => read,
            };
            if let Err(error) = read {
                self.skip_constraint(table, from, to, error);
            }
        }
        self.cursor.rewind(end);
        let is_partial = ["PARTITION", "INHERITS"].iter().any(|word| self.cursor.is_word(word));
        match self.cursor.peek() {
            None | Some(Token::SemiColon) => Ok(()),
            Some(_) if self.is_session && is_partial => {
                let (advice, span) = ("write one table with all rows", self.cursor.span());
                Err(self.cursor.outside(span, "a table that is part of others", advice))
            }
            Some(_) if self.is_session && CLAUSES.iter().any(|word| self.cursor.is_word(word)) => {
                self.skip_clauses();
                Ok(())
            }
            Some(_) if !CLAUSES.iter().any(|word| self.cursor.is_word(word)) => {
                Err(self.cursor.expected("`;`"))
            }
            Some(_) => {
                let advice = "end the statement here; SPADE chooses the physical design";
                Err(self.cursor.outside(self.cursor.span(), "a clause after the columns", advice))
            }
        }
    }

    /// Skips a constraint, which is parsed when all columns are known.
    pub(super) fn skip_element(&mut self) -> Result<()> {
        self.cursor.take_until(|token| matches!(token, Token::Comma | Token::RParen)).map(|_| ())
    }

    /// Parses a column of `CREATE TABLE`, or records the position of a constraint in `late`:
    /// constraints are parsed when all columns are known.
    fn part(&mut self, table: usize, late: &mut Vec<(usize, usize)>) -> Result<()> {
        if self.is_constraint() {
            let from = self.cursor.position();
            self.skip_element()?;
            late.push((from, self.cursor.position()));
        } else {
            self.column(table, late)?;
        }
        match self.cursor.peek() {
            Some(Token::Comma | Token::RParen) => Ok(()),
            _ => Err(self.cursor.expected("`,` or `)`")),
        }
    }

    fn create_index(&mut self) -> Result<()> {
        self.cursor.expect_word("CREATE")?;
        let unique = self.cursor.accept_word("UNIQUE");
        self.cursor.expect_word("INDEX")?;
        let span = self.cursor.span();
        if self.cursor.accept_word("CONCURRENTLY") && !self.is_session {
            return Err(self.cursor.outside(span, "CONCURRENTLY", "leave it out"));
        }
        let wants_name = self.if_not_exists();
        let named = if self.cursor.is_word("ON") && !wants_name {
            None
        } else {
            Some(self.cursor.identifier("the index's name")?)
        };
        self.cursor.expect_word("ON")?;
        self.cursor.accept_word("ONLY");
        let table = self.table()?;
        let kind = self.index_kind()?;
        let (mut columns, parts) = self.index_columns(table)?;
        if kind == IndexKind::Hash && (unique || columns.len() > 1) {
            let sentence = "a hash index of PostgreSQL has exactly one column and is not unique";
            return Err(self.cursor.error(span, ErrorKind::Type, sentence));
        }
        if self.is_session && (self.cursor.is_word("WITH") || self.cursor.is_word("TABLESPACE")) {
            self.cursor
                .take_until(|token| *token == Token::SemiColon || token_is_word(token, "WHERE"))?;
        }
        if self.is_session && self.cursor.accept_word("WHERE") {
            columns.insert(0, self.index_predicate(table)?);
        }
        if !matches!(self.cursor.peek(), None | Some(Token::SemiColon)) {
            let advice = "index all rows, by plain columns";
            return Err(self.cursor.outside(self.cursor.span(), "a clause after an index", advice));
        }
        let own = self.drafts[table].name.clone();
        let name = match named {
            Some((name, place)) => self.claim(beside(&own, &name), place)?,
            None => self.choose_name(&own, &parts, "idx"),
        };
        self.drafts[table].indexes.push(Index { name, columns, unique, kind });
        Ok(())
    }

    fn index_kind(&mut self) -> Result<IndexKind> {
        if !self.cursor.accept_word("USING") {
            return Ok(IndexKind::Tree);
        }
        let (method, span) = self.cursor.name("`btree` or `hash`")?;
        match &*method {
            "btree" => Ok(IndexKind::Tree),
            "hash" => Ok(IndexKind::Hash),
            "gin" | "gist" | "spgist" | "brin" => {
                Err(self.cursor.outside(span, "this index type", "write btree or hash"))
            }
            _ => Err(self.cursor.error(
                span,
                ErrorKind::Name,
                format!("there is no index type `{method}`"),
            )),
        }
    }

    /// The columns of an index, and their names in that of the index.
    fn index_columns(&mut self, table: usize) -> Result<(Vec<usize>, Vec<String>)> {
        let (mut columns, mut names) = (Vec::new(), Vec::new());
        self.cursor.expect(&Token::LParen)?;
        loop {
            let (column, name) = if self.is_index_expression() {
                self.index_expression(table)?
            } else {
                let column = self.own_column(table)?;
                (column, self.drafts[table].columns[column].name.clone())
            };
            columns.push(column);
            // PostgreSQL counts up parts with the same name.
            let numbered = (0..).map(|number| match number {
                0 => name.clone(),
                number => format!("{name}{number}"),
            });
            names.extend(numbered.into_iter().find(|name| !names.contains(name)));
            self.skip_order_in_session();
            self.cursor.accept_word("ASC");
            let span = self.cursor.span();
            if self.cursor.is_word("DESC") || self.cursor.is_word("NULLS") {
                let advice = "leave it out; trees are read in both directions";
                return Err(self.cursor.outside(span, "an order of an index", advice));
            }
            if matches!(self.cursor.peek(), Some(Token::Word(_))) {
                return Err(self.cursor.outside(
                    span,
                    "an option of an indexed column",
                    "leave it out",
                ));
            }
            if self.cursor.accept(&Token::RParen) {
                return Ok((columns, names));
            }
            self.cursor.expect(&Token::Comma)?;
        }
    }

    fn alter_table(&mut self) -> Result<()> {
        self.cursor.accept_words(&["IF", "EXISTS"]);
        self.cursor.accept_word("ONLY");
        let table = self.table()?;
        loop {
            let span = self.cursor.span();
            let is_known = match self.is_session {
                true => self.change(table)?,
                false => self.adds_constraint(table)?,
            };
            if !is_known {
                let advice = "write ALTER TABLE ... ADD [CONSTRAINT name] PRIMARY KEY, UNIQUE, FOREIGN KEY or CHECK, \
                              and all else in CREATE TABLE";
                return Err(self.cursor.outside(span, "this change of a table", advice));
            }
            if !self.cursor.accept(&Token::Comma) {
                return Ok(());
            }
        }
    }

    fn adds_constraint(&mut self, table: usize) -> Result<bool> {
        let adds = self.cursor.accept_word("ADD") && self.is_constraint();
        if adds {
            self.late_constraint(table)?;
        }
        Ok(adds)
    }

    fn if_not_exists(&mut self) -> bool {
        self.cursor.accept_words(&["IF", "NOT", "EXISTS"])
    }

    /// Parses the name of a table; the schema `public` may precede it.
    pub(super) fn relation(&mut self, what: &str) -> Result<(String, Span)> {
        let (name, span) = self.cursor.identifier(what)?;
        if !self.cursor.accept(&Token::Period) {
            return Ok((name, span));
        }
        if name != "public" {
            return Err(self.cursor.outside(
                span,
                "a table of another schema",
                "write the name alone",
            ));
        }
        self.cursor.identifier(what)
    }

    /// Position of an existing table.
    pub(super) fn table(&mut self) -> Result<usize> {
        let (name, span) = self.relation("a table's name")?;
        let position = self.drafts.iter().position(|draft| draft.name == name);
        position.ok_or_else(|| {
            let sentence = format!("no table `{name}` is created before this line");
            let message = format!("relation \"{name}\" does not exist");
            self.cursor.error(span, ErrorKind::Name, sentence).in_postgres("42P01", message)
        })
    }

    /// Position of a column of a table.
    pub(super) fn own_column(&mut self, table: usize) -> Result<usize> {
        let (name, span) = self.cursor.identifier("a column's name")?;
        let draft = &self.drafts[table];
        draft.column(&name).ok_or_else(|| {
            let sentence = format!("the table `{}` has no column `{name}`", draft.name);
            let message = format!("column \"{name}\" does not exist");
            self.cursor.error(span, ErrorKind::Name, sentence).in_postgres("42703", message)
        })
    }

    /// Skips to the end of the statement.
    fn skip_clauses(&mut self) {
        while !self.cursor.is_at_end() && self.cursor.peek() != Some(&Token::SemiColon) {
            self.cursor.next();
        }
    }

    /// Skips the order of an indexed column, and the name of its operators: a session's index has
    /// neither, but finds the same rows.
    fn skip_order_in_session(&mut self) {
        while self.is_session && matches!(self.cursor.peek(), Some(Token::Word(_))) {
            self.cursor.next();
        }
    }
}

pub(super) fn exists(error: Error, name: &str) -> Error {
    error.in_postgres("42P07", format!("relation \"{name}\" already exists"))
}
