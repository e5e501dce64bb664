//! The users that may connect.

use super::OWNER;
use super::object::{Kind, Object, Objects};
use super::privilege::Privileges;
use super::role::Role;
use super::roles::Roles;
use super::verifier::{ITERATIONS, SALT_BYTES, Verifier, mac, random};
use crate::error::{Severity, SqlError};
use std::sync::OnceLock;

/// The answer to a client that gives the name of a user.
#[derive(Clone, Debug)]
pub enum Login {
    /// No password is needed.
    Trusted,
    /// The client must prove that it has the password of this verifier. `refusal` is the reason why
    /// even the right password does not help, which only its owner learns.
    Password {
        verifier: Verifier,
        refusal: Option<SqlError>,
    },
    /// The user has no password. The client goes through the same exchange with
    /// this verifier, so that it does not learn whether the role exists.
    Nobody(Verifier),
    Refused(SqlError),
}

/// Whether everybody on this host is trusted: until a superuser has a password.
pub(crate) fn trusts_host(roles: &Roles) -> bool {
    !roles.iter().any(|role| role.is_superuser && role.can_login && role.verifier.is_some())
}

/// Whether a client of another host could log in.
pub(crate) fn has_passwords(roles: &Roles) -> bool {
    roles.iter().any(|role| role.can_login && role.verifier.is_some())
}

/// Decides about a user; `is_local` says whether the client is on this host, `now` is the time in
/// microseconds since 2000-01-01 UTC.
pub(crate) fn login(
    roles: &Roles,
    objects: &Objects,
    (user, database): (&str, &str),
    is_local: bool,
    now: i64,
) -> Login {
    let role = roles.named(user);
    let refused =
        |role: &Role| no_login(role).or_else(|| no_connect(roles, objects, role, database));
    if let Some(role) = role
        && let Some(verifier) = role.verifier.as_deref().and_then(Verifier::parse)
    {
        let has_expired = role.valid_until.is_some_and(|until| until < now);
        // PostgreSQL does not say that a password has expired, either.
        let expired = has_expired.then(|| wrong_password(user));
        return Login::Password { verifier, refusal: expired.or_else(|| refused(role)) };
    }
    if !is_local || !trusts_host(roles) {
        return Login::Nobody(mock(user));
    }
    match role {
        Some(role) => refused(role).map_or(Login::Trusted, Login::Refused),
        None if roles.is_empty() || roles.get(OWNER).is_none() => Login::Trusted,
        None => Login::Refused(no_role(user)),
    }
}

/// Decides again when the session of a user begins: roles may have changed since `login` answered.
///
/// # Errors
/// The user may not connect any more, or another proof is needed now.
pub(crate) fn admit(
    roles: &Roles,
    objects: &Objects,
    (user, database): (&str, &str),
    (before, is_local): (&Login, bool),
    now: i64,
) -> Result<(), SqlError> {
    match (login(roles, objects, (user, database), is_local, now), before) {
        (Login::Trusted, _) => Ok(()),
        (Login::Refused(refusal), _) => Err(refusal),
        (Login::Password { verifier, refusal }, Login::Password { verifier: proved, .. })
            if verifier == *proved =>
        {
            refusal.map_or(Ok(()), Err)
        }
        (Login::Nobody(_), _) if roles.named(user).is_none() => Err(no_role(user)),
        _ => Err(wrong_password(user)),
    }
}

fn no_role(user: &str) -> SqlError {
    fatal("28000", format!("role \"{user}\" does not exist"))
}

fn no_connect(roles: &Roles, objects: &Objects, role: &Role, name: &str) -> Option<SqlError> {
    let (has, _) = objects.privileges(roles, role.oid, Object::Database, Kind::Database);
    let error = fatal("42501", format!("permission denied for database \"{name}\""));
    let error = error.detail("User does not have CONNECT privilege.");
    (!has.has_all(Privileges::CONNECT)).then_some(error)
}

