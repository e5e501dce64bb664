//! `GRANT` and `REVOKE` of privileges for objects, and `ALTER ... OWNER TO`.

use super::{Command, Parser, Result2, RoleSpec};
use crate::error::SqlError;

/// The objects of a `GRANT`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum GrantTarget {
    /// Tables and views; sequences as well, as in PostgreSQL.
    Relations(Vec<String>),
    Sequences(Vec<String>),
    Routines(Vec<String>),
    /// `ALL ... IN SCHEMA` of these schemas.
    AllTables(Vec<String>),
    AllSequences(Vec<String>),
    AllRoutines(Vec<String>),
    Schemas(Vec<String>),
    Databases(Vec<String>),
}

/// `GRANT` and `REVOKE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GrantCommand {
    pub is_grant: bool,
    /// The words; `None` for all.
    pub privileges: Option<Vec<String>>,
    pub target: GrantTarget,
    pub roles: Vec<RoleSpec>,
    /// `WITH GRANT OPTION`, or `GRANT OPTION FOR`.
    pub options: bool,
    pub cascade: bool,
}

/// The kind of an object whose owner changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OwnedKind {
    /// `ALTER TABLE`, which takes all relations.
    Relation,
    View,
    Sequence,
    Routine,
    Type,
    Schema,
    Database,
}

impl Parser<'_> {
    /// `GRANT` or `REVOKE` for objects, behind the first word.
    pub(super) fn grant(&mut self, is_grant: bool) -> Result2<Command> {
        let mut options = !is_grant && self.accept_all(&["GRANT", "OPTION", "FOR"]);
        let privileges = self.privileges()?;
        self.expect("ON")?;
        let target = self.grant_target()?;
        self.expect(if is_grant { "TO" } else { "FROM" })?;
        let roles = self.roles()?;
        if is_grant {
            options = self.accept_all(&["WITH", "GRANT", "OPTION"]);
        }
        self.granted_by()?;
        let cascade = !is_grant && self.cascade();
        self.expect_end()?;
        let command = GrantCommand { is_grant, privileges, target, roles, options, cascade };
        Ok(Command::Grant(command))
    }

    fn privileges(&mut self) -> Result2<Option<Vec<String>>> {
        if self.accept("ALL") {
            self.accept("PRIVILEGES");
            self.refuse_columns()?;
            return Ok(None);
        }
        let mut words = Vec::new();
        loop {
            words.push(self.name()?);
            self.refuse_columns()?;
            if !self.accept_sign(',') {
                return Ok(Some(words));
            }
        }
    }

    fn refuse_columns(&mut self) -> Result2<()> {
        match self.accept_sign('(') {
            true => Err(SqlError::unsupported("privileges for columns are not supported")
                .hint("Grant privileges for a view with these columns.")),
            false => Ok(()),
        }
    }

    fn grant_target(&mut self) -> Result2<GrantTarget> {
        if self.accept("ALL") {
            let target: fn(Vec<String>) -> GrantTarget = match () {
                () if self.accept("TABLES") => GrantTarget::AllTables,
                () if self.accept("SEQUENCES") => GrantTarget::AllSequences,
                () if ["FUNCTIONS", "PROCEDURES", "ROUTINES"]
                    .iter()
                    .any(|one| self.accept(one)) =>
                {
                    GrantTarget::AllRoutines
                }
                () => return Err(self.unexpected()),
            };
            self.expect("IN")?;
            self.expect("SCHEMA")?;
            return self.names().map(target);
        }
        if self.accept("SEQUENCE") {
            return self.relations().map(GrantTarget::Sequences);
        }
        if ["FUNCTION", "PROCEDURE", "ROUTINE"].iter().any(|word| self.accept(word)) {
            return self.routines().map(GrantTarget::Routines);
        }
        if self.accept("SCHEMA") {
            return self.names().map(GrantTarget::Schemas);
        }
        if self.accept("DATABASE") {
            return self.names().map(GrantTarget::Databases);
        }
        let others = ["LANGUAGE", "TYPE", "DOMAIN", "TABLESPACE", "FOREIGN", "LARGE", "PARAMETER"];
        if let Some(other) = others.iter().find(|word| self.is_word(word)) {
            let message = format!("privileges for {} are not supported", other.to_lowercase());
            return Err(SqlError::unsupported(message));
        }
        self.accept("TABLE");
        self.relations().map(GrantTarget::Relations)
    }

    /// Names of routines; namdb has one routine of each name, so that types of arguments do not
    /// matter.
    fn routines(&mut self) -> Result2<Vec<String>> {
        let mut names = Vec::new();
        loop {
            names.push(self.relation()?);
            if self.accept_sign('(') {
                while !self.is_at_end() && !self.accept_sign(')') {
                    self.at += 1;
                }
            }
            if !self.accept_sign(',') {
                return Ok(names);
            }
        }
    }

    /// `ALTER kind name OWNER TO role` or `SET SCHEMA schema`, behind the first word; `None` if the
    /// command is another one.
    pub(super) fn owner_change(&mut self) -> Result2<Option<Command>> {
        let before = self.at;
        let kinds = [
            ("TABLE", "ALTER TABLE", OwnedKind::Relation),
            ("VIEW", "ALTER VIEW", OwnedKind::View),
            ("SEQUENCE", "ALTER SEQUENCE", OwnedKind::Sequence),
            ("FUNCTION", "ALTER FUNCTION", OwnedKind::Routine),
            ("PROCEDURE", "ALTER PROCEDURE", OwnedKind::Routine),
            ("ROUTINE", "ALTER ROUTINE", OwnedKind::Routine),
            ("TYPE", "ALTER TYPE", OwnedKind::Type),
            ("SCHEMA", "ALTER SCHEMA", OwnedKind::Schema),
            ("DATABASE", "ALTER DATABASE", OwnedKind::Database),
        ];
        let Some((_, tag, kind)) = kinds.into_iter().find(|(word, ..)| self.accept(word)) else {
            return Ok(None);
        };
        let if_exists = self.accept_all(&["IF", "EXISTS"]);
        self.accept("ONLY");
        let name = match kind {
            OwnedKind::Routine => self.routines()?.remove(0),
            OwnedKind::Schema | OwnedKind::Database => self.name()?,
            _ => self.relation()?,
        };
        self.accept_sign('*');
        let has_schema = !matches!(kind, OwnedKind::Schema | OwnedKind::Database);
        if has_schema && self.accept_all(&["SET", "SCHEMA"]) {
            let schema = self.name()?;
            self.expect_end()?;
            return Ok(Some(Command::SetSchema { kind, name, if_exists, schema, tag }));
        }
        if !self.accept_all(&["OWNER", "TO"]) {
            self.at = before;
            return Ok(None);
        }
        let role = self.role()?;
        self.expect_end()?;
        Ok(Some(Command::SetOwner { kind, name, if_exists, role, tag }))
    }
}

