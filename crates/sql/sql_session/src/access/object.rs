//! Owners and grants of objects.

use super::OWNER;
use super::privilege::{Grant, PUBLIC, Privileges, default_grants};
use super::roles::Roles;
use crate::catalog::numbers::next_id;
use crate::catalog::{Definition, DefinitionKind};
use crate::error::SqlError;
use sql::namespace::own_name;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The kind of an object, as errors name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Table,
    View,
    Sequence,
    Routine,
    Type,
    Schema,
    Database,
}

/// An object that has an owner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Object {
    /// A table, view, routine, sequence of its own, or schema beside `public`.
    Definition(i64),
    /// The sequence of a column: the number of the table and of the column.
    ColumnSequence(i64, i64),
    /// The schema `public`.
    Schema,
    Database,
}

/// The owner and the grants of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    pub owner: i64,
    /// `None` before the first `GRANT` or `REVOKE`.
    pub grants: Option<Vec<Grant>>,
}

/// Owners and grants of a version of the catalog. Objects without an entry are of the database's
/// owner.
#[derive(Clone, Default)]
pub(crate) struct Objects {
    objects: BTreeMap<Object, Access>,
}

impl Object {
    /// The word that stores the part of a definition.
    fn part(self) -> String {
        match self {
            Self::Definition(_) => String::new(),
            Self::ColumnSequence(_, column) => format!("sequence {column}"),
            Self::Schema => "schema".to_owned(),
            Self::Database => "database".to_owned(),
        }
    }

    /// The number of the definition that it belongs to; 0 if it does not depend on one.
    fn definition(self) -> i64 {
        match self {
            Self::Definition(id) | Self::ColumnSequence(id, _) => id,
            Self::Schema | Self::Database => 0,
        }
    }

    fn stored(table: i64, part: &str) -> Option<Self> {
        match part {
            "" => Some(Self::Definition(table)),
            "schema" => Some(Self::Schema),
            "database" => Some(Self::Database),
            part => {
                let column = part.strip_prefix("sequence ")?.parse().ok()?;
                Some(Self::ColumnSequence(table, column))
            }
        }
    }

    /// The sequence with this place, see [`crate::catalog::sequences::SequencePlace`].
    pub fn sequence(place: (i64, i64)) -> Self {
        match place {
            (id, 0) => Self::Definition(id),
            (table, column) => Self::ColumnSequence(table, column),
        }
    }
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::View => "view",
            Self::Sequence => "sequence",
            Self::Routine => "function",
            Self::Type => "type",
            Self::Schema => "schema",
            Self::Database => "database",
        }
    }
}

impl Objects {
    pub fn read(definitions: &[Definition]) -> Self {
        let stored = definitions.iter().filter(|one| one.kind == DefinitionKind::Access);
        let read =
            |one: &Definition| Some((Object::stored(one.table, &one.name)?, access(&one.body)));
        Self { objects: stored.filter_map(read).collect() }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Object, &Access)> {
        self.objects.iter()
    }

    /// The owner and the grants of an object.
    pub fn get(&self, object: Object) -> Access {
        if let Some(found) = self.objects.get(&object) {
            return found.clone();
        }
        // The sequence of a column is of the table's owner.
        let owner = match object {
            Object::ColumnSequence(table, _) => self.get(Object::Definition(table)).owner,
            _ => OWNER,
        };
        Access { owner, grants: None }
    }

    pub fn owner(&self, object: Object) -> i64 {
        self.get(object).owner
    }

    pub fn grants(&self, object: Object, kind: Kind) -> Vec<Grant> {
        let Access { owner, grants } = self.get(object);
        let mut grants = grants.unwrap_or_else(|| default_grants(kind, owner));
        if kind == Kind::Schema && object != Object::Schema && self.has_default(object) {
            // Only `public` is open to everybody at first.
            grants.retain(|grant| grant.grantee != PUBLIC);
        }
        grants
    }

    fn has_default(&self, object: Object) -> bool {
        self.objects.get(&object).is_none_or(|access| access.grants.is_none())
    }

    /// Whether a role is the owner, or has the owner's privileges.
    pub fn is_owner(&self, roles: &Roles, role: i64, object: Object) -> bool {
        roles.has_privileges(role, self.owner(object))
    }

