//! `FROM`: tables, sub-selects, joins.

use super::call_place::CallPlace;
use super::coerce::Context;
use super::operator::pair;
use super::scope::{Scope, Visible};
use super::{Resolver, ident_name, object_parts, object_span};
use crate::error::{ErrorKind, Result};
use crate::expression::{BinaryOperator, ColumnRef, Expr, ExprKind};
use crate::json_function::JsonFunction;
use crate::namespace::own_name;
use crate::near::meant;
use crate::query::{From, FromKind, Join, JoinKind, field};
use crate::types::{Field, SqlType};
use sqlparser::ast::{
    self, FunctionArg, FunctionArgExpr, JoinConstraint, JoinOperator, ObjectName, Spanned,
    TableAlias, TableFactor,
};
use sqlparser::tokenizer::Span;

/// Maximum number of tables in a query.
const SOURCES_MAX: usize = 64;

/// The state of a `FROM` clause while it is resolved.
pub(super) struct FromClause<'p> {
    pub(super) scope: Scope<'p>,
    pub(super) sources: Vec<From>,
    pub(super) joins: Vec<Join>,
}

impl<'p> FromClause<'p> {
    pub(super) fn within(parent: Option<&'p Scope<'p>>) -> Self {
        Self { scope: Scope::within(parent), sources: Vec::new(), joins: Vec::new() }
    }
}

