//! `CREATE VIEW`, and changes of the tables that views read.
//!
//! A view is stored as PostgreSQL prints it, with the names of all columns, if that text means the
//! same as the client's. Then it follows tables and columns that get other names.

use super::super::SqlSession;
use super::super::rewrite::quoted;
use super::Edited;
use super::create::{exists, relation_exists};
use super::types::refuse_type_name;
use crate::catalog::schemas::store_path;
use crate::catalog::version::Parsed;
use crate::catalog::{Definition, DefinitionKind, Version};
use crate::command::TableChange;
use crate::error::{Severity, SqlError};
use crate::host::Host;
use crate::parse_error::parse_error;
use procedure::view_text;
use sql::expression::{CastKind, Expr, ExprKind};
use sql::namespace::own_name;
use sql::query::{Join, OrderBy, Select, SelectBody};
use sql::{Catalog, Field, SearchPath, Source, SqlType, View};
use std::collections::BTreeSet;

/// `CREATE VIEW`
pub(super) fn create_view(
    (version, path): (&Version, &SearchPath),
    (name, columns): (&str, &[String]),
    query: &str,
    replaces: bool,
    text: &str,
) -> Result<Edited, SqlError> {
    let old = version.catalog.view(name);
    refuse_type_name(version, name)?;
    if relation_exists(version, name) && !(replaces && old.is_some()) {
        return Err(exists(name));
    }
    let names: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    let own = statement(name, &names, query);
    let read = |text: &str| {
        let source = Source::new("statement", text).with_path(path.clone());
        let source = source.with_types(&version.catalog.types);
        sql::read_view(&source, &version.catalog)
    };
    // The error has the place in the text of the client.
    let mut view = read(&own).map_err(|error| match read(text) {
        Err(placed) => parse_error(&placed, text),
        Ok(_) => parse_error(&error, &own),
    })?;
    let mut definitions = version.definitions.clone();
    let is_it = |one: &Definition| one.kind == DefinitionKind::View && one.name == *name;
    let place = definitions.iter().position(is_it);
    if let Some(old) = old {
        check_columns(&old.columns, &view.columns)?;
        if view.views.iter().any(|used| used == name) {
            let message = format!("infinite recursion detected in rules for relation \"{name}\"");
            return Err(SqlError::new("42P17", message));
        }
    }
    name.clone_into(&mut view.name);
    let printed = printed(&version.catalog, &view);
    // A printed text has full names.
    let path = if printed.is_some() { SearchPath::default() } else { path.clone() };
    let id = place.map_or_else(|| version.next_id(), |at| definitions[at].id);
    let definition = Definition {
        id,
        kind: DefinitionKind::View,
        table: 0,
        name: name.to_owned(),
        physical: String::new(),
        body: printed.unwrap_or(own),
    };
    match place {
        Some(at) => definitions[at] = definition,
        None => definitions.push(definition),
    }
    store_path(&mut definitions, id, &path);
    Ok(Edited::new(definitions, "CREATE VIEW"))
}

fn statement(name: &str, columns: &[String], query: &str) -> String {
    let columns = match columns {
        [] => String::new(),
        columns => format!(" ({})", columns.join(", ")),
    };
    format!("CREATE VIEW {}{columns} AS {query}", quoted(name))
}

/// The statement that creates a view, with the present names of tables and columns; `None` if the
/// printed text would not mean the same.
fn printed(catalog: &Catalog, view: &View) -> Option<String> {
    let names: Vec<String> = view.columns.iter().map(|column| quoted(&column.name)).collect();
    let text =
        statement(&view.name, &names, &view_text(catalog, &view.query, &view.columns, None)?);
    let source = Source::new("statement", &text).with_types(&catalog.types);
    let again = sql::read_view(&source, catalog).ok()?;
    let is_same = again.columns == view.columns
        && without_kinds(again.query) == without_kinds(view.query.clone());
    is_same.then_some(text)
}

/// The query with equal kinds of conversions, without those of texts and without names of its
/// outputs.
fn without_kinds(mut query: Select) -> Select {
    if let SelectBody::Plain(plain) = &mut query.body {
        plain.outputs.iter_mut().for_each(|output| output.name.clear());
        let outputs = plain.outputs.iter_mut().map(|output| &mut output.expr);
        let conditions = plain.filter.iter_mut().chain(&mut plain.group).chain(&mut plain.having);
        outputs.chain(conditions).for_each(write_out);
        plain.joins.iter_mut().for_each(write_out_join);
    }
    for key in &mut query.order {
        if let OrderBy::Expr(value) = &mut key.by {
            write_out(value);
        }
    }
    query.limit.iter_mut().chain(&mut query.offset).for_each(write_out);
    query
}

