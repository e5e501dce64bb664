//! The columns that are visible in a query.

use crate::expression::ColumnRef;
use crate::types::{Field, SqlType};

/// The sources of a query, and the enclosing query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope<'p> {
    /// The scope of the enclosing query; a sub-select sees its columns, too.
    pub(crate) parent: Option<&'p Scope<'p>>,
    /// The query's own sources, by position.
    pub(crate) sources: Vec<Visible>,
}

#[derive(Clone, Debug)]
pub(crate) struct Visible {
    pub(crate) alias: String,
    pub(crate) columns: Vec<Field>,
    /// Columns that are visible only with the alias, because `USING` has merged them with those of
    /// another source.
    pub(crate) merged: Vec<usize>,
    /// Whether it is a function of one column: its name is then its value.
    pub(crate) is_scalar: bool,
    /// The full name of a source without an alias.
    pub(crate) full: Option<String>,
}

/// The result of a lookup of a column name.
pub(crate) enum Found {
    Nothing,
    Column(ColumnRef, SqlType),
    /// Several sources have such a column.
    Ambiguous,
}

impl<'p> Scope<'p> {
    pub(crate) fn within(parent: Option<&'p Scope<'p>>) -> Self {
        Self { parent, sources: Vec::new() }
    }

    /// The column called `name` of the innermost query that has one.
    pub(crate) fn find(&self, name: &str) -> Found {
        let found = self.search(&|visible: &Visible| {
            let is_it =
                |(at, field): &(usize, &Field)| field.name == name && !visible.merged.contains(at);
            visible.columns.iter().enumerate().find(is_it).map(|(at, _)| at)
        });
        match found {
            Found::Nothing => self.search(&|visible: &Visible| {
                (visible.is_scalar && visible.alias == name).then_some(0)
            }),
            found => found,
        }
    }

    /// The column called `name` of the source called `alias`.
    pub(crate) fn find_in(&self, alias: &str, name: &str) -> Found {
        self.search(&|visible: &Visible| {
            let named = visible.alias == alias;
            visible.columns.iter().position(|field| named && field.name == name)
        })
    }

    /// The column called `name` of the relation with this full name, which has no alias here.
    pub(crate) fn find_in_full(&self, full: &str, name: &str) -> Found {
        self.search(&|visible: &Visible| {
            let named = visible.full.as_deref() == Some(full);
            visible.columns.iter().position(|field| named && field.name == name)
        })
    }

    /// The visible column names, both with and without the alias, innermost query first.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut scope = Some(self);
        while let Some(here) = scope {
            for visible in &here.sources {
                for field in &visible.columns {
                    names.push(field.name.clone());
                    names.push(format!("{}.{}", visible.alias, field.name));
                }
            }
            scope = here.parent;
        }
        names
    }

    /// Whether this query or an enclosing one has a source called `alias`.
    pub(crate) fn has_source(&self, alias: &str) -> bool {
        let around = self.parent.is_some_and(|parent| parent.has_source(alias));
        around || self.source(alias).is_some()
    }

    /// Position of the source called `alias` in this query.
    pub(crate) fn source(&self, alias: &str) -> Option<usize> {
        self.sources.iter().position(|visible| visible.alias == alias)
    }

    fn search(&self, pick: &dyn Fn(&Visible) -> Option<usize>) -> Found {
        let mut level = 0;
        let mut scope = Some(self);
        while let Some(here) = scope {
            let picked =
                |(source, visible): (usize, &Visible)| pick(visible).map(|column| (source, column));
            let mut hits = here.sources.iter().enumerate().filter_map(picked);
            if let Some((source, column)) = hits.next() {
                if hits.next().is_some() {
                    return Found::Ambiguous;
                }
                let sql_type = here.sources[source].columns[column].sql_type.clone();
                return Found::Column(ColumnRef { level, source, column }, sql_type);
            }
            level += 1;
            scope = here.parent;
        }
        Found::Nothing
    }
}
