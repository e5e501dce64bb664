//! `GRANT`, `REVOKE` and `ALTER ... OWNER TO`, and the privileges that commands need.

use super::SqlSession;
use super::definition::Edited;
use crate::access::OWNER;
use crate::access::object::{Access, Kind, Object, denied, not_owner, store};
use crate::access::privilege::{Grant, PUBLIC, Privileges, add, is_circular, options_of, remove};
use crate::access::required::{Rights, check_table};
use crate::access::roles::no_role;
use crate::catalog::numbers::next_id;
use crate::catalog::schemas::schema_object;
use crate::catalog::sequences::Sequence;
use crate::catalog::version::{Parsed, new_keys};
use crate::catalog::{Definition, DefinitionKind, Version};
use crate::command::{
    Command, Commented, DropKind, GrantCommand, GrantTarget, LockMode, OwnedKind, RoleSpec,
    no_schema,
};
use crate::error::{Severity, SqlError};
use crate::host::Host;
use sql::namespace::schema_of;
use sql::procedure::RoutineKind;

/// An object of a command.
struct Target {
    object: Object,
    kind: Kind,
    name: String,
}

impl<H: Host> SqlSession<H> {
    /// The role whose privileges count.
    pub(crate) fn acting_role(&self, version: &Version) -> i64 {
        self.identity.acting(&version.roles)
    }

    pub(super) fn change_grants(
        &mut self,
        version: &Version,
        command: &GrantCommand,
    ) -> Result<Edited, SqlError> {
        let targets = self.targets(version, &command.target)?;
        let mut grantees = Vec::new();
        for role in &command.roles {
            let grantee = self.grantee(version, role)?;
            if grantee == PUBLIC && command.options && command.is_grant {
                let message = "grant options can only be granted to roles";
                return Err(SqlError::new("0LP01", message));
            }
            grantees.push(grantee);
        }
        let mut definitions = version.definitions.clone();
        for target in targets {
            let wanted = wanted(command, &target)?;
            self.change_target(version, &mut definitions, command, &target, (wanted, &grantees))?;
        }
        Ok(Edited::new(definitions, if command.is_grant { "GRANT" } else { "REVOKE" }))
    }

    /// Grants or revokes the privileges for one object.
    fn change_target(
        &mut self,
        version: &Version,
        definitions: &mut Vec<Definition>,
        command: &GrantCommand,
        target: &Target,
        (wanted, grantees): (Privileges, &[i64]),
    ) -> Result<(), SqlError> {
        let Target { object, kind, name } = target;
        let role = self.acting_role(version);
        let (has, may) = version.objects.privileges(&version.roles, role, *object, *kind);
        let owner = version.objects.owner(*object);
        let possible = wanted.common(may);
        let (grantor, possible) = self.grantor(version, target, possible);
        if may.is_empty() && has.is_empty() {
            return Err(denied(kind.name(), name));
        }
        let (state, done) = match command.is_grant {
            true => ("01007", "were granted"),
            false => ("01006", "could be revoked"),
        };
        if possible.is_empty() {
            let message = format!("no privileges {done} for \"{name}\"");
            self.notice(Severity::Warning, state, message);
            return Ok(());
        } else if possible != wanted && command.privileges.is_some() {
            let message = format!("not all privileges {done} for \"{name}\"");
            self.notice(Severity::Warning, state, message);
        }
        let mut grants = version.objects.grants(*object, *kind);
        for &grantee in grantees {
            let options = if command.options { possible } else { Privileges::NONE };
            let grant = Grant { grantee, grantor, privileges: possible, options };
            if command.is_grant {
                if is_circular(&grants, owner, grant) {
                    let message = "grant options cannot be granted back to your own grantor";
                    return Err(SqlError::new("0LP01", message));
                }
                add(&mut grants, grant);
            } else if remove(&mut grants, owner, grant, command.options, command.cascade).is_err() {
                let error = SqlError::new("2BP01", "dependent privileges exist");
                return Err(error.hint("Use CASCADE to revoke them too."));
            }
        }
        let grants = Some(grants);
        let id = next_id(definitions);
        store(definitions, id, *object, &Access { owner, grants });
        Ok(())
    }

