//! The rows of FROM: relations, functions, sub-selects and their joins.

use crate::evaluate::{Context, Layout, LayoutColumn, Scope, unsupported};
use crate::fill;
use crate::functions;
use crate::operators::{bool_of, compare};
use crate::relations::{self, Relation};
use crate::select::{ROWS_MAX, Row, run, shape};
use crate::sequences;
use crate::types::{self, folded};
use crate::world::World;
use sql_session::SqlError;
use sql_value::Value;
use sqlparser::ast::{self, BinaryOperator, Expr, JoinConstraint, JoinOperator, TableFactor};
use std::cmp::Ordering;
use std::collections::HashMap;

/// The column of each relation that `*` leaves out.
const TABLE_OID: &str = "tableoid";

/// The conditions that AND connects.
fn conjuncts<'q>(condition: &'q Expr, all: &mut Vec<&'q Expr>) {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            conjuncts(left, all);
            conjuncts(right, all);
        }
        Expr::Nested(inner) => conjuncts(inner, all),
        other => all.push(other),
    }
}

/// The joined rows of the FROM clause that satisfy WHERE. Each condition is tested as soon as its
/// columns are there.
pub fn from(
    select: &ast::Select,
    outer: Option<&Scope<'_>>,
    context: &Context<'_>,
) -> Result<(Layout, Vec<Row>), SqlError> {
    let mut conditions = Vec::new();
    if let Some(selection) = &select.selection {
        conjuncts(selection, &mut conditions);
    }
    let (mut layout, mut rows) = (Layout::default(), vec![Vec::new()]);
    for (at, tables) in select.from.iter().enumerate() {
        let is_last = at + 1 == select.from.len();
        let factors = std::iter::once((&tables.relation, None))
            .chain(tables.joins.iter().map(|join| (&join.relation, Some(&join.join_operator))));
        let count = tables.joins.len() + 1;
        for (number, (factor, operator)) in factors.enumerate() {
            (layout, rows) = joined(layout, rows, (factor, operator, &conditions), outer, context)?;
            // An outer join later may not lose rows by a condition on its own side, so conditions
            // with columns of what is there are safe: left rows stay left rows.
            let is_end = is_last && number + 1 == count;
            let ready = |condition: &&Expr| is_end || is_ready(condition, &layout);
            let (now, later): (Vec<&Expr>, Vec<&Expr>) =
                conditions.iter().partition(|one| ready(one));
            conditions = later;
            rows = filtered(rows, &now, &layout, outer, context)?;
        }
    }
    rows = filtered(rows, &conditions, &layout, outer, context)?;
    Ok((layout, rows))
}

fn filtered(
    rows: Vec<Row>,
    conditions: &[&Expr],
    layout: &Layout,
    outer: Option<&Scope<'_>>,
    context: &Context<'_>,
) -> Result<Vec<Row>, SqlError> {
    if conditions.is_empty() {
        return Ok(rows);
    }
    let mut kept = Vec::new();
    for row in rows {
        let scope = Scope { layout, row: &row, group: None, outer };
        if hold(conditions, &scope, context)? {
            kept.push(row);
        }
    }
    Ok(kept)
}

/// Whether all columns of a simple condition are there. Others wait for the whole FROM clause.
fn is_ready(condition: &Expr, layout: &Layout) -> bool {
    match condition {
        Expr::Identifier(name) => layout.find(&[name]).is_some(),
        Expr::CompoundIdentifier(parts) => layout.find(&parts.iter().collect::<Vec<_>>()).is_some(),
        Expr::Value(_) => true,
        Expr::Nested(inner)
        | Expr::Collate { expr: inner, .. }
        | Expr::Cast { expr: inner, .. }
        | Expr::UnaryOp { expr: inner, .. } => is_ready(inner, layout),
        Expr::BinaryOp { left, right, .. } => is_ready(left, layout) && is_ready(right, layout),
        Expr::InList { expr, list, .. } => {
            is_ready(expr, layout) && list.iter().all(|one| is_ready(one, layout))
        }
        _ => false,
    }
}

