//! The roles of a session: the user that has connected, `SET SESSION AUTHORIZATION`, `SET ROLE`.
//!
//! The settings `session_authorization` and `role` have the names, so that they end with their
//! transaction as other settings do; the roles themselves are beside them, and the identity follows
//! those.

use super::SqlSession;
use super::named::path_names;
use super::prepared::Constants;
use super::settings::Actors;
use crate::access::OWNER;
use crate::access::role::Role;
use crate::access::roles::Roles;
use crate::catalog::Version;
use crate::constants::{constants, with_schema};
use crate::error::{Severity, SqlError};
use crate::host::Host;
use sql::SearchPath;
use sql::namespace::PUBLIC;
use std::sync::Arc;

/// A role as a session has found it. Later names of the role do not matter to the session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Actor {
    pub oid: i64,
    pub name: String,
    /// See [`Role::birth`].
    pub birth: u64,
}

/// The number of a role that was dropped, for its sessions, and of a name without a role.
const NOBODY: i64 = -1;

/// The roles of a session.
pub(crate) struct Identity {
    /// Differs from those of all other identities of the process. Plans and their permissions are
    /// for one identity.
    pub serial: u64,
    /// The user that has connected.
    connected: Actor,
    /// `session_user`
    pub session: Actor,
    /// `current_user`
    pub current: Actor,
    /// The setting `search_path`, and its schemas.
    path: (String, Arc<[String]>),
    /// The values of functions such as `current_user`.
    pub constants: Constants,
}

impl Identity {
    /// The identity of a user that has connected to this database. As long as there are no roles,
    /// each name is that of the owner; later a name without a role has no rights.
    pub fn new(serial: u64, roles: &Roles, user: &str, database: &str) -> Self {
        let oid = if roles.is_empty() { OWNER } else { NOBODY };
        let unnamed = Actor { oid, name: user.to_owned(), birth: 0 };
        let connected = roles.named(user).map_or(unnamed, Actor::of);
        let constants = constants(database, user, user);
        let (session, current) = (connected.clone(), connected.clone());
        let path = (String::new(), Arc::default());
        Self { serial, connected, session, current, path, constants }
    }
}

impl Identity {
    /// The role whose privileges count. A role that was dropped has none, even if its number is
    /// that of another one by now.
    pub fn acting(&self, roles: &Roles) -> i64 {
        self.current.acting(roles)
    }

    /// The schemas of the search path that exist in a version and that the role may use.
    pub fn path_in(&self, version: &Version) -> SearchPath {
        version.search_path(&self.path_names(), self.acting(&version.roles))
    }

    fn path_names(&self) -> Vec<String> {
        let own = |name: &String| match &**name {
            "$user" => self.current.name.clone(),
            _ => name.clone(),
        };
        self.path.1.iter().map(own).collect()
    }

    /// The values of functions of the session, in a version of the catalog.
    pub fn constants_in(&self, version: &Version) -> Constants {
        let schema = self.path_in(version).schemas().first().copied();
        if schema == Some(PUBLIC) {
            return self.constants.clone();
        }
        let schema = schema.map(|schema| version.schema_name(schema));
        with_schema(&self.constants, schema)
    }
}

impl Actor {
    pub fn acting(&self, roles: &Roles) -> i64 {
        match roles.get(self.oid) {
            Some(role) if role.birth == self.birth => role.oid,
            None if self.oid == OWNER => OWNER,
            _ => NOBODY,
        }
    }

    fn of(role: &Role) -> Self {
        Self { oid: role.oid, name: role.name.clone(), birth: role.birth }
    }
}

/// The settings that have the names.
pub(super) const ROLE: &str = "role";
pub(super) const SESSION_USER: &str = "session_authorization";
pub(super) const IS_SUPERUSER: &str = "is_superuser";

impl<H: Host> SqlSession<H> {
    /// The name of `current_user`.
    pub fn current_user(&self) -> &str {
        &self.identity.current.name
    }

    /// The name of `session_user`.
    pub fn session_user(&self) -> &str {
        &self.identity.session.name
    }

    /// The number of the role whose privileges count; that of no role if it was dropped.
    pub fn current_role(&self) -> i64 {
        self.identity.acting(&self.granted().roles)
    }

