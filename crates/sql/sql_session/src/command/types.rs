//! `CREATE TYPE` and `ALTER TYPE`.

use super::{Command, Parser, Result2};
use crate::error::SqlError;

/// A change of an enumerated type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TypeChange {
    AddValue { label: String, if_not_exists: bool, neighbour: Option<Neighbour> },
    RenameValue { from: String, to: String },
    Rename(String),
}

/// The label beside a new one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Neighbour {
    Before(String),
    After(String),
}

impl Parser<'_> {
    /// Behind `CREATE TYPE`.
    pub(super) fn create_type(&mut self) -> Result2<Command> {
        let name = self.relation()?;
        if !self.accept_all(&["AS", "ENUM"]) {
            return Err(SqlError::unsupported("only enumerated types can be created")
                .hint("Write CREATE TYPE ... AS ENUM (...), or give a table these columns."));
        }
        self.expect_sign('(')?;
        let mut labels = Vec::new();
        while !self.accept_sign(')') {
            if !labels.is_empty() {
                self.expect_sign(',')?;
            }
            labels.push(self.text()?);
        }
        self.expect_end()?;
        Ok(Command::CreateEnum { name, labels })
    }

    /// Behind `ALTER TYPE`.
    pub(super) fn alter_type(&mut self) -> Result2<Command> {
        let name = self.relation()?;
        let change = if self.accept_all(&["ADD", "VALUE"]) {
            let if_not_exists = self.accept_all(&["IF", "NOT", "EXISTS"]);
            let label = self.text()?;
            let neighbour = if self.accept("BEFORE") {
                Some(Neighbour::Before(self.text()?))
            } else if self.accept("AFTER") {
                Some(Neighbour::After(self.text()?))
            } else {
                None
            };
            TypeChange::AddValue { label, if_not_exists, neighbour }
        } else if self.accept_all(&["RENAME", "VALUE"]) {
            let from = self.text()?;
            self.expect("TO")?;
            TypeChange::RenameValue { from, to: self.text()? }
        } else if self.accept_all(&["RENAME", "TO"]) {
            TypeChange::Rename(self.name()?)
        } else {
            return Err(SqlError::unsupported("this change of a type is not supported")
                .hint("Write ADD VALUE, RENAME VALUE, RENAME TO, OWNER TO or SET SCHEMA."));
        };
        self.expect_end()?;
        Ok(Command::AlterType { name, change })
    }
}
