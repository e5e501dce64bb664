//! The roles of a version of the catalog.

use super::OWNER;
use super::role::Role;
use crate::catalog::{Definition, DefinitionKind};
use crate::error::SqlError;
use std::collections::{BTreeMap, BTreeSet};

/// All roles. Without a stored role there is only the owner of the database, by any name.
#[derive(Clone, Default)]
pub(crate) struct Roles {
    roles: BTreeMap<i64, Role>,
}

impl Roles {
    pub fn read(definitions: &[Definition]) -> Self {
        let stored = definitions.iter().filter(|one| one.kind == DefinitionKind::Role);
        Self { roles: stored.map(|one| (one.id, Role::of_definition(one))).collect() }
    }

    /// Whether no role was ever created.
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Role> {
        self.roles.values()
    }

    pub fn get(&self, oid: i64) -> Option<&Role> {
        self.roles.get(&oid)
    }

    pub fn named(&self, name: &str) -> Option<&Role> {
        self.roles.values().find(|role| role.name == name)
    }

    /// The role with this name.
    ///
    /// # Errors
    /// There is none.
    pub fn find(&self, name: &str) -> Result<&Role, SqlError> {
        self.named(name).ok_or_else(|| no_role(name))
    }

    pub fn is_superuser(&self, oid: i64) -> bool {
        match self.get(oid) {
            Some(role) => role.is_superuser,
            None => oid == OWNER,
        }
    }

    /// Whether a role may create others.
    pub fn creates_roles(&self, oid: i64) -> bool {
        self.is_superuser(oid) || self.get(oid).is_some_and(|role| role.creates_roles)
    }

    /// Whether a role is a member of another one, directly or not, or is that one.
    pub fn is_member(&self, member: i64, of: i64) -> bool {
        self.is_superuser(member) || self.reaches(member, of, false)
    }

    /// Whether a role is a member of another one, superuser or not.
    pub fn is_listed_member(&self, member: i64, of: i64) -> bool {
        self.reaches(member, of, false)
    }

    /// Whether a role has the privileges of another one without `SET ROLE`.
    pub fn has_privileges(&self, member: i64, of: i64) -> bool {
        self.is_superuser(member) || self.reaches(member, of, true)
    }

    /// Whether a role may make others members of this one.
    pub fn is_admin(&self, oid: i64, of: i64) -> bool {
        if self.is_superuser(oid) {
            return true;
        }
        let is_of = |role: &Role| {
            role.memberships.iter().any(|membership| membership.role == of && membership.is_admin)
        };
        self.closure(oid, false).iter().filter_map(|&one| self.get(one)).any(is_of)
    }

    /// A role with the roles whose privileges it has.
    pub fn inherited(&self, oid: i64) -> BTreeSet<i64> {
        self.closure(oid, true)
    }

    fn reaches(&self, member: i64, of: i64, inherits: bool) -> bool {
        member == of || self.closure(member, inherits).contains(&of)
    }

    /// A role with those that it is a member of, up to roles that do not inherit.
    fn closure(&self, from: i64, inherits: bool) -> BTreeSet<i64> {
        let (mut found, mut next) = (BTreeSet::from([from]), vec![from]);
        while let Some(role) = next.pop().and_then(|oid| self.get(oid)) {
            if inherits && !role.inherits {
                continue;
            }
            next.extend(role.memberships.iter().map(|one| one.role).filter(|&of| found.insert(of)));
        }
        found
    }

    /// The name of a role, or its number if it is gone.
    pub fn name(&self, oid: i64) -> String {
        self.get(oid).map_or_else(|| oid.to_string(), |role| role.name.clone())
    }
}

pub(crate) fn no_role(name: &str) -> SqlError {
    SqlError::new("42704", format!("role \"{name}\" does not exist"))
}

#[cfg(test)]
mod tests {
    use super::super::role::Membership;
    use super::*;

    fn member(oid: i64, inherits: bool, of: &[i64]) -> Definition {
        let memberships = of.iter().map(|&role| Membership { role, is_admin: false, grantor: 10 });
        let memberships = memberships.collect();
        Role { inherits, memberships, ..Role::new(oid, &format!("r{oid}")) }.definition()
    }

    #[test]
    fn privileges_pass_through_roles_that_inherit() {
        // 1 is in 2, 2 is in 3 and does not inherit, 4 is nothing; 5 and 6 are a cycle.
        let definitions = [
            member(1, true, &[2]),
            member(2, false, &[3]),
            member(3, true, &[]),
            member(4, true, &[]),
            member(5, true, &[6]),
            member(6, true, &[5]),
        ];
        let roles = Roles::read(&definitions);
        assert!(roles.is_member(1, 3) && roles.has_privileges(1, 2));
        assert!(!roles.has_privileges(1, 3) && !roles.is_member(4, 1) && !roles.is_member(3, 1));
        assert!(roles.is_member(5, 6) && roles.is_member(6, 5) && roles.is_member(4, 4));
        assert!(!roles.is_superuser(10) || roles.get(10).is_none());
        assert!(Roles::default().is_superuser(OWNER));
    }
}