    /// The role that grants, with those of the privileges that it may grant: the owner, if the
    /// session's role has its privileges, or the role with most of the grant options.
    fn grantor(
        &self,
        version: &Version,
        target: &Target,
        privileges: Privileges,
    ) -> (i64, Privileges) {
        let role = self.acting_role(version);
        let owner = version.objects.owner(target.object);
        if version.roles.has_privileges(role, owner) {
            return (owner, privileges);
        }
        let grants = version.objects.grants(target.object, target.kind);
        let may = |one: i64| (one, options_of(&grants, one).common(privileges));
        let inherited = version.roles.inherited(role).into_iter().map(may);
        // The first one of several is kept: that of the session.
        inherited.fold(may(role), |best, other| {
            if other.1.words().count() > best.1.words().count() { other } else { best }
        })
    }

    fn grantee(&self, version: &Version, role: &RoleSpec) -> Result<i64, SqlError> {
        match role {
            RoleSpec::Public => Ok(PUBLIC),
            role => self.owner_to_be(version, role),
        }
    }

    /// The number of a role in a statement. Without roles, every name is that of the owner.
    pub(super) fn owner_to_be(&self, version: &Version, role: &RoleSpec) -> Result<i64, SqlError> {
        match role {
            RoleSpec::Name(_) if version.roles.is_empty() => Ok(OWNER),
            RoleSpec::Name(name) => version.roles.find(name).map(|role| role.oid),
            RoleSpec::Current => Ok(self.identity.current.oid),
            RoleSpec::Session => Ok(self.identity.session.oid),
            RoleSpec::Public => Err(no_role("public")),
        }
    }

    fn targets(&self, version: &Version, target: &GrantTarget) -> Result<Vec<Target>, SqlError> {
        let each = |names: &[String], find: &dyn Fn(&str) -> Result<Target, SqlError>| {
            names.iter().map(|name| find(name)).collect()
        };
        let schemas = &version.catalog.schemas;
        let ids = |names: &[String]| {
            let id = |name: &String| schemas.find(name).ok_or_else(|| no_schema(name));
            names.iter().map(id).collect::<Result<Vec<i64>, SqlError>>()
        };
        let all = |kinds: &[DefinitionKind], of: &[String]| {
            let of = ids(of)?;
            let is_it =
                |one: &&Definition| kinds.contains(&one.kind) && of.contains(&schema_of(&one.name));
            Ok(version.definitions.iter().filter(is_it).map(target_of).collect::<Vec<_>>())
        };
        match target {
            GrantTarget::Relations(names) => each(names, &|name| relation(version, name)),
            GrantTarget::Sequences(names) => each(names, &|name| sequence(version, name)),
            GrantTarget::Routines(names) => each(names, &|name| routine(version, name)),
            GrantTarget::Schemas(names) => each(names, &|name| schema(version, name)),
            GrantTarget::Databases(names) => each(names, &|name| self.database_target(name)),
            GrantTarget::AllTables(of) => all(&[DefinitionKind::Table, DefinitionKind::View], of),
            GrantTarget::AllRoutines(of) => all(&[DefinitionKind::Routine], of),
            GrantTarget::AllSequences(of) => {
                let of = ids(of)?;
                let names = version.sequences.keys().filter(|name| of.contains(&schema_of(name)));
                names.map(|name| sequence(version, name)).collect()
            }
        }
    }

    fn database_target(&self, name: &str) -> Result<Target, SqlError> {
        if name != self.options.database {
            return Err(SqlError::new("3D000", format!("database \"{name}\" does not exist")));
        }
        Ok(Target { object: Object::Database, kind: Kind::Database, name: name.to_owned() })
    }

