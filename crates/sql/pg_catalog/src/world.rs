//! The user's tables, as the catalog shows them.

use crate::sequences::SequenceState;
use procedure::table_expression;
use sql::catalog::{ForeignKey, ReferentialAction};
use sql::expression::Expr;
use sql::namespace::{own_name, schema_of};
use sql::{Schemas, SearchPath, SqlType, Table, Types, View};
use sql_session::{
    CatalogSnapshot, CommentPart, Role, RoutineFacts, SequenceFacts, TableStatistics,
};
use std::collections::BTreeMap;

/// A database with its session.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub schemas: Schemas,
    /// The schemas that the session searches.
    pub path: SearchPath,
    /// The enumerated types.
    pub types: Types,
    pub tables: Vec<TableInfo>,
    pub views: Vec<ViewInfo>,
    /// Numbers of the functions and procedures.
    pub routines: Vec<i64>,
    pub routine_facts: Vec<RoutineFacts>,
    pub sequences: Vec<SequenceFacts>,
    /// The states of the sequences that the query reads, by name.
    pub sequence_states: BTreeMap<String, SequenceState>,
    /// Comments: the number of the commented object, the part of it, and the text.
    pub comments: Vec<(i64, CommentPart, String)>,
    /// `current_user`
    pub user: String,
    pub session_user: String,
    /// The number of the role whose privileges count.
    pub role: i64,
    pub roles: Vec<Role>,
    /// Owners and grants.
    pub catalog: Option<CatalogSnapshot>,
    pub database: String,
    /// Settings with their values.
    pub settings: Vec<(String, String)>,
}

/// A table with the numbers of its objects.
#[derive(Clone, Debug)]
pub struct TableInfo {
    pub oid: i64,
    pub table: Table,
    pub statistics: TableStatistics,
}

/// A view with its number.
#[derive(Clone, Debug)]
pub struct ViewInfo {
    pub oid: i64,
    pub view: View,
    /// The query, as PostgreSQL prints it, without a semicolon.
    pub query: String,
}

/// An index of a table, the primary key's included.
pub(crate) struct IndexInfo<'w> {
    pub oid: i64,
    pub name: &'w str,
    pub columns: &'w [usize],
    /// The condition of the rows of a partial index.
    pub predicate: Option<&'w Expr>,
    pub is_unique: bool,
    pub is_primary: bool,
    pub is_hash: bool,
}

/// A constraint of a table.
pub(crate) struct ConstraintInfo {
    pub oid: i64,
    pub name: String,
    /// `p`, `u`, `f` or `c`.
    pub kind: &'static str,
    pub columns: Vec<usize>,
    /// The index behind it; 0 without one.
    pub index: i64,
    pub foreign_key: Option<ForeignKey>,
}

/// Numbers of indexes and constraints begin here; each table has a range of its own.
const DERIVED_OIDS: i64 = 1 << 30;
/// Indexes and constraints of a table at most.
const RANGE: i64 = 256;
const CONSTRAINTS_FROM: i64 = 128;

impl TableInfo {
    fn derived(&self, number: usize) -> i64 {
        DERIVED_OIDS + (self.oid - 16_384) * RANGE + number as i64
    }

    /// All indexes: the primary key first.
    pub(crate) fn indexes(&self) -> Vec<IndexInfo<'_>> {
        let table = &self.table;
        let primary = (!table.primary_key.is_empty()).then(|| IndexInfo {
            oid: self.derived(0),
            name: &table.primary_key_name,
            columns: &table.primary_key,
            predicate: None,
            is_unique: true,
            is_primary: true,
            is_hash: false,
        });
        let others = table.indexes.iter().enumerate().map(|(at, index)| IndexInfo {
            oid: self.derived(at + 1),
            name: &index.name,
            columns: table.declared(index),
            predicate: table.predicate(index),
            is_unique: index.unique,
            is_primary: false,
            is_hash: format!("{:?}", index.kind).starts_with("Hash"),
        });
        primary.into_iter().chain(others).collect()
    }

    /// All constraints.
    pub(crate) fn constraints(&self) -> Vec<ConstraintInfo> {
        let table = &self.table;
        let mut found = Vec::new();
        for index in self.indexes() {
            // A unique index counts as a constraint only if its name is that of one.
            let is_plain = index.predicate.is_none()
                && index.columns.iter().all(|&at| table.expression(at).is_none());
            if index.is_primary || index.is_unique && is_plain && index.name.ends_with("_key") {
                found.push(ConstraintInfo {
                    oid: 0,
                    name: index.name.to_owned(),
                    kind: if index.is_primary { "p" } else { "u" },
                    columns: index.columns.to_vec(),
                    index: index.oid,
                    foreign_key: None,
                });
            }
        }
        for key in &table.foreign_keys {
            found.push(ConstraintInfo {
                oid: 0,
                name: key.name.clone(),
                kind: "f",
                columns: key.columns.clone(),
                index: 0,
                foreign_key: Some(key.clone()),
            });
        }
        for check in &table.checks {
            found.push(ConstraintInfo {
                oid: 0,
                name: check.name.clone(),
                kind: "c",
                columns: Vec::new(),
                index: 0,
                foreign_key: None,
            });
        }
        for (at, constraint) in found.iter_mut().enumerate() {
            constraint.oid = self.derived(at) + CONSTRAINTS_FROM;
        }
        found
    }

    /// The unique index of these columns; 0 if there is none.
    pub(crate) fn unique_index(&self, columns: &[usize]) -> i64 {
        let has_all = |own: &[usize]| {
            own.len() == columns.len() && columns.iter().all(|column| own.contains(column))
        };
        let found = self.indexes().into_iter();
        let mut found = found.filter(|index| index.is_unique && has_all(index.columns));
        found.find(|index| index.predicate.is_none()).map_or(0, |index| index.oid)
    }

    /// Names of columns, separated by commas.
    pub(crate) fn column_names(&self, columns: &[usize]) -> String {
        let names = columns.iter().filter_map(|at| self.table.columns.get(*at));
        names.map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ")
    }
}

