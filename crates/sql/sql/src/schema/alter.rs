//! `ALTER TABLE` and `ALTER INDEX` of SQL sessions, beyond constraints that are added.
//!
//! A statement changes the tables that the statements before it have made. Other tables refer to
//! columns by position, so a column that goes takes its keys, indexes and checks with it, and moves
//! the positions behind it.

use super::SchemaReader;
use super::draft::{Draft, refusal};
use super::statement::exists;
use crate::catalog::{Catalog, ForeignKey, Identity, ReferentialAction};
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{Expr, ExprKind};
use crate::namespace::beside;
use crate::resolve::Resolver;
use crate::resolve::coerce::Context;
use crate::resolve::names::Names;
use sqlparser::tokenizer::{Span, Token};

impl SchemaReader<'_> {
    /// Changes a table, behind its name; returns whether the words begin such a change.
    pub(super) fn change(&mut self, table: usize) -> Result<bool> {
        if self.cursor.accept_word("ADD") {
            if self.is_constraint() {
                self.late_constraint(table)?;
            } else {
                self.add_column(table)?;
            }
        } else if self.cursor.accept_words(&["DROP", "CONSTRAINT"]) {
            self.drop_constraint(table)?;
        } else if self.cursor.accept_word("DROP") {
            self.drop_column(table)?;
        } else if self.cursor.accept_word("RENAME") {
            self.rename(table)?;
        } else if self.cursor.accept_word("ALTER") {
            self.alter_column(table)?;
        } else if self.cursor.accept_words(&["SET", "SCHEMA"]) {
            self.set_schema(table)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn add_column(&mut self, table: usize) -> Result<()> {
        self.cursor.accept_word("COLUMN");
        let wants_none = self.cursor.accept_words(&["IF", "NOT", "EXISTS"]);
        if wants_none {
            let from = self.cursor.position();
            let (name, _) = self.cursor.identifier("a column's name")?;
            if self.drafts[table].column(&name).is_some() {
                self.cursor.take_until(|token| matches!(token, Token::Comma | Token::SemiColon))?;
                return Ok(());
            }
            self.cursor.rewind(from);
        }
        let mut late = Vec::new();
        self.column(table, &mut late)?;
        let end = self.cursor.position();
        self.added_column = Some(self.drafts[table].visible() - 1);
        let constraints = late.into_iter().try_for_each(|(from, to)| {
            self.cursor.rewind(from);
            self.late_constraint(table)?;
            match self.cursor.position() == to {
                true => Ok(()),
                false => Err(self.cursor.expected("a comma or the next constraint")),
            }
        });
        self.added_column = None;
        self.cursor.rewind(end);
        constraints
    }

    fn alter_column(&mut self, table: usize) -> Result<()> {
        self.cursor.accept_word("COLUMN");
        let column = self.column_of(table)?;
        let span = self.cursor.span();
        if self.cursor.accept_words(&["SET", "DEFAULT"]) {
            self.refuse_identity(table, column, span)?;
            self.drafts[table].columns[column].default = None;
            self.default(table, column)?;
        } else if self.cursor.accept_words(&["DROP", "DEFAULT"]) {
            self.refuse_identity(table, column, span)?;
            self.drafts[table].columns[column].default = None;
        } else if self.cursor.is_words(&["DROP", "IDENTITY"])
            || self.cursor.is_words(&["SET", "GENERATED"])
            || self.cursor.is_words(&["ADD", "GENERATED"])
        {
            self.alter_identity(table, column, span)?;
        } else if self.cursor.accept_words(&["SET", "NOT", "NULL"]) {
            self.drafts[table].columns[column].nullable = false;
        } else if self.cursor.accept_words(&["DROP", "NOT", "NULL"]) {
            let draft = &mut self.drafts[table];
            if draft.primary.as_ref().is_some_and(|key| key.columns.contains(&column)) {
                let name = draft.columns[column].name.clone();
                let sentence = format!("the column `{name}` is a part of the primary key");
                let message = format!("column \"{name}\" is in a primary key");
                let error = self.cursor.error(span, ErrorKind::Type, sentence);
                return Err(error.in_postgres("42P16", message));
            }
            draft.columns[column].nullable = true;
        } else if self.cursor.accept_word("TYPE")
            || self.cursor.accept_words(&["SET", "DATA", "TYPE"])
        {
            self.alter_type(table, column)?;
        } else if self.cursor.accept_words(&["SET", "STATISTICS"])
            || self.cursor.accept_words(&["SET", "STORAGE"])
        {
            self.cursor.next();
        } else {
            let advice =
                "write SET or DROP DEFAULT, SET or DROP NOT NULL, TYPE, or ADD or SET GENERATED";
            return Err(self.cursor.outside(span, "this change of a column", advice));
        }
        Ok(())
    }

    /// Refuses a default of an identity column.
    fn refuse_identity(&self, table: usize, column: usize, span: Span) -> Result<()> {
        let draft = &self.drafts[table];
        let column = &draft.columns[column];
        if column.identity.is_none() {
            return Ok(());
        }
        let (name, of) = (&column.name, &draft.name);
        let message = format!("column \"{name}\" of relation \"{of}\" is an identity column");
        let error = self.cursor.error(span, ErrorKind::Type, &*message);
        Err(error
            .in_postgres("42601", message)
            .advise("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead."))
    }

    /// `ADD` and `SET GENERATED ...`, and `DROP IDENTITY [IF EXISTS]`.
    fn alter_identity(&mut self, table: usize, column: usize, span: Span) -> Result<()> {
        let draft = &self.drafts[table];
        let own = &draft.columns[column];
        let of = format!("column \"{}\" of relation \"{}\"", own.name, draft.name);
        let (is_identity, is_nullable) = (own.identity.is_some(), own.nullable);
        let refuse = |reader: &Self, problem: &str| {
            let message = format!("{of} {problem}");
            reader.cursor.error(span, ErrorKind::Type, &*message).in_postgres("55000", message)
        };
        if self.cursor.accept_words(&["ADD", "GENERATED"]) {
            if is_identity {
                return Err(refuse(self, "is already an identity column"));
            }
            if is_nullable {
                return Err(refuse(self, "must be declared NOT NULL before identity can be added"));
            }
            if self.drafts[table].columns[column].default.is_some() {
                return Err(refuse(self, "already has a default value"));
            }
            return self.identity(table, column, span);
        }
        if self.cursor.accept_words(&["SET", "GENERATED"]) {
            if !is_identity {
                return Err(refuse(self, "is not an identity column"));
            }
            let form: Identity = self.identity_form()?;
            self.drafts[table].columns[column].identity = Some(form);
            return Ok(());
        }
        self.cursor.accept_words(&["DROP", "IDENTITY"]);
        let may_lack = self.cursor.accept_words(&["IF", "EXISTS"]);
        if !is_identity && !may_lack {
            return Err(refuse(self, "is not an identity column"));
        }
        if is_identity {
            let column = &mut self.drafts[table].columns[column];
            (column.default, column.identity) = (None, None);
        }
        Ok(())
    }

    /// `TYPE type [USING value]`. The session computes the values.
    fn alter_type(&mut self, table: usize, column: usize) -> Result<()> {
        let from = self.cursor.position();
        let sql_type = self.column_type(table)?;
        let span = self.cursor.span_from(from);
        if let Some((what, advice)) = refusal(&sql_type, true) {
            return Err(self.cursor.outside(span, &what, advice));
        }
        if !sql_type.is_long() && sql_type.column_type().is_none() {
            let sentence = format!("a column cannot be {sql_type}");
            return Err(self.cursor.error(span, ErrorKind::Type, sentence));
        }
        if self.cursor.accept_word("USING") {
            self.cursor.take_until(|token| matches!(token, Token::Comma | Token::SemiColon))?;
        }
        let draft = &self.drafts[table];
        let old = &draft.columns[column];
        let is_checked = draft.checks.iter().any(|check| uses(&check.condition, column));
        if is_checked && old.sql_type.base() != sql_type.base() {
            let advice = "drop the check, change the type, and add the check again";
            return Err(self.cursor.outside(span, "another type of a column with a CHECK", advice));
        }
        if draft.computed.iter().any(|value| uses(value, column)) && old.sql_type != sql_type {
            let advice = "drop the index, change the type, and create the index again";
            let what = "another type of a column that an index has in an expression";
            return Err(self.cursor.outside(span, what, advice));
        }
        let name = old.name.clone();
        let default = old.default.clone().map(|default| {
            let (catalog, names) = (Catalog::default(), Names::default());
            let resolver = Resolver::new(self.source, &catalog, &names, &[], span);
            resolver.convert(default, &sql_type, Context::Assignment, span).map_err(|_| {
                let sentence = format!("the default of `{name}` does not become {sql_type}");
                let message = format!(
                    "default for column \"{name}\" cannot be cast automatically to type {sql_type}"
                );
                let error = self.cursor.error(span, ErrorKind::Type, sentence);
                error.in_postgres("42804", message)
            })
        });
        let default = default.transpose()?;
        let column = &mut self.drafts[table].columns[column];
        (column.sql_type, column.default) = (sql_type, default);
        Ok(())
    }

    fn drop_column(&mut self, table: usize) -> Result<()> {
        self.cursor.accept_word("COLUMN");
        let may_lack = self.cursor.accept_words(&["IF", "EXISTS"]);
        let span = self.cursor.span();
        let from = self.cursor.position();
        let (name, _) = self.cursor.identifier("a column's name")?;
        let Some(column) = self.drafts[table].column(&name) else {
            if may_lack {
                self.cascades();
                return Ok(());
            }
            self.cursor.rewind(from);
            return self.column_of(table).map(drop);
        };
        let cascades = self.cascades();
        if self.drafts[table].visible() == 1 {
            let advice = "drop the table, or add another column first";
            return Err(self.cursor.outside(span, "a table without columns", advice));
        }
        let refers = |key: &ForeignKey| key.table == table && key.references.contains(&column);
        let what = format!("column {name} of table {}", self.drafts[table].name);
        self.drop_references(table, &refers, cascades, &what, span)?;
        let gone = self.drafts[table].drop_column(column);
        self.relations.retain(|relation| !gone.contains(relation));
        for key in self.drafts.iter_mut().flat_map(|draft| &mut draft.foreign_keys) {
            if key.table == table {
                key.references.iter_mut().for_each(|at| *at -= usize::from(*at > column));
            }
        }
        Ok(())
    }

    /// Drops foreign keys of other tables, or refuses that without `CASCADE`.
    fn drop_references(
        &mut self,
        table: usize,
        refers: &dyn Fn(&ForeignKey) -> bool,
        cascades: bool,
        what: &str,
        span: Span,
    ) -> Result<()> {
        for (_, draft) in self.drafts.iter_mut().enumerate().filter(|(at, _)| *at != table) {
            let Some(key) = draft.foreign_keys.iter().find(|key| refers(key)) else { continue };
            if cascades {
                draft.foreign_keys.retain(|key| !refers(key));
                continue;
            }
            let sentence = format!("`{}` refers to {what}", draft.name);
            let message = format!("cannot drop {what} because other objects depend on it");
            let detail =
                format!("constraint {} on table {} depends on {what}", key.name, draft.name);
            let error = self.cursor.error(span, ErrorKind::Name, sentence).advise(detail);
            return Err(error.in_postgres("2BP01", message));
        }
        Ok(())
    }

    fn drop_constraint(&mut self, table: usize) -> Result<()> {
        let may_lack = self.cursor.accept_words(&["IF", "EXISTS"]);
        let (name, span) = self.cursor.identifier("the constraint's name")?;
        let cascades = self.cascades();
        let draft = &self.drafts[table];
        let name = beside(&draft.name, &name);
        let primary = draft.primary.as_ref().filter(|key| key.name == name);
        let unique = draft.indexes.iter().find(|index| index.unique && index.name == name);
        let key = primary.map(|key| &key.columns).or(unique.map(|index| &index.columns)).cloned();
        if let Some(columns) = key {
            let is_primary = primary.is_some();
            let refers = |key: &ForeignKey| {
                let has = |column: &usize| columns.contains(column);
                key.table == table
                    && key.references.len() == columns.len()
                    && key.references.iter().all(has)
            };
            let what = format!("constraint {name} on table {}", draft.name);
            self.drop_references(table, &refers, cascades, &what, span)?;
            let draft = &mut self.drafts[table];
            match is_primary {
                true => draft.primary = None,
                false => draft.indexes.retain(|index| index.name != name),
            }
            draft.drop_unused();
            self.relations.retain(|relation| *relation != name);
            return Ok(());
        }
        let draft = &mut self.drafts[table];
        let before = draft.checks.len() + draft.foreign_keys.len();
        draft.checks.retain(|check| check.name != name);
        draft.foreign_keys.retain(|key| key.name != name);
        if draft.checks.len() + draft.foreign_keys.len() == before && !may_lack {
            return Err(self.no_constraint(table, &name, span));
        }
        Ok(())
    }

    fn no_constraint(&self, table: usize, name: &str, span: Span) -> Error {
        let own = &self.drafts[table].name;
        let sentence = format!("the table `{own}` has no constraint `{name}`");
        let message = format!("constraint \"{name}\" of relation \"{own}\" does not exist");
        self.cursor.error(span, ErrorKind::Name, sentence).in_postgres("42704", message)
    }

    fn rename(&mut self, table: usize) -> Result<()> {
        if self.cursor.accept_word("TO") {
            let (name, place) = self.cursor.identifier("the table's new name")?;
            let name = self.claim(beside(&self.drafts[table].name, &name), place)?;
            let draft = &mut self.drafts[table];
            let old = std::mem::replace(&mut draft.name, name);
            self.relations.retain(|relation| *relation != old);
            return Ok(());
        }
        if self.cursor.accept_word("CONSTRAINT") {
            let (name, span) = self.cursor.identifier("the constraint's name")?;
            self.cursor.expect_word("TO")?;
            let (new, place) = self.cursor.identifier("the constraint's new name")?;
            let own = &self.drafts[table].name;
            let (name, new) = (beside(own, &name), beside(own, &new));
            return self.rename_constraint(table, &name, span, (new, place));
        }
        self.cursor.accept_word("COLUMN");
        let column = self.column_of(table)?;
        self.cursor.expect_word("TO")?;
        let (name, span) = self.cursor.identifier("the column's new name")?;
        let draft = &self.drafts[table];
        if draft.column(&name).is_some() {
            let sentence = format!("the table `{}` has a column `{name}` already", draft.name);
            let message =
                format!("column \"{name}\" of relation \"{}\" already exists", draft.name);
            let error = self.cursor.error(span, ErrorKind::Name, sentence);
            return Err(error.in_postgres("42701", message));
        }
        self.drafts[table].columns[column].name = name;
        Ok(())
    }

    fn rename_constraint(
        &mut self,
        table: usize,
        name: &str,
        span: Span,
        (new, place): (String, Span),
    ) -> Result<()> {
        let draft = &mut self.drafts[table];
        let check = draft.checks.iter_mut().find(|check| check.name == name);
        let check = check.map(|check| &mut check.name);
        let key = draft.foreign_keys.iter_mut().find(|key| key.name == name);
        if let Some(found) = check.or(key.map(|key| &mut key.name)) {
            *found = new;
            return Ok(());
        }
        match self.rename_index(name, (new, place))? {
            true => Ok(()),
            false => Err(self.no_constraint(table, name, span)),
        }
    }

    /// Renames the index or primary key with this name; returns whether there is one.
    fn rename_index(&mut self, name: &str, (new, place): (String, Span)) -> Result<bool> {
        let is_it = |draft: &Draft| {
            draft.primary.as_ref().is_some_and(|key| key.name == name)
                || draft.indexes.iter().any(|index| index.name == name)
        };
        let Some(table) = self.drafts.iter().position(is_it) else { return Ok(false) };
        let new = self.claim(beside(name, &new), place)?;
        let draft = &mut self.drafts[table];
        let primary = draft.primary.as_mut().map(|key| &mut key.name);
        let indexes = draft.indexes.iter_mut().map(|index| &mut index.name);
        if let Some(found) = primary.into_iter().chain(indexes).find(|own| *own == name) {
            *found = new;
        }
        self.relations.retain(|relation| relation != name);
        Ok(true)
    }

    /// `ALTER INDEX name RENAME TO new`, behind the first two words.
    pub(super) fn alter_index(&mut self) -> Result<()> {
        self.cursor.accept_words(&["IF", "EXISTS"]);
        let (name, span) = self.relation("the index's name")?;
        self.cursor.expect_word("RENAME")?;
        self.cursor.expect_word("TO")?;
        let new = self.cursor.identifier("the index's new name")?;
        match self.rename_index(&name, new)? {
            true => Ok(()),
            false => {
                let sentence = format!("no index `{name}` is created before this line");
                let message = format!("relation \"{name}\" does not exist");
                let error = self.cursor.error(span, ErrorKind::Name, sentence);
                Err(error.in_postgres("42P01", message))
            }
        }
    }

    /// `DROP TABLE name CASCADE`, behind the first two words: foreign keys of other tables go, too.
    pub(super) fn drop_table(&mut self) -> Result<()> {
        let table = self.table()?;
        self.cascades();
        let gone = self.drafts.remove(table);
        let relations = gone.relations();
        self.relations.retain(|relation| !relations.contains(relation));
        for draft in &mut self.drafts {
            draft.foreign_keys.retain(|key| key.table != table);
            for key in &mut draft.foreign_keys {
                key.table -= usize::from(key.table > table);
            }
        }
        Ok(())
    }

    fn cascades(&mut self) -> bool {
        let cascades = self.cursor.accept_word("CASCADE");
        self.cursor.accept_word("RESTRICT");
        cascades
    }

    /// Position of a column; the error names the table, as that of `ALTER TABLE`.
    fn column_of(&mut self, table: usize) -> Result<usize> {
        let (name, span) = self.cursor.identifier("a column's name")?;
        let draft = &self.drafts[table];
        draft.column(&name).ok_or_else(|| {
            let sentence = format!("the table `{}` has no column `{name}`", draft.name);
            let message =
                format!("column \"{name}\" of relation \"{}\" does not exist", draft.name);
            self.cursor.error(span, ErrorKind::Name, sentence).in_postgres("42703", message)
        })
    }

    /// Reserves the name of an index or key, which must be unique.
    pub(super) fn claim(&mut self, name: String, place: Span) -> Result<String> {
        if self.relations.contains(&name) {
            let sentence = format!("a table or index `{name}` already exists");
            return Err(exists(self.cursor.error(place, ErrorKind::Name, sentence), &name));
        }
        self.relations.push(name.clone());
        Ok(name)
    }
}

impl Draft {
    /// The names that it has among tables and indexes.
    pub(super) fn relations(&self) -> Vec<String> {
        let primary = self.primary.iter().map(|key| &key.name);
        let indexes = self.indexes.iter().map(|index| &index.name);
        [&self.name].into_iter().chain(primary).chain(indexes).cloned().collect()
    }

    /// Drops a column with its keys, indexes and checks; returns the names of gone indexes.
    fn drop_column(&mut self, column: usize) -> Vec<String> {
        let before = self.relations();
        self.drop_computed(column);
        self.columns.remove(column);
        self.stored_names.remove(column);
        if self.primary.as_ref().is_some_and(|key| key.columns.contains(&column)) {
            self.primary = None;
        }
        self.indexes.retain(|index| !index.columns.contains(&column));
        self.foreign_keys.retain(|key| !key.columns.contains(&column));
        self.checks.retain(|check| !uses(&check.condition, column));
        let primary = self.primary.iter_mut().flat_map(|key| &mut key.columns);
        let indexes = self.indexes.iter_mut().flat_map(|index| &mut index.columns);
        for position in primary.chain(indexes) {
            *position -= usize::from(*position > column);
        }
        for key in &mut self.foreign_keys {
            let set = [&mut key.on_delete, &mut key.on_update];
            let set = set.into_iter().flat_map(ReferentialAction::set_columns_mut);
            for position in key.columns.iter_mut().chain(set) {
                *position -= usize::from(*position > column);
            }
        }
        let checks = self.checks.iter_mut().map(|check| &mut check.condition);
        for expr in checks.chain(&mut self.computed) {
            move_columns(expr, column);
        }
        self.drop_unused();
        let after = self.relations();
        before.into_iter().filter(|name| !after.contains(name)).collect()
    }
}

/// Whether an expression uses a column.
pub(super) fn uses(condition: &Expr, column: usize) -> bool {
    let mut found = false;
    condition.visit(&mut |part| {
        found |= matches!(&part.kind, ExprKind::Column(one) if one.column == column);
    });
    found
}

/// Moves the positions of columns behind one that is gone.
fn move_columns(expr: &mut Expr, gone: usize) {
    if let ExprKind::Column(column) = &mut expr.kind {
        column.column -= usize::from(column.column > gone);
    }
    expr.for_each_child_mut(&mut |child| move_columns(child, gone));
}
