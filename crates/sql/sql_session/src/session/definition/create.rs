//! `CREATE TABLE`, `CREATE INDEX`, `CREATE SEQUENCE`, `CREATE FUNCTION`.

use super::super::rewrite::quoted;
use super::super::{Block, SqlSession};
use super::Edited;
use super::types::refuse_type_name;
use crate::catalog::described::given_path;
use crate::catalog::schemas::store_path;
use crate::catalog::version::Parsed;
use crate::catalog::{Definition, DefinitionKind, Version};
use crate::error::{Severity, SqlError};
use crate::host::Host;
use crate::lexer::tokens;
use crate::parse_error::parse_error;
use sql::SearchPath;
use sql::namespace::{PUBLIC, own_name, schema_of};
use sql::procedure::RoutineKind;

impl<H: Host> SqlSession<H> {
    /// Whether the bodies of new routines are checked: dumps switch that off.
    pub(super) fn checks_bodies(&self) -> bool {
        let value = self.setting("check_function_bodies").unwrap_or_default().to_lowercase();
        !matches!(&*value, "off" | "false" | "no" | "0")
    }

    pub(super) fn create_table(
        &mut self,
        version: &Version,
        name: &str,
        if_not_exists: bool,
        text: &str,
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        let tag = "CREATE TABLE";
        if if_not_exists && self.exists(version, name) {
            return Ok(Edited::new(definitions, tag));
        }
        if version.catalog.view(name).is_some() {
            return Err(exists(name));
        }
        refuse_type_name(version, name)?;
        let id = version.next_id();
        definitions.push(Definition {
            id,
            kind: DefinitionKind::Table,
            table: id,
            name: name.to_owned(),
            physical: self.physical_name(name),
            body: text.to_owned(),
        });
        Ok(Edited::new(definitions, tag))
    }

    /// The path in which the names of a new routine are looked up: that of its `SET search_path`,
    /// or that of the session.
    pub(super) fn routine_path(
        &self,
        version: &Version,
        text: &str,
    ) -> Result<SearchPath, SqlError> {
        let Some(mut names) = given_path(&tokens(text)?) else {
            return Ok(self.path_in(version));
        };
        for name in names.iter_mut().filter(|name| **name == "$user") {
            self.current_user().clone_into(name);
        }
        Ok(version.search_path(&names, self.acting_role(version)))
    }

    /// Whether a relation exists; gives notice of it if so.
    fn exists(&mut self, version: &Version, name: &str) -> bool {
        let exists = relation_exists(version, name);
        if exists {
            let message = format!("relation \"{name}\" already exists, skipping");
            self.notice(Severity::Notice, "42P07", message);
        }
        exists
    }

    pub(super) fn create_sequence(
        &mut self,
        version: &Version,
        name: &str,
        if_not_exists: bool,
        text: &str,
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        let tag = "CREATE SEQUENCE";
        let is_there = version.sequences.contains_key(name);
        if if_not_exists && (is_there || self.exists(version, name)) {
            return Ok(Edited::new(definitions, tag));
        }
        if is_there {
            return Err(exists(name));
        }
        let other = ["INCREMENT", "MINVALUE", "MAXVALUE", "CYCLE"];
        let tokens = tokens(text)?;
        if let Some(option) = tokens.iter().find(|token| other.iter().any(|one| token.is_word(one)))
        {
            // pg_dump writes the defaults, too.
            let is_default = tokens.windows(3).any(|part| {
                part[0].is_word("INCREMENT") && part[1].is_word("BY") && part[2].text == "1"
            });
            if !is_default {
                let message = format!("{} of a sequence is not supported", option.text);
                return Err(SqlError::unsupported(message));
            }
        }
        definitions.push(Definition {
            id: version.next_id(),
            kind: DefinitionKind::Sequence,
            table: 0,
            name: name.to_owned(),
            physical: String::new(),
            body: text.to_owned(),
        });
        Ok(Edited::new(definitions, tag))
    }

