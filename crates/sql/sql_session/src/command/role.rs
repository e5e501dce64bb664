//! `CREATE`, `ALTER` and `DROP ROLE`, membership in roles, and the role of a session.

use super::{Command, Parser, Result2};
use crate::error::SqlError;
use crate::lexer::Kind;

/// A role in a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RoleSpec {
    Name(String),
    /// `CURRENT_USER`, `CURRENT_ROLE`
    Current,
    /// `SESSION_USER`
    Session,
    /// `PUBLIC`: all roles.
    Public,
}

/// An option of `CREATE ROLE` and `ALTER ROLE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RoleOption {
    Superuser(bool),
    Inherit(bool),
    CreateRole(bool),
    CreateDatabase(bool),
    Login(bool),
    /// `None` for `PASSWORD NULL`.
    Password(Option<String>),
    ValidUntil(String),
    /// `IN ROLE`: the new role becomes a member of these.
    In(Vec<String>),
    /// `ROLE` and `ADMIN`: these become members of the new role.
    Members(Vec<RoleSpec>, bool),
}

/// A command about roles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RoleCommand {
    Create {
        name: String,
        options: Vec<RoleOption>,
    },
    Alter {
        role: RoleSpec,
        options: Vec<RoleOption>,
    },
    Rename {
        name: String,
        to: String,
    },
    Drop {
        roles: Vec<RoleSpec>,
        if_exists: bool,
    },
    Grant {
        roles: Vec<String>,
        members: Vec<RoleSpec>,
        is_admin: bool,
    },
    Revoke {
        roles: Vec<String>,
        members: Vec<RoleSpec>,
        /// Only the right to make others members.
        only_admin: bool,
    },
}

/// An option that is set or not.
type Flag = fn(bool) -> RoleOption;

/// Words that name a role and cannot be the name of a new one.
const RESERVED: [&str; 2] = ["public", "none"];

