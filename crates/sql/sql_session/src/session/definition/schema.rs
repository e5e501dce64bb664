//! `CREATE`, `DROP` and `ALTER SCHEMA`, and `ALTER ... SET SCHEMA`.

use super::super::named::{name_at, shown_in};
use super::super::rewrite::quoted;
use super::super::{Block, SqlSession};
use super::alter::alteration;
use super::create::exists;
use super::types::set_type_schema;
use super::view::follow_tables;
use super::{Edited, no_table};
use crate::access::object::{Access, Object, store};
use crate::catalog::numbers::next_id;
use crate::catalog::schemas::DROPPED;
use crate::catalog::{Definition, DefinitionKind, Version};
use crate::command::{Command, DropKind, OwnedKind, RoleSpec, no_schema};
use crate::error::{Severity, SqlError};
use crate::host::Host;
use crate::lexer::{Token, tokens};
use sql::namespace::{PUBLIC, full_name, own_name, schema_of};

impl<H: Host> SqlSession<H> {
    /// Runs a command about schemas.
    pub(super) fn change_schemas(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        command: &Command,
    ) -> Result<Edited, SqlError> {
        match command {
            Command::CreateSchema { name, if_not_exists, owner } => {
                self.create_schema(version, name.as_deref(), *if_not_exists, owner.as_ref())
            }
            Command::DropSchemas { names, if_exists, cascade } => {
                self.drop_schemas(block, version, names, *if_exists, *cascade)
            }
            Command::RenameSchema { name, to } => self.rename_schema(version, name, to),
            Command::SetSchema { kind: OwnedKind::Type, name, schema, .. } => {
                set_type_schema(version, name, schema)
            }
            Command::SetSchema { kind, name, if_exists, schema, tag } => {
                self.set_schema(block, version, (*kind, name), (schema, *if_exists), tag)
            }
            _ => Err(SqlError::internal("it is about no schema")),
        }
    }

    fn create_schema(
        &mut self,
        version: &Version,
        name: Option<&str>,
        if_not_exists: bool,
        owner: Option<&RoleSpec>,
    ) -> Result<Edited, SqlError> {
        let owner = owner.map(|owner| self.new_owner(version, owner)).transpose()?;
        let own = owner.map(|owner| version.roles.name(owner));
        let name = name.map(str::to_owned).or(own).unwrap_or_default();
        let mut definitions = version.definitions.clone();
        let tag = "CREATE SCHEMA";
        if name.starts_with("pg_") {
            let message = format!("unacceptable schema name \"{name}\"");
            let detail = "The prefix \"pg_\" is reserved for system schemas.";
            return Err(SqlError::new("42939", message).detail(detail));
        }
        if name == "information_schema" || version.catalog.schemas.find(&name).is_some() {
            if if_not_exists {
                let message = format!("schema \"{name}\" already exists, skipping");
                self.notice(Severity::Notice, "42P06", message);
                return Ok(Edited::new(definitions, tag));
            }
            return Err(SqlError::new("42P06", format!("schema \"{name}\" already exists")));
        }
        let id = version.next_id();
        let object = match &*name {
            "public" => {
                definitions.retain(|one| one.kind != DefinitionKind::Schema || one.body != DROPPED);
                Object::Schema
            }
            _ => {
                definitions.push(Definition {
                    id,
                    kind: DefinitionKind::Schema,
                    table: 0,
                    name,
                    physical: String::new(),
                    body: "CREATE SCHEMA".to_owned(),
                });
                Object::Definition(id)
            }
        };
        let role = self.acting_role(version);
        if owner.is_some() || object == Object::Schema {
            let id = next_id(&definitions);
            // A schema that was created has no privileges for everybody.
            let grants = (object == Object::Schema).then(Vec::new);
            store(&mut definitions, id, object, &Access { owner: owner.unwrap_or(role), grants });
        }
        Ok(Edited::new(definitions, tag))
    }

    /// The role of `AUTHORIZATION`.
    fn new_owner(&self, version: &Version, owner: &RoleSpec) -> Result<i64, SqlError> {
        let to = self.owner_to_be(version, owner)?;
        let own = self.acting_role(version);
        match version.roles.is_superuser(own) || version.roles.is_member(own, to) {
            true => Ok(to),
            false => {
                let message = format!("must be member of role \"{}\"", version.roles.name(to));
                Err(SqlError::new("42501", message))
            }
        }
    }

