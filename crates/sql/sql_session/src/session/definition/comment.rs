//! `COMMENT ON`: a comment is a definition of its own, which belongs to a table, view, sequence or
//! routine. Its name says which part of that it is about.

use super::types::no_type;
use super::{Edited, no_table};
use crate::access::object::is_object;
use crate::catalog::{Definition, DefinitionKind, Version};
use crate::command::{Commented, no_schema};
use crate::error::SqlError;
use crate::session::CommentPart;
use sql::namespace::{PUBLIC, own_name};

impl CommentPart {
    /// The name of the comment's definition.
    fn stored(&self) -> String {
        match self {
            Self::Whole => String::new(),
            Self::Column(number) => format!("column {number}"),
            Self::Index(name) => format!("index {name}"),
            Self::Constraint(name) => format!("constraint {name}"),
        }
    }

    /// The part that a definition's name says.
    pub(in crate::session) fn of(stored: &str) -> Option<Self> {
        if stored.is_empty() {
            return Some(Self::Whole);
        }
        let (kind, name) = stored.split_once(' ')?;
        match kind {
            "column" => name.parse().ok().map(Self::Column),
            "index" => Some(Self::Index(name.to_owned())),
            "constraint" => Some(Self::Constraint(name.to_owned())),
            _ => None,
        }
    }
}

pub(super) fn comment(
    version: &Version,
    on: &Commented,
    text: Option<&str>,
) -> Result<Edited, SqlError> {
    let (owner, part) = commented(version, on)?;
    let name = part.stored();
    let mut definitions = version.definitions.clone();
    let is_it = |one: &Definition| {
        one.kind == DefinitionKind::Comment && one.table == owner && one.name == name
    };
    definitions.retain(|one| !is_it(one));
    if let Some(text) = text {
        definitions.push(Definition {
            id: version.next_id(),
            kind: DefinitionKind::Comment,
            table: owner,
            name,
            physical: String::new(),
            body: text.to_owned(),
        });
    }
    Ok(Edited::new(definitions, "COMMENT"))
}

/// The definition that a comment belongs to, and the part of it.
fn commented(version: &Version, on: &Commented) -> Result<(i64, CommentPart), SqlError> {
    let named = |kind, name: &str| {
        let is_it = |one: &&Definition| one.kind == kind && one.name == *name;
        version.definitions.iter().find(is_it).map(|one| one.id)
    };
    let found = |kind, name: &str| named(kind, name).map(|id| (id, CommentPart::Whole));
    let whole = |kind, what: &str, name: &str| {
        found(kind, name).ok_or_else(|| other_kind(version, what, name))
    };
    match on {
        Commented::Table(name) => whole(DefinitionKind::Table, "table", name),
        Commented::View(name) => whole(DefinitionKind::View, "view", name),
        Commented::Sequence(name) => whole(DefinitionKind::Sequence, "sequence", name),
        Commented::Routine(name) => {
            found(DefinitionKind::Routine, name).ok_or_else(|| no_table("function", name))
        }
        Commented::Type(name) => found(DefinitionKind::Type, name).ok_or_else(|| no_type(name)),
        Commented::Schema(name) => {
            let id = version.catalog.schemas.find(name).ok_or_else(|| no_schema(name))?;
            Ok((id, CommentPart::Whole))
        }
        Commented::Index(name) => {
            let table = version.table_of_index(name);
            let table = table.ok_or_else(|| other_kind(version, "index", name))?;
            let part = CommentPart::Index(own_name(name).to_owned());
            Ok((version.definition_of(table).id, part))
        }
        Commented::Column { relation, column } => {
            let missing = || {
                let message =
                    format!("column \"{column}\" of relation \"{relation}\" does not exist");
                SqlError::new("42703", message)
            };
            if let Some(view) = version.catalog.view(relation) {
                let at = view.columns.iter().position(|one| one.name == *column);
                let id = named(DefinitionKind::View, relation);
                let (at, id) = at.zip(id).ok_or_else(missing)?;
                return Ok((id, CommentPart::Column(at as u32 + 1)));
            }
            let (at, definition) =
                version.table(relation).ok_or_else(|| no_table("relation", relation))?;
            let table = &version.catalog.tables[at];
            let at = table.column(column).ok_or_else(missing)?;
            Ok((definition.id, CommentPart::Column(table.columns[at].number)))
        }
        Commented::Constraint { name, table } => {
            let (at, definition) =
                version.table(table).ok_or_else(|| no_table("relation", table))?;
            let of = &version.catalog.tables[at];
            let has = of.primary_key_name == *name && !of.primary_key.is_empty()
                || of.indexes.iter().any(|one| one.unique && one.name == *name)
                || of.foreign_keys.iter().any(|one| one.name == *name)
                || of.checks.iter().any(|one| one.name == *name);
            match has {
                true => {
                    let part = CommentPart::Constraint(own_name(name).to_owned());
                    Ok((definition.id, part))
                }
                false => {
                    let message =
                        format!("constraint \"{name}\" for table \"{table}\" does not exist");
                    Err(SqlError::new("42704", message))
                }
            }
        }
    }
}

/// The error that a relation does not exist, or is of another kind.
fn other_kind(version: &Version, what: &str, name: &str) -> SqlError {
    let article = if what == "index" { "an" } else { "a" };
    match super::create::relation_exists(version, name) || version.sequences.contains_key(name) {
        true => SqlError::new("42809", format!("\"{name}\" is not {article} {what}")),
        false => no_table("relation", name),
    }
}

/// Removes comments on what is gone.
pub(super) fn forget_comments(definitions: &mut Vec<Definition>) {
    let is_comment = |one: &Definition| one.kind == DefinitionKind::Comment;
    let objects = definitions.iter().filter(|one| is_object(one));
    let owners: Vec<i64> = objects.map(|one| one.id).collect();
    let is_kept = |one: &Definition| one.table == PUBLIC || owners.contains(&one.table);
    definitions.retain(|one| !is_comment(one) || is_kept(one));
}
