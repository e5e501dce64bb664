//! `INSERT`, `UPDATE` and `DELETE`.

use super::call_place::CallPlace;
use super::coerce::Context;
use super::from::FromClause;
use super::scope::Scope;
use super::{Resolver, Untyped, ident_name, object_parts, object_span};
use crate::catalog::{Identity, Index, Table, TableColumn};
use crate::conflict;
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{BinaryOperator, ColumnRef, Expr, ExprKind};
use crate::namespace::own_name;
use crate::overriding::{Overriding, overriding};
use crate::parse;
use crate::query::{
    ConflictUpdate, Delete, Insert, InsertSource, OnConflict, Output, Query, Update,
};
use crate::token::tokenize;
use sqlparser::ast::{
    self, AssignmentTarget, ConflictTarget, FromTable, ObjectName, OnConflictAction, OnInsert,
    SelectItem, SetExpr, Spanned, Statement, TableObject, UpdateTableFromKind,
};
use sqlparser::tokenizer::Span;

impl Resolver<'_> {
    pub(crate) fn query(&mut self, statement: &Statement) -> Result<Query> {
        match statement {
            Statement::Query(query) => match &*query.body {
                SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) => {
                    self.at_place(CallPlace::Rows, |resolver| resolver.name_queries(query))?;
                    self.query(inner)
                }
                _ => {
                    let select = |resolver: &mut Self| resolver.select(None, query);
                    let select = self.at_place(CallPlace::Statement, select)?;
                    Ok(Query::Select(Box::new(select)))
                }
            },
            Statement::Insert(insert) => {
                let insert = self.in_query(|resolver| resolver.insert(insert))?;
                Ok(Query::Insert(Box::new(insert)))
            }
            Statement::Update(update) => {
                let update = self.in_query(|resolver| resolver.update(update))?;
                Ok(Query::Update(Box::new(update)))
            }
            Statement::Delete(delete) => {
                let delete = self.in_query(|resolver| resolver.delete(delete))?;
                Ok(Query::Delete(Box::new(delete)))
            }
            _ => {
                let advice = "write SELECT, INSERT, UPDATE or DELETE";
                Err(self.outside(self.place, "this statement", advice))
            }
        }
    }

    fn insert(&mut self, insert: &ast::Insert) -> Result<Insert> {
        let span = self.place;
        let foreign = insert.or.is_some()
            || insert.ignore
            || insert.overwrite
            || !insert.assignments.is_empty()
            || insert.partitioned.is_some()
            || !insert.after_columns.is_empty()
            || insert.has_table_keyword
            || insert.output.is_some()
            || insert.replace_into
            || insert.priority.is_some()
            || insert.insert_alias.is_some()
            || insert.settings.is_some()
            || insert.format_clause.is_some()
            || !insert.into;
        self.refuse_foreign(foreign, span, "such INSERT")?;
        let TableObject::TableName(name) = &insert.table else {
            return Err(self.error(
                span,
                ErrorKind::Syntax,
                "INSERT INTO must be followed by a table",
            ));
        };
        let table = self.table(name)?;
        let columns = self.insert_columns(table, &insert.columns)?;
        let mut source = match &insert.source {
            None => InsertSource::Values(vec![Vec::new()]),
            Some(query) => match &*query.body {
                SetExpr::Values(values) if query.with.is_none() => {
                    self.insert_values(table, &columns, values, span)?
                }
                _ => self.insert_select(table, &columns, query)?,
            },
        };
        let given = match &source {
            InsertSource::Values(rows) => rows.first().map_or(0, Vec::len),
            InsertSource::Select(_, values) => values.len(),
        };
        let columns = columns[..given.min(columns.len())].to_vec();
        self.check_identities(table, &columns, &mut source)?;
        let alias = self.insert_alias(insert)?;
        let on_conflict = self.on_conflict(table, alias.as_deref(), insert.on.as_ref(), span)?;
        let returning = self.returning_of(table, alias, insert.returning.as_deref(), span)?;
        Ok(Insert { table, columns, source, on_conflict, returning })
    }

    /// The alias of the table. PostgreSQL requires `AS`: without it, the name would be the list of
    /// columns.
    fn insert_alias(&self, insert: &ast::Insert) -> Result<Option<String>> {
        let Some(alias) = &insert.table_alias else { return Ok(None) };
        self.check_name(&alias.alias)?;
        if !alias.explicit {
            let name = &alias.alias.value;
            let sentence = format!("`{name}` does not continue INSERT INTO");
            let error = self.error(alias.alias.span, ErrorKind::Syntax, sentence);
            return Err(error.advise(format!("write AS {name} if it is the table's alias")));
        }
        Ok(Some(ident_name(&alias.alias)))
    }

    fn insert_columns(&self, table: usize, names: &[ObjectName]) -> Result<Vec<usize>> {
        if names.is_empty() {
            return Ok((0..self.catalog.tables[table].visible().len()).collect());
        }
        let mut columns = Vec::new();
        for name in names {
            let column = self.own_column(table, name)?;
            if columns.contains(&column) {
                let sentence = format!("the column `{name}` is named twice");
                return Err(self.error(object_span(name), ErrorKind::Name, sentence));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    /// A column of the changed table; such a name is never a variable.
    fn own_column(&self, table: usize, name: &ObjectName) -> Result<usize> {
        let table = &self.catalog.tables[table];
        let first = object_parts(name).unwrap_or_default().first().copied();
        first.map_or(Ok(()), |first| self.check_name(first))?;
        let own =
            object_parts(name).filter(|parts| parts.len() == 1).map(|parts| ident_name(parts[0]));
        own.and_then(|own| table.column(&own)).ok_or_else(|| {
            let sentence = format!("the table `{}` has no column `{name}`", table.name);
            let message =
                format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
            let error = self.error(object_span(name), ErrorKind::Name, sentence);
            error.in_postgres("42703", message)
        })
    }

    fn insert_values(
        &mut self,
        table: usize,
        columns: &[usize],
        values: &ast::Values,
        span: Span,
    ) -> Result<InsertSource> {
        let scope = Scope::default();
        let mut rows: Vec<Vec<Option<Expr>>> = Vec::new();
        for row in &values.rows {
            let nodes = &row.content;
            let width = rows.first().map_or(nodes.len(), Vec::len);
            self.check_width(nodes.len(), columns.len(), span)?;
            if nodes.len() != width {
                return Err(self.error(
                    span,
                    ErrorKind::Syntax,
                    "the rows of VALUES must have the same number of columns",
                ));
            }
            let pairs = nodes.iter().zip(columns);
            // A function in the second row sees the first one.
            let place = if rows.is_empty() { CallPlace::Once } else { CallPlace::Rows };
            let value = |(node, &column): (&ast::Expr, &usize)| {
                self.at_place(place, |resolver| resolver.column_value(&scope, table, column, node))
            };
            rows.push(pairs.map(value).collect::<Result<Vec<_>>>()?);
        }
        Ok(InsertSource::Values(rows))
    }

    fn check_width(&self, given: usize, wanted: usize, span: Span) -> Result<()> {
        if given > wanted {
            let sentence = format!("there are {given} values for {wanted} columns");
            let message = "INSERT has more expressions than target columns";
            return Err(self.type_error(span, sentence).in_postgres("42601", message));
        }
        Ok(())
    }

    /// A value for a column; `None` for `DEFAULT`.
    fn column_value(
        &mut self,
        scope: &Scope<'_>,
        table: usize,
        column: usize,
        node: &ast::Expr,
    ) -> Result<Option<Expr>> {
        if is_default(node) {
            return Ok(None);
        }
        let value = self.expr(scope, node)?;
        self.assigned(value, table, column, node.span()).map(Some)
    }

    /// Converts a value to the type of the column that it is assigned to.
    fn assigned(&self, value: Expr, table: usize, column: usize, span: Span) -> Result<Expr> {
        let column = &self.catalog.tables[table].columns[column];
        let found = value.sql_type.base();
        let converted = self.convert(value, &column.sql_type, Context::Assignment, span);
        converted.map_err(|error| match error.postgres {
            None => error.in_postgres(
                "42804",
                format!(
                    "column \"{}\" is of type {} but expression is of type {found}",
                    column.name,
                    column.sql_type.base()
                ),
            ),
            Some(_) => error,
        })
    }

    fn insert_select(
        &mut self,
        table: usize,
        columns: &[usize],
        query: &ast::Query,
    ) -> Result<InsertSource> {
        let span = query.span();
        let of = |&column: &usize| self.catalog.tables[table].columns[column].sql_type.clone();
        self.untyped = Untyped::Columns(columns.iter().map(of).collect());
        let select = |resolver: &mut Self| resolver.select(None, query);
        let select = self.at_place(CallPlace::Statement, select)?;
        let fields = select.fields();
        self.check_width(fields.len(), columns.len(), span)?;
        let mut values = Vec::new();
        for (at, (field, &column)) in fields.iter().zip(columns).enumerate() {
            let kind = ExprKind::Column(ColumnRef { level: 0, source: 0, column: at });
            let value = Expr::new(kind, field.sql_type.clone());
            values.push(self.assigned(value, table, column, span)?);
        }
        Ok(InsertSource::Select(Box::new(select), values))
    }

    /// Values for identity columns are refused, or replaced by those of their sequences.
    fn check_identities(
        &self,
        table: usize,
        columns: &[usize],
        source: &mut InsertSource,
    ) -> Result<()> {
        let table = &self.catalog.tables[table];
        let own = |&at: &usize| table.columns[at].identity.is_some();
        if !columns.iter().any(own) {
            return Ok(());
        }
        let overriding = overriding(self.source, self.place);
        for (at, &column) in columns.iter().enumerate() {
            let TableColumn { name, identity, default, .. } = &table.columns[column];
            let Some(identity) = identity else { continue };
            match source {
                _ if overriding == Overriding::System => {}
                InsertSource::Values(rows) if overriding == Overriding::User => {
                    rows.iter_mut().for_each(|row| row[at] = None);
                }
                InsertSource::Select(_, values) if overriding == Overriding::User => {
                    values[at] = default.clone().expect("an identity column has its sequence");
                }
                InsertSource::Values(rows) if rows.iter().all(|row| row[at].is_none()) => {}
                _ if *identity == Identity::ByDefault => {}
                _ => {
                    let message =
                        format!("cannot insert a non-DEFAULT value into column \"{name}\"");
                    let error = self.generated_always(name, message);
                    return Err(error.advise("Use OVERRIDING SYSTEM VALUE to override."));
                }
            }
        }
        Ok(())
    }

    fn generated_always(&self, column: &str, message: String) -> Error {
        let detail =
            format!("Column \"{column}\" is an identity column defined as GENERATED ALWAYS.");
        let error = self.type_error(self.place, &*message).in_postgres("428C9", message);
        error.detailed(detail).unplaced()
    }

    fn on_conflict(
        &mut self,
        table: usize,
        alias: Option<&str>,
        on: Option<&OnInsert>,
        span: Span,
    ) -> Result<Option<OnConflict>> {
        let conflict = match on {
            None => return Ok(None),
            Some(OnInsert::OnConflict(conflict)) => conflict,
            Some(_) => {
                return Err(self.error(
                    span,
                    ErrorKind::Syntax,
                    "PostgreSQL has no ON DUPLICATE KEY",
                ));
            }
        };
        if !matches!(conflict.action, OnConflictAction::DoNothing) && !self.names.has_own_plans {
            let advice = "write UPDATE, and INSERT if NOT FOUND";
            return Err(self.outside(span, "ON CONFLICT DO UPDATE", advice));
        }
        let mut columns = Vec::new();
        match &conflict.conflict_target {
            None => {}
            Some(ConflictTarget::Columns(idents)) => {
                let mut predicate = None;
                for ident in idents {
                    if ident.value == conflict::PREDICATE {
                        let value = self.conflict_value(table, ident.span)?;
                        predicate = Some(self.truth(value, ident.span)?);
                        continue;
                    }
                    columns.push(match ident.value == conflict::EXPRESSION {
                        true => self.conflict_expression(table, ident.span)?,
                        false => self.own_column(table, &ObjectName::from(vec![ident.clone()]))?,
                    });
                }
                let table = &self.catalog.tables[table];
                match inferred(table, &columns, predicate.as_ref()) {
                    Some(key) => columns = key.to_vec(),
                    None => return Err(self.no_conflict_key(span)),
                }
            }
            Some(ConflictTarget::OnConstraint(_)) => {
                return Err(self.outside(span, "ON CONSTRAINT", "name the columns of the key"));
            }
        }
        match &conflict.action {
            OnConflictAction::DoNothing => Ok(Some(OnConflict::DoNothing { columns })),
            OnConflictAction::DoUpdate(update) => {
                if columns.is_empty() {
                    let sentence =
                        "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                    let error = self.error(span, ErrorKind::Syntax, sentence);
                    return Err(error.in_postgres("42601", sentence));
                }
                let update = self.conflict_update(table, alias, columns, update, span)?;
                Ok(Some(OnConflict::DoUpdate(Box::new(update))))
            }
        }
    }

    fn no_conflict_key(&self, span: Span) -> Error {
        let sentence = "no unique key has exactly these columns";
        let message =
            "there is no unique or exclusion constraint matching the ON CONFLICT specification";
        self.error(span, ErrorKind::Name, sentence).in_postgres("42P10", message)
    }

    /// An expression over the table in the target of `ON CONFLICT`.
    fn conflict_value(&mut self, table: usize, span: Span) -> Result<Expr> {
        let text = self.source.slice(span);
        let tokens = tokenize(self.source, self.source.offset(span.start), text)?;
        let node = parse::expression(self.source, &tokens, span)?;
        let columns = self.catalog.tables[table].fields();
        let alias = own_name(&self.catalog.tables[table].name).to_owned();
        let (merged, is_scalar, full) = (Vec::new(), false, None);
        let visible = super::scope::Visible { alias, columns, merged, is_scalar, full };
        let scope = Scope { parent: None, sources: vec![visible] };
        self.expr(&scope, &node)
    }

    /// The column with the values of an expression in the target of `ON CONFLICT`.
    fn conflict_expression(&mut self, table: usize, span: Span) -> Result<usize> {
        let value = self.conflict_value(table, span)?;
        if let ExprKind::Column(column) = value.kind {
            return Ok(column.column);
        }
        let table = &self.catalog.tables[table];
        let found = table.computed.iter().position(|other| *other == value);
        found.map(|at| table.visible().len() + at).ok_or_else(|| self.no_conflict_key(span))
    }

    fn conflict_update(
        &mut self,
        table: usize,
        alias: Option<&str>,
        columns: Vec<usize>,
        update: &ast::DoUpdate,
        span: Span,
    ) -> Result<ConflictUpdate> {
        let fields = self.catalog.tables[table].fields();
        let own = alias.unwrap_or(own_name(&self.catalog.tables[table].name)).to_owned();
        let mut clause = FromClause::within(None);
        for name in [own, "excluded".to_owned()] {
            let kind = crate::query::FromKind::Table(table);
            self.add_source(&mut clause, kind, fields.clone(), Some(name), None, span)?;
        }
        // A column of the table needs no alias here; `excluded` always does.
        clause.scope.sources[1].merged = (0..fields.len()).collect();
        let mut assignments = Vec::new();
        for assignment in &update.assignments {
            self.assignment(&clause.scope, table, assignment, &mut assignments)?;
        }
        let filter = self.condition(&clause.scope, update.selection.as_ref(), Some("in WHERE"))?;
        Ok(ConflictUpdate { columns, assignments, filter })
    }

    fn returning_of(
        &mut self,
        table: usize,
        alias: Option<String>,
        items: Option<&[SelectItem]>,
        span: Span,
    ) -> Result<Vec<Output>> {
        let Some(items) = items else {
            return Ok(Vec::new());
        };
        let columns = self.catalog.tables[table].fields();
        let full = &self.catalog.tables[table].name;
        let full = alias.is_none().then(|| full.clone());
        let alias = alias.or(full.as_deref().map(|full| own_name(full).to_owned()));
        let alias = alias.unwrap_or_default();
        let (merged, is_scalar) = (Vec::new(), false);
        let visible = super::scope::Visible { alias, columns, merged, is_scalar, full };
        let scope = Scope { parent: None, sources: vec![visible] };
        self.outputs(&scope, items, span)
    }

    fn update(&mut self, update: &ast::Update) -> Result<Update> {
        let span = self.place;
        let foreign = update.or.is_some()
            || update.output.is_some()
            || !update.order_by.is_empty()
            || update.limit.is_some()
            || !update.table.joins.is_empty();
        self.refuse_foreign(foreign, span, "such UPDATE")?;
        let mut clause = FromClause::within(None);
        let table = self.target(&mut clause, &update.table)?;
        match &update.from {
            None => {}
            Some(UpdateTableFromKind::AfterSet(items)) => self.sources(&mut clause, items)?,
            Some(UpdateTableFromKind::BeforeSet(_)) => {
                return Err(self.error(span, ErrorKind::Syntax, "FROM must follow SET"));
            }
        }
        let FromClause { scope, sources, joins } = clause;
        let mut assignments: Vec<(usize, Option<Expr>)> = Vec::new();
        for assignment in &update.assignments {
            self.assignment(&scope, table, assignment, &mut assignments)?;
        }
        let filter = self.condition(&scope, update.selection.as_ref(), Some("in WHERE"))?;
        let returning =
            self.outputs(&scope, update.returning.as_deref().unwrap_or_default(), span)?;
        Ok(Update { table, sources, joins, assignments, filter, returning })
    }

    fn assignment(
        &mut self,
        scope: &Scope<'_>,
        table: usize,
        assignment: &ast::Assignment,
        assignments: &mut Vec<(usize, Option<Expr>)>,
    ) -> Result<()> {
        let pairs: Vec<(&ObjectName, &ast::Expr)> = match (&assignment.target, &assignment.value) {
            (AssignmentTarget::ColumnName(name), value) => vec![(name, value)],
            (AssignmentTarget::Tuple(names), ast::Expr::Tuple(values))
                if names.len() == values.len() =>
            {
                names.iter().zip(values).collect()
            }
            (AssignmentTarget::Tuple(_), value) => {
                let advice = "write one column = value for each column";
                return Err(self.outside(value.span(), "an assignment of a whole row", advice));
            }
        };
        for (name, node) in pairs {
            let column = self.own_column(table, name)?;
            if assignments.iter().any(|(other, _)| *other == column) {
                let sentence = format!("the column `{name}` is assigned twice");
                return Err(self.error(object_span(name), ErrorKind::Name, sentence));
            }
            let value = self.with_aggregates(Some("in UPDATE"), |resolver| {
                resolver.column_value(scope, table, column, node)
            })?;
            let TableColumn { name, identity, .. } = &self.catalog.tables[table].columns[column];
            if value.is_some() && *identity == Some(Identity::Always) {
                let message = format!("column \"{name}\" can only be updated to DEFAULT");
                return Err(self.generated_always(name, message));
            }
            assignments.push((column, value));
        }
        Ok(())
    }

    /// The changed table, which becomes source 0.
    fn target(
        &mut self,
        clause: &mut FromClause<'_>,
        table: &ast::TableWithJoins,
    ) -> Result<usize> {
        self.sources(clause, std::slice::from_ref(table))?;
        clause.joins.clear();
        match clause.sources.as_slice() {
            [crate::query::From { kind: crate::query::FromKind::Table(table), .. }] => Ok(*table),
            _ => Err(self.error(
                self.place,
                ErrorKind::Syntax,
                "a statement changes exactly one table",
            )),
        }
    }

    fn delete(&mut self, delete: &ast::Delete) -> Result<Delete> {
        let span = self.place;
        let foreign = !delete.tables.is_empty()
            || delete.output.is_some()
            || !delete.order_by.is_empty()
            || delete.limit.is_some();
        self.refuse_foreign(foreign, span, "such DELETE")?;
        let tables = match &delete.from {
            FromTable::WithFromKeyword(tables) => tables,
            FromTable::WithoutKeyword(_) => {
                return Err(self.error(span, ErrorKind::Syntax, "DELETE must be followed by FROM"));
            }
        };
        let [table] = &tables[..] else {
            return Err(self.error(
                span,
                ErrorKind::Syntax,
                "a statement changes exactly one table",
            ));
        };
        let mut clause = FromClause::within(None);
        let table = self.target(&mut clause, table)?;
        if let Some(items) = &delete.using {
            self.sources(&mut clause, items)?;
        }
        let FromClause { scope, sources, joins } = clause;
        let filter = self.condition(&scope, delete.selection.as_ref(), Some("in WHERE"))?;
        let returning =
            self.outputs(&scope, delete.returning.as_deref().unwrap_or_default(), span)?;
        Ok(Delete { table, sources, joins, filter, returning })
    }
}

/// The columns of the key that a target of `ON CONFLICT` means: those of a partial index only if
/// the target has its condition.
fn inferred<'t>(
    table: &'t Table,
    columns: &[usize],
    predicate: Option<&Expr>,
) -> Option<&'t [usize]> {
    let is_key = |key: &[usize]| {
        key.len() == columns.len() && key.iter().all(|column| columns.contains(column))
    };
    if is_key(&table.primary_key) {
        return Some(&table.primary_key);
    }
    let has_rows = |index: &Index| match (table.predicate(index), predicate) {
        (None, _) => true,
        (Some(own), Some(given)) => has_part(given, own),
        (Some(_), None) => false,
    };
    let is_it = |index: &&Index| index.unique && is_key(table.declared(index)) && has_rows(index);
    table.indexes.iter().find(is_it).map(|index| &index.columns[..])
}

/// Whether a condition is one of those that another one joins by `AND`.
fn has_part(all: &Expr, part: &Expr) -> bool {
    if all == part {
        return true;
    }
    match &all.kind {
        ExprKind::Binary { operator: BinaryOperator::And, left, right } => {
            has_part(left, part) || has_part(right, part)
        }
        _ => false,
    }
}

fn is_default(node: &ast::Expr) -> bool {
    matches!(node, ast::Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}
