//! Queries: GROUP BY, HAVING, DISTINCT, ORDER BY, LIMIT, and set operations.

use crate::aggregate::{self, by_keys};
use crate::evaluate::{Context, Layout, Scope, unsupported};
use crate::from::{from, from_layout};
use crate::functions;
use crate::operators::{bool_of, int_of, sort_order};
use crate::route::OutputColumn;
use crate::types::{self, folded};
use crate::window;
use sql_session::SqlError;
use sql_value::Value;
use sqlparser::ast::{self, Expr, SelectItem, SetExpr, SetOperator, SetQuantifier};
use std::cmp::Ordering;

pub type Row = Vec<Value>;

/// Rows that a step of a query may have; a catalog query with more is not one for this evaluator.
pub const ROWS_MAX: usize = 5_000_000;

/// The columns of a query's result.
pub fn shape(
    query: &ast::Query,
    outer: &[&Layout],
    context: &Context<'_>,
) -> Result<Vec<OutputColumn>, SqlError> {
    if let Some(with) = &query.with {
        return shape_of(&query.body, outer, &context.with_shapes(with)?);
    }
    shape_of(&query.body, outer, context)
}

fn shape_of(
    body: &SetExpr,
    outer: &[&Layout],
    context: &Context<'_>,
) -> Result<Vec<OutputColumn>, SqlError> {
    match body {
        SetExpr::Select(select) => {
            let layout = from_layout(&select.from, outer, context)?;
            let layouts: Vec<&Layout> =
                std::iter::once(&layout).chain(outer.iter().copied()).collect();
            let mut columns = Vec::new();
            for (name, expression) in outputs(&select.projection, &layout)? {
                let oid = match expression {
                    Output::Column(at) => layout.columns[at].oid,
                    Output::Expression(expression) => types::of(expression, &layouts, context),
                };
                columns.push(OutputColumn { name, oid });
            }
            Ok(columns)
        }
        SetExpr::Query(query) => shape(query, outer, context),
        SetExpr::SetOperation { left, .. } => shape_of(left, outer, context),
        SetExpr::Values(values) => {
            let first = values.rows.first().map(|row| row.content.as_slice()).unwrap_or_default();
            let column = |(at, expression): (usize, &Expr)| OutputColumn {
                name: format!("column{}", at + 1),
                oid: types::of(expression, outer, context),
            };
            Ok(first.iter().enumerate().map(column).collect())
        }
        _ => Err(unsupported("this statement")),
    }
}

/// The rows of a query's result.
pub fn run(
    query: &ast::Query,
    outer: Option<&Scope<'_>>,
    context: &Context<'_>,
) -> Result<Vec<Row>, SqlError> {
    match &query.with {
        Some(with) => run_without_with(query, outer, &context.with_rows(with, outer)?),
        None => run_without_with(query, outer, context),
    }
}