    /// Drops schemas, with `CASCADE` also their objects and those that depend on them.
    fn drop_schemas(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        names: &[String],
        if_exists: bool,
        cascade: bool,
    ) -> Result<Edited, SqlError> {
        let mut gone: Vec<(i64, &str)> = Vec::new();
        for name in names {
            match version.catalog.schemas.find(name) {
                Some(id) => gone.push((id, name)),
                None if matches!(&**name, "pg_catalog" | "information_schema") => {
                    let message = format!(
                        "cannot drop schema {name} because it is required by the database system"
                    );
                    return Err(SqlError::new("2BP01", message));
                }
                None if if_exists => {
                    let message = format!("schema \"{name}\" does not exist, skipping");
                    self.notice(Severity::Notice, "00000", message);
                }
                None => return Err(no_schema(name)),
            }
        }
        let objects = objects_in(version, &gone);
        if !objects.is_empty() && !cascade {
            let (names, what) = match &gone[..] {
                [(_, name)] => (format!("schema {name}"), "object"),
                _ => ("desired object(s)".to_owned(), "object"),
            };
            let message = format!("cannot drop {names} because other {what}s depend on it");
            let on = |id: i64| gone.iter().find(|one| one.0 == id).map_or("", |one| one.1);
            let lines = objects.iter().map(|one| {
                let schema = on(schema_of(&one.name));
                format!("{} {} depends on schema {schema}", described(version, one), one.name)
            });
            let detail = lines.collect::<Vec<_>>().join("\n");
            let hint = "Use DROP ... CASCADE to drop the dependent objects too.";
            return Err(SqlError::new("2BP01", message).detail(detail).hint(hint));
        }
        let Edited { mut definitions, rewritten, .. } =
            self.without_objects(block, version, &objects)?;
        for (id, _) in gone {
            definitions.retain(|one| one.id != id || one.kind != DefinitionKind::Schema);
            if id == PUBLIC {
                definitions.retain(|one| {
                    let is_access = one.kind == DefinitionKind::Access && one.name == "schema";
                    !is_access || one.table != 0
                });
                definitions.push(Definition {
                    id: next_id(&definitions).max(version.next_id()),
                    kind: DefinitionKind::Schema,
                    table: 0,
                    name: "public".to_owned(),
                    physical: String::new(),
                    body: DROPPED.to_owned(),
                });
            }
        }
        Ok(Edited { rewritten, ..Edited::new(definitions, "DROP SCHEMA") })
    }

    /// Drops all objects of schemas: views, tables, sequences and routines.
    fn without_objects(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        objects: &[Definition],
    ) -> Result<Edited, SqlError> {
        let own: Vec<String> =
            objects.iter().map(|one| format!("{} {}", described(version, one), one.name)).collect();
        let others = self.notices.len();
        let names = |kind: DefinitionKind| -> Vec<String> {
            objects.iter().filter(|one| one.kind == kind).map(|one| one.name.clone()).collect()
        };
        let mut definitions = version.definitions.clone();
        let kinds = [
            (DefinitionKind::View, DropKind::View),
            (DefinitionKind::Routine, DropKind::Routine),
            (DefinitionKind::Sequence, DropKind::Sequence),
            (DefinitionKind::Table, DropKind::Table),
        ];
        for (kind, drop) in kinds {
            let names: Vec<String> = names(kind);
            let is_there = |name: &&String| {
                definitions.iter().any(|one| one.kind == kind && one.name == **name)
            };
            let names: Vec<String> = names.iter().filter(is_there).cloned().collect();
            definitions =
                self.drop_from(block, version, definitions, (drop, &names), (false, true))?;
        }
        let (types, options) = (names(DefinitionKind::Type), (false, true));
        let edited = self.drop_types(block, version, definitions, &types, options)?;
        // One notice for all that goes, as in PostgreSQL.
        let mut lines: Vec<String> =
            own.iter().map(|one| format!("drop cascades to {one}")).collect();
        for further in self.notices.split_off(others) {
            if !lines.contains(&further.message) {
                lines.push(further.message);
            }
        }
        // The schemas are gone when the client sees the notice.
        let path = self.path_in(version);
        let lines: Vec<String> = lines.iter().map(|line| shown_in(version, &path, line)).collect();
        match &lines[..] {
            [] => {}
            [only] => self.notice(Severity::Notice, "00000", only.clone()),
            lines => {
                let message = format!("drop cascades to {} other objects", lines.len());
                self.notice(Severity::Notice, "00000", message);
                if let Some(last) = self.notices.last_mut() {
                    last.detail = Some(lines.join("\n"));
                }
            }
        }
        Ok(edited)
    }

    fn rename_schema(&self, version: &Version, name: &str, to: &str) -> Result<Edited, SqlError> {
        let id = version.catalog.schemas.find(name).ok_or_else(|| no_schema(name))?;
        if version.catalog.schemas.find(to).is_some() || to == "information_schema" {
            return Err(SqlError::new("42P06", format!("schema \"{to}\" already exists")));
        }
        if to.starts_with("pg_") {
            let message = format!("unacceptable schema name \"{to}\"");
            let detail = "The prefix \"pg_\" is reserved for system schemas.";
            return Err(SqlError::new("42939", message).detail(detail));
        }
        if id == PUBLIC || to == "public" {
            let message = "the schema public keeps its name";
            let hint = "Create another schema, and write ALTER TABLE ... SET SCHEMA.";
            return Err(SqlError::unsupported(message).hint(hint));
        }
        let mut definitions = version.definitions.clone();
        let is_it = |one: &&mut Definition| one.kind == DefinitionKind::Schema && one.id == id;
        if let Some(schema) = definitions.iter_mut().find(is_it) {
            to.clone_into(&mut schema.name);
        }
        Ok(Edited::new(definitions, "ALTER SCHEMA"))
    }