impl Resolver<'_> {
    pub(super) fn sources<'p>(
        &mut self,
        clause: &mut FromClause<'p>,
        items: &[ast::TableWithJoins],
    ) -> Result<()> {
        for item in items {
            let first = clause.sources.len();
            let mut tree = self.factor(clause, &item.relation)?;
            for join in &item.joins {
                self.refuse_foreign(join.global, join.span(), "GLOBAL JOIN")?;
                tree = self.join(clause, tree, first, join)?;
            }
            clause.joins.push(tree);
        }
        Ok(())
    }

    fn join(
        &mut self,
        clause: &mut FromClause<'_>,
        left: Join,
        first: usize,
        join: &ast::Join,
    ) -> Result<Join> {
        let span = join.relation.span();
        let middle = clause.sources.len();
        let (kind, constraint) = match &join.join_operator {
            JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => {
                (JoinKind::Inner, constraint)
            }
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
                (JoinKind::Left, constraint)
            }
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
                (JoinKind::Right, constraint)
            }
            JoinOperator::FullOuter(constraint) => (JoinKind::Full, constraint),
            JoinOperator::CrossJoin(JoinConstraint::None) => {
                let right = self.factor(clause, &join.relation)?;
                return Ok(paired(left, right, JoinKind::Inner, None));
            }
            _ => {
                let sentence = "PostgreSQL has no such join";
                return Err(self.error(span, ErrorKind::Syntax, sentence));
            }
        };
        let right = self.factor(clause, &join.relation)?;
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            self.refuse_lateral(clause, (first, middle), span)?;
        }
        let condition = match constraint {
            JoinConstraint::On(node) => {
                let scope = only(&clause.scope, first);
                let condition = self.expr(&scope, node)?;
                self.truth(condition, node.span())?
            }
            JoinConstraint::Using(names) => {
                self.using(clause, names, (first, middle), kind, span)?
            }
            JoinConstraint::Natural => {
                return Err(self.outside(span, "NATURAL JOIN", "write JOIN ... USING (columns)"));
            }
            JoinConstraint::None => {
                return Err(self.error(span, ErrorKind::Syntax, "a join needs ON or USING"));
            }
        };
        Ok(paired(left, right, kind, Some(condition)))
    }

    /// Resolves `USING`: columns of the same name are compared and merged into one.
    fn using(
        &self,
        clause: &mut FromClause<'_>,
        names: &[ObjectName],
        (first, middle): (usize, usize),
        kind: JoinKind,
        span: Span,
    ) -> Result<Expr> {
        let advice = "write JOIN ... ON a.x = b.x";
        self.refuse(
            matches!(kind, JoinKind::Right | JoinKind::Full),
            span,
            "USING in this join",
            advice,
        )?;
        let mut condition = None;
        for name in names {
            let column = object_parts(name)
                .filter(|parts| parts.len() == 1)
                .map(|parts| ident_name(parts[0]));
            let column = column.unwrap_or_default();
            let left = find_one(&clause.scope, first..middle, &column);
            let right = find_one(&clause.scope, middle..clause.sources.len(), &column);
            let (Some(left), Some(right)) = (left, right) else {
                let sentence =
                    format!("`{column}` is not a column of exactly one table on each side");
                return Err(self.error(object_span(name), ErrorKind::Name, sentence));
            };
            clause.scope.sources[right.0].merged.push(right.1);
            let expr = |(source, column): (usize, usize)| {
                let sql_type = clause.sources[source].columns[column].sql_type.clone();
                Expr::new(ExprKind::Column(ColumnRef { level: 0, source, column }), sql_type)
            };
            let equal = self.comparison(BinaryOperator::Equal, expr(left), expr(right), span)?;
            condition = Some(match condition {
                Some(before) => pair(BinaryOperator::And, before, equal, SqlType::Bool),
                None => equal,
            });
        }
        condition
            .ok_or_else(|| self.error(span, ErrorKind::Syntax, "USING needs at least one column"))
    }

    fn factor(&mut self, clause: &mut FromClause<'_>, factor: &TableFactor) -> Result<Join> {
        let span = factor.span();
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_hints,
                version,
                with_ordinality,
                ..
            } => {
                let plain = with_hints.is_empty() && version.is_none() && !with_ordinality;
                self.refuse_foreign(!plain, span, "such table in FROM")?;
                self.table_source(clause, name, alias.as_ref(), span)
            }
            TableFactor::Table { name, alias, args: Some(arguments), with_ordinality, .. } => {
                self.refuse(*with_ordinality, span, "WITH ORDINALITY", "count in a loop")?;
                self.call_source(clause, (name, &arguments.args), alias.as_ref(), span)
            }
            // A function sees the sources before it with and without the word LATERAL.
            TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                self.refuse(*with_ordinality, span, "WITH ORDINALITY", "count in a loop")?;
                self.call_source(clause, (name, args), alias.as_ref(), span)
            }
            TableFactor::UNNEST { alias, array_exprs, with_offset, with_ordinality, .. } => {
                let extra = *with_offset || *with_ordinality;
                self.refuse(extra, span, "WITH ORDINALITY", "count in a loop")?;
                let nodes: Vec<&ast::Expr> = array_exprs.iter().collect();
                self.function_source(clause, "unnest", &nodes, alias.as_ref(), span)
            }
            TableFactor::Derived { lateral, subquery, alias, sample } => {
                let advice = "loop over the rows of the first query";
                let is_here = self.names.has_own_plans;
                self.refuse(*lateral && !is_here, span, "LATERAL", advice)?;
                self.refuse(sample.is_some(), span, "TABLESAMPLE", "leave it out")?;
                let Some(alias) = alias else {
                    let sentence = "a query in FROM needs an alias";
                    return Err(self.error(span, ErrorKind::Syntax, sentence));
                };
                let before = lateral.then(|| clause.scope.clone());
                let parent = before.as_ref().or(clause.scope.parent);
                let inside = |resolver: &mut Self| {
                    resolver.at_place(CallPlace::Rows, |resolver| resolver.select(parent, subquery))
                };
                let query = Box::new(self.with_aggregates(None, inside)?);
                let columns = query.fields();
                let kind = match lateral {
                    true => FromKind::Lateral(query),
                    false => FromKind::Query(query),
                };
                self.add_source(clause, kind, columns, None, Some(alias), span)
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                let before = clause.joins.len();
                self.sources(clause, std::slice::from_ref(table_with_joins))?;
                let inner = clause.joins.drain(before..).next();
                inner.ok_or_else(|| self.error(span, ErrorKind::Syntax, "this join is empty"))
            }
            _ => Err(self.outside(
                span,
                "this source of rows",
                "write tables, sub-selects or unnest(array)",
            )),
        }
    }

    fn table_source(
        &mut self,
        clause: &mut FromClause<'_>,
        name: &ObjectName,
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Join> {
        if let Some(named) = self.named_source(clause, name, alias, span) {
            return named;
        }
        if let Some(Relation::View(at)) = self.relation(name) {
            let view = &self.catalog.views[at];
            self.used_views.push(at);
            self.reads_tables = true;
            let kind = FromKind::Query(Box::new(view.query.clone()));
            let (columns, own) = (view.columns.clone(), view.name.clone());
            return self.add_source(clause, kind, columns, Some(own), alias, span);
        }
        let table = self.table(name)?;
        let columns = self.catalog.tables[table].fields();
        let own = self.catalog.tables[table].name.clone();
        self.add_source(clause, FromKind::Table(table), columns, Some(own), alias, span)
    }

    /// The first table or view of the search path that is called `name`.
    fn relation(&self, name: &ObjectName) -> Option<Relation> {
        let parts: Vec<String> = object_parts(name)?.into_iter().map(ident_name).collect();
        self.catalog.schemas.lookup(self.source.path(), &parts, |full| {
            let view = self.catalog.views.iter().position(|view| view.name == full);
            let table = || self.catalog.position(full).map(Relation::Table);
            view.map(Relation::View).or_else(table)
        })
    }

    /// The full name of the table or view that these names mean.
    pub(super) fn full_name(&self, parts: &[String]) -> Option<String> {
        self.catalog.schemas.lookup(self.source.path(), parts, |full| {
            let exists = self.catalog.view(full).is_some() || self.catalog.position(full).is_some();
            exists.then(|| full.to_owned())
        })
    }

    /// Position of the table called `name`.
    pub(super) fn table(&mut self, name: &ObjectName) -> Result<usize> {
        let span = object_span(name);
        let idents = object_parts(name).unwrap_or_default();
        idents.first().map_or(Ok(()), |first| self.check_name(first))?;
        let parts: Vec<String> = idents.into_iter().map(ident_name).collect();
        let is_folder = !self.names.has_own_plans;
        let is_foreign = |schema: &String| self.catalog.schemas.find(schema).is_none();
        let own = match &parts[..] {
            [own] => own,
            [schema, own] if !(is_folder && is_foreign(schema)) => own,
            _ => {
                return Err(self.outside(
                    span,
                    "a table of another schema",
                    "write the name alone",
                ));
            }
        };
        self.reads_tables = true;
        match self.relation(name) {
            Some(Relation::Table(table)) => return Ok(table),
            Some(Relation::View(_)) => {
                let advice = "change the rows of its tables";
                return Err(self.outside(span, "a change of the rows of a view", advice));
            }
            None => {}
        }
        let sentence = format!("the schema has no table `{own}`");
        let tables = self.catalog.tables.iter().map(|table| own_name(&table.name));
        let error = self.error(span, ErrorKind::Name, sentence).advise(meant(own, tables));
        let message = format!("relation \"{}\" does not exist", parts.join("."));
        Err(error.in_postgres("42P01", message))
    }

    /// A call of a function.
    fn call_source(
        &mut self,
        clause: &mut FromClause<'_>,
        (name, arguments): (&ObjectName, &[FunctionArg]),
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Join> {
        if let Some(routine) = self.own_routine(name) {
            return self.own_source(clause, routine, arguments, alias, span);
        }
        let function = self.function_name(name, span)?;
        let nodes = arguments.iter().map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(node)) => Ok(node),
            _ => {
                let advice = "write the arguments in order";
                Err(self.outside(span, "this kind of argument", advice))
            }
        });
        let nodes = nodes.collect::<Result<Vec<_>>>()?;
        self.function_source(clause, &function, &nodes, alias, span)
    }

    fn function_source(
        &mut self,
        clause: &mut FromClause<'_>,
        function: &str,
        nodes: &[&ast::Expr],
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Join> {
        let scope = clause.scope.clone();
        let values =
            nodes.iter().map(|node| self.expr(&scope, node)).collect::<Result<Vec<_>>>()?;
        // The alias of a function with a single column is also the column's name.
        let single = alias.map_or_else(|| function.to_owned(), |alias| ident_name(&alias.name));
        let (kind, columns) = match function {
            "unnest" if !values.is_empty() => {
                let name = if values.len() == 1 { single } else { "unnest".to_owned() };
                let element = |value: &Expr| match &value.sql_type {
                    SqlType::Array(element) => Ok(field(&name, (**element).clone())),
                    other => {
                        let sentence = format!("unnest needs arrays, but this is {other}");
                        let message = format!("function unnest({}) does not exist", other.base());
                        Err(self.type_error(span, sentence).in_postgres("42883", message))
                    }
                };
                let columns = values.iter().map(element).collect::<Result<Vec<_>>>()?;
                (FromKind::Unnest(values), columns)
            }
            "generate_series" if matches!(values.len(), 2 | 3) => {
                let values = self.unify(values, "generate_series", span)?;
                let sql_type = values[0].sql_type.clone();
                if !matches!(sql_type, SqlType::Int4 | SqlType::Int8) {
                    let advice = "write whole numbers";
                    return Err(self.outside(
                        span,
                        "a series of values other than integers",
                        advice,
                    ));
                }
                (FromKind::Series(values), vec![field(&single, sql_type)])
            }
            _ if JsonFunction::named(function).is_some_and(|(own, _)| own.returns_rows()) => {
                match self.json_rows(function, &single, &values, span) {
                    Some(rows) => rows?,
                    None => return Err(self.no_such_function(function, &values, span)),
                }
            }
            _ => {
                if !["unnest", "generate_series"].contains(&function) {
                    self.check_function(function, span)?;
                }
                let advice =
                    "write tables, sub-selects, unnest(array) or generate_series(low, high)";
                return Err(self.outside(
                    span,
                    &format!("the function `{function}` in FROM"),
                    advice,
                ));
            }
        };
        self.add_source(clause, kind, columns, Some(function.to_owned()), alias, span)
    }

    /// A type behind a column's name in an alias: that of a function's rows.
    fn check_column_type(
        &self,
        kind: &FromKind,
        column: &Field,
        named: &ast::TableAliasColumnDef,
        span: Span,
    ) -> Result<()> {
        let Some(data_type) = &named.data_type else { return Ok(()) };
        let is_call = matches!(kind, FromKind::Call(_) | FromKind::Unnest(_));
        let is_here = self.names.has_own_plans && is_call;
        self.refuse(!is_here, span, "a type in an alias", "write the name alone")?;
        let wanted = self.data_type(data_type, span)?.base();
        let found = column.sql_type.base();
        if wanted == found {
            return Ok(());
        }
        let name = ident_name(&named.name);
        let sentence = format!("the column `{name}` is {found}, and the alias names {wanted}");
        let message = "return and sql tuple descriptions are incompatible";
        let error = self.error(span, ErrorKind::Type, sentence).in_postgres("42804", message);
        Err(error.advise("write the type that the function returns"))
    }

    pub(super) fn add_source(
        &mut self,
        clause: &mut FromClause<'_>,
        kind: FromKind,
        mut columns: Vec<Field>,
        own: Option<String>,
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Join> {
        if let Some(alias) = alias {
            self.refuse_foreign(alias.at.is_some(), span, "AT")?;
            self.check_name(&alias.name)?;
            if alias.columns.len() > columns.len() {
                let sentence = format!(
                    "the source has {} columns, but the alias names {}",
                    columns.len(),
                    alias.columns.len()
                );
                let message = format!(
                    "table \"{}\" has {} columns available but {} columns specified",
                    ident_name(&alias.name),
                    columns.len(),
                    alias.columns.len()
                );
                let error = self.error(span, ErrorKind::Name, sentence);
                return Err(error.in_postgres("42P10", message));
            }
            for (column, named) in columns.iter_mut().zip(&alias.columns) {
                self.check_column_type(&kind, column, named, span)?;
                self.check_name(&named.name)?;
                column.name = ident_name(&named.name);
            }
        }
        let full = own.filter(|_| alias.is_none());
        let own = full.as_deref().map(|full| own_name(full).to_owned());
        let alias = alias.map(|alias| ident_name(&alias.name)).or(own).unwrap_or_default();
        let is_same = |other: &Visible| {
            let are_relations = full.is_some() && other.full.is_some() && other.full != full;
            other.alias == alias && !are_relations
        };
        if clause.scope.sources.iter().any(is_same) {
            let sentence = format!("FROM has two sources called `{alias}`");
            let error = self.error(span, ErrorKind::Name, sentence);
            let message = format!("table name \"{alias}\" specified more than once");
            let error = error.in_postgres("42712", message);
            return Err(error.advise("give one of them another alias"));
        }
        if clause.sources.len() >= SOURCES_MAX {
            let what = format!("a query of more than {SOURCES_MAX} tables");
            return Err(self.outside(span, &what, "split it"));
        }
        let is_scalar = matches!(kind, FromKind::Unnest(_)) && columns.len() == 1;
        let visible = Visible {
            alias: alias.clone(),
            columns: columns.clone(),
            merged: Vec::new(),
            is_scalar,
            full,
        };
        clause.scope.sources.push(visible);
        clause.sources.push(From { alias, columns, kind, is_common: false });
        Ok(Join::Source(clause.sources.len() - 1))
    }

    /// The row count of a clause such as `LIMIT`, which sees the enclosing queries.
    pub(super) fn row_count(
        &mut self,
        parent: Option<&Scope<'_>>,
        node: &ast::Expr,
    ) -> Result<Expr> {
        let scope = Scope::within(parent);
        let value = self.expr(&scope, node)?;
        self.convert(value, &SqlType::Int8, Context::Assignment, node.span())
    }
}

/// A table or view by its position.
#[derive(Clone, Copy)]
enum Relation {
    Table(usize),
    View(usize),
}

fn paired(left: Join, right: Join, kind: JoinKind, condition: Option<Expr>) -> Join {
    Join::Pair { left: Box::new(left), right: Box::new(right), kind, condition }
}

/// The scope that a join sees: only the sources from `first` on.
fn only<'p>(scope: &Scope<'p>, first: usize) -> Scope<'p> {
    let mut only = scope.clone();
    for hidden in &mut only.sources[..first] {
        *hidden = Visible {
            alias: String::new(),
            columns: Vec::new(),
            merged: Vec::new(),
            is_scalar: false,
            full: None,
        };
    }
    only
}

/// Source and column of the only column called `name` in a range of sources.
fn find_one(
    scope: &Scope<'_>,
    range: std::ops::Range<usize>,
    name: &str,
) -> Option<(usize, usize)> {
    let in_source = |source: usize| {
        let visible = &scope.sources[source];
        let found = visible.columns.iter().position(|field| field.name == name)?;
        (!visible.merged.contains(&found)).then_some((source, found))
    };
    let mut hits = range.filter_map(in_source);
    let hit = hits.next()?;
    hits.next().is_none().then_some(hit)
}
