//! Full names for the names in commands, and for those in the texts of definitions.
//!
//! Queries are resolved with their search path. Commands name objects in many places; [`Namer`]
//! gives all of them full names before the command runs. The text of a definition is stored, so the
//! names of other objects in it become full names, too, unless they mean the same for every path.

use super::SqlSession;
use crate::catalog::described::quoted as shown_name;
use crate::catalog::schemas::split_name;
use crate::catalog::{DefinitionKind, Version};
use crate::command::{Command, Commented, DropKind, GrantTarget, OwnedKind, TypeChange, no_schema};
use crate::copy::CopySource;
use crate::error::SqlError;
use crate::host::Host;
use crate::lexer::{Kind, Token, characters, tokens};
use crate::session::rewrite::quoted;
use crate::session::type_names::type_names;
use sql::SearchPath;
use sql::namespace::{
    self, beside, full_name, is_marked, nowhere, own_name, replace_schemas, type_number,
    unpinned_name, written_parts,
};
use std::sync::Arc;

/// The schemas that every database has, without objects of users.
const OF_SYSTEM: [&str; 2] = ["pg_catalog", "information_schema"];

impl<H: Host> SqlSession<H> {
    /// The schemas that the session searches in a version of the catalog.
    pub(super) fn path_in(&self, version: &Version) -> SearchPath {
        self.identity.path_in(version)
    }

    /// The command with full names.
    ///
    /// # Errors
    /// A schema does not exist, or none was chosen for a new object.
    pub(super) fn named_in(
        &self,
        version: &Version,
        command: &Command,
    ) -> Result<Command, SqlError> {
        let mut command = command.clone();
        let may_lack = matches!(
            command,
            Command::Drop { if_exists: true, .. }
                | Command::AlterTable { if_exists: true, .. }
                | Command::AlterIndex { if_exists: true, .. }
                | Command::SetSchema { if_exists: true, .. }
                | Command::SetOwner { if_exists: true, .. }
        );
        let path = &self.path_in(version);
        Namer { version, path, may_lack }.command(&mut command)?;
        Ok(command)
    }

    /// An error as the client sees it. Names have their schema where PostgreSQL writes it: in
    /// descriptions of objects that the search path does not find, which have no quotes.
    pub(super) fn shown_error(&self, mut error: SqlError) -> SqlError {
        if !is_marked(&error.message) && !error.detail.as_deref().is_some_and(is_marked) {
            let fields = [&error.hint, &error.table, &error.constraint];
            if !fields.into_iter().flatten().any(|field| is_marked(field)) {
                return error;
            }
        }
        error.message = self.shown_text(&error.message);
        error.detail = error.detail.take().map(|detail| self.shown_text(&detail));
        error.hint = error.hint.take().map(|hint| self.shown_text(&hint));
        let version = self.version();
        let schema = error.table.as_deref().map(namespace::schema_of);
        error.schema = schema.map(|schema| version.schema_name(schema).to_owned());
        error.table = error.table.take().map(|table| own_name(&table).to_owned());
        error.constraint = error.constraint.take().map(|name| own_name(&name).to_owned());
        error
    }

    /// A message as the client sees it.
    pub(super) fn shown_text(&self, text: &str) -> String {
        if !is_marked(text) {
            return text.to_owned();
        }
        let version = self.version();
        shown_in(&version, &self.path_in(&version), text)
    }
}

/// A message as a client with this path sees it.
pub(super) fn shown_in(version: &Version, path: &SearchPath, text: &str) -> String {
    let is_missing = text.starts_with("relation \"") && text.ends_with("\" does not exist");
    let shown = |schema: i64, before: &str, behind: &str| {
        let name: String = match behind.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            Some((quoted, _)) => quoted.to_owned(),
            None => behind.chars().take_while(|one| is_of_name(*one)).collect(),
        };
        let is_quoted = before.ends_with('"') || before.ends_with('`');
        let Some(of) = version.catalog.schemas.name(schema) else { return String::new() };
        match is_quoted {
            true if is_missing => format!("{of}."),
            true => String::new(),
            false if is_visible(version, path, schema, &name) => String::new(),
            false => format!("{}.", shown_name(of)),
        }
    };
    replace_schemas(text, shown).into_owned()
}