impl Parser<'_> {
    /// Whether the next word begins a command about roles.
    pub(super) fn accept_role(&mut self) -> Option<bool> {
        if self.accept("USER") && !self.is_word("MAPPING") {
            return Some(true);
        }
        (self.accept("ROLE") || self.accept("GROUP")).then_some(false)
    }

    /// `CREATE ROLE`, behind these words; `CREATE USER` if `logs_in`.
    pub(super) fn create_role(&mut self, logs_in: bool) -> Result2<Command> {
        let name = self.new_role()?;
        let mut options = Vec::new();
        if logs_in {
            options.push(RoleOption::Login(true));
        }
        self.accept("WITH");
        options.extend(self.role_options(true)?);
        Ok(Command::Role(RoleCommand::Create { name, options }))
    }

    /// `ALTER ROLE`, behind these words.
    pub(super) fn alter_role(&mut self) -> Result2<Command> {
        if self.is_word("ALL") {
            return Err(role_settings());
        }
        let role = self.role()?;
        if self.accept_all(&["RENAME", "TO"]) {
            let RoleSpec::Name(name) = role else {
                let message = "session user cannot be renamed";
                return Err(SqlError::unsupported(message));
            };
            let to = self.new_role()?;
            self.expect_end()?;
            return Ok(Command::Role(RoleCommand::Rename { name, to }));
        }
        if ["SET", "RESET", "IN"].iter().any(|word| self.is_word(word)) {
            return Err(role_settings());
        }
        if self.is_word("ADD") || self.is_word("DROP") {
            let error = SqlError::unsupported("ALTER GROUP is not supported");
            return Err(error.hint("Write GRANT role TO member, or REVOKE role FROM member."));
        }
        self.accept("WITH");
        let options = self.role_options(false)?;
        Ok(Command::Role(RoleCommand::Alter { role, options }))
    }

    /// `DROP ROLE`, behind these words.
    pub(super) fn drop_role(&mut self) -> Result2<Command> {
        let if_exists = self.accept_all(&["IF", "EXISTS"]);
        let roles = self.roles()?;
        self.expect_end()?;
        Ok(Command::Role(RoleCommand::Drop { roles, if_exists }))
    }

    /// The name of a role that is to be.
    fn new_role(&mut self) -> Result2<String> {
        let is_quoted = self.peek().is_some_and(|token| token.kind == Kind::Quoted);
        let name = self.name()?;
        let keywords = ["current_user", "current_role", "session_user"];
        if !is_quoted && keywords.contains(&&*name) {
            let message = format!("{} cannot be used as a role name here", name.to_uppercase());
            return Err(SqlError::new("42939", message));
        }
        if RESERVED.contains(&&*name) {
            return Err(SqlError::new("42939", format!("role name \"{name}\" is reserved")));
        }
        if name.starts_with("pg_") {
            let detail = "Role names starting with \"pg_\" are reserved.";
            let error = SqlError::new("42939", format!("role name \"{name}\" is reserved"));
            return Err(error.detail(detail));
        }
        if name.len() > 63 {
            let message = format!("role name \"{name}\" is longer than 63 bytes");
            return Err(SqlError::new("42622", message));
        }
        Ok(name)
    }

    /// The name of a role, or one of the words for a role.
    pub(super) fn role(&mut self) -> Result2<RoleSpec> {
        let is_quoted = self.peek().is_some_and(|token| token.kind == Kind::Quoted);
        let name = self.name()?;
        Ok(match &*name {
            "public" => RoleSpec::Public,
            "current_user" | "current_role" if !is_quoted => RoleSpec::Current,
            "session_user" if !is_quoted => RoleSpec::Session,
            _ => RoleSpec::Name(name),
        })
    }

    pub(super) fn roles(&mut self) -> Result2<Vec<RoleSpec>> {
        let mut roles = Vec::new();
        loop {
            // PostgreSQL's old word for a role.
            self.accept("GROUP");
            roles.push(self.role()?);
            if !self.accept_sign(',') {
                return Ok(roles);
            }
        }
    }

    pub(super) fn names(&mut self) -> Result2<Vec<String>> {
        let mut names = vec![self.name()?];
        while self.accept_sign(',') {
            names.push(self.name()?);
        }
        Ok(names)
    }

    fn role_options(&mut self, is_new: bool) -> Result2<Vec<RoleOption>> {
        let mut options = Vec::new();
        while !self.is_at_end() {
            let Some(option) = self.role_option(is_new)? else { continue };
            let kind = std::mem::discriminant(&option);
            let is_list = matches!(option, RoleOption::In(_) | RoleOption::Members(..));
            let is_twice = options.iter().any(|other| std::mem::discriminant(other) == kind);
            if is_twice && !is_list {
                return Err(SqlError::new("42601", "conflicting or redundant options"));
            }
            options.push(option);
        }
        Ok(options)
    }

    /// An option; `None` for one that says what is the case anyway.
    fn role_option(&mut self, is_new: bool) -> Result2<Option<RoleOption>> {
        let flags: [(&str, &str, Flag); 5] = [
            ("SUPERUSER", "NOSUPERUSER", RoleOption::Superuser),
            ("INHERIT", "NOINHERIT", RoleOption::Inherit),
            ("CREATEROLE", "NOCREATEROLE", RoleOption::CreateRole),
            ("CREATEDB", "NOCREATEDB", RoleOption::CreateDatabase),
            ("LOGIN", "NOLOGIN", RoleOption::Login),
        ];
        for (yes, no, option) in flags {
            if self.accept(yes) {
                return Ok(Some(option(true)));
            }
            if self.accept(no) {
                return Ok(Some(option(false)));
            }
        }
        if self.accept("NOREPLICATION") || self.accept("NOBYPASSRLS") {
            return Ok(None);
        }
        if self.accept_all(&["CONNECTION", "LIMIT"]) {
            let is_none = self.accept_sign('-') && self.accept_number("1");
            let error = SqlError::unsupported("CONNECTION LIMIT of a role is not supported");
            return match is_none {
                true => Ok(None),
                false => Err(error.hint("`namdb start --connections` limits all together.")),
            };
        }
        let encrypted = self.accept("ENCRYPTED");
        if self.accept("PASSWORD") {
            if !encrypted && self.accept("NULL") {
                return Ok(Some(RoleOption::Password(None)));
            }
            return Ok(Some(RoleOption::Password(Some(self.quoted_text()?))));
        }
        if !encrypted && self.accept_all(&["VALID", "UNTIL"]) {
            return Ok(Some(RoleOption::ValidUntil(self.quoted_text()?)));
        }
        if !encrypted && is_new {
            if self.accept_all(&["IN", "ROLE"]) || self.accept_all(&["IN", "GROUP"]) {
                return Ok(Some(RoleOption::In(self.names()?)));
            }
            if self.accept("ROLE") || self.accept("USER") {
                return Ok(Some(RoleOption::Members(self.roles()?, false)));
            }
            if self.accept("ADMIN") {
                return Ok(Some(RoleOption::Members(self.roles()?, true)));
            }
        }
        for word in ["REPLICATION", "BYPASSRLS", "SYSID"] {
            if self.is_word(word) {
                let message = format!("{word} of a role is not supported");
                return Err(SqlError::unsupported(message));
            }
        }
        Err(self.unexpected())
    }

    fn accept_number(&mut self, number: &str) -> bool {
        let found = self.peek().is_some_and(|one| one.kind == Kind::Number && one.text == number);
        self.at += usize::from(found);
        found
    }

    /// A text in quotes.
    fn quoted_text(&mut self) -> Result2<String> {
        let text = self.peek().and_then(|token| token.string()).ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(text)
    }

    /// `GRANT role TO member`, behind the first word.
    pub(super) fn grant_role(&mut self) -> Result2<Command> {
        let roles = self.names()?;
        self.expect("TO")?;
        let members = self.roles()?;
        let is_admin = self.accept_all(&["WITH", "ADMIN", "OPTION"]);
        self.granted_by()?;
        Ok(Command::Role(RoleCommand::Grant { roles, members, is_admin }))
    }

    /// `REVOKE role FROM member`, behind the first word.
    pub(super) fn revoke_role(&mut self) -> Result2<Command> {
        let only_admin = self.accept_all(&["ADMIN", "OPTION", "FOR"]);
        let roles = self.names()?;
        self.expect("FROM")?;
        let members = self.roles()?;
        self.granted_by()?;
        let _ = self.accept("CASCADE") || self.accept("RESTRICT");
        self.expect_end()?;
        Ok(Command::Role(RoleCommand::Revoke { roles, members, only_admin }))
    }

    pub(super) fn granted_by(&mut self) -> Result2<()> {
        match self.accept_all(&["GRANTED", "BY"]) {
            true if self.role()? == RoleSpec::Current => Ok(()),
            true => Err(SqlError::unsupported("GRANTED BY another role is not supported")
                .hint("Write SET ROLE first.")),
            false => Ok(()),
        }
    }
}

