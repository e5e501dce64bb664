//! A role and its stored form.

use super::OWNER;
use crate::catalog::{Definition, DefinitionKind};
use std::fmt::Write;

/// A role, as [`CatalogSnapshot::roles`](crate::CatalogSnapshot::roles) shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Role {
    pub oid: i64,
    pub name: String,
    pub is_superuser: bool,
    /// Whether it has the privileges of the roles that it is a member of without `SET ROLE`.
    pub inherits: bool,
    pub creates_roles: bool,
    pub creates_databases: bool,
    pub can_login: bool,
    /// The SCRAM-SHA-256 verifier of its password.
    pub verifier: Option<String>,
    /// When its password ends, in microseconds since 2000-01-01 UTC.
    pub valid_until: Option<i64>,
    /// The roles that it is a member of.
    pub memberships: Vec<Membership>,
    /// Distinguishes it from an earlier role with the same number, which was dropped.
    pub birth: u64,
}

/// A role's membership in another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Membership {
    pub role: i64,
    /// Whether it may make others members.
    pub is_admin: bool,
    /// The role that has granted it.
    pub grantor: i64,
}

impl Role {
    /// A role as `CREATE ROLE` makes it without options.
    pub(crate) fn new(oid: i64, name: &str) -> Self {
        Self {
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
            birth: 0,
        }
    }

    /// The role that owns the database.
    pub(crate) fn owner(name: &str) -> Self {
        Self {
            is_superuser: true,
            creates_roles: true,
            creates_databases: true,
            can_login: true,
            ..Self::new(OWNER, name)
        }
    }

    /// The flags with the words that store them.
    fn flags(&mut self) -> [(&'static str, &mut bool); 5] {
        [
            ("superuser", &mut self.is_superuser),
            ("inherit", &mut self.inherits),
            ("createrole", &mut self.creates_roles),
            ("createdb", &mut self.creates_databases),
            ("login", &mut self.can_login),
        ]
    }

    /// Reads a stored role. Lines that a newer version has written are skipped.
    pub(crate) fn of_definition(definition: &Definition) -> Self {
        let mut role = Self { inherits: false, ..Self::new(definition.id, &definition.name) };
        for line in definition.body.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["password", verifier] => role.verifier = Some(verifier.to_owned()),
                ["birth", number] => role.birth = number.parse().unwrap_or(0),
                ["until", time] => role.valid_until = time.parse().ok(),
                ["member", of, admin, grantor] => {
                    if let (Ok(of), Ok(grantor)) = (of.parse(), grantor.parse()) {
                        let is_admin = admin == "admin";
                        role.memberships.push(Membership { role: of, is_admin, grantor });
                    }
                }
                [flag] => {
                    role.flags()
                        .into_iter()
                        .filter(|(name, _)| *name == flag)
                        .for_each(|(_, is_set)| *is_set = true);
                }
                _ => {}
            }
        }
        role
    }

    /// The definition that stores the role.
    pub(crate) fn definition(&self) -> Definition {
        let mut body = String::new();
        for (name, is_set) in self.clone().flags() {
            if *is_set {
                // Writing to a string cannot fail.
                let _ = writeln!(body, "{name}");
            }
        }
        if let Some(verifier) = &self.verifier {
            let _ = writeln!(body, "password {verifier}");
        }
        if self.birth != 0 {
            let _ = writeln!(body, "birth {}", self.birth);
        }
        if let Some(until) = self.valid_until {
            let _ = writeln!(body, "until {until}");
        }
        for Membership { role, is_admin, grantor } in &self.memberships {
            let admin = if *is_admin { "admin" } else { "plain" };
            let _ = writeln!(body, "member {role} {admin} {grantor}");
        }
        Definition {
            id: self.oid,
            kind: DefinitionKind::Role,
            table: 0,
            name: self.name.clone(),
            physical: String::new(),
            body,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_as_they_were_stored() {
        let mut role = Role::owner("ada");
        role.verifier = Some("SCRAM-SHA-256$4096:c2FsdA==$a:b".to_owned());
        role.valid_until = Some(-5);
        role.birth = 7;
        role.memberships.push(Membership { role: 16_385, is_admin: true, grantor: 10 });
        for role in [role, Role::new(16_384, "bob"), Role { inherits: false, ..Role::new(7, "c") }]
        {
            assert_eq!(Role::of_definition(&role.definition()), role);
        }
    }
}