/// The text of a definition, with full names where names would depend on the search path. The
/// command has full names.
///
/// # Errors
/// The text has a quote without an end.
pub(super) fn definition_text(
    version: &Version,
    path: &SearchPath,
    command: &Command,
    text: &str,
) -> Result<Written, SqlError> {
    Namer { version, path, may_lack: false }.definition(command, text)
}

impl Version {
    /// The name of a relation or routine as a session writes it: with its schema, unless its path
    /// finds it without.
    pub fn shown_name(&self, path: &SearchPath, full: &str) -> String {
        let (schema, name) = namespace::split(full);
        match is_visible(self, path, schema, name) {
            true => shown_name(name),
            false => format!("{}.{}", shown_name(self.schema_name(schema)), shown_name(name)),
        }
    }
}

fn is_of_name(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

/// Whether the path finds the relation or routine with this name in this schema.
fn is_visible(version: &Version, path: &SearchPath, schema: i64, name: &str) -> bool {
    let exists = |full: &str| {
        let is_type = version.catalog.types.get(full).is_some();
        is_type || version.has_relation(full) || has_routine(version, full)
    };
    let found = version
        .catalog
        .schemas
        .lookup(path, &[name], |full| exists(full).then(|| namespace::schema_of(full)));
    found == Some(schema)
}

fn has_routine(version: &Version, full: &str) -> bool {
    let mut all = version.definitions.iter();
    all.any(|one| one.kind == DefinitionKind::Routine && one.name == full)
}

/// A text in which names were replaced.
pub(super) struct Written {
    pub text: String,
    /// Bytes of the client's text, and the length of what replaces them.
    edits: Vec<(std::ops::Range<usize>, usize)>,
}

impl Written {
    /// An error with its place in the client's text.
    pub fn placed(&self, mut error: SqlError, client: &str) -> SqlError {
        let Some(position) = error.position.filter(|_| !self.edits.is_empty()) else {
            return error;
        };
        let before = position.saturating_sub(1) as usize;
        let at: usize = self.text.chars().take(before).map(char::len_utf8).sum();
        let (mut moved, mut shift) = (at, 0_isize);
        for (range, length) in &self.edits {
            let begins = range.start.saturating_add_signed(shift);
            if at < begins {
                break;
            }
            shift += *length as isize - range.len() as isize;
            let inside = at < begins + length;
            moved = if inside { range.start } else { at.saturating_add_signed(-shift) };
        }
        error.position = Some(characters(client, moved.min(client.len())) + 1);
        error
    }
}

/// Finds the objects that names mean.
struct Namer<'n> {
    version: &'n Version,
    path: &'n SearchPath,
    /// Whether a schema may be absent, as its object may.
    may_lack: bool,
}

