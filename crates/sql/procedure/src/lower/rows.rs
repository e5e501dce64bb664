//! Lowers `VALUES`, set-returning functions and sub-selects in `FROM`.

use super::Lowering;
use super::error::LowerError;
use super::node::Lowered;
use super::scan::pass_on;
use super::scope::{Scope, ScopeRow, Visible, column_of};
use super::statement_facts::{ListValue, Subselect};
use crate::node::Operator;
use postgres_plan::Expression;
use postgres_plan::node;
use sql::expression::{Expr, ExprKind, SubqueryKind};
use sql::query::{FromKind, Select, SelectBody};
use sql::types::Field;
use sql::{SqlType, typing};

impl<'a> Lowering<'a> {
    pub(super) fn values(
        &mut self,
        around: Option<&Scope<'_>>,
        node: &'a node::Node,
        alias: &str,
        filter: Option<&Expression>,
    ) -> Lowered {
        let rows = self.listed()?;
        let Some(first) = rows.first() else {
            return self.error("the list after VALUES is empty");
        };
        let visible = |(at, value): (usize, &Expr)| Visible {
            shown: column_of(alias, &format!("column{}", at + 1)),
            sql_type: value.sql_type.clone(),
        };
        let sources = [first.iter().enumerate().map(visible).collect()];
        let scope = Scope { around, sources: &sources };
        let filter = self.condition(&scope, filter)?;
        self.finish(&scope, node, Operator::Values { rows, filter })
    }

