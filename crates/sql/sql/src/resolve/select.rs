//! Queries, clause by clause.

use super::call_place::CallPlace;
use super::coerce::Context;
use super::from::FromClause;
use super::label::name_of;
use super::scope::{Scope, Visible};
use super::split::{first_rows, over_windows};
use super::window::WindowPlace;
use super::{Resolver, Untyped, ident_name, object_parts};
use crate::error::{ErrorKind, Result};
use crate::expression::{ColumnRef, Expr, ExprKind};
use crate::query::{OrderBy, OrderKey, Output, Plain, Select, SelectBody};
use crate::types::SqlType;
use sqlparser::ast::{
    self, Distinct, GroupByExpr, LimitClause, OrderByKind, OrderBySort, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Spanned,
};
use sqlparser::tokenizer::Span;

/// Maximum number of output columns, as in PostgreSQL.
const OUTPUTS_MAX: usize = 1664;

impl Resolver<'_> {
    pub(crate) fn select(
        &mut self,
        parent: Option<&Scope<'_>>,
        query: &ast::Query,
    ) -> Result<Select> {
        self.nested(
            || query.span(),
            |resolver| {
                resolver.with_windows(WindowPlace::Refused("here"), |resolver| {
                    let select = |resolver: &mut Self| resolver.select_here(parent, query);
                    let select = |resolver: &mut Self| resolver.in_query(select);
                    resolver.with_aggregates(Some("here"), select)
                })
            },
        )
    }

    fn select_here(&mut self, parent: Option<&Scope<'_>>, query: &ast::Query) -> Result<Select> {
        let span = query.span();
        let named = self.named_queries.len();
        let untyped = std::mem::take(&mut self.untyped);
        self.name_queries(query)?;
        self.untyped = untyped;
        let select = self.select_with(parent, query, span);
        self.named_queries.truncate(named);
        select
    }

    fn select_with(
        &mut self,
        parent: Option<&Scope<'_>>,
        query: &ast::Query,
        span: Span,
    ) -> Result<Select> {
        let foreign = query.for_clause.is_some()
            || query.settings.is_some()
            || query.format_clause.is_some()
            || !query.pipe_operators.is_empty();
        self.refuse_foreign(foreign, span, "such clause")?;
        let (body, order) = match &*query.body {
            SetExpr::Select(select) => self.plain(parent, select, query.order_by.as_ref())?,
            SetExpr::Query(inner) => {
                let bare = query.order_by.is_none()
                    && query.limit_clause.is_none()
                    && query.fetch.is_none();
                let advice = "leave out the parentheses";
                self.refuse(
                    !bare || !query.locks.is_empty(),
                    span,
                    "a clause after a query in parentheses",
                    advice,
                )?;
                return self.select(parent, inner);
            }
            other => {
                let set = |resolver: &mut Self| resolver.set_body(parent, other, span);
                let body = self.at_place(CallPlace::Rows, set)?;
                let order = self.order_of_set(&body, query.order_by.as_ref())?;
                (body, order)
            }
        };
        let (limit, offset) = self.bounds(parent, query)?;
        let lock = self.lock(query, &body, span)?;
        let locked = match lock {
            Some(_) => self.locked(query, &body, span)?,
            None => Vec::new(),
        };
        Ok(Select { body, order, limit, offset, lock, locked })
    }

    fn bounds(
        &mut self,
        parent: Option<&Scope<'_>>,
        query: &ast::Query,
    ) -> Result<(Option<Expr>, Option<Expr>)> {
        let span = query.span();
        let (mut limit, mut offset) = (None, None);
        match &query.limit_clause {
            None => {}
            Some(LimitClause::LimitOffset { limit: rows, offset: skipped, limit_by }) => {
                self.refuse_foreign(!limit_by.is_empty(), span, "LIMIT BY")?;
                limit = rows.as_ref().map(|node| self.row_count(parent, node)).transpose()?;
                offset = skipped
                    .as_ref()
                    .map(|skipped| self.row_count(parent, &skipped.value))
                    .transpose()?;
            }
            Some(LimitClause::OffsetCommaLimit { .. }) => {
                let sentence = "PostgreSQL has no LIMIT with a comma";
                return Err(self
                    .error(span, ErrorKind::Syntax, sentence)
                    .advise("write LIMIT n OFFSET m"));
            }
        }
        if let Some(fetch) = &query.fetch {
            self.refuse(fetch.with_ties || fetch.percent, span, "FETCH WITH TIES", "write LIMIT")?;
            limit = match &fetch.quantity {
                Some(node) => Some(self.row_count(parent, node)?),
                None => Some(Expr::new(ExprKind::Integer(1), SqlType::Int8)),
            };
        }
        Ok((limit, offset))
    }

    /// Resolves a `SELECT` whose outputs are values.
    pub(super) fn rows(
        &mut self,
        parent: Option<&Scope<'_>>,
        select: &ast::Select,
        order_by: Option<&ast::OrderBy>,
    ) -> Result<(SelectBody, Vec<OrderKey>)> {
        let span = select.span();
        let mut untyped = std::mem::take(&mut self.untyped);
        if select.distinct.is_some() {
            // Rows are compared before anything else decides.
            untyped = Untyped::Text;
        }
        self.refuse_clauses(select, span)?;
        let mut clause = FromClause::within(parent);
        let (of_from, of_outputs) = self.places(select, order_by);
        let calls_before = self.call_count();
        self.at_place(of_from, |resolver| resolver.sources(&mut clause, &select.from))?;
        let calls = calls_before..self.call_count();
        let FromClause { scope, sources, joins } = clause;
        let filter = self.condition(&scope, select.selection.as_ref(), Some("in WHERE"))?;
        self.check_filter_of_calls(calls, filter.as_ref())?;
        let windows = WindowPlace::Allowed(select.named_window.clone().into());
        let outputs = self.with_windows(windows.clone(), |resolver| {
            resolver.with_aggregates(None, |resolver| {
                resolver.at_place(of_outputs, |resolver| {
                    resolver.typed_outputs(&scope, &select.projection, span, &untyped)
                })
            })
        })?;
        let group = self.group(&scope, &select.group_by, &outputs, span)?;
        let having = self.condition(&scope, select.having.as_ref(), None)?;
        let first = self.distinct_on(&scope, &outputs, select.distinct.as_ref(), span)?;
        let order = self.with_windows(windows, |resolver| {
            resolver.with_aggregates(None, |resolver| resolver.order(&scope, &outputs, order_by))
        })?;
        let keys = order.iter().filter_map(|key| match &key.by {
            OrderBy::Expr(expr) => Some(expr),
            OrderBy::Output(_) => None,
        });
        let exprs: Vec<&Expr> = outputs
            .iter()
            .map(|output| &output.expr)
            .chain(&having)
            .chain(keys)
            .chain(first.iter().flatten())
            .collect();
        self.check_windows(&exprs, span)?;
        let has_window = exprs.iter().any(|expr| expr.has_window());
        let is_grouped =
            !group.is_empty() || having.is_some() || exprs.iter().any(|expr| expr.has_aggregate());
        if is_grouped {
            for expr in exprs {
                self.check_grouped(expr, &group, &sources, span)?;
            }
        }
        let distinct = matches!(select.distinct, Some(Distinct::Distinct));
        let plain = Plain { sources, joins, filter, group, is_grouped, having, distinct, outputs };
        self.check_distinct(&plain, &order, first.as_deref(), span)?;
        let (plain, order, first) = match has_window {
            true => over_windows(plain, order, first),
            false => (plain, order, first),
        };
        let (plain, order) = match first {
            Some(keys) => first_rows(plain, order, keys),
            None => (plain, order),
        };
        Ok((SelectBody::Plain(plain), order))
    }

    /// Checks what `DISTINCT`, or `DISTINCT ON` with the keys `first`, requires.
    fn check_distinct(
        &self,
        plain: &Plain,
        order: &[OrderKey],
        first: Option<&[Expr]>,
        span: Span,
    ) -> Result<()> {
        if let Some(first) = first {
            return self.check_first_keys(first, &plain.outputs, order, span);
        }
        if !plain.distinct {
            return Ok(());
        }
        for output in &plain.outputs {
            self.check_comparable(&output.expr, false, span)?;
        }
        if order.iter().any(|key| matches!(key.by, OrderBy::Expr(_))) {
            let sentence = "with DISTINCT, ORDER BY may only contain output columns";
            return Err(self.type_error(span, sentence));
        }
        Ok(())
    }

    /// The keys of `DISTINCT ON`.
    fn distinct_on(
        &mut self,
        scope: &Scope<'_>,
        outputs: &[Output],
        distinct: Option<&Distinct>,
        span: Span,
    ) -> Result<Option<Vec<Expr>>> {
        let Some(Distinct::On(nodes)) = distinct else { return Ok(None) };
        let advice = "write ORDER BY and LIMIT 1, or GROUP BY with min and max";
        self.refuse(!self.names.has_own_plans, span, "DISTINCT ON", advice)?;
        let mut keys = Vec::new();
        for node in nodes {
            let names = outputs.iter().map(|output| &*output.name);
            let key = match order_output(node, names) {
                Some(Ok(position)) => outputs[position].expr.clone(),
                Some(Err(sentence)) => return Err(self.type_error(node.span(), sentence)),
                None => self.with_aggregates(None, |resolver| resolver.expr(scope, node))?,
            };
            self.check_comparable(&key, true, node.span())?;
            keys.push(key);
        }
        Ok(Some(keys))
    }

    /// Refuses window functions as operands of sub-selects.
    fn check_windows(&self, exprs: &[&Expr], span: Span) -> Result<()> {
        let mut is_inside = false;
        for expr in exprs {
            expr.visit(&mut |part| {
                is_inside |= matches!(part.kind, ExprKind::Subquery { .. }) && part.has_window();
            });
        }
        let advice = "compute the function in a sub-select in FROM";
        self.refuse(is_inside, span, "a window function before IN and a sub-select", advice)
    }

    fn refuse_clauses(&self, select: &ast::Select, span: Span) -> Result<()> {
        if select.into.is_some() {
            let sentence = "INTO is not allowed here";
            let error = self.error(span, ErrorKind::Syntax, sentence);
            return Err(error.advise("write it once, directly after the columns"));
        }
        let foreign = select.top.is_some()
            || select.exclude.is_some()
            || !select.lateral_views.is_empty()
            || select.prewhere.is_some()
            || !select.connect_by.is_empty()
            || !select.cluster_by.is_empty()
            || !select.distribute_by.is_empty()
            || !select.sort_by.is_empty()
            || select.qualify.is_some()
            || select.value_table_mode.is_some()
            || select.select_modifiers.is_some()
            || select.flavor != ast::SelectFlavor::Standard;
        self.refuse_foreign(foreign, span, "such clause")
    }

    pub(super) fn condition(
        &mut self,
        scope: &Scope<'_>,
        node: Option<&ast::Expr>,
        no_aggregates: Option<&'static str>,
    ) -> Result<Option<Expr>> {
        let Some(node) = node else {
            return Ok(None);
        };
        self.note_conjuncts(node);
        let windows = WindowPlace::Refused(no_aggregates.unwrap_or("in HAVING"));
        let condition = self.with_windows(windows, |resolver| {
            resolver.with_aggregates(no_aggregates, |resolver| resolver.expr(scope, node))
        })?;
        self.truth(condition, node.span()).map(Some)
    }

    /// The output columns of `RETURNING`.
    pub(super) fn outputs(
        &mut self,
        scope: &Scope<'_>,
        items: &[SelectItem],
        span: Span,
    ) -> Result<Vec<Output>> {
        self.typed_outputs(scope, items, span, &Untyped::Text)
    }

    /// The output columns of a query.
    fn typed_outputs(
        &mut self,
        scope: &Scope<'_>,
        items: &[SelectItem],
        span: Span,
        untyped: &Untyped,
    ) -> Result<Vec<Output>> {
        let mut outputs = Vec::new();
        for item in items {
            match item {
                SelectItem::UnnamedExpr(node) => {
                    let expr = self.output(scope, node, untyped, outputs.len())?;
                    outputs.push(Output { name: name_of(node), expr });
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    self.check_quotes(alias)?;
                    let expr = self.output(scope, expr, untyped, outputs.len())?;
                    outputs.push(Output { name: ident_name(alias), expr });
                }
                SelectItem::ExprWithAliases { .. } => {
                    self.refuse_foreign(true, span, "column with several aliases")?;
                }
                SelectItem::Wildcard(options) => {
                    self.refuse_options(options, span)?;
                    self.all_columns(scope, &mut outputs, span)?;
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) => {
                    self.refuse_options(options, span)?;
                    let Some(source) = self.named(scope, name) else {
                        let sentence = format!("there is no table `{name}` here");
                        return Err(self.error(span, ErrorKind::Name, sentence));
                    };
                    columns_of(scope, source, &mut outputs, true);
                }
                SelectItem::QualifiedWildcard(..) => {
                    return Err(self.outside(span, "the expansion of a row", "name its columns"));
                }
            }
        }
        if outputs.len() > OUTPUTS_MAX {
            let sentence = format!("a query has at most {OUTPUTS_MAX} columns");
            return Err(self.type_error(span, sentence));
        }
        Ok(outputs)
    }

    /// The source that `name.*` means.
    fn named(&self, scope: &Scope<'_>, name: &ast::ObjectName) -> Option<usize> {
        let parts: Vec<String> = object_parts(name)?.into_iter().map(ident_name).collect();
        match &parts[..] {
            [alias] => scope.source(alias),
            parts => {
                let full = self.full_name(parts);
                let is_it = |visible: &Visible| visible.full.is_some() && visible.full == full;
                scope.sources.iter().position(is_it)
            }
        }
    }

    fn refuse_options(&self, options: &ast::WildcardAdditionalOptions, span: Span) -> Result<()> {
        let foreign = options.opt_ilike.is_some()
            || options.opt_exclude.is_some()
            || options.opt_except.is_some()
            || options.opt_replace.is_some()
            || options.opt_rename.is_some()
            || options.opt_alias.is_some();
        self.refuse_foreign(foreign, span, "such option of *")
    }

    fn output(
        &mut self,
        scope: &Scope<'_>,
        node: &ast::Expr,
        untyped: &Untyped,
        at: usize,
    ) -> Result<Expr> {
        let expr = self.expr(scope, node)?;
        if expr.sql_type != SqlType::Unknown {
            return Ok(expr);
        }
        let column = match untyped {
            Untyped::Open => return Ok(expr),
            Untyped::Text => None,
            Untyped::Columns(types) => types.get(at),
        };
        let sql_type = column.unwrap_or(&SqlType::Text);
        self.convert(expr, sql_type, Context::Assignment, node.span())
    }

    fn all_columns(&self, scope: &Scope<'_>, outputs: &mut Vec<Output>, span: Span) -> Result<()> {
        if scope.sources.is_empty() {
            return Err(self.error(span, ErrorKind::Syntax, "* needs a table in FROM"));
        }
        let merges = scope.sources.iter().any(|visible| !visible.merged.is_empty());
        self.refuse(merges, span, "* over a join with USING", "name the columns")?;
        for source in 0..scope.sources.len() {
            columns_of(scope, source, outputs, false);
        }
        Ok(())
    }

    fn group(
        &mut self,
        scope: &Scope<'_>,
        group_by: &GroupByExpr,
        outputs: &[Output],
        span: Span,
    ) -> Result<Vec<Expr>> {
        let nodes = match group_by {
            GroupByExpr::Expressions(nodes, modifiers) if modifiers.is_empty() => nodes,
            _ => {
                let advice = "name the columns";
                return Err(self.outside(span, "this kind of GROUP BY", advice));
            }
        };
        let mut group = Vec::new();
        for node in nodes {
            let by_number = output_number(node).map(|number| (number, outputs.len()));
            let expr = match by_number {
                Some((number, count)) if (1..=count).contains(&number) => {
                    outputs[number - 1].expr.clone()
                }
                Some(_) => {
                    return Err(self.type_error(node.span(), "the result has no such column"));
                }
                None => self.grouping(scope, node, outputs)?,
            };
            if expr.has_aggregate() || expr.has_window() {
                let sentence = "GROUP BY may not contain an aggregate or a window function";
                return Err(self.type_error(node.span(), sentence));
            }
            self.check_comparable(&expr, false, node.span())?;
            group.push(expr);
        }
        Ok(group)
    }

    /// An expression of GROUP BY. A name is first looked up among the columns of the sources, then
    /// among the output columns.
    fn grouping(
        &mut self,
        scope: &Scope<'_>,
        node: &ast::Expr,
        outputs: &[Output],
    ) -> Result<Expr> {
        if let ast::Expr::Identifier(ident) = node
            && matches!(scope.find(&ident_name(ident)), super::scope::Found::Nothing)
            && let Some(output) = outputs.iter().find(|output| output.name == ident_name(ident))
        {
            return Ok(output.expr.clone());
        }
        self.with_windows(WindowPlace::Refused("in GROUP BY"), |resolver| {
            resolver.with_aggregates(Some("in GROUP BY"), |resolver| resolver.expr(scope, node))
        })
    }

    fn order(
        &mut self,
        scope: &Scope<'_>,
        outputs: &[Output],
        order_by: Option<&ast::OrderBy>,
    ) -> Result<Vec<OrderKey>> {
        let mut keys = Vec::new();
        for (node, options) in self.order_nodes(order_by)? {
            let by = match order_output(node, outputs.iter().map(|output| &*output.name)) {
                Some(Ok(position)) => {
                    self.check_order_name(node, outputs, position)?;
                    self.check_comparable(&outputs[position].expr, true, node.span())?;
                    OrderBy::Output(position)
                }
                Some(Err(sentence)) => return Err(self.type_error(node.span(), sentence)),
                None => {
                    let expr = self.expr(scope, node)?;
                    self.check_comparable(&expr, true, node.span())?;
                    let position = outputs.iter().position(|output| output.expr == expr);
                    position.map_or(OrderBy::Expr(expr), OrderBy::Output)
                }
            };
            keys.push(self.order_key(by, options, node.span())?);
        }
        Ok(keys)
    }

    /// Refuses a name of several output columns with different values.
    fn check_order_name(
        &self,
        node: &ast::Expr,
        outputs: &[Output],
        position: usize,
    ) -> Result<()> {
        let found = &outputs[position];
        let differs = |other: &&Output| other.name == found.name && other.expr != found.expr;
        if !matches!(node, ast::Expr::Identifier(_)) || !outputs.iter().any(|one| differs(&one)) {
            return Ok(());
        }
        let name = &found.name;
        let sentence = format!("several columns of the result are called `{name}`");
        let message = format!("ORDER BY \"{name}\" is ambiguous");
        let error = self.error(node.span(), ErrorKind::Name, sentence);
        Err(error.in_postgres("42702", message).advise("write the position, or another alias"))
    }

    pub(super) fn order_key(
        &self,
        by: OrderBy,
        options: &ast::OrderByOptions,
        span: Span,
    ) -> Result<OrderKey> {
        let descending = match &options.sort {
            None | Some(OrderBySort::Asc) => false,
            Some(OrderBySort::Desc) => true,
            Some(OrderBySort::Using(_)) => {
                return Err(self.outside(span, "ORDER BY USING", "write ASC or DESC"));
            }
        };
        Ok(OrderKey { by, descending, nulls_first: options.nulls_first.unwrap_or(descending) })
    }

    fn order_nodes<'n>(
        &self,
        order_by: Option<&'n ast::OrderBy>,
    ) -> Result<Vec<(&'n ast::Expr, &'n ast::OrderByOptions)>> {
        let Some(order_by) = order_by else {
            return Ok(Vec::new());
        };
        let OrderByKind::Expressions(keys) = &order_by.kind else {
            self.refuse_foreign(true, order_by.span(), "ORDER BY ALL")?;
            return Ok(Vec::new());
        };
        let foreign =
            order_by.interpolate.is_some() || keys.iter().any(|key| key.with_fill.is_some());
        self.refuse_foreign(foreign, order_by.span(), "such clause of ORDER BY")?;
        Ok(keys.iter().map(|key| (&key.expr, &key.options)).collect())
    }

    fn order_of_set(
        &self,
        body: &SelectBody,
        order_by: Option<&ast::OrderBy>,
    ) -> Result<Vec<OrderKey>> {
        let (SelectBody::Set { columns, .. } | SelectBody::Values { columns, .. }) = body else {
            return Ok(Vec::new());
        };
        let mut keys = Vec::new();
        for (node, options) in self.order_nodes(order_by)? {
            match order_output(node, columns.iter().map(|column| &*column.name)) {
                Some(Ok(position)) => {
                    keys.push(self.order_key(OrderBy::Output(position), options, node.span())?)
                }
                _ => {
                    let sentence =
                        "ORDER BY of UNION, INTERSECT or EXCEPT may only contain output columns";
                    let (sqlstate, message) = match node {
                        ast::Expr::Identifier(name) => {
                            let name = ident_name(name);
                            ("42703", format!("column \"{name}\" does not exist"))
                        }
                        _ => {
                            let message = "invalid UNION/INTERSECT/EXCEPT ORDER BY clause";
                            ("0A000", message.to_owned())
                        }
                    };
                    let error = self.type_error(node.span(), sentence);
                    return Err(error.in_postgres(sqlstate, message));
                }
            }
        }
        Ok(keys)
    }
}