impl Namer<'_> {
    /// The full name of an existing object; of one in no schema if there is none.
    fn find(&self, name: &mut String, exists: &dyn Fn(&str) -> bool) -> Result<(), SqlError> {
        let schemas = &self.version.catalog.schemas;
        let full = match written_parts(name) {
            (None, own) if is_marked(own) => unpinned_name(own),
            (None, own) => {
                let found = |full: &str| exists(full).then(|| full.to_owned());
                schemas.lookup(self.path, &[own], found).unwrap_or_else(|| nowhere(own))
            }
            (Some(schema), own) => match schemas.find(schema) {
                Some(id) => full_name(id, own),
                None if self.may_lack || OF_SYSTEM.contains(&schema) => nowhere(own),
                None => return Err(no_schema(schema)),
            },
        };
        *name = full;
        Ok(())
    }

    fn relation(&self, name: &mut String) -> Result<(), SqlError> {
        self.find(name, &|full| self.version.has_relation(full))
    }

    fn type_name(&self, name: &mut String) -> Result<(), SqlError> {
        self.find(name, &|full| self.version.catalog.types.get(full).is_some())
    }

    fn routine(&self, name: &mut String) -> Result<(), SqlError> {
        self.find(name, &|full| has_routine(self.version, full))
    }

    fn each(&self, names: &mut [String], kind: OwnedKind) -> Result<(), SqlError> {
        names.iter_mut().try_for_each(|name| self.owned(kind, name))
    }

    fn owned(&self, kind: OwnedKind, name: &mut String) -> Result<(), SqlError> {
        match kind {
            OwnedKind::Routine => self.routine(name),
            OwnedKind::Type => self.type_name(name),
            OwnedKind::Relation | OwnedKind::View | OwnedKind::Sequence => self.relation(name),
            OwnedKind::Schema | OwnedKind::Database => Ok(()),
        }
    }

    /// The full name of a new object.
    fn create(&self, name: &mut String) -> Result<(), SqlError> {
        let full = match written_parts(name) {
            (None, own) if is_marked(own) => unpinned_name(own),
            (None, own) => {
                let schema = self.path.schemas().first().ok_or_else(|| {
                    SqlError::new("3F000", "no schema has been selected to create in")
                })?;
                full_name(*schema, own)
            }
            (Some(schema), own) => match self.version.catalog.schemas.find(schema) {
                Some(id) => full_name(id, own),
                None if OF_SYSTEM.contains(&schema) => {
                    let message = format!("permission denied to create \"{schema}.{own}\"");
                    let detail = "System catalog modifications are currently disallowed.";
                    return Err(SqlError::new("42501", message).detail(detail));
                }
                None => return Err(no_schema(schema)),
            },
        };
        *name = full;
        Ok(())
    }

    fn command(&self, command: &mut Command) -> Result<(), SqlError> {
        match command {
            Command::CreateTable { name, .. }
            | Command::CreateSequence { name, .. }
            | Command::CreateEnum { name, .. }
            | Command::CreateRoutine { name, .. } => self.create(name),
            Command::CreateView { name, query, .. } => {
                *query = self.with_types(query)?;
                self.create(name)
            }
            Command::AlterType { name, change } => {
                self.type_name(name)?;
                if let TypeChange::Rename(to) = change {
                    *to = beside(name, to);
                }
                Ok(())
            }
            Command::CreateTableAs(table) => self.create(&mut table.name),
            Command::CreateIndex { name, table, .. } => {
                self.relation(table)?;
                *name = name.take().map(|name| beside(table, &name));
                Ok(())
            }
            Command::AlterTable { table, change, .. } => {
                self.relation(table)?;
                change.renamed = change.renamed.take().map(|name| beside(table, &name));
                Ok(())
            }
            Command::AlterIndex { index, to, .. } => {
                self.relation(index)?;
                *to = beside(index, to);
                Ok(())
            }
            Command::Drop { kind: DropKind::Routine, names, .. } => {
                self.each(names, OwnedKind::Routine)
            }
            Command::Drop { kind: DropKind::Type, names, .. } => self.each(names, OwnedKind::Type),
            Command::Drop { names, .. } => self.each(names, OwnedKind::Relation),
            Command::Truncate { tables, .. }
            | Command::Analyze { tables, .. }
            | Command::LockTable { tables, .. } => self.each(tables, OwnedKind::Relation),
            Command::Copy(copy) => match &mut copy.source {
                CopySource::Table { name, .. } => self.relation(name),
                CopySource::Query(_) => Ok(()),
            },
            Command::Grant(grant) => match &mut grant.target {
                GrantTarget::Relations(names) | GrantTarget::Sequences(names) => {
                    self.each(names, OwnedKind::Relation)
                }
                GrantTarget::Routines(names) => self.each(names, OwnedKind::Routine),
                _ => Ok(()),
            },
            Command::SetOwner { kind, name, .. } | Command::SetSchema { kind, name, .. } => {
                self.owned(*kind, name)
            }
            Command::Comment { on, .. } => self.commented(on),
            _ => Ok(()),
        }
    }

    fn commented(&self, on: &mut Commented) -> Result<(), SqlError> {
        match on {
            Commented::Table(name)
            | Commented::View(name)
            | Commented::Sequence(name)
            | Commented::Index(name)
            | Commented::Column { relation: name, .. } => self.relation(name),
            Commented::Constraint { name, table } => {
                self.relation(table)?;
                *name = beside(table, name);
                Ok(())
            }
            Commented::Routine(name) => self.routine(name),
            Commented::Type(name) => self.type_name(name),
            Commented::Schema(_) => Ok(()),
        }
    }
}