    /// `ALTER ... OWNER TO`
    pub(super) fn set_owner(
        &mut self,
        version: &Version,
        (kind, name): (OwnedKind, &str),
        if_exists: bool,
        (role, tag): (&RoleSpec, &'static str),
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        let target = match kind {
            OwnedKind::Sequence => sequence(version, name),
            OwnedKind::Routine => routine(version, name),
            OwnedKind::Type => type_target(version, name),
            OwnedKind::Schema => schema(version, name),
            OwnedKind::Database => self.database_target(name),
            // As in PostgreSQL, ALTER TABLE also takes views and sequences.
            OwnedKind::Relation if version.sequences.contains_key(name) => sequence(version, name),
            OwnedKind::Relation | OwnedKind::View => relation(version, name),
        };
        let target = match target {
            Err(error) if if_exists && error.sqlstate == "42P01" => {
                let message = format!("relation \"{name}\" does not exist, skipping");
                self.notice(Severity::Notice, "00000", message);
                return Ok(Edited::new(definitions, tag));
            }
            target => target?,
        };
        let to = self.owner_to_be(version, role)?;
        let old = version.objects.get(target.object);
        let (roles, own) = (&version.roles, self.acting_role(version));
        if !roles.is_superuser(own) {
            if !version.objects.is_owner(roles, own, target.object) {
                return Err(not_owner(&kind_word(version, &target), name));
            }
            if !roles.is_member(own, to) {
                let message = format!("must be member of role \"{}\"", roles.name(to));
                return Err(SqlError::new("42501", message));
            }
            if !matches!(kind, OwnedKind::Schema | OwnedKind::Database) {
                require_schema(version, to, schema_of(&target.name))?;
            }
        }
        let renumbered = |oid: i64| if oid == old.owner { to } else { oid };
        let grants = old.grants.map(|grants| {
            let mut after = Vec::new();
            for grant in grants {
                let (grantee, grantor) = (renumbered(grant.grantee), renumbered(grant.grantor));
                add(&mut after, Grant { grantee, grantor, ..grant });
            }
            after
        });
        let id = next_id(&definitions);
        store(&mut definitions, id, target.object, &Access { owner: to, grants });
        Ok(Edited::new(definitions, tag))
    }

    /// Requires the privileges of a command that changes the catalog.
    pub(super) fn check_definition(
        &self,
        version: &Version,
        command: &Command,
    ) -> Result<(), SqlError> {
        let role = self.acting_role(version);
        if version.roles.is_superuser(role) {
            return Ok(());
        }
        let require_owner = |found: Result<Target, SqlError>| match found {
            // The command reports what does not exist.
            Err(_) => Ok(()),
            Ok(target) if version.objects.is_owner(&version.roles, role, target.object) => Ok(()),
            Ok(target) => Err(not_owner(&kind_word(version, &target), &target.name)),
        };
        match command {
            Command::CreateTable { name, .. }
            | Command::CreateEnum { name, .. }
            | Command::CreateSequence { name, .. } => {
                require_schema(version, role, schema_of(name))
            }
            Command::CreateSchema { .. } => self.require_database(version, role),
            Command::DropSchemas { names, .. } => {
                names.iter().try_for_each(|name| require_owner(schema(version, name)))
            }
            Command::RenameSchema { name, .. } => {
                require_owner(schema(version, name))?;
                self.require_database(version, role)
            }
            Command::SetSchema { kind, name, schema: to, .. } => {
                require_owner(match kind {
                    OwnedKind::Routine => routine(version, name),
                    OwnedKind::Type => type_target(version, name),
                    _ => relation(version, name),
                })?;
                match version.catalog.schemas.find(to) {
                    Some(to) => require_schema(version, role, to),
                    None => Ok(()),
                }
            }
            Command::CreateView { name, .. } => {
                require_schema(version, role, schema_of(name))?;
                require_owner(relation(version, name))
            }
            Command::CreateRoutine { name, .. } => {
                require_schema(version, role, schema_of(name))?;
                require_owner(routine(version, name))
            }
            Command::AlterType { name, .. } => require_owner(type_target(version, name)),
            Command::CreateIndex { table, .. } => require_owner(relation(version, table)),
            Command::AlterTable { table, .. } => require_owner(relation(version, table)),
            Command::AlterIndex { index, .. } => check_index(version, role, index),
            Command::Drop { kind, names, .. } => names.iter().try_for_each(|name| match kind {
                DropKind::Table | DropKind::View => require_owner(relation(version, name)),
                DropKind::Sequence => require_owner(sequence(version, name)),
                DropKind::Routine => require_owner(routine(version, name)),
                DropKind::Type => require_owner(type_target(version, name)),
                DropKind::Index => check_index(version, role, name),
            }),
            Command::Comment { on, .. } => match commented(version, on) {
                Some(target) => require_owner(target),
                None => match on {
                    Commented::Index(name) => check_index(version, role, name),
                    _ => Ok(()),
                },
            },
            _ => Ok(()),
        }
    }

    /// Requires the right to create schemas.
    fn require_database(&self, version: &Version, role: i64) -> Result<(), SqlError> {
        let named = (Object::Database, Kind::Database, &*self.options.database);
        version.objects.require(&version.roles, role, named, Privileges::CREATE)
    }

    /// Requires privileges for tables by name; names of other relations are left to the command.
    pub(super) fn check_tables(
        &self,
        version: &Version,
        names: &[String],
        wanted: Privileges,
    ) -> Result<(), SqlError> {
        let rights = Rights::of(version, self.acting_role(version));
        let mut tables = names.iter().filter_map(|name| version.table(name));
        tables.try_for_each(|(table, _)| check_table(rights, table, wanted))
    }

    /// Requires the privileges of `LOCK TABLE`: one of those with which a statement takes the lock.
    pub(super) fn check_lock(
        &self,
        (version, granted): (&Version, &Version),
        name: &str,
        mode: LockMode,
    ) -> Result<(), SqlError> {
        let rights = Rights { version, granted, role: self.acting_role(granted) };
        let Some((table, _)) = version.table(name) else { return Ok(()) };
        let mut enough = vec![Privileges::UPDATE, Privileges::DELETE, Privileges::TRUNCATE];
        match mode {
            LockMode::Reads => enough.push(Privileges::SELECT),
            LockMode::Writes => enough.push(Privileges::INSERT),
            LockMode::Alone => {}
        }
        let refused = enough.into_iter().map(|one| check_table(rights, table, one));
        let mut refused = refused.collect::<Vec<_>>().into_iter();
        if refused.any(|checked| checked.is_ok()) {
            return Ok(());
        }
        Err(denied("table", name))
    }

    /// Requires the right to reference the tables of new foreign keys.
    pub(super) fn check_references_of(
        &self,
        before: &Version,
        after: &Parsed,
        definitions: &[Definition],
    ) -> Result<(), SqlError> {
        let rights = Rights::of(before, self.acting_role(before));
        let of_table = &after.table_definitions;
        for (_, key) in new_keys(before, &after.catalog, definitions, of_table) {
            if let Some(referenced) = before.position_of(definitions[of_table[key.table]].id) {
                check_table(rights, referenced, Privileges::REFERENCES)?;
            }
        }
        Ok(())
    }
}

/// Requires the right to create objects.
fn require_schema(version: &Version, role: i64, schema: i64) -> Result<(), SqlError> {
    let named = (schema_object(schema), Kind::Schema, version.schema_name(schema));
    version.objects.require(&version.roles, role, named, Privileges::CREATE)
}

fn check_index(version: &Version, role: i64, index: &str) -> Result<(), SqlError> {
    let Some(table) = version.table_of_index(index) else { return Ok(()) };
    let object = Object::Definition(version.definition_of(table).id);
    match version.objects.is_owner(&version.roles, role, object) {
        true => Ok(()),
        false => Err(not_owner("index", index)),
    }
}

/// The word for an object in errors; procedures are no functions there.
fn kind_word(version: &Version, target: &Target) -> String {
    let of = version.routines.iter().find(|one| Object::Definition(one.id) == target.object);
    match of.map(|one| one.signature.kind) {
        Some(RoutineKind::Procedure) => "procedure".to_owned(),
        _ => target.kind.name().to_owned(),
    }
}

fn target_of(one: &Definition) -> Target {
    let kind = match one.kind {
        DefinitionKind::View => Kind::View,
        DefinitionKind::Sequence => Kind::Sequence,
        DefinitionKind::Routine => Kind::Routine,
        DefinitionKind::Type => Kind::Type,
        DefinitionKind::Schema => Kind::Schema,
        _ => Kind::Table,
    };
    Target { object: Object::Definition(one.id), kind, name: one.name.clone() }
}

fn find(version: &Version, name: &str, kinds: &[DefinitionKind]) -> Option<Target> {
    let is_it = |one: &&Definition| kinds.contains(&one.kind) && one.name == name;
    version.definitions.iter().find(is_it).map(target_of)
}

fn relation(version: &Version, name: &str) -> Result<Target, SqlError> {
    let kinds = [DefinitionKind::Table, DefinitionKind::View];
    find(version, name, &kinds).map_or_else(|| sequence(version, name), Ok)
}

fn sequence(version: &Version, name: &str) -> Result<Target, SqlError> {
    let Some(sequence) = version.sequences.get(name) else {
        if let Some(other) = find(version, name, &[DefinitionKind::Table, DefinitionKind::View]) {
            let name = &other.name;
            return Err(SqlError::new("42809", format!("\"{name}\" is not a sequence")));
        }
        return Err(SqlError::new("42P01", format!("relation \"{name}\" does not exist")));
    };
    let object = Object::sequence(sequence.place);
    Ok(Target { object, kind: Kind::Sequence, name: name.to_owned() })
}

fn routine(version: &Version, name: &str) -> Result<Target, SqlError> {
    find(version, name, &[DefinitionKind::Routine]).ok_or_else(|| {
        SqlError::new("42883", format!("could not find a function named \"{name}\""))
    })
}

/// The object whose owner may comment; `None` for an index.
fn commented(version: &Version, on: &Commented) -> Option<Result<Target, SqlError>> {
    Some(match on {
        Commented::Table(name)
        | Commented::View(name)
        | Commented::Column { relation: name, .. }
        | Commented::Constraint { table: name, .. } => relation(version, name),
        Commented::Sequence(name) => sequence(version, name),
        Commented::Routine(name) => routine(version, name),
        Commented::Type(name) => type_target(version, name),
        Commented::Schema(name) => schema(version, name),
        Commented::Index(_) => return None,
    })
}

fn type_target(version: &Version, name: &str) -> Result<Target, SqlError> {
    let found = find(version, name, &[DefinitionKind::Type]);
    found.ok_or_else(|| SqlError::new("42704", format!("type \"{name}\" does not exist")))
}

fn schema(version: &Version, name: &str) -> Result<Target, SqlError> {
    let id = version.catalog.schemas.find(name).ok_or_else(|| no_schema(name))?;
    Ok(Target { object: schema_object(id), kind: Kind::Schema, name: name.to_owned() })
}

/// The privileges of a command for one object.
fn wanted(command: &GrantCommand, target: &Target) -> Result<Privileges, SqlError> {
    let all = Privileges::all(target.kind);
    let Some(words) = &command.privileges else { return Ok(all) };
    let mut wanted = Privileges::NONE;
    for word in words {
        let Some(privilege) = Privileges::named(word) else {
            let message = format!("unrecognized privilege type \"{word}\"");
            return Err(SqlError::new("42601", message));
        };
        if !all.has_all(privilege) {
            let kind = match (target.kind, privilege == Privileges::USAGE) {
                (Kind::Table | Kind::View, false) => "relation",
                (Kind::Table | Kind::View, true) => "table",
                (kind, _) => kind.name(),
            };
            let message = format!("invalid privilege type {} for {kind}", word.to_uppercase());
            return Err(SqlError::new("0LP01", message));
        }
        wanted = wanted.with(privilege);
    }
    Ok(wanted)
}

/// The objects that keep a role from being dropped, as PostgreSQL lists them: in the order of their
/// creation, the sequences of columns before their table.
pub(super) fn dependents(version: &Version, role: i64, database: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (object, access) in version.objects.iter() {
        let named = match object {
            Object::Schema => Some((0, "schema", "public".to_owned())),
            Object::Database => Some((0, "database", database.to_owned())),
            Object::Definition(id) => {
                let one = version.definitions.iter().find(|one| one.id == *id).map(target_of);
                one.map(|one| (2 * id + 1, one.kind.name(), one.name))
            }
            Object::ColumnSequence(table, _) => {
                let mut all = version.sequences.iter();
                let is_it = |one: &Sequence| Object::sequence(one.place) == *object;
                let name = all.find(|(_, one)| is_it(one)).map(|(name, _)| name.clone());
                name.map(|name| (2 * table, "sequence", name))
            }
        };
        let Some((order, kind, name)) = named else { continue };
        let grants = access.grants.as_deref().unwrap_or_default();
        if access.owner == role {
            found.push((order, format!("owner of {kind} {name}")));
        } else if grants.iter().any(|grant| grant.grantee == role || grant.grantor == role) {
            found.push((order, format!("privileges for {kind} {name}")));
        }
    }
    // Sequences of columns have the owner of their table.
    for (name, sequence) in &version.sequences {
        let (object, (table, column)) = (Object::sequence(sequence.place), sequence.place);
        let is_listed = version.objects.iter().any(|(one, _)| *one == object);
        if column > 0 && !is_listed && version.objects.owner(object) == role {
            found.push((2 * table, format!("owner of sequence {name}")));
        }
    }
    found.sort();
    found.into_iter().map(|(_, text)| text).collect()
}

/// The grants of an object, as PostgreSQL prints them; `None` if there were none yet.
pub(crate) fn printed_grants(version: &Version, object: Object) -> Option<Vec<String>> {
    let grants = version.objects.get(object).grants?;
    let name =
        |oid: i64| if oid == PUBLIC { String::new() } else { quoted(&version.roles.name(oid)) };
    let print = |grant: &Grant| {
        let letters = grant.privileges.letters(grant.options);
        format!("{}={letters}/{}", name(grant.grantee), name(grant.grantor))
    };
    Some(grants.iter().map(print).collect())
}

/// A name in an entry of a list of grants.
fn quoted(name: &str) -> String {
    let is_plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