/// Joins rows with a table. `later` are conditions that the joined rows will have to satisfy.
fn joined(
    left: Layout,
    rows: Vec<Row>,
    (factor, operator, later): (&TableFactor, Option<&JoinOperator>, &[&Expr]),
    outer: Option<&Scope<'_>>,
    context: &Context<'_>,
) -> Result<(Layout, Vec<Row>), SqlError> {
    let (is_left, constraint) = kind(operator)?;
    let outer_layouts = outer.map(Scope::layouts).unwrap_or_default();
    let lateral: Vec<&Layout> = std::iter::once(&left).chain(outer_layouts).collect();
    let own = factor_layout(factor, &lateral, context)?;
    let (width, mut layout) = (own.columns.len(), left.clone());
    layout.columns.extend(own.columns.iter().cloned());
    let (conditions, equal) = join_conditions(constraint, &left, &own)?;
    let is_fixed = !is_lateral(factor);
    let mut fixed = match is_fixed {
        true => factor_rows(factor, outer, context)?,
        false => Vec::new(),
    };
    // Conditions behind an outer join are for its result.
    let later = if is_left { &[] } else { later };
    let of_own: Vec<&Expr> = later.iter().copied().filter(|one| is_ready(one, &own)).collect();
    fixed = filtered(fixed, &of_own, &own, outer, context)?;
    let keys = conditions.iter().chain(later).find_map(|one| equality(one, &left, &own));
    let index = match keys {
        Some((_, key)) if is_fixed => Some(KeyIndex::new(key, &fixed, &own, context)?),
        _ => None,
    };
    let mut result = Vec::new();
    for row in rows {
        let scope = Scope { layout: &left, row: &row, group: None, outer };
        let lateral_rows;
        let others = match is_fixed {
            true => &fixed,
            false => {
                lateral_rows = factor_rows(factor, Some(&scope), context)?;
                &lateral_rows
            }
        };
        let found = match (&index, keys) {
            (Some(index), Some((key, _))) => index.find(&context.value(key, &scope)?),
            _ => None,
        };
        let mut is_matched = false;
        for at in 0..found.map_or(others.len(), <[usize]>::len) {
            let other = &others[found.map_or(at, |found| found[at])];
            let mut both = row.clone();
            both.extend(other.iter().cloned());
            let is_equal = |(one, other): &(usize, usize)| {
                compare(&both[*one], &both[*other]) == Some(Ordering::Equal)
            };
            let scope = Scope { layout: &layout, row: &both, group: None, outer };
            if equal.iter().all(is_equal) && hold(&conditions, &scope, context)? {
                is_matched = true;
                result.push(both);
            }
        }
        if is_left && !is_matched {
            let mut alone = row.clone();
            alone.extend(std::iter::repeat_n(Value::Null, width));
            result.push(alone);
        }
        if result.len() > ROWS_MAX {
            let message = format!("a query on the system catalog joins more than {ROWS_MAX} rows");
            return Err(SqlError::new("54000", message));
        }
    }
    Ok((layout, result))
}

/// Whether a join keeps rows of the left without a match, and its condition.
fn kind(operator: Option<&JoinOperator>) -> Result<(bool, Option<&JoinConstraint>), SqlError> {
    match operator {
        None => Ok((false, None)),
        Some(JoinOperator::Join(own) | JoinOperator::Inner(own) | JoinOperator::CrossJoin(own)) => {
            Ok((false, Some(own)))
        }
        Some(JoinOperator::Left(own) | JoinOperator::LeftOuter(own)) => Ok((true, Some(own))),
        Some(_) => Err(unsupported("this kind of join")),
    }
}

/// The sides of `left = right`, one for each side of a join.
fn equality<'q>(
    condition: &'q Expr,
    left: &Layout,
    right: &Layout,
) -> Option<(&'q Expr, &'q Expr)> {
    let Expr::BinaryOp { left: one, op: BinaryOperator::Eq, right: other } = condition else {
        return None;
    };
    let are = |one: &Expr, other: &Expr| is_ready(one, left) && is_ready(other, right);
    match (are(one, other), are(other, one)) {
        (true, _) => Some((one, other)),
        (false, true) => Some((other, one)),
        (false, false) => None,
    }
}

