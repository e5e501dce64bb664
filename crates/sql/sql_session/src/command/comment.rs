//! `COMMENT ON`

use super::{Command, Parser, Result2};
use crate::error::SqlError;
use sql::namespace::written_name;

/// The object of a comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Commented {
    Table(String),
    View(String),
    Sequence(String),
    Index(String),
    Schema(String),
    Routine(String),
    Type(String),
    /// A column of a table or view.
    Column {
        relation: String,
        column: String,
    },
    Constraint {
        name: String,
        table: String,
    },
}

impl Parser<'_> {
    /// Behind the word `COMMENT`.
    pub(super) fn comment(&mut self) -> Result2<Command> {
        self.expect("ON")?;
        let on = self.commented()?;
        self.expect("IS")?;
        // Without quotes only NULL is left, which is not looked up as a setting's default.
        let text = if self.accept("NULL") { None } else { Some(self.text()?) };
        self.expect_end()?;
        Ok(Command::Comment { on, text: text.filter(|text| !text.is_empty()) })
    }

    fn commented(&mut self) -> Result2<Commented> {
        if self.accept("TABLE") {
            return Ok(Commented::Table(self.relation()?));
        }
        if self.accept("VIEW") {
            return Ok(Commented::View(self.relation()?));
        }
        if self.accept("SEQUENCE") {
            return Ok(Commented::Sequence(self.relation()?));
        }
        if self.accept("INDEX") {
            return Ok(Commented::Index(self.relation()?));
        }
        if self.accept("TYPE") {
            return Ok(Commented::Type(self.relation()?));
        }
        if self.accept("SCHEMA") {
            return Ok(Commented::Schema(self.name()?));
        }
        if self.accept("COLUMN") {
            return self.commented_column();
        }
        if self.accept("CONSTRAINT") {
            let name = self.name()?;
            self.expect("ON")?;
            return Ok(Commented::Constraint { name, table: self.relation()? });
        }
        if self.accept("FUNCTION") || self.accept("PROCEDURE") || self.accept("ROUTINE") {
            let name = self.relation()?;
            if self.accept_sign('(') {
                while !self.is_at_end() && !self.accept_sign(')') {
                    self.at += 1;
                }
            }
            return Ok(Commented::Routine(name));
        }
        let what = self.peek().ok_or_else(|| self.unexpected())?.text.to_uppercase();
        let message = format!("COMMENT ON {what} is not supported");
        Err(SqlError::unsupported(message).hint(
            "Comments are kept for schemas, tables, columns, views, indexes, constraints, \
             sequences, types, functions and procedures.",
        ))
    }

    /// `[schema.] relation.column`
    fn commented_column(&mut self) -> Result2<Commented> {
        let mut names = vec![self.name()?];
        while self.accept_sign('.') {
            names.push(self.name()?);
        }
        match &names[..] {
            [relation, column] => {
                Ok(Commented::Column { relation: relation.clone(), column: column.clone() })
            }
            [schema, relation, column] => {
                let relation = written_name(Some(schema), relation);
                Ok(Commented::Column { relation, column: column.clone() })
            }
            [_] => Err(SqlError::new("42601", "column name must be qualified")),
            _ => {
                let message =
                    format!("improper relation name (too many dotted names): {}", names.join("."));
                Err(SqlError::new("42601", message))
            }
        }
    }
}
