//! The session as the system catalog shows it.

use super::SqlSession;
use super::named::shown_in;
use crate::access::role::Role;
use crate::catalog::schemas::stored_path;
use crate::catalog::{Definition, DefinitionKind, Version};
use crate::error::SqlError;
use crate::host::Host;
use crate::lexer::{Kind, tokens};
use planner::TableStatistics;
use procedure::{ShownName, view_text};
use sql::{Schemas, SearchPath, Table, View};

/// The part of a table, or of another object, that a comment is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommentPart {
    Whole,
    /// The column with this number, see [`sql::catalog::TableColumn::number`]; of a view, its
    /// position from 1.
    Column(u32),
    Index(String),
    Constraint(String),
}

impl<H: Host> SqlSession<H> {
    /// The tables that the session sees, with the numbers of their definitions.
    pub fn tables(&self) -> Vec<(i64, Table)> {
        let version = self.version();
        let tables = version.catalog.tables.iter().enumerate();
        tables.map(|(at, table)| (version.definition_of(at).id, table.clone())).collect()
    }

    /// The schemas, and those that the session searches.
    pub fn schemas(&self) -> (Schemas, SearchPath) {
        let version = self.version();
        (version.catalog.schemas.clone(), self.path_in(&version))
    }

    /// Statistics of the tables, in the order of [`Self::tables`].
    pub fn table_statistics(&self) -> Vec<TableStatistics> {
        self.version().statistics.tables.clone()
    }

    /// The views that the session sees, with the numbers of their definitions and their queries.
    pub fn views(&self) -> Vec<(i64, View, String)> {
        let version = self.version();
        let path = self.path_in(&version);
        let shown = |full: &str| version.shown_name(&path, full);
        let views = version.definitions.iter().filter(|one| one.kind == DefinitionKind::View);
        let views = views.filter_map(|one| {
            let view = version.catalog.view(&one.name)?;
            let printed = view_text(&version.catalog, &view.query, &view.columns, Some(&shown));
            let query = printed.unwrap_or_else(|| written_query(&version, one, &shown));
            Some((one.id, view.clone(), shown_in(&version, &path, &query)))
        });
        views.collect()
    }

    /// The comments: the number of the commented definition, the part of it, and the text.
    pub fn comments(&self) -> Vec<(i64, CommentPart, String)> {
        let version = self.version();
        let comments = version.definitions.iter().filter(|one| one.kind == DefinitionKind::Comment);
        let comments = comments
            .filter_map(|one| Some((one.table, CommentPart::of(&one.name)?, one.body.clone())));
        comments.collect()
    }

    /// The roles; at least that of the owner of the database.
    pub fn roles(&self) -> Vec<Role> {
        let version = self.version();
        match version.roles.is_empty() {
            true => vec![Role::owner(self.session_user())],
            false => version.roles.iter().cloned().collect(),
        }
    }

    /// The last value of a sequence, and whether it was drawn.
    ///
    /// # Errors
    /// There is no such sequence, or the database cannot be read.
    pub async fn sequence_state(&self, name: &str) -> Result<(i64, bool), SqlError> {
        let version = self.version();
        let sequence =
            version.sequences.get(name).copied().ok_or_else(|| {
                SqlError::new("42P01", format!("relation \"{name}\" does not exist"))
            })?;
        let last = match self.database.ranges().next(sequence.place) {
            Some(next) => next - 1,
            None => self.database.change_sequence(sequence, &|stored| stored).await?,
        };
        Ok(if last < sequence.start { (sequence.start, false) } else { (last, true) })
    }

    /// All settings with their values.
    pub fn settings(&self) -> Vec<(String, String)> {
        let all = self.settings.all().into_iter();
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The query in the text of `CREATE VIEW`. Names without a schema get one where the session needs
/// it.
fn written_query(version: &Version, view: &Definition, shown: &ShownName<'_>) -> String {
    let body = &view.body;
    let path = stored_path(&version.definitions, view.id);
    let tokens = tokens(body).unwrap_or_default();
    let at = tokens.iter().find(|token| token.is_word("AS")).map_or(0, |token| token.end());
    let (mut text, mut from) = (String::new(), at);
    for (place, pair) in tokens.windows(2).enumerate().filter(|(_, pair)| pair[0].at > at) {
        let [before, token] = pair else { continue };
        let is_dotted = tokens.get(place + 2).is_some_and(|next| next.kind == Kind::Sign('.'));
        let name = token.name().filter(|_| before.is_word("FROM") || before.is_word("JOIN"));
        let Some(name) = name.filter(|_| !is_dotted) else { continue };
        let found = version.catalog.schemas.lookup(&path, &[name], |full| {
            let exists = version.table(full).is_some() || version.catalog.view(full).is_some();
            exists.then(|| full.to_owned())
        });
        if let Some(full) = found {
            text += &body[from..token.at];
            text += &shown(&full);
            from = token.end();
        }
    }
    format!(" {}", (text + &body[from..]).trim())
}