fn write_out_join(join: &mut Join) {
    if let Join::Pair { left, right, condition, .. } = join {
        write_out_join(left);
        write_out_join(right);
        condition.iter_mut().for_each(write_out);
    }
}

fn write_out(value: &mut Expr) {
    if let ExprKind::Cast { operand, .. } = &mut value.kind {
        let is_text = matches!(operand.kind, ExprKind::Text(_) | ExprKind::Column(_))
            && matches!(operand.sql_type, SqlType::Text | SqlType::Varchar(_) | SqlType::Unknown);
        if value.sql_type == SqlType::Text && is_text {
            *value = std::mem::replace(
                &mut **operand,
                Expr { kind: ExprKind::Null, sql_type: SqlType::Text },
            );
        }
    }
    match &mut value.kind {
        ExprKind::Cast { kind, .. } => *kind = CastKind::Explicit,
        ExprKind::Text(_) => value.sql_type = SqlType::Text,
        _ => {}
    }
    value.for_each_child_mut(&mut |child| write_out(child));
}

/// Refuses a replacement whose first columns are not those of the old view.
fn check_columns(old: &[Field], new: &[Field]) -> Result<(), SqlError> {
    if new.len() < old.len() {
        return Err(SqlError::new("42P16", "cannot drop columns from view"));
    }
    for (old, new) in old.iter().zip(new) {
        let (name, to) = (&old.name, &new.name);
        if name != to {
            let message = format!("cannot change name of view column \"{name}\" to \"{to}\"");
            let hint =
                "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.";
            return Err(SqlError::new("42P16", message).hint(hint));
        }
        if old.sql_type != new.sql_type {
            let (from, to) = (&old.sql_type, &new.sql_type);
            let message =
                format!("cannot change data type of view column \"{name}\" from {from} to {to}");
            return Err(SqlError::new("42P16", message));
        }
    }
    Ok(())
}

/// Reads definitions after a change of tables; views follow tables and columns with new names.
pub(super) fn follow_tables(
    version: &Version,
    definitions: &mut [Definition],
    text: &str,
) -> Result<Parsed, SqlError> {
    let is_view = |one: &Definition| one.kind == DefinitionKind::View;
    let tables: Vec<Definition> = definitions.iter().filter(|one| !is_view(one)).cloned().collect();
    let renamed = Parsed::read(&tables, text)?.catalog;
    for definition in definitions.iter_mut().filter(|one| is_view(one)) {
        let Some(view) = version.catalog.view(&definition.name) else { continue };
        let reads = view.reads();
        let has_moved = |&(table, column): &(usize, Option<usize>)| {
            let old = &version.catalog.tables[table];
            let new = renamed.tables.get(table);
            match column {
                None => new.is_none_or(|new| new.name != old.name),
                Some(at) => new.and_then(|new| new.columns.get(at)).is_none_or(|column| {
                    column.name != old.columns[at].name || column.number != old.columns[at].number
                }),
            }
        };
        if !reads.iter().any(has_moved) {
            continue;
        }
        let names: Vec<String> = view.columns.iter().map(|column| quoted(&column.name)).collect();
        let query = moved(view.query.clone(), &version.catalog, &renamed);
        if query.is_none() && !view.views.is_empty() {
            // It names views, which keep the names of their columns.
            continue;
        }
        let query = query.and_then(|query| view_text(&renamed, &query, &view.columns, None));
        let query = query.ok_or_else(|| not_followed(&view.name))?;
        definition.body = statement(&view.name, &names, &query);
    }
    let parsed = Parsed::read(definitions, text)?;
    for view in &parsed.catalog.views {
        if version.catalog.view(&view.name).is_some_and(|old| old.columns != view.columns) {
            return Err(not_followed(&view.name));
        }
    }
    Ok(parsed)
}

fn not_followed(view: &str) -> SqlError {
    SqlError::unsupported(format!("the view {view} does not follow this change"))
        .hint("Drop the view first, and create it again.")
}

