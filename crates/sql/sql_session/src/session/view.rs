//! The session as the system catalog shows it.

use super::SqlSession;
use crate::access::role::Role;
use crate::catalog::{DefinitionKind, Version};
use crate::error::SqlError;
use crate::host::Host;
use crate::lexer::tokens;
use planner::TableStatistics;
use procedure::{ViewStyle, view_text};
use sql::{Table, View};

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

    /// Statistics of the tables, in the order of [`Self::tables`].
    pub fn table_statistics(&self) -> Vec<TableStatistics> {
        self.version().statistics.tables.clone()
    }

    /// The views that the session sees, with the numbers of their definitions and their queries.
    pub fn views(&self) -> Vec<(i64, View, String)> {
        let version = self.version();
        let path = self.settings.get("search_path").unwrap_or_default();
        let style = match path.contains("public") {
            true => ViewStyle::Plain,
            false => ViewStyle::WithSchema,
        };
        let views = version.definitions.iter().filter(|one| one.kind == DefinitionKind::View);
        let views = views.filter_map(|one| {
            let view = version.catalog.view(&one.name)?;
            let printed = view_text(&version.catalog, &view.query, &view.columns, Some(style));
            let query = printed.unwrap_or_else(|| written_query(&version, &one.body, style));
            Some((one.id, view.clone(), query))
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

/// The query in the text of `CREATE VIEW`.
fn written_query(version: &Version, body: &str, style: ViewStyle) -> String {
    let tokens = tokens(body).unwrap_or_default();
    let at = tokens.iter().find(|token| token.is_word("AS")).map_or(0, |token| token.end());
    let (mut shown, mut from) = (String::new(), at);
    for pair in tokens.windows(2).filter(|pair| pair[0].at > at && style == ViewStyle::WithSchema) {
        let [before, token] = pair else { continue };
        let name = token.name().filter(|_| before.is_word("FROM") || before.is_word("JOIN"));
        let is_relation =
            |name: &String| version.table(name).is_some() || version.catalog.view(name).is_some();
        if name.as_ref().is_some_and(is_relation) {
            shown += &body[from..token.at];
            shown += "public.";
            from = token.at;
        }
    }
    format!(" {}", (shown + &body[from..]).trim())
}