    pub(super) fn create_index(
        &mut self,
        block: &Block<H::Env>,
        version: &Version,
        (name, table): (Option<&str>, &str),
        if_not_exists: bool,
        text: &str,
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        let tag = "CREATE INDEX";
        if if_not_exists && name.is_some_and(|name| self.exists(version, name)) {
            return Ok(Edited::new(definitions, tag));
        }
        if let Some(name) = name.filter(|name| version.catalog.view(name).is_some()) {
            return Err(exists(name));
        }
        let owner = self.owner(version, table)?.clone();
        let before: Vec<&str> = index_names(version, table);
        let mut definition = Definition {
            id: version.next_id(),
            kind: DefinitionKind::Index,
            table: owner.id,
            name: String::new(),
            physical: String::new(),
            body: text.to_owned(),
        };
        // The reader chooses a name if the statement has none.
        let mut with = definitions.clone();
        with.push(definition.clone());
        let parsed = Parsed::read(&with, text)?;
        let made = parsed.catalog.table(table);
        let made =
            made.and_then(|made| made.indexes.iter().find(|index| !before.contains(&&*index.name)));
        definition.name = made.map(|index| index.name.clone()).unwrap_or_default();
        if name.is_none() {
            definition.body = with_name(text, &definition.name)?;
        }
        definitions.push(definition);
        let rewritten = self.changed_storage(block, version, &parsed, &mut definitions, None);
        Ok(Edited { rewritten, ..Edited::new(definitions, tag) })
    }
}

/// Whether a table, index or view has this name.
pub(super) fn relation_exists(version: &Version, name: &str) -> bool {
    version.table(name).is_some()
        || version.table_of_index(name).is_some()
        || version.catalog.view(name).is_some()
}

pub(super) fn exists(name: &str) -> SqlError {
    SqlError::new("42P07", format!("relation \"{name}\" already exists"))
}

/// `CREATE FUNCTION` and `CREATE PROCEDURE`
pub(super) fn create_routine(
    (version, path): (&Version, &SearchPath),
    name: &str,
    (replaces, checks_body): (bool, bool),
    text: &str,
) -> Result<Edited, SqlError> {
    let mut definitions = version.definitions.clone();
    // A dump has an empty path, and leaves it to the callers of the routine.
    let path = match path.schemas() {
        [] if given_path(&tokens(text)?).is_none() => SearchPath::new(&[schema_of(name), PUBLIC]),
        _ => path.clone(),
    };
    let source = sql::Source::new("statement", text).with_path(path.clone());
    let source = source.with_types(&version.catalog.types);
    // It may call itself.
    let called = version.called.with(source.clone(), &version.catalog);
    let signature = match checks_body {
        // A dump creates its tables behind the routines that use them.
        false => sql::read_signature(&source, &version.catalog, &called),
        true => None,
    };
    let kind = match signature {
        Some(signature) => Some(signature.kind),
        None => {
            match sql::read_routines(&source, &version.catalog, &called) {
                Ok(read) => read.first().map(|routine| routine.kind),
                // It calls a routine that does not exist or cannot run.
                Err(errors) if errors.iter().all(|error| error.is_late) => {
                    sql::read_signature(&source, &version.catalog, &called)
                        .map(|signature| signature.kind)
                }
                Err(errors) => return Err(parse_error(errors.first(), text)),
            }
        }
    };
    let tag = match kind {
        Some(RoutineKind::Procedure) => "CREATE PROCEDURE",
        _ => "CREATE FUNCTION",
    };
    let is_it = |one: &Definition| one.kind == DefinitionKind::Routine && one.name == *name;
    if definitions.iter().any(is_it) && !replaces {
        let message = format!("function \"{name}\" already exists with same argument types");
        let hint = "namdb has one function of each name; write CREATE OR REPLACE.";
        return Err(SqlError::new("42723", message).hint(hint));
    }
    let id = version.next_id();
    if let Some(old) = definitions.iter().position(is_it) {
        let old = definitions.remove(old).id;
        let is_of = |one: &&mut Definition| one.kind == DefinitionKind::Comment && one.table == old;
        definitions.iter_mut().filter(is_of).for_each(|comment| comment.table = id);
    }
    definitions.push(Definition {
        id,
        kind: DefinitionKind::Routine,
        table: 0,
        name: name.to_owned(),
        physical: String::new(),
        body: text.to_owned(),
    });
    store_path(&mut definitions, id, &path);
    Ok(Edited::new(definitions, tag))
}

/// The text of `CREATE INDEX` with the name that was chosen for it: another index may get the same
/// name otherwise, when the definitions are read again without those that were dropped.
fn with_name(text: &str, name: &str) -> Result<String, SqlError> {
    let tokens = tokens(text)?;
    let on = tokens.iter().find(|token| token.is_word("ON"));
    let at = on.map_or(text.len(), |token| token.at);
    Ok(format!("{}{} {}", &text[..at], quoted(own_name(name)), &text[at..]))
}

fn index_names<'v>(version: &'v Version, table: &str) -> Vec<&'v str> {
    let table = version.catalog.table(table);
    let indexes = table.map(|table| &table.indexes[..]).unwrap_or_default();
    indexes.iter().map(|index| &*index.name).collect()
}