/// The query with the positions that its columns have in the new catalog.
fn moved(mut query: Select, from: &Catalog, to: &Catalog) -> Option<Select> {
    let SelectBody::Plain(plain) = &mut query.body else { return None };
    let mut positions: Vec<Vec<Option<usize>>> = Vec::new();
    for source in &mut plain.sources {
        let sql::query::FromKind::Table(table) = source.kind else { return None };
        let (old, new) = (from.tables.get(table)?, to.tables.get(table)?);
        if source.alias == own_name(&old.name) {
            own_name(&new.name).clone_into(&mut source.alias);
        }
        let place = |number: u32| new.columns.iter().position(|column| column.number == number);
        positions.push(old.columns.iter().map(|column| place(column.number)).collect());
    }
    let mut is_whole = true;
    let mut move_one = |value: &mut Expr| move_columns(value, &positions, &mut is_whole);
    plain.outputs.iter_mut().for_each(|output| move_one(&mut output.expr));
    plain
        .filter
        .iter_mut()
        .chain(&mut plain.group)
        .chain(&mut plain.having)
        .for_each(&mut move_one);
    plain.joins.iter_mut().for_each(|join| move_join(join, &mut move_one));
    for key in &mut query.order {
        if let OrderBy::Expr(value) = &mut key.by {
            move_one(value);
        }
    }
    is_whole.then_some(query)
}

fn move_join(join: &mut Join, move_one: &mut dyn FnMut(&mut Expr)) {
    if let Join::Pair { left, right, condition, .. } = join {
        move_join(left, move_one);
        move_join(right, move_one);
        condition.iter_mut().for_each(move_one);
    }
}

fn move_columns(value: &mut Expr, positions: &[Vec<Option<usize>>], is_whole: &mut bool) {
    if let ExprKind::Column(column) = &mut value.kind {
        match positions.get(column.source).and_then(|source| source.get(column.column)) {
            Some(Some(position)) if column.level == 0 => column.column = *position,
            _ => *is_whole = false,
        }
    }
    *is_whole &= !matches!(value.kind, ExprKind::Subquery { .. });
    value.for_each_child_mut(&mut |child| move_columns(child, positions, is_whole));
}

/// Refuses another type of a column that a view reads.
pub(super) fn refuse_changed_columns(
    version: &Version,
    after: &Parsed,
    id: i64,
) -> Result<(), SqlError> {
    let Some(table) = version.position_of(id) else { return Ok(()) };
    let old = &version.catalog.tables[table];
    let Some(new) = after.catalog.tables.get(table) else { return Ok(()) };
    for view in &version.catalog.views {
        for (_, column) in view.reads().into_iter().filter(|(of, _)| *of == table) {
            let Some(before) = column.map(|at| &old.columns[at]) else { continue };
            let now = new.columns.iter().find(|other| other.number == before.number);
            if now.is_some_and(|now| now.sql_type != before.sql_type) {
                let message = "cannot alter type of a column used by a view or rule";
                let name = &before.name;
                let detail = format!("view {} depends on column \"{name}\"", view.name);
                return Err(SqlError::unsupported(message).detail(detail));
            }
        }
    }
    Ok(())
}

impl<H: Host> SqlSession<H> {
    /// Drops views that depend on others or on tables, with `CASCADE`, or refuses that. `depends`
    /// says which of the views do so directly; `what` is the object that is dropped.
    pub(super) fn drop_views(
        &mut self,
        version: &Version,
        definitions: &mut Vec<Definition>,
        depends: &dyn Fn(&View) -> bool,
        what: &str,
        cascade: bool,
    ) -> Result<(), SqlError> {
        let mut gone = BTreeSet::new();
        for view in &version.catalog.views {
            let is_there =
                |one: &Definition| one.kind == DefinitionKind::View && one.name == view.name;
            let uses_gone = view.views.iter().any(|used| gone.contains(used));
            if !definitions.iter().any(is_there) || !(depends(view) || uses_gone) {
                continue;
            }
            let name = &view.name;
            if !cascade {
                let message = format!("cannot drop {what} because other objects depend on it");
                let hint = "Use DROP ... CASCADE to drop the dependent objects too.";
                let detail = format!("view {name} depends on {what}");
                return Err(SqlError::new("2BP01", message).detail(detail).hint(hint));
            }
            self.notice(Severity::Notice, "00000", format!("drop cascades to view {name}"));
            definitions.retain(|one| !is_there(one));
            gone.insert(name.clone());
        }
        Ok(())
    }

    /// As [`Self::drop_views`], for the columns that a table loses.
    pub(super) fn drop_views_of_columns(
        &mut self,
        version: &Version,
        table: &str,
        change: &TableChange,
        definitions: &mut Vec<Definition>,
    ) -> Result<(), SqlError> {
        let Some(position) = version.catalog.position(table) else { return Ok(()) };
        for (column, cascade) in &change.dropped {
            let Some(at) = version.catalog.tables[position].column(column) else { continue };
            let depends = |view: &View| view.reads().contains(&(position, Some(at)));
            let what = format!("column {column} of table {table}");
            self.drop_views(version, definitions, &depends, &what, *cascade)?;
        }
        Ok(())
    }
}