/// The rows of a table by a key, if all keys are integers.
struct KeyIndex {
    rows: Option<HashMap<i64, Vec<usize>>>,
}

impl KeyIndex {
    fn new(
        key: &Expr,
        rows: &[Row],
        layout: &Layout,
        context: &Context<'_>,
    ) -> Result<Self, SqlError> {
        let mut index: HashMap<i64, Vec<usize>> = HashMap::new();
        for (at, row) in rows.iter().enumerate() {
            let scope = Scope { layout, row, group: None, outer: None };
            match context.value(key, &scope)? {
                Value::Int(key) => index.entry(key).or_default().push(at),
                Value::Null => {}
                _ => return Ok(Self { rows: None }),
            }
        }
        Ok(Self { rows: Some(index) })
    }

    /// The rows that may have this key; `None` if all may.
    fn find(&self, key: &Value) -> Option<&[usize]> {
        match (&self.rows, key) {
            (Some(rows), Value::Int(key)) => Some(rows.get(key).map_or(&[], Vec::as_slice)),
            (Some(_), Value::Null) => Some(&[]),
            _ => None,
        }
    }
}

type Conditions<'q> = (Vec<&'q Expr>, Vec<(usize, usize)>);

/// The conditions of a join, and pairs of columns that must be equal.
fn join_conditions<'q>(
    constraint: Option<&'q JoinConstraint>,
    left: &Layout,
    right: &Layout,
) -> Result<Conditions<'q>, SqlError> {
    let (mut conditions, mut equal) = (Vec::new(), Vec::new());
    match constraint {
        Some(JoinConstraint::On(condition)) => conjuncts(condition, &mut conditions),
        Some(JoinConstraint::Using(names)) => {
            for name in names {
                let name = name.0.last().and_then(|part| part.as_ident());
                let name = name.ok_or_else(|| unsupported("this USING"))?;
                let sides = left.find(&[name]).zip(right.find(&[name]));
                let (one, other) = sides.ok_or_else(|| unsupported("this USING"))?;
                equal.push((one, left.columns.len() + other));
            }
        }
        Some(JoinConstraint::Natural) => return Err(unsupported("NATURAL JOIN")),
        Some(JoinConstraint::None) | None => {}
    }
    Ok((conditions, equal))
}

/// Whether all conditions are true.
fn hold(conditions: &[&Expr], scope: &Scope<'_>, context: &Context<'_>) -> Result<bool, SqlError> {
    for condition in conditions {
        if bool_of(&context.value(condition, scope)?) != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the rows depend on the tables to the left.
fn is_lateral(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table { args, .. } => args.is_some(),
        TableFactor::Derived { lateral, .. } => *lateral,
        TableFactor::Function { .. } | TableFactor::UNNEST { .. } => true,
        _ => false,
    }
}

/// The layout of a FROM clause.
pub fn from_layout(
    from: &[ast::TableWithJoins],
    outer: &[&Layout],
    context: &Context<'_>,
) -> Result<Layout, SqlError> {
    let mut layout = Layout::default();
    for tables in from {
        let joins = tables.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&tables.relation).chain(joins) {
            let lateral: Vec<&Layout> =
                std::iter::once(&layout).chain(outer.iter().copied()).collect();
            let own = factor_layout(factor, &lateral, context)?;
            layout.columns.extend(own.columns);
        }
    }
    Ok(layout)
}

/// The type of the only column of a function in FROM.
fn result_type(
    function: &str,
    factor: &TableFactor,
    outer: &[&Layout],
    context: &Context<'_>,
) -> u32 {
    match function {
        "unnest" => unnested(factor, outer, context),
        "generate_series" | "generate_subscripts" => types::INT4,
        "pg_partition_ancestors" => types::REGCLASS,
        _ => types::TEXT,
    }
}

