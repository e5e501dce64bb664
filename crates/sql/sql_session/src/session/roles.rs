//! `CREATE`, `ALTER` and `DROP ROLE`, and membership in roles.

use super::SqlSession;
use super::definition::Edited;
use super::grants::dependents;
use crate::access::OWNER;
use crate::access::login::trusts_host;
use crate::access::role::{Membership, Role};
use crate::access::roles::{Roles, no_role};
use crate::access::verifier::Verifier;
use crate::catalog::{Definition, DefinitionKind, Version};
use crate::command::{RoleCommand, RoleOption, RoleSpec};
use crate::error::{Severity, SqlError};
use crate::host::Host;
use fabric::Env;
use sql::SqlType;
use sql_value::Value;

/// The roles that a command leaves.
struct Draft {
    roles: Vec<Role>,
}

impl Draft {
    fn get(&mut self, oid: i64) -> Result<&mut Role, SqlError> {
        let found = self.roles.iter_mut().find(|role| role.oid == oid);
        found.ok_or_else(|| SqlError::internal("a role is gone"))
    }

    fn as_roles(&self) -> Roles {
        Roles::read(&self.roles.iter().map(Role::definition).collect::<Vec<_>>())
    }
}

impl<H: Host> SqlSession<H> {
    /// Changes the roles.
    pub(super) fn change_roles(
        &mut self,
        version: &Version,
        command: &RoleCommand,
    ) -> Result<Edited, SqlError> {
        let mut draft = Draft { roles: version.roles.iter().cloned().collect() };
        if version.roles.is_empty() {
            // The first role gives the owner its name: that of the session.
            draft.roles.push(Role::owner(&self.identity.session.name));
        }
        let tag = match command {
            RoleCommand::Create { name, options } => {
                self.create_role(version, &mut draft, name, options)?;
                "CREATE ROLE"
            }
            RoleCommand::Alter { role, options } => {
                self.alter_role(&mut draft, role, options)?;
                "ALTER ROLE"
            }
            RoleCommand::Rename { name, to } => {
                self.rename_role(&mut draft, name, to)?;
                "ALTER ROLE"
            }
            RoleCommand::Drop { roles, if_exists } => {
                self.drop_roles(version, &mut draft, roles, *if_exists)?;
                "DROP ROLE"
            }
            RoleCommand::Grant { roles, members, is_admin } => {
                for role in roles {
                    let role = draft.as_roles().find(role)?.oid;
                    self.grant_role(&mut draft, role, members, *is_admin)?;
                }
                "GRANT ROLE"
            }
            RoleCommand::Revoke { roles, members, only_admin } => {
                for role in roles {
                    let role = draft.as_roles().find(role)?.clone();
                    self.revoke_role(&mut draft, &role, members, *only_admin)?;
                }
                "REVOKE ROLE"
            }
        };
        if !trusts_host(&version.roles) && trusts_host(&draft.as_roles()) {
            let message = "clients of this host are trusted again and need no password: no \
                           superuser who may log in has one";
            self.notice(Severity::Warning, "01000", message.to_owned());
        }
        let mut definitions: Vec<Definition> = draft.roles.iter().map(Role::definition).collect();
        let is_other = |one: &&Definition| one.kind != DefinitionKind::Role;
        definitions.extend(version.definitions.iter().filter(is_other).cloned());
        definitions.sort_by_key(|one| one.id);
        Ok(Edited::new(definitions, tag))
    }