impl World {
    /// The table with this number.
    pub(crate) fn table(&self, oid: i64) -> Option<&TableInfo> {
        self.tables.iter().find(|table| table.oid == oid)
    }

    /// The name of a relation, with its schema unless the search path finds it without.
    pub(crate) fn qualified(&self, full: &str) -> String {
        match self.is_visible(full) {
            true => quoted(own_name(full)),
            false => self.with_schema(full),
        }
    }

    /// The name of an object with its schema.
    pub(crate) fn with_schema(&self, full: &str) -> String {
        format!("{}.{}", quoted(self.schema_of(full)), quoted(own_name(full)))
    }

    /// The name of an object's schema.
    pub(crate) fn schema_of(&self, full: &str) -> &str {
        self.schemas.name(schema_of(full)).unwrap_or_default()
    }

    /// Whether the search path finds this relation by its name alone.
    pub(crate) fn is_visible(&self, full: &str) -> bool {
        let found = self.find_relation(&[own_name(full)], |other| Some(other == full));
        found == Some(true)
    }

    /// The first relation that a name means; `then` takes its full name.
    fn find_relation<T>(
        &self,
        parts: &[impl AsRef<str>],
        then: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        self.schemas.lookup(&self.path, parts, |full| match self.relation_oid(full) {
            Some(_) => then(full),
            None => None,
        })
    }

    /// The number of the relation or index that a name means.
    pub(crate) fn named_relation(&self, parts: &[String]) -> Option<i64> {
        self.find_relation(parts, |full| self.relation_oid(full))
    }

    /// The number of the relation or index with this full name.
    fn relation_oid(&self, full: &str) -> Option<i64> {
        if let Some(table) = self.tables.iter().find(|table| table.table.name == full) {
            return Some(table.oid);
        }
        if let Some(view) = self.views.iter().find(|view| view.view.name == full) {
            return Some(view.oid);
        }
        if let Some(sequence) = self.sequence_named(full) {
            return Some(crate::sequences::oid_of(sequence));
        }
        let of_table = |table: &&TableInfo| schema_of(&table.table.name) == schema_of(full);
        let tables = self.tables.iter().filter(of_table);
        let mut indexes = tables.flat_map(TableInfo::indexes);
        indexes.find(|index| index.name == full).map(|index| index.oid)
    }

    /// The full name of the relation or index with this number.
    pub(crate) fn relation_name(&self, oid: i64) -> Option<&str> {
        if let Some(table) = self.table(oid) {
            return Some(&table.table.name);
        }
        if let Some((_, index)) = self.index(oid) {
            return Some(index.name);
        }
        let view = self.view(oid).map(|view| &*view.view.name);
        view.or_else(|| self.sequence(oid).map(|sequence| &*sequence.name))
    }

    /// The view with this number.
    pub(crate) fn view(&self, oid: i64) -> Option<&ViewInfo> {
        self.views.iter().find(|view| view.oid == oid)
    }

    /// Table and index with this number.
    pub(crate) fn index(&self, oid: i64) -> Option<(&TableInfo, IndexInfo<'_>)> {
        self.tables.iter().find_map(|table| {
            table.indexes().into_iter().find(|index| index.oid == oid).map(|index| (table, index))
        })
    }