fn run_without_with(
    query: &ast::Query,
    outer: Option<&Scope<'_>>,
    context: &Context<'_>,
) -> Result<Vec<Row>, SqlError> {
    let order = match query.order_by.as_ref().map(|order| &order.kind) {
        Some(ast::OrderByKind::Expressions(order)) => order.as_slice(),
        Some(ast::OrderByKind::All(_)) => return Err(unsupported("ORDER BY ALL")),
        None => &[],
    };
    let mut rows = match query.body.as_ref() {
        SetExpr::Select(select) => run_select(select, order, outer, context)?,
        body => {
            let layouts = outer.map(Scope::layouts).unwrap_or_default();
            let columns = shape_of(body, &layouts, context)?;
            let mut rows = run_body(body, outer, context)?;
            sort_by_outputs(&mut rows, &columns, order)?;
            rows
        }
    };
    let number = |expression: &Expr| -> Result<Option<usize>, SqlError> {
        let layout = Layout::default();
        let scope = Scope { layout: &layout, row: &[], group: None, outer };
        Ok(int_of(&context.value(expression, &scope)?).map(|number| number.max(0) as usize))
    };
    if let Some(ast::LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause {
        if let Some(offset) = offset {
            let skipped = number(&offset.value)?.unwrap_or(0).min(rows.len());
            rows.drain(..skipped);
        }
        if let Some(limit) = limit
            && let Some(limit) = number(limit)?
        {
            rows.truncate(limit);
        }
    }
    Ok(rows)
}

pub fn run_body(
    body: &SetExpr,
    outer: Option<&Scope<'_>>,
    context: &Context<'_>,
) -> Result<Vec<Row>, SqlError> {
    match body {
        SetExpr::Select(select) => run_select(select, &[], outer, context),
        SetExpr::Query(query) => run(query, outer, context),
        SetExpr::Values(values) => {
            let layout = Layout::default();
            let scope = Scope { layout: &layout, row: &[], group: None, outer };
            let row = |row: &ast::Parens<Vec<Expr>>| {
                row.content.iter().map(|expression| context.value(expression, &scope)).collect()
            };
            values.rows.iter().map(row).collect()
        }
        SetExpr::SetOperation { left, op, set_quantifier, right } => {
            let mut rows = run_body(left, outer, context)?;
            let others = run_body(right, outer, context)?;
            let is_among = |row: &Row, rows: &[Row]| rows.iter().any(|other| is_same(row, other));
            match op {
                SetOperator::Union => rows.extend(others),
                SetOperator::Intersect => rows.retain(|row| is_among(row, &others)),
                SetOperator::Except => rows.retain(|row| !is_among(row, &others)),
                other => return Err(unsupported(other)),
            }
            if *set_quantifier != SetQuantifier::All {
                remove_duplicates(&mut rows);
            }
            Ok(rows)
        }
        _ => Err(unsupported("this statement")),
    }
}

/// Whether rows have the same values; nulls are equal.
pub fn is_same(one: &[Value], other: &[Value]) -> bool {
    one.iter().zip(other).all(|(one, other)| sort_order(one, other) == Ordering::Equal)
}

fn remove_duplicates(rows: &mut Vec<Row>) {
    let mut kept: Vec<Row> = Vec::new();
    for row in rows.drain(..) {
        if !kept.iter().any(|other| is_same(&row, other)) {
            kept.push(row);
        }
    }
    *rows = kept;
}

/// A column of a result.
pub enum Output<'q> {
    /// A column of the FROM clause.
    Column(usize),
    Expression(&'q Expr),
}

fn outputs<'q>(
    projection: &'q [SelectItem],
    layout: &Layout,
) -> Result<Vec<(String, Output<'q>)>, SqlError> {
    let mut outputs = Vec::new();
    for item in projection {
        match item {
            SelectItem::UnnamedExpr(expression) => {
                outputs.push((types::column_name(expression), Output::Expression(expression)));
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                outputs.push((folded(alias), Output::Expression(expr)));
            }
            SelectItem::Wildcard(_) => {
                let all = layout.columns.iter().enumerate();
                let all = all.filter(|(_, column)| !column.is_hidden);
                outputs.extend(all.map(|(at, column)| (column.name.clone(), Output::Column(at))));
            }
            SelectItem::QualifiedWildcard(
                ast::SelectItemQualifiedWildcardKind::ObjectName(name),
                _,
            ) => {
                let source = name.0.last().and_then(|part| part.as_ident()).map(folded);
                let own = layout.columns.iter().enumerate();
                let own = own.filter(|(_, column)| {
                    !column.is_hidden && Some(&column.source) == source.as_ref()
                });
                outputs.extend(own.map(|(at, column)| (column.name.clone(), Output::Column(at))));
            }
            other => return Err(unsupported(format!("`{other}`"))),
        }
    }
    Ok(outputs)
}