pub(crate) fn no_schema(name: &str) -> SqlError {
    SqlError::new("3F000", format!("schema \"{name}\" does not exist"))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn grants_are_recognised() {
        let parsed = |text: &str| match parse(text) {
            Ok(Command::Grant(command)) => command,
            other => panic!("{text}: {other:?}"),
        };
        let grant =
            parsed("GRANT SELECT, insert ON TABLE public.a, b TO PUBLIC, bob WITH GRANT OPTION");
        assert_eq!(grant.privileges, Some(vec!["select".into(), "insert".into()]));
        let a = sql::namespace::written_name(Some("public"), "a");
        assert_eq!(grant.target, GrantTarget::Relations(vec![a, "b".into()]));
        assert_eq!(grant.roles, [RoleSpec::Public, RoleSpec::Name("bob".into())]);
        assert!(grant.is_grant && grant.options);
        let revoke =
            parsed("REVOKE GRANT OPTION FOR ALL ON ALL TABLES IN SCHEMA public FROM bob CASCADE");
        let all = GrantTarget::AllTables(vec!["public".into()]);
        assert_eq!((revoke.privileges, revoke.target), (None, all));
        assert!(!revoke.is_grant && revoke.options && revoke.cascade);
        let routine = parsed("GRANT EXECUTE ON FUNCTION f(int, text) TO bob");
        assert_eq!(routine.target, GrantTarget::Routines(vec!["f".into()]));
    }

    #[test]
    fn unsupported_grants_are_refused() {
        let refused = |text: &str| parse(text).expect_err(text).sqlstate.to_string();
        assert_eq!(refused("GRANT SELECT (a) ON t TO bob"), "0A000");
        assert_eq!(refused("GRANT USAGE ON LANGUAGE sql TO bob"), "0A000");
        assert_eq!(refused("GRANT SELECT ON t"), "42601");
        assert_eq!(refused("GRANT SELECT ON t TO bob CASCADE"), "42601");
    }
}