    /// Requires that the role of the session exists.
    ///
    /// # Errors
    /// It was dropped.
    pub fn require_role(&mut self) -> Result<(), SqlError> {
        let seen = (self.database.serial(), self.identity.serial);
        if self.role_seen == seen {
            return Ok(());
        }
        let version = self.granted();
        if self.identity.acting(&version.roles) == NOBODY {
            let name = &self.identity.current.name;
            let message = format!("role \"{name}\" does not exist");
            let hint =
                "Write RESET ROLE or RESET SESSION AUTHORIZATION, or connect as another role.";
            return Err(SqlError::new("28000", message).hint(hint));
        }
        self.role_seen = seen;
        Ok(())
    }

    /// `SET ROLE`
    pub(super) fn set_role(&mut self, name: Option<&str>, is_local: bool) -> Result<(), SqlError> {
        if self.warns_of_local(is_local) {
            return Ok(());
        }
        let role = name.map(|name| self.role_to_set(name)).transpose()?;
        if let Some(role) = &role {
            let version = self.version();
            if !version.roles.is_member(self.identity.session.acting(&version.roles), role.oid) {
                let message = format!("permission denied to set role \"{}\"", role.name);
                return Err(SqlError::new("42501", message));
            }
        }
        self.settings.put_role(role, is_local);
        self.follow_settings(is_local);
        Ok(())
    }

    /// `SET SESSION AUTHORIZATION`
    pub(super) fn set_session_user(
        &mut self,
        name: Option<&str>,
        is_local: bool,
    ) -> Result<(), SqlError> {
        if self.warns_of_local(is_local) {
            return Ok(());
        }
        let role = match name {
            Some(name) => self.role_to_set(name)?,
            None => self.identity.connected.clone(),
        };
        let connected = self.identity.connected.acting(&self.version().roles);
        if role.oid != connected && !self.version().roles.is_superuser(connected) {
            let message = "permission denied to set session authorization";
            return Err(SqlError::new("42501", message));
        }
        self.settings.put_session_user(role, is_local);
        self.follow_settings(is_local);
        Ok(())
    }

    /// As in PostgreSQL, `SET LOCAL` does nothing outside of a transaction.
    fn warns_of_local(&mut self, is_local: bool) -> bool {
        let warns = is_local && self.block.is_none();
        if warns {
            let message = "SET LOCAL can only be used in transaction blocks".to_owned();
            self.notice(Severity::Warning, "25P01", message);
        }
        warns
    }

    /// The role with a name that a session takes.
    fn role_to_set(&self, name: &str) -> Result<Actor, SqlError> {
        let known = [&self.identity.connected, &self.identity.session];
        if let Some(known) = known.into_iter().find(|known| known.name == name) {
            return Ok(known.clone());
        }
        match self.version().roles.named(name) {
            Some(role) => Ok(Actor::of(role)),
            None => Err(SqlError::new("22023", format!("role \"{name}\" does not exist"))),
        }
    }

    /// Takes the roles of the settings, which have perhaps changed.
    pub(super) fn follow_settings(&mut self, is_local: bool) {
        let Actors { session, role } = self.settings.actors().clone();
        let current = role.unwrap_or_else(|| session.clone());
        let path = self.settings.get("search_path").unwrap_or_default();
        let has_path = self.identity.path.0 == path;
        if has_path && self.identity.session == session && self.identity.current == current {
            return;
        }
        if !has_path {
            self.identity.path = (path.to_owned(), path_names(path));
        }
        let values = constants(&self.options.database, &session.name, &current.name);
        self.identity.serial = self.database.next_session();
        (self.identity.session, self.identity.current) = (session, current);
        self.identity.constants = values;
        let path = self.identity.path_names();
        self.sequences.set_actor(self.identity.current.clone(), path);
        let version = self.version();
        let is_superuser = version.roles.is_superuser(self.identity.acting(&version.roles));
        let truth = if is_superuser { "on" } else { "off" };
        if self.settings.get(IS_SUPERUSER) != Some(truth) {
            self.settings.put(IS_SUPERUSER, truth, is_local);
        }
        self.cache.clear();
        if let Some(block) = &mut self.block {
            // Its earlier statements have run with other rights or names.
            block.log.lose_earlier();
        }
    }

    /// Returns to the user that has connected.
    pub(super) fn reset_identity(&mut self) {
        self.settings.put_session_user(self.identity.connected.clone(), false);
        self.follow_settings(false);
    }
}
