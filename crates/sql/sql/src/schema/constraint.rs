//! Keys, foreign keys and CHECK constraints, of a table or of a column.

use super::SchemaReader;
use super::draft::Key;
use crate::catalog::{Catalog, Check, ForeignKey, Index, ReferentialAction};
use crate::error::{ErrorKind, Result};
use crate::namespace::{beside, own_name};
use crate::parse;
use crate::resolve::Resolver;
use crate::resolve::coerce::common_type;
use crate::resolve::names::Names;
use crate::resolve::scope::{Scope, Visible};
use crate::types::Field;
use layout::IndexKind;
use sqlparser::tokenizer::{Span, Token};

impl SchemaReader<'_> {
    /// Whether a table constraint begins here, rather than a column.
    pub(super) fn is_constraint(&self) -> bool {
        let at = if self.cursor.is_word("CONSTRAINT") { 2 } else { 0 };
        let keyed = (self.cursor.is_word_at(at, "PRIMARY")
            || self.cursor.is_word_at(at, "FOREIGN"))
            && self.cursor.is_word_at(at + 1, "KEY");
        let listed = (self.cursor.is_word_at(at, "UNIQUE") || self.cursor.is_word_at(at, "CHECK"))
            && self.cursor.peek_at(at + 1) == Some(&Token::LParen);
        keyed || listed || self.cursor.is_word_at(at, "EXCLUDE") || self.cursor.is_word("LIKE")
    }

    /// Parses a constraint of a table, or of the column declared last before it.
    pub(super) fn late_constraint(&mut self, table: usize) -> Result<()> {
        let owner = self.owner(table);
        let named = if self.cursor.accept_word("CONSTRAINT") {
            let (name, place) = self.cursor.identifier("the constraint's name")?;
            Some((beside(&self.drafts[table].name, &name), place))
        } else {
            None
        };
        let span = self.cursor.span();
        if self.cursor.accept_words(&["PRIMARY", "KEY"]) {
            let columns = self.key_columns(table, owner)?;
            self.primary_key(table, named, columns, span)?;
        } else if self.cursor.accept_word("UNIQUE") {
            let columns = self.key_columns(table, owner)?;
            self.unique(table, named, columns)?;
        } else if self.cursor.accept_words(&["FOREIGN", "KEY"]) {
            let columns = self.key_columns(table, None)?;
            self.cursor.expect_word("REFERENCES")?;
            self.references(table, named, columns, span)?;
        } else if self.cursor.accept_word("REFERENCES") {
            self.references(table, named, owner.into_iter().collect(), span)?;
        } else if self.cursor.accept_word("CHECK") {
            self.check(table, named, span)?;
        } else {
            let advice = "write PRIMARY KEY, UNIQUE, FOREIGN KEY or CHECK";
            return Err(self.cursor.outside(span, "this constraint", advice));
        }
        self.deferrable()
    }

    /// The column of a constraint without a column list: the last one declared before it.
    fn owner(&self, table: usize) -> Option<usize> {
        if self.added_column.is_some() {
            return self.added_column;
        }
        let before = self.cursor.position();
        let mut depth = 0_i32;
        let mut position = before;
        // Go back to the comma or parenthesis before the column.
        while position > 0 {
            match &self.cursor.slice(position - 1, position).first()?.token {
                Token::RParen => depth += 1,
                Token::LParen if depth == 0 => break,
                Token::LParen => depth -= 1,
                Token::Comma if depth == 0 => break,
                _ => {}
            }
            position -= 1;
        }
        match &self.cursor.slice(position, position + 1).first()?.token {
            Token::Word(word) if position < before => {
                self.drafts[table].column(&crate::token::name_of(word))
            }
            _ => None,
        }
    }

    fn key_columns(&mut self, table: usize, owner: Option<usize>) -> Result<Vec<usize>> {
        if let Some(owner) = owner {
            return Ok(vec![owner]);
        }
        self.cursor.expect(&Token::LParen)?;
        let mut columns = Vec::new();
        loop {
            let span = self.cursor.span();
            let column = self.own_column(table)?;
            if columns.contains(&column) {
                return Err(self.cursor.error(
                    span,
                    ErrorKind::Name,
                    "a key may not have a column twice",
                ));
            }
            columns.push(column);
            if self.cursor.accept(&Token::RParen) {
                return Ok(columns);
            }
            self.cursor.expect(&Token::Comma)?;
        }
    }

    fn primary_key(
        &mut self,
        table: usize,
        named: Option<(String, Span)>,
        columns: Vec<usize>,
        span: Span,
    ) -> Result<()> {
        if self.drafts[table].primary.is_some() {
            let sentence =
                format!("the table `{}` has a primary key already", self.drafts[table].name);
            let message = format!(
                "multiple primary keys for table \"{}\" are not allowed",
                self.drafts[table].name
            );
            let error = self.cursor.error(span, ErrorKind::Name, sentence);
            return Err(error.in_postgres("42P16", message));
        }
        let own = self.drafts[table].name.clone();
        let name = match named {
            Some((name, place)) => self.claim(name, place)?,
            None => self.choose_name(&own, &[], "pkey"),
        };
        for &column in &columns {
            self.drafts[table].columns[column].nullable = false;
        }
        self.drafts[table].primary = Some(Key { name, columns });
        Ok(())
    }

    fn unique(
        &mut self,
        table: usize,
        named: Option<(String, Span)>,
        columns: Vec<usize>,
    ) -> Result<()> {
        let name = match named {
            Some((name, place)) => self.claim(name, place)?,
            None => {
                let (own, parts) = self.parts(table, &columns);
                self.choose_name(&own, &parts, "key")
            }
        };
        let index = Index { name, columns, unique: true, kind: IndexKind::Tree };
        self.drafts[table].indexes.push(index);
        Ok(())
    }

    fn parts(&self, table: usize, columns: &[usize]) -> (String, Vec<String>) {
        let draft = &self.drafts[table];
        let parts = columns.iter().map(|&column| draft.columns[column].name.clone()).collect();
        (draft.name.clone(), parts)
    }

    fn references(
        &mut self,
        table: usize,
        named: Option<(String, Span)>,
        columns: Vec<usize>,
        span: Span,
    ) -> Result<()> {
        let target = self.table()?;
        let references = if self.cursor.peek() == Some(&Token::LParen) {
            self.key_columns(target, None)?
        } else {
            self.drafts[target].primary.as_ref().map(|key| key.columns.clone()).unwrap_or_default()
        };
        let (ours, theirs) = (&self.drafts[table], &self.drafts[target]);
        if references.len() != columns.len() || !theirs.has_unique(&references) {
            let sentence = format!("`{}` has no key with these columns", theirs.name);
            let message = format!(
                "there is no unique constraint matching given keys for referenced table \"{}\"",
                theirs.name
            );
            let error = self.cursor.error(span, ErrorKind::Name, sentence);
            return Err(error.in_postgres("42830", message));
        }
        for (&column, &reference) in columns.iter().zip(&references) {
            let (column, reference) = (&ours.columns[column], &theirs.columns[reference]);
            if common_type(&[column.sql_type.base(), reference.sql_type.base()]).is_none() {
                let sentence =
                    format!("`{}` cannot be compared with `{}`", column.name, reference.name);
                return Err(self.cursor.error(span, ErrorKind::Type, sentence));
            }
        }
        let name = match named {
            Some((name, _)) => name,
            None => {
                let (own, parts) = self.parts(table, &columns);
                format!("{own}_{}_fkey", parts.join("_"))
            }
        };
        let (mut on_delete, mut on_update) = Default::default();
        self.reference_actions(table, &columns, [&mut on_delete, &mut on_update])?;
        let key = ForeignKey { name, columns, table: target, references, on_delete, on_update };
        self.drafts[table].foreign_keys.push(key);
        Ok(())
    }

    fn reference_actions(
        &mut self,
        table: usize,
        columns: &[usize],
        [on_delete, on_update]: [&mut ReferentialAction; 2],
    ) -> Result<()> {
        loop {
            let span = self.cursor.span();
            if self.cursor.accept_word("MATCH") {
                if self.cursor.accept_word("SIMPLE") {
                    continue;
                }
                return Err(self.cursor.outside(span, "MATCH", "leave it out"));
            }
            if !self.cursor.accept_word("ON") {
                return Ok(());
            }
            if self.cursor.accept_word("DELETE") {
                *on_delete = self.reference_action(table, columns, true)?;
            } else {
                self.cursor.expect_word("UPDATE")?;
                *on_update = self.reference_action(table, columns, false)?;
            }
        }
    }

    fn reference_action(
        &mut self,
        table: usize,
        columns: &[usize],
        is_of_delete: bool,
    ) -> Result<ReferentialAction> {
        if self.cursor.accept_words(&["NO", "ACTION"]) {
            return Ok(ReferentialAction::NoAction);
        }
        if self.cursor.accept_word("RESTRICT") {
            return Ok(ReferentialAction::Restrict);
        }
        if self.cursor.accept_word("CASCADE") {
            return Ok(ReferentialAction::Cascade);
        }
        self.cursor.expect_word("SET")?;
        let sets_null = self.cursor.accept_word("NULL");
        if !sets_null {
            self.cursor.expect_word("DEFAULT")?;
        }
        let mut set = columns.to_vec();
        let span = self.cursor.span();
        if self.cursor.peek() == Some(&Token::LParen) {
            set = self.key_columns(table, None)?;
            if !is_of_delete {
                let sentence = "a column list with SET is only for ON DELETE";
                let message = "a column list with SET NULL is only supported for ON DELETE actions";
                let error = self.cursor.error(span, ErrorKind::Name, sentence);
                return Err(error.in_postgres("0A000", message));
            }
            if let Some(&other) = set.iter().find(|column| !columns.contains(column)) {
                let name = &self.drafts[table].columns[other].name;
                let sentence = format!("`{name}` is no column of the foreign key");
                let message = format!(
                    "column \"{name}\" referenced in ON DELETE SET action must be part of foreign key"
                );
                let error = self.cursor.error(span, ErrorKind::Name, sentence);
                return Err(error.in_postgres("42P10", message));
            }
        }
        Ok(match sets_null {
            true => ReferentialAction::SetNull(set),
            false => ReferentialAction::SetDefault(set),
        })
    }

    fn deferrable(&mut self) -> Result<()> {
        let span = self.cursor.span();
        self.cursor.accept_words(&["NOT", "DEFERRABLE"]);
        if self.cursor.accept_word("DEFERRABLE") || self.cursor.is_word("INITIALLY") {
            return Err(self.cursor.outside(span, "DEFERRABLE", "leave it out"));
        }
        if self.cursor.is_word("USING")
            || self.cursor.is_word("INCLUDE")
            || self.cursor.is_words(&["NO", "INHERIT"])
        {
            return Err(self.cursor.outside(
                self.cursor.span(),
                "a clause after a constraint",
                "leave it out",
            ));
        }
        Ok(())
    }

    fn check(&mut self, table: usize, named: Option<(String, Span)>, span: Span) -> Result<()> {
        self.cursor.expect(&Token::LParen)?;
        let tokens = self.cursor.take_until(|token| *token == Token::RParen)?;
        self.cursor.expect(&Token::RParen)?;
        let node = parse::expression(self.source, &tokens, span)?;
        let draft = &self.drafts[table];
        let field = |column: &crate::catalog::TableColumn| Field {
            name: column.name.clone(),
            sql_type: column.sql_type.clone(),
        };
        let columns = draft.columns.iter().map(field).collect();
        let visible = Visible {
            alias: own_name(&draft.name).to_owned(),
            columns,
            merged: Vec::new(),
            is_scalar: false,
            full: None,
        };
        let scope = Scope { parent: None, sources: vec![visible] };
        let (catalog, names) = (Catalog::default(), Names::default());
        let mut resolver = Resolver::new(self.source, &catalog, &names, &[], span);
        let condition = resolver.expr(&scope, &node)?;
        let condition = resolver.truth(condition, span)?;
        if condition.has_subquery() {
            return Err(self.cursor.error(
                span,
                ErrorKind::Type,
                "a CHECK may not contain a sub-select",
            ));
        }
        let name = match named {
            Some((name, _)) => name,
            None => self.choose_check_name(table, &condition),
        };
        self.drafts[table].checks.push(Check { name, condition });
        Ok(())
    }
}