    fn create_role(
        &mut self,
        version: &Version,
        draft: &mut Draft,
        name: &str,
        options: &[RoleOption],
    ) -> Result<(), SqlError> {
        let roles = draft.as_roles();
        let own = self.identity.acting(&roles);
        if options.contains(&RoleOption::Superuser(true)) && !roles.is_superuser(own) {
            return Err(denied("must be superuser to create superusers"));
        }
        if !roles.creates_roles(own) {
            return Err(denied("permission denied to create role"));
        }
        if roles.named(name).is_some() {
            return Err(SqlError::new("42710", format!("role \"{name}\" already exists")));
        }
        let oid = version.next_id();
        let birth = self.database.host().handle().env().random();
        draft.roles.push(Role { birth, ..Role::new(oid, name) });
        self.set_options(draft, oid, options)?;
        for option in options {
            match option {
                RoleOption::In(others) => {
                    let member = RoleSpec::Name(name.to_owned());
                    for other in others {
                        let other = draft.as_roles().find(other)?.oid;
                        self.grant_role(draft, other, std::slice::from_ref(&member), false)?;
                    }
                }
                RoleOption::Members(members, is_admin) => {
                    self.grant_role(draft, oid, members, *is_admin)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The number of a role in a statement.
    fn role_oid(&self, roles: &Roles, role: &RoleSpec) -> Result<i64, SqlError> {
        match role {
            RoleSpec::Name(name) => roles.find(name).map(|role| role.oid),
            RoleSpec::Current => Ok(self.identity.current.oid),
            RoleSpec::Session => Ok(self.identity.session.oid),
            RoleSpec::Public => Err(no_role("public")),
        }
    }

    fn alter_role(
        &mut self,
        draft: &mut Draft,
        role: &RoleSpec,
        options: &[RoleOption],
    ) -> Result<(), SqlError> {
        let roles = draft.as_roles();
        let (oid, own) = (self.role_oid(&roles, role)?, self.identity.acting(&roles));
        let changes_superuser =
            options.iter().any(|option| matches!(option, RoleOption::Superuser(_)));
        if !roles.is_superuser(own) {
            if roles.is_superuser(oid) || changes_superuser {
                let message =
                    "must be superuser to alter superuser roles or change superuser attribute";
                return Err(denied(message));
            }
            let is_password = |option: &RoleOption| matches!(option, RoleOption::Password(_));
            let is_own_password = oid == own && options.iter().all(is_password);
            if !roles.creates_roles(own) && !is_own_password {
                return Err(denied("permission denied"));
            }
        }
        if oid == OWNER && options.contains(&RoleOption::Superuser(false)) {
            let message = "permission denied to alter role";
            return Err(
                denied(message).detail("The bootstrap user must have the SUPERUSER attribute.")
            );
        }
        self.set_options(draft, oid, options)
    }

    fn set_options(
        &mut self,
        draft: &mut Draft,
        oid: i64,
        options: &[RoleOption],
    ) -> Result<(), SqlError> {
        let mut gets_password = false;
        let mut clears = false;
        let role = draft.get(oid)?;
        for option in options {
            match option {
                RoleOption::Superuser(is) => role.is_superuser = *is,
                RoleOption::Inherit(is) => role.inherits = *is,
                RoleOption::CreateRole(is) => role.creates_roles = *is,
                RoleOption::CreateDatabase(is) => role.creates_databases = *is,
                RoleOption::Login(is) => role.can_login = *is,
                RoleOption::Password(None) => role.verifier = None,
                RoleOption::Password(Some(password)) if password.is_empty() => {
                    role.verifier = None;
                    clears = true;
                }
                RoleOption::Password(Some(password)) => {
                    role.verifier = Some(verifier(password)?);
                    gets_password = true;
                }
                RoleOption::ValidUntil(text) => role.valid_until = time(text)?,
                RoleOption::In(_) | RoleOption::Members(..) => {}
            }
        }
        if clears {
            let message = "empty string is not a valid password, clearing password";
            self.notice(Severity::Notice, "00000", message.to_owned());
        }
        let roles = draft.as_roles();
        if gets_password && trusts_host(&roles) {
            let message = format!(
                "clients of this host are still trusted: they need no password as \"{0}\" until \
                 ALTER ROLE \"{0}\" PASSWORD gives the superuser one",
                roles.name(OWNER)
            );
            self.notice(Severity::Warning, "01000", message);
        }
        Ok(())
    }

    fn rename_role(&mut self, draft: &mut Draft, name: &str, to: &str) -> Result<(), SqlError> {
        let roles = draft.as_roles();
        let (oid, own) = (roles.find(name)?.oid, self.identity.acting(&roles));
        for (used, what) in
            [(&self.identity.session, "session"), (&self.identity.current, "current")]
        {
            if used.oid == oid {
                let message = format!("{what} user cannot be renamed");
                return Err(SqlError::unsupported(message));
            }
        }
        if roles.named(to).is_some() {
            return Err(SqlError::new("42710", format!("role \"{to}\" already exists")));
        }
        if roles.is_superuser(oid) && !roles.is_superuser(own) {
            return Err(denied("must be superuser to rename superusers"));
        }
        if !roles.creates_roles(own) {
            return Err(denied("permission denied to rename role"));
        }
        to.clone_into(&mut draft.get(oid)?.name);
        Ok(())
    }

    fn drop_roles(
        &mut self,
        version: &Version,
        draft: &mut Draft,
        dropped: &[RoleSpec],
        if_exists: bool,
    ) -> Result<(), SqlError> {
        let roles = draft.as_roles();
        let own = self.identity.acting(&roles);
        if !roles.creates_roles(own) {
            return Err(denied("permission denied to drop role"));
        }
        for role in dropped {
            let RoleSpec::Name(name) = role else {
                let message = "cannot use special role specifier in DROP ROLE";
                return Err(SqlError::new("22023", message));
            };
            let Some(role) = roles.named(name) else {
                if if_exists {
                    let message = format!("role \"{name}\" does not exist, skipping");
                    self.notice(Severity::Notice, "00000", message);
                    continue;
                }
                return Err(no_role(name));
            };
            let oid = role.oid;
            for (used, what) in
                [(&self.identity.current, "current"), (&self.identity.session, "session")]
            {
                if used.oid == oid {
                    return Err(SqlError::new("55006", format!("{what} user cannot be dropped")));
                }
            }
            if role.is_superuser && !roles.is_superuser(own) {
                return Err(denied("must be superuser to drop superusers"));
            }
            refuse_needed(version, role, &self.options.database)?;
            draft.roles.retain(|role| role.oid != oid);
            for role in &mut draft.roles {
                role.memberships.retain(|membership| membership.role != oid);
            }
        }
        Ok(())
    }

    fn grant_role(
        &mut self,
        draft: &mut Draft,
        role: i64,
        members: &[RoleSpec],
        is_admin: bool,
    ) -> Result<(), SqlError> {
        let roles = draft.as_roles();
        let grantor = self.identity.acting(&roles);
        self.check_admin(&roles, role)?;
        for member in members {
            let member = self.role_oid(&roles, member)?;
            if draft.as_roles().is_listed_member(role, member) {
                let (role, member) = (roles.name(role), roles.name(member));
                let message = format!("role \"{role}\" is a member of role \"{member}\"");
                return Err(SqlError::new("0LP01", message));
            }
            let name = roles.name(member);
            let memberships = &mut draft.get(member)?.memberships;
            match memberships.iter_mut().find(|membership| membership.role == role) {
                Some(old) if old.is_admin || !is_admin => {
                    let of = roles.name(role);
                    let message = format!("role \"{name}\" is already a member of role \"{of}\"");
                    self.notice(Severity::Notice, "00000", message);
                }
                Some(old) => old.is_admin = true,
                None => memberships.push(Membership { role, is_admin, grantor }),
            }
        }
        Ok(())
    }

    fn revoke_role(
        &mut self,
        draft: &mut Draft,
        role: &Role,
        members: &[RoleSpec],
        only_admin: bool,
    ) -> Result<(), SqlError> {
        let roles = draft.as_roles();
        self.check_admin(&roles, role.oid)?;
        for member in members {
            let member = self.role_oid(&roles, member)?;
            let memberships = &mut draft.get(member)?.memberships;
            match memberships.iter().position(|membership| membership.role == role.oid) {
                Some(at) if only_admin => memberships[at].is_admin = false,
                Some(at) => drop(memberships.remove(at)),
                None => {
                    let (name, of) = (roles.name(member), &role.name);
                    let message = format!("role \"{name}\" is not a member of role \"{of}\"");
                    self.notice(Severity::Warning, "01000", message);
                }
            }
        }
        Ok(())
    }

    /// Requires the right to make others members of a role.
    fn check_admin(&self, roles: &Roles, role: i64) -> Result<(), SqlError> {
        let own = self.identity.acting(roles);
        if roles.is_superuser(role) && !roles.is_superuser(own) {
            return Err(denied("must be superuser to alter superusers"));
        }
        if roles.creates_roles(own) || roles.is_admin(own, role) {
            return Ok(());
        }
        let name = roles.name(role);
        Err(denied(&format!("must have admin option on role \"{name}\"")))
    }
}

/// Refuses to drop a role that objects need.
fn refuse_needed(version: &Version, role: &Role, database: &str) -> Result<(), SqlError> {
    if role.oid != OWNER {
        let needed = dependents(version, role.oid, database);
        if needed.is_empty() {
            return Ok(());
        }
        let name = &role.name;
        let message =
            format!("role \"{name}\" cannot be dropped because some objects depend on it");
        return Err(SqlError::new("2BP01", message).detail(needed.join("\n")));
    }
    let message =
        format!("cannot drop role {} because it is required by the database system", role.name);
    Err(SqlError::new("2BP01", message))
}

pub(crate) fn denied(message: &str) -> SqlError {
    SqlError::new("42501", message)
}

/// The verifier of a password, which the client has perhaps made itself.
fn verifier(password: &str) -> Result<String, SqlError> {
    let is_md5 = password.len() == 35
        && password.strip_prefix("md5").is_some_and(|hash| {
            hash.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
        });
    if is_md5 {
        let hint = "Write the password itself, or a SCRAM-SHA-256 verifier.";
        return Err(SqlError::unsupported("MD5 passwords are not supported").hint(hint));
    }
    match Verifier::parse(password) {
        Some(_) => Ok(password.to_owned()),
        None => Ok(Verifier::new(password).to_string()),
    }
}

/// The time of `VALID UNTIL`; `None` for no limit.
fn time(text: &str) -> Result<Option<i64>, SqlError> {
    match sql_value::input::read(text, &SqlType::TimestampTz(None))
        .map_err(|error| SqlError::from(*error))?
    {
        Value::Timestamp(i64::MAX) => Ok(None),
        Value::Timestamp(time) => Ok(Some(time)),
        _ => Ok(None),
    }
}
