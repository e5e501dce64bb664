//! `CREATE`, `DROP` and `ALTER`.

use super::{Command, DropKind, Parser, Result2, RoleSpec, TableChange, TableOfQuery, ignored};
use crate::error::SqlError;
use crate::lexer::{Kind, Token, tokens};

impl Parser<'_> {
    pub(super) fn create(&mut self) -> Result2<Command> {
        let replaces = self.accept_all(&["OR", "REPLACE"]);
        let _ = self.accept("UNLOGGED");
        if self.accept("FUNCTION") || self.accept("PROCEDURE") {
            return Ok(Command::CreateRoutine { name: self.relation()?, replaces });
        }
        if self.accept("TABLE") {
            let if_not_exists = self.accept_all(&["IF", "NOT", "EXISTS"]);
            let name = self.relation()?;
            return match self.table_of_query(&name, if_not_exists)? {
                Some(table) => Ok(Command::CreateTableAs(table)),
                None => Ok(Command::CreateTable { name, if_not_exists }),
            };
        }
        if self.accept("VIEW") {
            return self.create_view(replaces);
        }
        if self.accept("TYPE") {
            return self.create_type();
        }
        if self.accept("SEQUENCE") {
            let if_not_exists = self.accept_all(&["IF", "NOT", "EXISTS"]);
            return Ok(Command::CreateSequence { name: self.relation()?, if_not_exists });
        }
        if let Some(logs_in) = self.accept_role() {
            return self.create_role(logs_in);
        }
        self.accept("UNIQUE");
        if self.accept("INDEX") {
            self.accept("CONCURRENTLY");
            let if_not_exists = self.accept_all(&["IF", "NOT", "EXISTS"]);
            let name = if self.is_word("ON") { None } else { Some(self.name()?) };
            self.expect("ON")?;
            self.accept("ONLY");
            return Ok(Command::CreateIndex { name, table: self.relation()?, if_not_exists });
        }
        let what = self.peek().map_or("", |token| token.text).to_uppercase();
        match &*what {
            "SCHEMA" => {
                self.at += 1;
                self.create_schema()
            }
            "TABLESPACE" | "EXTENSION" | "STATISTICS" => Ok(ignored(&format!("CREATE {what}"))),
            "DOMAIN" => Err(SqlError::unsupported("domains are not supported")
                .hint("Give the columns the type of the domain, and CHECK constraints.")),
            "TEMP" | "TEMPORARY" | "GLOBAL" | "LOCAL" => {
                Err(SqlError::unsupported("temporary tables are not supported"))
            }
            _ => Err(SqlError::unsupported(format!("CREATE {what} is not supported"))),
        }
    }

    /// `CREATE SCHEMA`, behind these words.
    fn create_schema(&mut self) -> Result2<Command> {
        let if_not_exists = self.accept_all(&["IF", "NOT", "EXISTS"]);
        let name = match self.is_word("AUTHORIZATION") {
            true => None,
            false => Some(self.name()?),
        };
        let owner = match self.accept("AUTHORIZATION") {
            true => Some(self.role()?),
            false => None,
        };
        let name = match (name, &owner) {
            (Some(name), _) => Some(name),
            (None, Some(RoleSpec::Name(role))) => Some(role.clone()),
            // That of the session's role.
            (None, _) => None,
        };
        if self.is_word("CREATE") || self.is_word("GRANT") {
            let message = "objects in CREATE SCHEMA are not supported";
            let hint = "Write a statement for each of them behind CREATE SCHEMA.";
            return Err(SqlError::unsupported(message).hint(hint));
        }
        self.expect_end()?;
        Ok(Command::CreateSchema { name, if_not_exists, owner })
    }

    /// The rest of `CREATE TABLE name`, if it is that of `AS` and a query.
    fn table_of_query(&mut self, name: &str, if_not_exists: bool) -> Result2<Option<TableOfQuery>> {
        let before = self.at;
        let mut columns = Vec::new();
        if self.accept_sign('(') {
            while let Ok(column) = self.name() {
                columns.push(column);
                if !self.accept_sign(',') {
                    break;
                }
            }
            if !self.accept_sign(')') {
                self.at = before;
                return Ok(None);
            }
        }
        if !self.accept("AS") {
            self.at = before;
            return Ok(None);
        }
        let (text, begin) = self.rest();
        let ends_with = |words: &[&str]| {
            let last = self.tokens.len().checked_sub(words.len()).filter(|&at| at >= self.at);
            let last = last.map(|at| &self.tokens[at..]);
            let is_end =
                |of: &[Token<'_>]| of.iter().zip(words).all(|(one, word)| one.is_word(word));
            last.filter(|of| is_end(of)).map(|of| of[0].at - begin)
        };
        let without_rows = ends_with(&["WITH", "NO", "DATA"]);
        let end = without_rows.or_else(|| ends_with(&["WITH", "DATA"]));
        let query = text[..end.unwrap_or(text.len())].to_owned();
        let (name, has_rows) = (name.to_owned(), without_rows.is_none());
        Ok(Some(TableOfQuery { name, if_not_exists, columns, query, has_rows }))
    }

    /// `CREATE VIEW`, behind these words.
    fn create_view(&mut self, replaces: bool) -> Result2<Command> {
        let name = self.relation()?;
        let mut columns = Vec::new();
        if self.accept_sign('(') {
            loop {
                columns.push(self.name()?);
                if self.accept_sign(')') {
                    break;
                }
                self.expect_sign(',')?;
            }
        }
        if self.is_word("WITH") {
            return Err(SqlError::unsupported("options of a view are not supported"));
        }
        self.expect("AS")?;
        let query = self.rest().0.to_owned();
        Ok(Command::CreateView { name, replaces, columns, query })
    }

    pub(super) fn drop(&mut self) -> Result2<Command> {
        if self.accept_role().is_some() {
            return self.drop_role();
        }
        if self.accept("SCHEMA") {
            let if_exists = self.accept_all(&["IF", "EXISTS"]);
            let mut names = vec![self.name()?];
            while self.accept_sign(',') {
                names.push(self.name()?);
            }
            return Ok(Command::DropSchemas { names, if_exists, cascade: self.cascade() });
        }
        let kind = if self.accept("TABLE") {
            DropKind::Table
        } else if self.accept("INDEX") {
            self.accept("CONCURRENTLY");
            DropKind::Index
        } else if self.accept("FUNCTION") || self.accept("PROCEDURE") || self.accept("ROUTINE") {
            DropKind::Routine
        } else if self.accept("SEQUENCE") {
            DropKind::Sequence
        } else if self.accept("VIEW") {
            DropKind::View
        } else if self.accept("TYPE") {
            DropKind::Type
        } else {
            let what = self.peek().map_or("", |token| token.text).to_uppercase();
            self.at = self.tokens.len();
            let is_harmless = ["TABLESPACE", "EXTENSION", "STATISTICS"];
            return match is_harmless.contains(&&*what) {
                true => Ok(ignored(&format!("DROP {what}"))),
                false => Err(SqlError::unsupported(format!("DROP {what} is not supported"))),
            };
        };
        let if_exists = self.accept_all(&["IF", "EXISTS"]);
        let mut names = Vec::new();
        loop {
            names.push(self.relation()?);
            if kind == DropKind::Routine && self.accept_sign('(') {
                while !self.is_at_end() && !self.accept_sign(')') {
                    self.at += 1;
                }
            }
            if !self.accept_sign(',') {
                break;
            }
        }
        Ok(Command::Drop { kind, names, if_exists, cascade: self.cascade() })
    }

    pub(super) fn alter(&mut self) -> Result2<Command> {
        if self.accept_role().is_some() {
            return self.alter_role();
        }
        if let Some(change) = self.owner_change()? {
            return Ok(change);
        }
        if self.accept("SCHEMA") {
            let name = self.name()?;
            self.expect("RENAME")?;
            self.expect("TO")?;
            let to = self.name()?;
            self.expect_end()?;
            return Ok(Command::RenameSchema { name, to });
        }
        if self.accept("TYPE") {
            return self.alter_type();
        }
        if self.accept("SEQUENCE") {
            return match self.tokens.iter().any(|token| token.is_word("OWNED")) {
                true => Ok(ignored("ALTER SEQUENCE")),
                false => Err(SqlError::unsupported("ALTER SEQUENCE is not supported")
                    .hint("Write SELECT setval('sequence', value).")),
            };
        }
        if self.accept("INDEX") {
            let if_exists = self.accept_all(&["IF", "EXISTS"]);
            let index = self.relation()?;
            if !self.accept_all(&["RENAME", "TO"]) {
                return Ok(ignored("ALTER INDEX"));
            }
            let to = self.name()?;
            self.expect_end()?;
            return Ok(Command::AlterIndex { index, if_exists, to });
        }
        if !self.accept("TABLE") {
            let what = self.peek().map_or("", |token| token.text).to_uppercase();
            return Err(SqlError::unsupported(format!("ALTER {what} is not supported")));
        }
        let if_exists = self.accept_all(&["IF", "EXISTS"]);
        self.accept("ONLY");
        let table = self.relation()?;
        self.accept_sign('*');
        let is_harmless = self.is_word("SET")
            && !self.tokens.iter().any(|token| token.is_word("SCHEMA"))
            || self.is_word("CLUSTER")
            || self.is_word("REPLICA")
            || self.is_word("RESET");
        if is_harmless {
            return Ok(ignored("ALTER TABLE"));
        }
        let change = self.table_change()?;
        Ok(Command::AlterTable { table, if_exists, change })
    }

    /// The changes of a table, behind its name.
    fn table_change(&mut self) -> Result2<TableChange> {
        let mut change = TableChange::default();
        for part in super::arguments(self.rest().0)? {
            let tokens = tokens(part)?;
            let mut parser = Parser { text: part, tokens: &tokens, at: 0 };
            if parser.accept_all(&["RENAME", "TO"]) {
                change.renamed = Some(parser.name()?);
            } else if parser.accept("DROP") && !parser.accept("CONSTRAINT") {
                parser.accept("COLUMN");
                parser.accept_all(&["IF", "EXISTS"]);
                change.dropped.push((parser.name()?, parser.accept("CASCADE")));
            } else if parser.accept("ALTER") {
                parser.accept("COLUMN");
                let column = parser.name()?;
                let mut depth = 0;
                let using = tokens.iter().find(|token| {
                    depth += i32::from(matches!(token.kind, Kind::Sign('(')));
                    depth -= i32::from(matches!(token.kind, Kind::Sign(')')));
                    depth == 0 && token.is_word("USING")
                });
                if let Some(using) = using {
                    change.values.push((column, part[using.end()..].trim().to_owned()));
                }
            }
        }
        Ok(change)
    }
}