/// A verifier that no password has. A user's salt is the same each time, as long as the process
/// runs, and nobody can compute it without the process's secret: neither a client that knows the
/// key of a role, nor one that has read the catalog.
fn mock(user: &str) -> Verifier {
    static SECRET: OnceLock<[u8; 32]> = OnceLock::new();
    let secret = SECRET.get_or_init(|| {
        let mut secret = [0; 32];
        random(&mut secret);
        secret
    });
    let hash = mac(secret, &[b"salt of ", user.as_bytes()]);
    let salt = hash[..SALT_BYTES].to_vec();
    let server_key = mac(secret, &[b"key of ", user.as_bytes()]);
    Verifier { iterations: ITERATIONS, salt, stored_key: [0; 32], server_key }
}

fn no_login(role: &Role) -> Option<SqlError> {
    let message = format!("role \"{}\" is not permitted to log in", role.name);
    (!role.can_login).then(|| fatal("28000", message))
}

/// The refusal of a client that has not proved its password.
pub fn wrong_password(user: &str) -> SqlError {
    fatal("28P01", format!("password authentication failed for user \"{user}\""))
}

fn fatal(sqlstate: &'static str, message: String) -> SqlError {
    let mut error = SqlError::new(sqlstate, message);
    error.severity = Severity::Fatal;
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(roles: &[Role]) -> Roles {
        Roles::read(&roles.iter().map(Role::definition).collect::<Vec<_>>())
    }

    fn with_password(role: Role) -> Role {
        Role { verifier: Some(Verifier::new("secret").to_string()), ..role }
    }

    fn sqlstate(login: Login) -> String {
        match login {
            Login::Refused(error) => error.sqlstate.to_string(),
            Login::Password { refusal: Some(error), .. } => format!("password, {}", error.sqlstate),
            Login::Password { .. } => "password".to_owned(),
            Login::Trusted => "trusted".to_owned(),
            Login::Nobody(_) => "nobody".to_owned(),
        }
    }

    #[test]
    fn this_host_is_trusted_until_a_superuser_has_a_password() {
        let answer = |roles: &Roles, user, is_local| {
            sqlstate(login(roles, &Objects::default(), (user, "db"), is_local, 0))
        };
        let none = Roles::default();
        assert_eq!(answer(&none, "anybody", true), "trusted");
        assert_eq!(answer(&none, "anybody", false), "nobody");
        let bob = Role { can_login: true, ..Role::new(16_384, "bob") };
        let group = Role::new(16_385, "staff");
        let open = roles(&[Role::owner("me"), with_password(bob.clone()), group.clone()]);
        assert!(trusts_host(&open) && has_passwords(&open));
        assert_eq!(answer(&open, "me", true), "trusted");
        assert_eq!(answer(&open, "me", false), "nobody");
        assert_eq!(answer(&open, "bob", true), "password");
        assert_eq!(answer(&open, "bob", false), "password");
        assert_eq!(answer(&open, "staff", true), "28000");
        assert_eq!(answer(&open, "other", true), "28000");
        let until = |time| Role { valid_until: Some(time), ..with_password(bob.clone()) };
        let closed = roles(&[with_password(Role::owner("me")), until(-1), with_password(group)]);
        assert!(!trusts_host(&closed));
        assert_eq!(answer(&closed, "me", true), "password");
        assert_eq!(answer(&closed, "bob", true), "password, 28P01");
        assert_eq!(answer(&closed, "staff", true), "password, 28000");
        assert_eq!(answer(&closed, "other", true), "nobody");
        assert_eq!(answer(&roles(&[Role::owner("me"), until(1)]), "bob", false), "password");
    }

    /// The owner of a role knows the keys of its own verifier.
    #[test]
    fn the_salt_of_a_user_without_a_password_does_not_depend_on_the_roles() {
        let bob = with_password(Role { can_login: true, ..Role::new(16_384, "bob") });
        let known = Verifier::parse(bob.verifier.as_deref().expect("it has one")).expect("ours");
        let salt = |roles: &Roles| {
            let answer = login(roles, &Objects::default(), ("nobody", "db"), false, 0);
            let Login::Nobody(verifier) = answer else { panic!("{answer:?}") };
            verifier.salt
        };
        let own = salt(&roles(&[Role::owner("me"), bob]));
        assert_eq!(own, salt(&Roles::default()), "it stays the same");
        for secret in [known.server_key, known.stored_key, [0; 32]] {
            assert_ne!(own, mac(&secret, &[b"salt of ", b"nobody"])[..SALT_BYTES]);
        }
    }
}
