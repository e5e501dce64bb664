//! Roles: `pg_authid` and the views of it, `pg_auth_members`, and functions on roles.

use crate::fill::{Filler, OWNER, Row, text};
use crate::relations::Relation;
use crate::world::World;
use sql_session::{Role, SqlError};
use sql_value::Value;

/// The role that owns the schema `public`, in PostgreSQL.
pub(crate) const DATABASE_OWNER: (i64, &str) = (6_171, "pg_database_owner");

/// Relations whose rows only a superuser may read.
pub(crate) fn check_readable(relation: &Relation, world: &World) -> Result<(), SqlError> {
    let what = match relation.name {
        "pg_authid" => "table",
        "pg_shadow" => "view",
        _ => return Ok(()),
    };
    if world.is_superuser() {
        return Ok(());
    }
    let message = format!("permission denied for {what} {}", relation.name);
    Err(SqlError::new("42501", message))
}

impl World {
    pub(crate) fn is_superuser(&self) -> bool {
        match self.role(self.role) {
            Some(role) => role.is_superuser,
            None => self.role == OWNER || self.roles.is_empty(),
        }
    }

    pub(crate) fn role(&self, oid: i64) -> Option<&Role> {
        self.roles.iter().find(|role| role.oid == oid)
    }

    /// The name of a role.
    pub(crate) fn role_name(&self, oid: i64) -> Option<String> {
        if oid == DATABASE_OWNER.0 {
            return Some(DATABASE_OWNER.1.to_owned());
        }
        let owner = || (oid == OWNER).then(|| self.user.clone());
        self.role(oid).map(|role| role.name.clone()).or_else(owner)
    }

    /// The number of a role.
    pub(crate) fn role_oid(&self, name: &str) -> Option<i64> {
        let found = self.roles.iter().find(|role| role.name == name).map(|role| role.oid);
        let owner = || (self.roles.is_empty() && name == self.user).then_some(OWNER);
        found.or_else(owner).or((name == DATABASE_OWNER.1).then_some(DATABASE_OWNER.0))
    }

    /// The roles that a role is a member of, itself included; with `inherits`, those whose
    /// privileges it has.
    pub(crate) fn member_of(&self, oid: i64, inherits: bool) -> Vec<i64> {
        let (mut found, mut next) = (vec![oid], 0);
        while let Some(&role) = found.get(next) {
            next += 1;
            let Some(role) = self.role(role).filter(|role| role.inherits || !inherits) else {
                continue;
            };
            for membership in &role.memberships {
                if !found.contains(&membership.role) {
                    found.push(membership.role);
                }
            }
        }
        found
    }
}

/// `pg_has_role([user,] role, privilege)`
pub(crate) fn has_role(world: &World, values: &[Value]) -> Result<Value, SqlError> {
    let (user, role, privilege) = match values {
        [user, role, privilege] => (role_of(world, user)?, role_of(world, role)?, privilege),
        [role, privilege] => (world.role, role_of(world, role)?, privilege),
        _ => return Ok(Value::Null),
    };
    let is_superuser = world.role(user).map_or(user == OWNER, |role| role.is_superuser);
    let kinds = privilege.as_text().unwrap_or_default().to_uppercase();
    for kind in kinds.split(',').map(str::trim) {
        let inherits = match kind {
            "USAGE" => true,
            "MEMBER" | "SET" => false,
            _ if kind.starts_with("MEMBER WITH") || kind.starts_with("USAGE WITH") => false,
            _ => {
                let message = format!("unrecognized privilege type: \"{}\"", kind.to_lowercase());
                return Err(SqlError::new("22023", message));
            }
        };
        let needs_admin = kind.contains(" WITH ");
        let has = world.member_of(user, inherits);
        let is_admin = || {
            let memberships = has.iter().filter_map(|&one| world.role(one));
            memberships
                .flat_map(|role| &role.memberships)
                .any(|one| one.role == role && one.is_admin)
        };
        if is_superuser || has.contains(&role) && (!needs_admin || is_admin()) {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// A role by its name or number.
pub(crate) fn role_of(world: &World, value: &Value) -> Result<i64, SqlError> {
    match value {
        Value::Int(oid) => Ok(*oid),
        value => {
            let name = value.as_text().unwrap_or_default();
            let missing = || SqlError::new("42704", format!("role \"{name}\" does not exist"));
            world.role_oid(name).ok_or_else(missing)
        }
    }
}

fn database_owner(other: &Role) -> Role {
    let (oid, name) = DATABASE_OWNER;
    Role {
        oid,
        name: name.to_owned(),
        is_superuser: false,
        inherits: true,
        creates_roles: false,
        creates_databases: false,
        can_login: false,
        verifier: None,
        valid_until: None,
        memberships: Vec::new(),
        ..other.clone()
    }
}

impl Filler<'_> {
    /// The rows of `pg_authid` and its views; the views hide passwords.
    pub fn roles(&self) -> Vec<Row> {
        let name = self.relation.name;
        let shows_passwords = matches!(name, "pg_authid" | "pg_shadow");
        let only_users = matches!(name, "pg_user" | "pg_shadow");
        let roles = self.world.roles.iter().filter(|role| role.can_login || !only_users);
        let row = |role: &Role| {
            let password = match (&role.verifier, shows_passwords) {
                (_, false) => text("********"),
                (Some(verifier), true) => text(verifier),
                (None, true) => Value::Null,
            };
            let until = role.valid_until.map_or(Value::Null, Value::Timestamp);
            let mut values = Vec::new();
            for (name, _) in &self.relation.columns {
                let value = match name.as_str() {
                    "rolname" | "usename" => text(&role.name),
                    "oid" | "usesysid" => Value::Int(role.oid),
                    "rolsuper" | "usesuper" => Value::Bool(role.is_superuser),
                    "rolinherit" => Value::Bool(role.inherits),
                    "rolcreaterole" => Value::Bool(role.creates_roles),
                    "rolcreatedb" | "usecreatedb" => Value::Bool(role.creates_databases),
                    "rolcanlogin" => Value::Bool(role.can_login),
                    "rolreplication" | "rolbypassrls" | "userepl" | "usebypassrls" => {
                        Value::Bool(role.oid == OWNER)
                    }
                    "rolconnlimit" => Value::Int(-1),
                    "rolpassword" | "passwd" => password.clone(),
                    "rolvaliduntil" | "valuntil" => until.clone(),
                    _ => continue,
                };
                values.push((name.as_str(), value));
            }
            self.row(&values)
        };
        let mut rows: Vec<Row> = roles.map(row).collect();
        if !only_users {
            // The owner of the schema `public`; nobody is a member.
            rows.extend(self.world.roles.first().map(|other| row(&database_owner(other))));
        }
        rows
    }

    pub fn role_members(&self) -> Vec<Row> {
        let roles = self.world.roles.iter();
        let members = roles.flat_map(|role| role.memberships.iter().map(move |one| (role, one)));
        let row = |(member, of): (&Role, &sql_session::Membership)| {
            self.row(&[
                ("roleid", Value::Int(of.role)),
                ("member", Value::Int(member.oid)),
                ("grantor", Value::Int(of.grantor)),
                ("admin_option", Value::Bool(of.is_admin)),
            ])
        };
        members.map(row).collect()
    }
}