fn columns_of(scope: &Scope<'_>, source: usize, outputs: &mut Vec<Output>, with_merged: bool) {
    let visible = &scope.sources[source];
    for (column, field) in visible.columns.iter().enumerate() {
        if with_merged || !visible.merged.contains(&column) {
            let kind = ExprKind::Column(ColumnRef { level: 0, source, column });
            let expr = Expr::new(kind, field.sql_type.clone());
            outputs.push(Output { name: field.name.clone(), expr });
        }
    }
}

/// The number of an output column in `ORDER BY` or `GROUP BY`.
fn output_number(node: &ast::Expr) -> Option<usize> {
    match node {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, false) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Position of an output column given by number or name; in ORDER BY, output columns hide columns
/// of tables.
fn order_output<'n>(
    node: &ast::Expr,
    names: impl Iterator<Item = &'n str>,
) -> Option<std::result::Result<usize, &'static str>> {
    let names: Vec<&str> = names.collect();
    if let Some(number) = output_number(node) {
        let position = number.checked_sub(1).filter(|position| *position < names.len());
        return Some(position.ok_or("the result has no such column"));
    }
    let ast::Expr::Identifier(ident) = node else {
        return None;
    };
    names.iter().position(|name| *name == ident_name(ident)).map(Ok)
}