/// The type of the elements of the array in `unnest(array)`.
fn unnested(factor: &TableFactor, outer: &[&Layout], context: &Context<'_>) -> u32 {
    let arguments = match factor {
        TableFactor::Table { args: Some(args), .. } => &args.args,
        TableFactor::Function { args, .. } => args,
        _ => return types::TEXT,
    };
    match arguments.first() {
        Some(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(array))) => {
            types::element_of(types::of(array, outer, context))
        }
        _ => types::TEXT,
    }
}

/// The relation that a name without arguments names.
pub fn relation(name: &ast::ObjectName) -> Option<&'static Relation> {
    let parts: Vec<String> = name.0.iter().filter_map(|part| part.as_ident()).map(folded).collect();
    match parts.as_slice() {
        [name] => relations::find(None, name),
        [schema, name] => relations::find(Some(schema), name),
        _ => None,
    }
}

/// The name and the columns of a relation of the catalog or of `WITH`.
fn named(
    name: &ast::ObjectName,
    context: &Context<'_>,
) -> Result<(String, Vec<(String, u32)>), SqlError> {
    if let Some(cte) = context.cte(name) {
        let columns = cte.columns.iter().map(|column| (column.name.clone(), column.oid));
        return Ok((cte.name.clone(), columns.collect()));
    }
    let relation = relation(name).ok_or_else(|| unknown(name))?;
    let mut columns = relation.columns.clone();
    columns.push((TABLE_OID.to_owned(), types::OID));
    Ok((relation.name.to_owned(), columns))
}

fn factor_layout(
    factor: &TableFactor,
    outer: &[&Layout],
    context: &Context<'_>,
) -> Result<Layout, SqlError> {
    let alias_of =
        |alias: &Option<ast::TableAlias>| alias.as_ref().map(|alias| folded(&alias.name));
    let (source, mut columns, alias) = match factor {
        TableFactor::Table { name, alias, args: None, .. } => {
            if let Some(sequence) = sequence(name, context.world) {
                return Ok(sequences::layout(&alias_of(alias).unwrap_or(sequence)));
            }
            let (own, columns) = named(name, context)?;
            (alias_of(alias).unwrap_or(own), columns, alias)
        }
        TableFactor::Derived { subquery, alias, .. } => {
            let shape = shape(subquery, outer, context)?;
            let columns = shape.into_iter().map(|column| (column.name, column.oid)).collect();
            (alias_of(alias).unwrap_or_default(), columns, alias)
        }
        TableFactor::Table { name, alias, args: Some(_), .. }
        | TableFactor::Function { name, alias, .. } => {
            let function = name.0.last().and_then(|part| part.as_ident()).map(folded);
            let function = function.unwrap_or_default();
            let source = alias_of(alias).unwrap_or_else(|| function.clone());
            if function == "pg_options_to_table" {
                let columns = ["option_name", "option_value"];
                let columns = columns.map(|name| LayoutColumn {
                    source: source.clone(),
                    name: name.to_owned(),
                    oid: types::TEXT,
                    is_hidden: false,
                });
                return Ok(Layout { columns: columns.to_vec() });
            }
            let oid = result_type(&function, factor, outer, context);
            let mut columns = vec![(source.clone(), oid)];
            if let TableFactor::Function { with_ordinality: true, .. }
            | TableFactor::Table { with_ordinality: true, .. } = factor
            {
                columns.push(("ordinality".to_owned(), types::INT8));
            }
            (source, columns, alias)
        }
        TableFactor::UNNEST { alias, array_exprs, with_ordinality, .. } => {
            let source = alias_of(alias).unwrap_or_else(|| "unnest".to_owned());
            let element = |one: &Expr| types::element_of(types::of(one, outer, context));
            let mut columns: Vec<(String, u32)> =
                array_exprs.iter().map(|one| (source.clone(), element(one))).collect();
            if *with_ordinality {
                columns.push(("ordinality".to_owned(), types::INT8));
            }
            (source, columns, alias)
        }
        other => return Err(unsupported(format!("`{other}` in FROM"))),
    };
    if let Some(alias) = alias {
        for (column, named) in columns.iter_mut().zip(&alias.columns) {
            column.0 = folded(&named.name);
        }
    }
    let columns = columns.into_iter();
    let columns = columns.map(|(name, oid)| LayoutColumn {
        source: source.clone(),
        is_hidden: name == TABLE_OID,
        name,
        oid,
    });
    Ok(Layout { columns: columns.collect() })
}