    /// The privileges of a role for an object, and those that it may grant.
    pub fn privileges(
        &self,
        roles: &Roles,
        role: i64,
        object: Object,
        kind: Kind,
    ) -> (Privileges, Privileges) {
        let all = Privileges::all(kind);
        if roles.is_superuser(role) {
            return (all, all);
        }
        let own = roles.inherited(role);
        let (mut has, mut may_grant) = (Privileges::NONE, Privileges::NONE);
        for grant in self.grants(object, kind) {
            if grant.grantee == PUBLIC || own.contains(&grant.grantee) {
                has = has.with(grant.privileges);
                may_grant = may_grant.with(grant.options);
            }
        }
        if own.contains(&self.owner(object)) {
            may_grant = all;
        }
        (has, may_grant)
    }

    /// Requires privileges.
    ///
    /// # Errors
    /// The role lacks one.
    pub fn require(
        &self,
        roles: &Roles,
        role: i64,
        (object, kind, name): (Object, Kind, &str),
        wanted: Privileges,
    ) -> Result<(), SqlError> {
        match self.privileges(roles, role, object, kind).0.has_all(wanted) {
            true => Ok(()),
            false => Err(denied(kind.name(), name)),
        }
    }
}

pub(crate) fn denied(kind: &str, name: &str) -> SqlError {
    SqlError::new("42501", format!("permission denied for {kind} {}", own_name(name)))
}

pub(crate) fn not_owner(kind: &str, name: &str) -> SqlError {
    SqlError::new("42501", format!("must be owner of {kind} {}", own_name(name)))
}

/// Reads the stored form.
fn access(body: &str) -> Access {
    let mut access = Access { owner: OWNER, grants: None };
    for line in body.lines() {
        match line.split_once(' ') {
            Some(("owner", owner)) => access.owner = owner.parse().unwrap_or(OWNER),
            Some(("grant", grant)) => {
                access.grants.get_or_insert_default().extend(Grant::parse(grant));
            }
            _ if line == "grants" => access.grants = Some(Vec::new()),
            _ => {}
        }
    }
    access
}

/// Stores owner and grants of an object among definitions; `id` is the number of a new one.
pub(crate) fn store(definitions: &mut Vec<Definition>, id: i64, object: Object, access: &Access) {
    let mut body = format!("owner {}\n", access.owner);
    if let Some(grants) = &access.grants {
        body.push_str("grants\n");
        for grant in grants {
            // Writing to a string cannot fail.
            let _ = writeln!(body, "grant {}", grant.stored());
        }
    }
    let (table, name) = (object.definition(), object.part());
    let is_it = |one: &&mut Definition| {
        one.kind == DefinitionKind::Access && one.table == table && one.name == name
    };
    match definitions.iter_mut().find(is_it) {
        Some(old) => old.body = body,
        None => {
            let kind = DefinitionKind::Access;
            definitions.push(Definition { id, kind, table, name, physical: String::new(), body });
        }
    }
}

/// Whether a definition is an object with an owner.
pub(crate) fn is_object(one: &Definition) -> bool {
    matches!(
        one.kind,
        DefinitionKind::Table
            | DefinitionKind::View
            | DefinitionKind::Sequence
            | DefinitionKind::Routine
            | DefinitionKind::Type
            | DefinitionKind::Schema
    )
}

/// Gives new objects their owner, and drops entries of objects that are gone. A routine that was
/// replaced keeps its owner and its grants.
pub(crate) fn follow(before: &[Definition], after: &mut Vec<Definition>, role: i64) {
    let is_known = |one: &Definition| before.iter().any(|old| old.id == one.id && is_object(old));
    let new: Vec<Definition> =
        after.iter().filter(|one| is_object(one) && !is_known(one)).cloned().collect();
    for one in &new {
        let is_old = |old: &&Definition| {
            old.kind == DefinitionKind::Routine && one.kind == old.kind && old.name == one.name
        };
        let replaced = before.iter().find(is_old).map(|old| old.id);
        let entry = |entry: &&mut Definition| {
            entry.kind == DefinitionKind::Access && Some(entry.table) == replaced
        };
        if let Some(entry) = after.iter_mut().find(entry) {
            entry.table = one.id;
        } else if role != OWNER && replaced.is_none() {
            let id = next_id(after);
            let access = Access { owner: role, grants: None };
            store(after, id, Object::Definition(one.id), &access);
        }
    }
    let objects: Vec<i64> = after.iter().filter(|one| is_object(one)).map(|one| one.id).collect();
    after.retain(|one| {
        one.kind != DefinitionKind::Access || one.table == 0 || objects.contains(&one.table)
    });
}