fn role_settings() -> SqlError {
    let hint = "Clients send settings when they connect, such as PGOPTIONS=\"-c name=value\".";
    SqlError::unsupported("settings of a role are not supported").hint(hint)
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn commands_about_roles_are_recognised() {
        let parsed = |text: &str| match parse(text) {
            Ok(Command::Role(command)) => command,
            other => panic!("{text}: {other:?}"),
        };
        let text = "CREATE USER \"Ada\" WITH SUPERUSER ENCRYPTED PASSWORD 'it''s' VALID UNTIL \
                    'infinity' IN ROLE staff ADMIN bob, CURRENT_USER";
        let options = vec![
            RoleOption::Login(true),
            RoleOption::Superuser(true),
            RoleOption::Password(Some("it's".into())),
            RoleOption::ValidUntil("infinity".into()),
            RoleOption::In(vec!["staff".into()]),
            RoleOption::Members(vec![RoleSpec::Name("bob".into()), RoleSpec::Current], true),
        ];
        assert_eq!(parsed(text), RoleCommand::Create { name: "Ada".into(), options });
        let role = RoleSpec::Session;
        let options = vec![RoleOption::Login(false), RoleOption::Password(None)];
        let text = "alter user session_user nologin password null connection limit -1";
        assert_eq!(parsed(text), RoleCommand::Alter { role, options });
        let roles = vec![RoleSpec::Name("a".into()), RoleSpec::Name("b".into())];
        let drop = RoleCommand::Drop { roles: roles.clone(), if_exists: true };
        assert_eq!(parsed("DROP ROLE IF EXISTS a, b"), drop);
        let names = vec!["x".into(), "y".into()];
        let grant = RoleCommand::Grant { roles: names, members: roles, is_admin: true };
        assert_eq!(parsed("GRANT x, y TO a, b WITH ADMIN OPTION"), grant);
    }

    #[test]
    fn strange_roles_are_refused() {
        let refused = |text: &str| parse(text).expect_err(text).sqlstate.to_string();
        assert_eq!(refused("CREATE ROLE pg_x"), "42939");
        assert_eq!(refused("CREATE ROLE public"), "42939");
        assert_eq!(refused("CREATE ROLE current_user"), "42939");
        assert_eq!(refused("CREATE ROLE a SUPERUSER NOSUPERUSER"), "42601");
        assert_eq!(refused("CREATE ROLE a CONNECTION LIMIT 3"), "0A000");
        assert_eq!(refused("CREATE ROLE a REPLICATION"), "0A000");
        assert_eq!(refused("ALTER ROLE a SET work_mem = 5"), "0A000");
        assert_eq!(refused("CREATE ROLE a PASSWORD b"), "42601");
        assert_eq!(refused("ALTER ROLE a IN ROLE b"), "0A000");
    }
}