    /// The definition of a constraint, as `ALTER TABLE ADD` takes it.
    pub(crate) fn constraint_definition(&self, oid: i64) -> Option<String> {
        let (table, constraint) = self.tables.iter().find_map(|table| {
            let mut all = table.constraints().into_iter();
            all.find(|constraint| constraint.oid == oid).map(|constraint| (table, constraint))
        })?;
        let columns = table.column_names(&constraint.columns);
        Some(match (constraint.kind, &constraint.foreign_key) {
            ("p", _) => format!("PRIMARY KEY ({columns})"),
            ("u", _) => format!("UNIQUE ({columns})"),
            ("f", Some(key)) => {
                let other = &self.tables[key.table];
                let name = self.qualified(&other.table.name);
                let keys = other.column_names(&key.references);
                let on_update = action_clause("UPDATE", &key.on_update, key, table);
                let on_delete = action_clause("DELETE", &key.on_delete, key, table);
                format!("FOREIGN KEY ({columns}) REFERENCES {name}({keys}){on_update}{on_delete}")
            }
            _ => {
                let mut checks = table.table.checks.iter();
                let check = checks.find(|check| check.name == constraint.name)?;
                format!(
                    "CHECK {}",
                    parenthesized(self.shown(&table_expression(&table.table, &check.condition)))
                )
            }
        })
    }

    /// The statement that creates an index.
    pub(crate) fn index_definition(&self, oid: i64, is_pretty: bool) -> Option<String> {
        let (table, index) = self.index(oid)?;
        let unique = if index.is_unique { "UNIQUE " } else { "" };
        let method = if index.is_hash { "hash" } else { "btree" };
        let parts = index.columns.iter().map(|&at| self.index_part(&table.table, at, is_pretty));
        let columns = parts.collect::<Option<Vec<_>>>()?.join(", ");
        let name = quoted(own_name(index.name));
        let on = match is_pretty {
            true => self.qualified(&table.table.name),
            false => self.with_schema(&table.table.name),
        };
        let predicate = match index.predicate {
            None => String::new(),
            Some(value) => format!(" WHERE {}", self.predicate(&table.table, value, is_pretty)),
        };
        Some(format!("CREATE {unique}INDEX {name} ON {on} USING {method} ({columns}){predicate}"))
    }
}

impl World {
    /// A column of an index, or an expression, as `CREATE INDEX` takes it. PostgreSQL puts another
    /// pair of parentheses around expressions that are not `is_pretty`.
    pub(crate) fn index_part(&self, table: &Table, at: usize, is_pretty: bool) -> Option<String> {
        if table.expression(at).is_none() {
            return Some(quoted(&table.columns.get(at)?.name));
        }
        let text = self.shown(&procedure::index_part(table, at));
        let is_bare = is_pretty || !text.starts_with('(');
        Some(if is_bare { text } else { format!("({text})") })
    }

    /// The condition of a partial index; only pretty ones have no parentheses around them.
    pub(crate) fn predicate(&self, table: &Table, value: &Expr, is_pretty: bool) -> String {
        let text = self.shown(&table_expression(table, value));
        match is_pretty && procedure::is_in_parentheses(&text) {
            true => text[1..text.len() - 1].to_owned(),
            false => text,
        }
    }

    /// The expressions of an index, as `pg_get_expr` shows them; `None` if it has only columns.
    pub(crate) fn index_expressions(&self, table: &Table, columns: &[usize]) -> Option<String> {
        let values = columns.iter().filter_map(|&at| table.expression(at));
        let texts: Vec<String> =
            values.map(|value| self.shown(&table_expression(table, value))).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }
}

/// A condition in parentheses.
fn parenthesized(condition: String) -> String {
    if condition.starts_with('(') && condition.ends_with(')') {
        return condition;
    }
    format!("({condition})")
}

/// A name, in double quotes if it needs them.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = name
        .chars()
        .all(|letter| letter == '_' || letter.is_ascii_digit() || letter.is_ascii_lowercase())
        && !name.starts_with(|letter: char| letter.is_ascii_digit());
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// A type with its modifier, as `format_type` prints it.
pub(crate) fn type_name(sql_type: &SqlType) -> String {
    sql_type.name()
}

/// The clause of a foreign key's action, with a space before it; empty if it has none.
fn action_clause(
    event: &str,
    action: &ReferentialAction,
    key: &ForeignKey,
    table: &TableInfo,
) -> String {
    let listed = |set: &[usize]| match set == key.columns {
        true => String::new(),
        false => format!(" ({})", table.column_names(set)),
    };
    let action = match action {
        ReferentialAction::NoAction => return String::new(),
        ReferentialAction::Restrict => "RESTRICT".to_owned(),
        ReferentialAction::Cascade => "CASCADE".to_owned(),
        ReferentialAction::SetNull(set) => format!("SET NULL{}", listed(set)),
        ReferentialAction::SetDefault(set) => format!("SET DEFAULT{}", listed(set)),
    };
    format!(" ON {event} {action}")
}