    /// `ALTER ... SET SCHEMA`
    fn set_schema(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        (kind, name): (OwnedKind, &str),
        (schema, if_exists): (&str, bool),
        tag: &'static str,
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        let to = version.catalog.schemas.find(schema).ok_or_else(|| no_schema(schema))?;
        let kinds: &[DefinitionKind] = match kind {
            OwnedKind::Routine => &[DefinitionKind::Routine],
            OwnedKind::View => &[DefinitionKind::View],
            OwnedKind::Sequence => &[DefinitionKind::Sequence],
            _ => &[DefinitionKind::Table, DefinitionKind::View, DefinitionKind::Sequence],
        };
        let is_it = |one: &Definition| kinds.contains(&one.kind) && one.name == name;
        let Some(at) = definitions.iter().position(is_it) else {
            if if_exists {
                let message = format!("relation \"{name}\" does not exist, skipping");
                self.notice(Severity::Notice, "00000", message);
                return Ok(Edited::new(definitions, tag));
            }
            let what = if kind == OwnedKind::Routine { "function" } else { "relation" };
            return Err(no_table(what, name));
        };
        let moved = full_name(to, own_name(name));
        if schema_of(name) == to {
            return Ok(Edited::new(definitions, tag));
        }
        let is_taken = match definitions[at].kind {
            kind @ DefinitionKind::Routine => {
                definitions.iter().any(|one| one.kind == kind && one.name == moved)
            }
            _ => version.has_relation(&moved),
        };
        if is_taken {
            let of = own_name(name);
            let message = format!("relation \"{of}\" already exists in schema \"{schema}\"");
            return Err(SqlError::new("42P07", message));
        }
        let owner = definitions[at].clone();
        if owner.kind != DefinitionKind::Table {
            definitions[at].body = moved_text(version, &owner, &moved)?;
            definitions[at].name = moved;
            return Ok(Edited::new(definitions, tag));
        }
        self.lock_table(block, &owner)?;
        let text = format!("ALTER TABLE {} SET SCHEMA {to}", quoted(name));
        definitions.push(alteration(version, owner.id, &text));
        definitions[at].name.clone_from(&moved);
        for index in definitions.iter_mut().filter(|one| one.kind == DefinitionKind::Index) {
            if index.table == owner.id {
                index.name = full_name(to, own_name(&index.name));
            }
        }
        if version.has_relation(&moved) {
            return Err(exists(&moved));
        }
        let parsed = follow_tables(version, &mut definitions, &text)?;
        let rewritten = self.changed_storage(block, version, &parsed, &mut definitions, None);
        Ok(Edited { rewritten, ..Edited::new(definitions, tag) })
    }
}

/// The text of a view or routine with its name in another schema.
fn moved_text(version: &Version, one: &Definition, moved: &str) -> Result<String, SqlError> {
    let is_used = version.catalog.views.iter().any(|view| view.views.contains(&one.name));
    let word = match one.kind {
        DefinitionKind::View if !is_used => "VIEW",
        DefinitionKind::Routine => "FUNCTION",
        _ => {
            let hint = "Create it in the other schema, and drop this one.";
            let message =
                "SET SCHEMA of a sequence, or of a view that others use, is not supported";
            return Err(SqlError::unsupported(message).hint(hint));
        }
    };
    let tokens = tokens(&one.body)?;
    let begins =
        |token: &Token<'_>| token.is_word(word) || word == "FUNCTION" && token.is_word("PROCEDURE");
    let at = tokens.iter().position(begins).map_or(0, |at| at + 1);
    let (range, _) =
        name_at(&tokens, at).ok_or_else(|| SqlError::internal("a definition has no name"))?;
    Ok(format!("{}{}{}", &one.body[..range.start], quoted(moved), &one.body[range.end..]))
}

/// The objects of schemas, in the order of their creation.
fn objects_in(version: &Version, schemas: &[(i64, &str)]) -> Vec<Definition> {
    let is_object = |one: &&Definition| {
        let kinds = [
            DefinitionKind::Table,
            DefinitionKind::View,
            DefinitionKind::Sequence,
            DefinitionKind::Routine,
            DefinitionKind::Type,
        ];
        kinds.contains(&one.kind) && schemas.iter().any(|(id, _)| *id == schema_of(&one.name))
    };
    version.definitions.iter().filter(is_object).cloned().collect()
}

/// The kind of an object.
fn described(version: &Version, one: &Definition) -> &'static str {
    match one.kind {
        DefinitionKind::View => "view",
        DefinitionKind::Type => "type",
        DefinitionKind::Sequence => "sequence",
        DefinitionKind::Routine => {
            let of = version.routines.iter().find(|routine| routine.id == one.id);
            match of.map(|routine| routine.signature.kind) {
                Some(sql::procedure::RoutineKind::Procedure) => "procedure",
                _ => "function",
            }
        }
        _ => "table",
    }
}