impl Namer<'_> {
    /// Replaces names in the text of a definition; `command` has full names.
    fn definition(&self, command: &Command, text: &str) -> Result<Written, SqlError> {
        let (words, own): (&[&[&str]], &str) = match command {
            Command::CreateTable { name, .. } => (&[&["TABLE"], &["IF", "NOT", "EXISTS"]], name),
            Command::CreateIndex { table, .. } => (&[&["ON"], &["ONLY"]], table),
            Command::AlterTable { table, .. } => {
                (&[&["TABLE"], &["IF", "EXISTS"], &["ONLY"]], table)
            }
            Command::AlterIndex { index, .. } => (&[&["INDEX"], &["IF", "EXISTS"]], index),
            Command::CreateRoutine { name, .. } => (&[&["FUNCTION"]], name),
            _ => return Ok(Written { text: text.to_owned(), edits: Vec::new() }),
        };
        let tokens = tokens(text)?;
        let is_routine = matches!(command, Command::CreateRoutine { .. });
        let begins = |token: &Token<'_>| {
            token.is_word(words[0][0]) || is_routine && token.is_word("PROCEDURE")
        };
        let mut replaced = Vec::new();
        let mut at = tokens.iter().position(begins).map_or(tokens.len(), |at| at + 1);
        for words in &words[1..] {
            let rest = &tokens[at.min(tokens.len())..];
            let has = rest.len() >= words.len()
                && rest.iter().zip(*words).all(|(token, word)| token.is_word(word));
            at += if has { words.len() } else { 0 };
        }
        if is_marked(own) {
            replaced.extend(name_at(&tokens, at).map(|(range, _)| (range, quoted(own))));
        }
        match is_routine {
            true => replaced.extend(unquoted_body(&tokens, text)),
            false => {
                self.references(&tokens, own, &mut replaced);
                self.sequences(&tokens, &mut replaced);
                self.types(&tokens, false, &mut replaced);
            }
        }
        Ok(written(text, replaced))
    }

    /// The tables that foreign keys refer to.
    fn references(&self, tokens: &[Token<'_>], own: &str, replaced: &mut Vec<Replaced>) {
        for at in 0..tokens.len() {
            let Some((range, name)) = name_at(tokens, at + 1) else { continue };
            if !tokens[at].is_word("REFERENCES") {
                continue;
            }
            let exists = |full: &str| full == own || self.version.table(full).is_some();
            let mut full = name;
            if self.find(&mut full, &exists).is_ok() && is_marked(&full) {
                replaced.push((range, quoted(&full)));
            }
        }
    }

    /// The types of columns and casts: a definition has their numbers.
    fn types(&self, tokens: &[Token<'_>], is_query: bool, replaced: &mut Vec<Replaced>) {
        let types = &self.version.catalog.types;
        if types.iter().next().is_none() {
            return;
        }
        for (range, parts) in type_names(tokens, is_query) {
            if let Some(of) = types.find(self.path, &parts) {
                replaced.push((range, quoted(&type_number(of.oid))));
            }
        }
    }

    /// A query with the numbers of types.
    fn with_types(&self, query: &str) -> Result<String, SqlError> {
        let (tokens, mut replaced) = (tokens(query)?, Vec::new());
        self.types(&tokens, true, &mut replaced);
        Ok(written(query, replaced).text)
    }

    /// The sequences of `nextval('name')`.
    fn sequences(&self, tokens: &[Token<'_>], replaced: &mut Vec<Replaced>) {
        for part in tokens.windows(3) {
            let is_call = part[0].is_word("NEXTVAL") && part[1].kind == Kind::Sign('(');
            let Some(literal) = part[2].string().filter(|_| is_call) else { continue };
            let has = |full: &str| self.version.sequences.contains_key(full);
            let schemas = &self.version.catalog.schemas;
            let found = schemas.lookup(self.path, &split_name(&literal), |full| {
                has(full).then(|| full.to_owned())
            });
            if let Some(full) = found.filter(|full| is_marked(full)) {
                let quoted = format!("'{}'", quoted(&full).replace('\'', "''"));
                replaced.push((part[2].at..part[2].end(), quoted));
            }
        }
    }
}

/// The body of a routine between dollars, if it is written between quotes and has doubled ones.
fn unquoted_body(tokens: &[Token<'_>], text: &str) -> Option<Replaced> {
    let mut pairs = tokens.windows(2).filter(|pair| pair[0].is_word("AS"));
    let body =
        pairs.find_map(|pair| pair[1].string().map(|body| (pair[1].at..pair[1].end(), body)));
    let (range, body) = body?;
    let is_quoted = text[range.clone()].starts_with('\'') && body.contains('\'');
    let tags = (0..).map(|number| format!("$body{number}$"));
    let tag = tags.into_iter().find(|tag| !body.contains(tag.as_str())).filter(|_| is_quoted)?;
    Some((range, format!("{tag}{body}{tag}")))
}

/// Bytes of a text, and what replaces them.
type Replaced = (std::ops::Range<usize>, String);

/// The bytes of the name at a token, and the name as it is written.
pub(super) fn name_at(tokens: &[Token<'_>], at: usize) -> Option<(std::ops::Range<usize>, String)> {
    let first = tokens.get(at)?;
    let name = first.name()?;
    let is_dotted = tokens.get(at + 1).is_some_and(|token| token.kind == Kind::Sign('.'));
    match tokens.get(at + 2).filter(|_| is_dotted) {
        Some(last) => {
            let written = namespace::written_name(Some(&name), &last.name()?);
            Some((first.at..last.end(), written))
        }
        None => Some((first.at..first.end(), name)),
    }
}

fn written(text: &str, mut replaced: Vec<Replaced>) -> Written {
    replaced.sort_by_key(|(range, _)| range.start);
    let (mut result, mut from, mut edits) = (String::new(), 0, Vec::new());
    for (range, with) in replaced {
        result.push_str(&text[from..range.start]);
        result.push_str(&with);
        from = range.end;
        edits.push((range, with.len()));
    }
    result.push_str(&text[from..]);
    Written { text: result, edits }
}

/// The schemas that a setting of `search_path` names, in order.
pub(super) fn path_names(setting: &str) -> Arc<[String]> {
    let (mut names, mut name, mut is_quoted, mut was_quoted) =
        (Vec::new(), String::new(), false, false);
    let mut letters = setting.chars().peekable();
    let mut end = |name: &mut String, was_quoted: &mut bool| {
        let found = std::mem::take(name);
        let found = if *was_quoted { found } else { found.trim().to_lowercase() };
        *was_quoted = false;
        if !found.is_empty() {
            names.push(found);
        }
    };
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                name.push('"');
            }
            '"' => {
                if !is_quoted {
                    name.clear();
                }
                (is_quoted, was_quoted) = (!is_quoted, true);
            }
            ',' if !is_quoted => end(&mut name, &mut was_quoted),
            letter if was_quoted && !is_quoted && letter.is_whitespace() => {}
            letter => name.push(letter),
        }
    }
    end(&mut name, &mut was_quoted);
    names.into()
}

/// Refuses names of clients that look like full names.
///
/// # Errors
/// There is one.
pub(super) fn refuse_full_names(text: &str) -> Result<(), SqlError> {
    if !is_marked(text) {
        return Ok(());
    }
    let is_name = |token: &&Token<'_>| {
        matches!(token.kind, Kind::Word | Kind::Quoted) && is_marked(token.text)
    };
    match tokens(text)?.iter().find(is_name) {
        Some(token) => {
            let message = "names cannot have the characters U+F8E0 and U+F8E1";
            Err(SqlError::new("42602", message).at(characters(text, token.at) + 1))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_names_with_and_without_quotes() {
        let names = |setting: &str| path_names(setting).to_vec();
        assert_eq!(names("\"$user\", public"), ["$user", "public"]);
        assert_eq!(names("a, \"B, c\",D"), ["a", "B, c", "d"]);
        assert_eq!(names("\"a\"\"b\""), ["a\"b"]);
        assert!(names("").is_empty() && names("\"\"").is_empty());
    }

    #[test]
    fn errors_keep_their_place_in_the_clients_text() {
        let client = "CREATE TABLE s.t (a no)";
        let text = written(client, vec![(13..16, "\"long name\"".to_owned())]);
        assert_eq!(text.text, "CREATE TABLE \"long name\" (a no)");
        let at = |position: u32| {
            let error = SqlError::new("42704", "").at(position);
            text.placed(error, client).position
        };
        assert_eq!((at(1), at(14), at(20)), (Some(1), Some(14), Some(14)));
        assert_eq!(at(26), Some(18));
        assert_eq!(at(28), Some(20));
    }
}