    /// Returns the rows of the statement's only `VALUES` list, cast to one type per column.
    fn listed(&mut self) -> Result<Vec<Vec<Expr>>, LowerError> {
        let [list] = &self.facts.lists[..] else {
            return self.error("the statement has several VALUES lists, and the plan does not show which this is; write a statement for each");
        };
        let value = |value: &ListValue<'_>| match value {
            ListValue::Written(expr) => (*expr).clone(),
            ListValue::Default(table, column) => self.default_of(*table, *column),
        };
        let mut rows: Vec<Vec<Expr>> =
            list.rows.iter().map(|row| row.iter().map(value).collect()).collect();
        let is_plain = |expr: &Expr| {
            let mut is_plain = true;
            expr.visit(&mut |part| {
                is_plain &= !matches!(part.kind, ExprKind::Column(_) | ExprKind::Subquery { .. })
            });
            is_plain
        };
        let width = rows.first().map_or(0, Vec::len);
        if rows.iter().any(|row| row.len() != width) || !rows.iter().flatten().all(is_plain) {
            return self.error("the list after VALUES has a sub-select or a column; write INSERT ... SELECT, or one statement for each row");
        }
        for column in 0..width {
            let types: Vec<SqlType> = rows.iter().map(|row| row[column].sql_type.clone()).collect();
            let Some(common) = typing::common_type(&types) else {
                return self
                    .error("the rows of VALUES have incompatible types; convert them with CAST");
            };
            for row in &mut rows {
                if let Some(converted) =
                    typing::convert(row[column].clone(), &common, typing::Conversion::Operand)
                {
                    row[column] = converted;
                }
            }
        }
        Ok(rows)
    }

    /// Returns the default of a column.
    fn default_of(&self, table: usize, column: usize) -> Expr {
        let column = &self.catalog.tables[table].columns[column];
        let null = || Expr { kind: ExprKind::Null, sql_type: column.sql_type.clone() };
        column.default.clone().unwrap_or_else(null)
    }

    /// Lowers `unnest` and `generate_series`.
    pub(super) fn function(
        &mut self,
        around: Option<&Scope<'_>>,
        node: &'a node::Node,
        alias: &str,
        calls: &[Expression],
        filter: Option<&Expression>,
    ) -> Lowered {
        let names = self.source_columns(alias, false);
        let outside = Scope::outside(around);
        let mut arrays = Vec::new();
        let mut bounds = Vec::new();
        for call in calls {
            let Expression::Call(call) = call else {
                return self.error(format!(
                    "`{call}` is not a supported function in FROM; write unnest or generate_series"
                ));
            };
            let arguments = call.arguments.iter().map(|argument| self.typed(&outside, argument));
            let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
            match &*call.function {
                "unnest" => arrays.extend(arguments),
                "generate_series" if calls.len() == 1 => bounds = arguments,
                other => return self.error(format!("the function {other} in FROM is outside the supported SQL; write unnest or generate_series")),
            }
        }
        let types = if bounds.is_empty() {
            self.element_types(&arrays)?
        } else {
            vec![self.series(&mut bounds)?]
        };
        let name = |at: usize| match names.as_ref().and_then(|names| names.get(at)) {
            Some(field) => field.name.clone(),
            None => alias.to_owned(),
        };
        let visible = |(at, sql_type)| Visible { shown: column_of(alias, &name(at)), sql_type };
        let sources: [ScopeRow; 1] = [types.into_iter().enumerate().map(visible).collect()];
        let scope = Scope { around, sources: &sources };
        let filter = self.condition(&scope, filter)?;
        let operator = match bounds.is_empty() {
            true => Operator::Unnest { arrays, filter },
            false => Operator::Series { bounds, filter },
        };
        self.finish(&scope, node, operator)
    }

    fn element_types(&self, arrays: &[Expr]) -> Result<Vec<SqlType>, LowerError> {
        let element = |array: &Expr| match &array.sql_type {
            SqlType::Array(element) => Ok((**element).clone()),
            other => self.error(format!("unnest needs arrays, but this is {other}")),
        };
        arrays.iter().map(element).collect()
    }

    /// Casts the bounds to their common type, which is returned.
    fn series(&self, bounds: &mut [Expr]) -> Result<SqlType, LowerError> {
        let types: Vec<SqlType> = bounds.iter().map(|bound| bound.sql_type.clone()).collect();
        let common = typing::common_type(&types).map(|common| match common {
            SqlType::Int2 => SqlType::Int4,
            other => other.base(),
        });
        let Some(common) = common.filter(|common| common.is_number() && *common != SqlType::Float8)
        else {
            return self.error("generate_series needs integers");
        };
        for bound in bounds {
            match typing::convert(bound.clone(), &common, typing::Conversion::Operand) {
                Some(converted) => *bound = converted,
                None => return self.error("generate_series needs integers"),
            }
        }
        Ok(common)
    }

    /// Lowers a named sub-select. Without a condition it is replaced by its input.
    pub(super) fn subquery(
        &mut self,
        around: Option<&Scope<'_>>,
        node: &'a node::Node,
        alias: &str,
        filter: Option<&Expression>,
        input: &'a node::Node,
        is_ordered: bool,
    ) -> Lowered {
        let is_ordered = is_ordered || self.facts.has_inner_order();
        let (mut below, below_row) = self.node(around, input, is_ordered)?;
        let Some(columns) = self.names_of(node, alias, filter, &below_row) else {
            return self.error(format!("the plan does not show which query of the statement `{alias}` is; give each query in FROM a different alias"));
        };
        let visible = |(field, below): (&Field, &Visible)| Visible {
            shown: column_of(alias, &field.name),
            sql_type: below.sql_type.clone(),
        };
        let sources: [ScopeRow; 1] = [columns.iter().zip(&below_row).map(visible).collect()];
        let scope = Scope { around, sources: &sources };
        let filter = self.condition(&scope, filter)?;
        let (outputs, row) = self.outputs(&scope, &node.output)?;
        // Further columns, by which the query only sorts or groups, are not visible outside.
        let is_all = below.outputs.len() == outputs.len();
        if filter.is_none() && is_all && outputs == pass_on(&sources[0]) {
            below.rows = node.estimate.rows;
            return Ok((below, row));
        }
        let operator = Operator::Project { condition: None, filter, input: Some(Box::new(below)) };
        Ok((crate::node::Node { operator, outputs, rows: node.estimate.rows }, row))
    }

    /// Returns the column names of a query. The plan uses the statement's alias for a sub-select in
    /// `FROM`, and makes up names for the parts of a union or the source of an `INSERT`.
    fn names_of(
        &self,
        node: &node::Node,
        alias: &str,
        filter: Option<&Expression>,
        row: &ScopeRow,
    ) -> Option<Vec<Field>> {
        let mut wanted: Vec<String> = Vec::new();
        for shown in node.output.iter().chain(filter) {
            shown.walk(&mut |part| {
                if let Expression::Column { relation, column } = part
                    && relation.as_deref() == Some(alias)
                {
                    wanted.push(column.clone());
                }
            });
        }
        let has_all = |fields: &Vec<Field>| {
            fields.len() <= row.len()
                && wanted.iter().all(|name| fields.iter().any(|field| field.name == **name))
        };
        let named = self.source_columns(alias, true).filter(has_all);
        let alike = |selects: Vec<&Select>| {
            let mut candidates: Vec<Vec<Field>> =
                selects.into_iter().flat_map(leaves).filter(has_all).collect();
            candidates.dedup();
            // Among several candidates accept only equal column names in the same order.
            let first = candidates.first()?.clone();
            let is_same = |fields: &Vec<Field>| {
                fields.iter().map(|field| &field.name).eq(first.iter().map(|field| &field.name))
            };
            candidates.iter().all(is_same).then_some(first)
        };
        if alias.starts_with("*SELECT*") {
            let selects = self.facts.main.iter().chain(&self.facts.others);
            return alike(selects.copied().collect());
        }
        // PostgreSQL's name for the sub-select of an `IN`, which has no name in the statement.
        if alias.starts_with("ANY_subquery") && named.is_none() {
            let is_in =
                |subselect: &&Subselect<'_>| matches!(subselect.kind, SubqueryKind::In { .. });
            return alike(
                self.facts
                    .subselects
                    .iter()
                    .filter(is_in)
                    .map(|subselect| subselect.query)
                    .collect(),
            );
        }
        named
    }

    /// Returns the columns of the source with that alias. If an alias occurs twice, the plan
    /// appends a number.
    fn source_columns(&self, alias: &str, is_query: bool) -> Option<Vec<Field>> {
        let numbered = alias.rsplit_once('_').filter(|(_, number)| number.parse::<u32>().is_ok());
        let names = [Some(alias), numbered.map(|(name, _)| name)];
        names.into_iter().flatten().find_map(|name| {
            let named = self.facts.sources.iter().filter(|source| {
                source.alias == name && matches!(source.kind, FromKind::Query(_)) == is_query
            });
            let mut columns: Vec<&Vec<Field>> = named.map(|source| &source.columns).collect();
            columns.dedup();
            match columns[..] {
                [columns] => Some(columns.clone()),
                _ => None,
            }
        })
    }
}

/// Returns the columns of the queries of a union, or of the query itself.
fn leaves(select: &Select) -> Vec<Vec<Field>> {
    match &select.body {
        SelectBody::Set { left, right, .. } => {
            leaves(left).into_iter().chain(leaves(right)).chain([select.fields()]).collect()
        }
        _ => vec![select.fields()],
    }
}