fn run_select(
    select: &ast::Select,
    order: &[ast::OrderByExpr],
    outer: Option<&Scope<'_>>,
    context: &Context<'_>,
) -> Result<Vec<Row>, SqlError> {
    let (layout, inputs) = from(select, outer, context)?;
    let outputs = outputs(&select.projection, &layout)?;
    let groups = groups(select, &layout, inputs, outer, context)?;
    let mut windows = window::windows(&outputs)?;
    // Each result with its sort keys.
    let mut results: Vec<(Row, Row)> = Vec::new();
    for (row, group) in &groups {
        let scope = Scope { layout: &layout, row, group: group.as_deref(), outer };
        if let Some(having) = &select.having
            && bool_of(&context.value(having, &scope)?) != Some(true)
        {
            continue;
        }
        for result in result_rows(&outputs, &scope, context)? {
            let keys =
                order.iter().map(|by| sort_key(&by.expr, &outputs, &result, &scope, context));
            let keys = keys.collect::<Result<Row, _>>()?;
            results.push((result, keys));
            for window in &mut windows {
                window.note(&scope, context)?;
            }
        }
    }
    if !windows.is_empty() {
        windows.iter().for_each(|window| window.fill(results.iter_mut().map(|(row, _)| row)));
        sort_keys_of_outputs(&mut results, &outputs, order)?;
    }
    if select.distinct.is_some() {
        let mut kept: Vec<(Row, Row)> = Vec::new();
        for result in results {
            if !kept.iter().any(|(other, _)| is_same(&result.0, other)) {
                kept.push(result);
            }
        }
        results = kept;
    }
    results.sort_by(|(_, left), (_, right)| by_keys(left, right, order));
    let mut rows: Vec<Row> = results.into_iter().map(|(row, _)| row).collect();
    print_references(&mut rows, &outputs, &layout, outer, context);
    Ok(rows)
}