/// The sequence that a name without arguments names.
pub fn sequence(name: &ast::ObjectName, world: &World) -> Option<String> {
    let parts: Vec<String> = name.0.iter().filter_map(|part| part.as_ident()).map(folded).collect();
    let named = |full: &str| world.sequence_named(full).map(|found| found.name.clone());
    world.schemas.lookup(&world.path, &parts, named)
}

fn unknown(name: &ast::ObjectName) -> SqlError {
    SqlError::new("42P01", format!("relation \"{name}\" does not exist"))
}

fn factor_rows(
    factor: &TableFactor,
    scope: Option<&Scope<'_>>,
    context: &Context<'_>,
) -> Result<Vec<Row>, SqlError> {
    let layout = Layout::default();
    let empty = Scope { layout: &layout, row: &[], group: None, outer: None };
    let scope_of = scope.unwrap_or(&empty);
    let numbered = |values: Vec<Value>, with_ordinality: bool| {
        let row = |(at, value): (usize, Value)| match with_ordinality {
            true => vec![value, Value::Int(at as i64 + 1)],
            false => vec![value],
        };
        values.into_iter().enumerate().map(row).collect()
    };
    match factor {
        TableFactor::Table { name, args: None, .. } => {
            if let Some(cte) = context.cte(name) {
                return Ok(cte.rows.clone());
            }
            if let Some(sequence) = sequence(name, context.world) {
                return Ok(vec![context.world.sequence_row(&sequence)?]);
            }
            let relation = relation(name).ok_or_else(|| unknown(name))?;
            crate::roles::check_readable(relation, context.world)?;
            let mut rows = fill::rows(relation, context.world);
            let oid = Value::Int(crate::names::relation_oid(relation));
            rows.iter_mut().for_each(|row| row.push(oid.clone()));
            Ok(rows)
        }
        TableFactor::Derived { subquery, .. } => run(subquery, scope, context),
        TableFactor::Table { name, args: Some(args), with_ordinality, .. } => {
            let values = call_arguments(&args.args, scope_of, context)?;
            Ok(numbered(set_of(name, &values, context)?, *with_ordinality))
        }
        TableFactor::Function { name, args, with_ordinality, .. } => {
            let values = call_arguments(args, scope_of, context)?;
            Ok(numbered(set_of(name, &values, context)?, *with_ordinality))
        }
        TableFactor::UNNEST { array_exprs, with_ordinality, .. } => {
            let [array] = array_exprs.as_slice() else {
                return Err(unsupported("unnest of several arrays"));
            };
            let value = context.value(array, scope_of)?;
            Ok(numbered(functions::set("unnest", &[value])?, *with_ordinality))
        }
        other => Err(unsupported(format!("`{other}` in FROM"))),
    }
}

fn set_of(
    name: &ast::ObjectName,
    values: &[Value],
    context: &Context<'_>,
) -> Result<Vec<Value>, SqlError> {
    let name = name.0.last().and_then(|part| part.as_ident()).map(folded).unwrap_or_default();
    match functions::returns_set(&name) {
        true => functions::set(&name, values),
        false => Ok(vec![functions::call(&name, values, context.world)?]),
    }
}

fn call_arguments(
    arguments: &[ast::FunctionArg],
    scope: &Scope<'_>,
    context: &Context<'_>,
) -> Result<Vec<Value>, SqlError> {
    let value = |argument: &ast::FunctionArg| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expression)) => {
            context.value(expression, scope)
        }
        other => Err(unsupported(format!("the argument `{other}`"))),
    };
    arguments.iter().map(value).collect()
}