/// Numbers of objects of types such as `regclass` become names at the outermost query.
fn print_references(
    rows: &mut [Row],
    outputs: &[(String, Output<'_>)],
    layout: &Layout,
    outer: Option<&Scope<'_>>,
    context: &Context<'_>,
) {
    if outer.is_some() {
        return;
    }
    for (at, (_, output)) in outputs.iter().enumerate() {
        let oid = match output {
            Output::Column(column) => layout.columns[*column].oid,
            Output::Expression(expression) => types::of(expression, &[layout], context),
        };
        if types::is_reference(oid) {
            for row in rows.iter_mut() {
                row[at] = context.printed_reference(&row[at], oid);
            }
        }
    }
}

/// A function that returns a set, and the field of its rows that a column has, if it has one only.
fn set_of(expression: &Expr) -> Option<(&ast::Function, Option<&ast::Ident>)> {
    match expression {
        Expr::Function(function) => {
            functions::returns_set(&functions::name(function)).then_some((function, None))
        }
        Expr::Nested(inner) => set_of(inner),
        Expr::CompoundFieldAccess { root, access_chain } => match &access_chain[..] {
            [ast::AccessExpr::Dot(Expr::Identifier(name))] => {
                set_of(root).map(|(function, _)| (function, Some(name)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The rows of one input row: several if a column is a function that returns a set.
fn result_rows(
    outputs: &[(String, Output<'_>)],
    scope: &Scope<'_>,
    context: &Context<'_>,
) -> Result<Vec<Row>, SqlError> {
    let mut row = Vec::with_capacity(outputs.len());
    let mut sets: Vec<(usize, Vec<Value>)> = Vec::new();
    for (_, output) in outputs {
        row.push(match output {
            Output::Column(at) => scope.row.get(*at).cloned().unwrap_or(Value::Null),
            Output::Expression(expression) if let Some((function, field)) = set_of(expression) => {
                let arguments = functions::arguments(function)?;
                let values = arguments.iter().map(|argument| context.value(argument, scope));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                let mut set = functions::set(&functions::name(function), &values)?;
                if let Some(field) = field {
                    let of_row = |value: &Value| Context::field(value, field);
                    set = set.iter().map(of_row).collect::<Result<_, _>>()?;
                }
                sets.push((row.len(), set));
                Value::Null
            }
            Output::Expression(expression) if window::is_window(expression) => Value::Null,
            Output::Expression(expression) => context.value(expression, scope)?,
        });
    }
    let Some(count) = sets.iter().map(|(_, values)| values.len()).max() else {
        return Ok(vec![row]);
    };
    let expand = |number: usize| {
        let mut row = row.clone();
        for (at, values) in &sets {
            row[*at] = values.get(number).cloned().unwrap_or(Value::Null);
        }
        row
    };
    Ok((0..count).map(expand).collect())
}

/// A key of ORDER BY: the number or name of an output, or an expression over the inputs.
fn sort_key(
    expression: &Expr,
    outputs: &[(String, Output<'_>)],
    result: &[Value],
    scope: &Scope<'_>,
    context: &Context<'_>,
) -> Result<Value, SqlError> {
    if let Some(at) = output_position(expression, outputs.iter().map(|(name, _)| name.as_str())) {
        return at.map(|at| result[at].clone());
    }
    context.value(expression, scope)
}

/// Replaces the sort keys that are columns of the result.
fn sort_keys_of_outputs(
    results: &mut [(Row, Row)],
    outputs: &[(String, Output<'_>)],
    order: &[ast::OrderByExpr],
) -> Result<(), SqlError> {
    for (number, by) in order.iter().enumerate() {
        let names = outputs.iter().map(|(name, _)| name.as_str());
        let Some(at) = output_position(&by.expr, names).transpose()? else { continue };
        for (row, keys) in results.iter_mut() {
            keys[number] = row[at].clone();
        }
    }
    Ok(())
}

/// The output that a key of ORDER BY names; an error if its number is out of range.
fn output_position<'n>(
    expression: &Expr,
    names: impl ExactSizeIterator<Item = &'n str>,
) -> Option<Result<usize, SqlError>> {
    let count = names.len();
    match expression {
        Expr::Value(value) => {
            let ast::Value::Number(digits, _) = &value.value else { return None };
            let at = digits.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            Some(at.filter(|at| *at < count).ok_or_else(|| {
                SqlError::new("42P10", format!("ORDER BY position {digits} is not in select list"))
            }))
        }
        Expr::Identifier(name) => {
            let name = folded(name);
            let mut names = names;
            names.position(|own| own == name).map(Ok)
        }
        _ => None,
    }
}

fn sort_by_outputs(
    rows: &mut [Row],
    columns: &[OutputColumn],
    order: &[ast::OrderByExpr],
) -> Result<(), SqlError> {
    let mut positions = Vec::new();
    for by in order {
        let names = columns.iter().map(|column| column.name.as_str());
        let position = output_position(&by.expr, names);
        positions.push(position.ok_or_else(|| unsupported("this ORDER BY"))??);
    }
    let keys = |row: &Row| -> Row { positions.iter().map(|at| row[*at].clone()).collect() };
    rows.sort_by(|left, right| by_keys(&keys(left), &keys(right), order));
    Ok(())
}

type Group = (Row, Option<Vec<Row>>);

/// The rows that results are computed from, with the group of each if there are aggregates.
fn groups(
    select: &ast::Select,
    layout: &Layout,
    inputs: Vec<Row>,
    outer: Option<&Scope<'_>>,
    context: &Context<'_>,
) -> Result<Vec<Group>, SqlError> {
    let ast::GroupByExpr::Expressions(keys, _) = &select.group_by else {
        return Err(unsupported("GROUP BY ALL"));
    };
    let expressions = select.projection.iter().filter_map(|item| match item {
        SelectItem::UnnamedExpr(expression) => Some(expression),
        SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    });
    let has_aggregates = expressions.chain(&select.having).any(aggregate::is_in);
    if keys.is_empty() && !has_aggregates {
        return Ok(inputs.into_iter().map(|row| (row, None)).collect());
    }
    if keys.is_empty() {
        let first = inputs.first().cloned().unwrap_or_default();
        return Ok(vec![(first, Some(inputs))]);
    }
    let mut groups: Vec<(Row, Vec<Row>)> = Vec::new();
    for row in inputs {
        let scope = Scope { layout, row: &row, group: None, outer };
        let outputs = outputs(&select.projection, layout)?;
        let key = keys.iter().map(|key| {
            let position = output_position(key, outputs.iter().map(|(name, _)| name.as_str()));
            match position.transpose()?.map(|at| &outputs[at].1) {
                Some(Output::Expression(expression)) => context.value(expression, &scope),
                Some(Output::Column(at)) => Ok(row[*at].clone()),
                None => context.value(key, &scope),
            }
        });
        let key = key.collect::<Result<Row, SqlError>>()?;
        match groups.iter_mut().find(|(other, _)| is_same(&key, other)) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    Ok(groups.into_iter().map(|(_, rows)| (rows[0].clone(), Some(rows))).collect())
}
