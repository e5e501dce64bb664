//! Functions that return sets, as outputs of a query: `SELECT unnest(a) FROM t`. Their rows are
//! joined to those of the query, as if they were behind its sources in `FROM`.

use super::scope::Scope;
use super::{Resolver, ident_name, object_parts};
use crate::error::Result;
use crate::query::{From, FromKind, OrderKey, SelectBody};
use sqlparser::ast::{
    self, FunctionArguments, Ident, SelectItem, Spanned, TableAlias, TableAliasColumnDef,
    TableFactor, TableWithJoins,
};

/// The functions with one column.
const SETS: [&str; 8] = [
    "unnest",
    "generate_series",
    "json_array_elements",
    "jsonb_array_elements",
    "json_array_elements_text",
    "jsonb_array_elements_text",
    "json_object_keys",
    "jsonb_object_keys",
];
/// The name of the source and its column, which statements do not use.
const HIDDEN: &str = "?rows of an output?";

impl Resolver<'_> {
    /// Resolves a `SELECT` without set operations.
    pub(super) fn plain(
        &mut self,
        parent: Option<&Scope<'_>>,
        select: &ast::Select,
        order_by: Option<&ast::OrderBy>,
    ) -> Result<(SelectBody, Vec<OrderKey>)> {
        let Some(moved) = self.with_set_in_from(select)? else {
            return self.rows(parent, select, order_by);
        };
        let beside_groups = |resolver: &Self| {
            let what = "a function that returns rows beside aggregates or window functions";
            resolver.outside(select.span(), what, "write one of them in a sub-select")
        };
        let found = self.rows(parent, &moved, order_by);
        let (body, order) = found.map_err(|error| match error.sqlstate() {
            "42803" => beside_groups(self),
            _ => error,
        })?;
        let is_windows = |source: &From| matches!(source.kind, FromKind::Windows(_));
        if let SelectBody::Plain(plain) = &body
            && (plain.is_grouped || plain.sources.iter().any(is_windows))
        {
            return Err(beside_groups(self));
        }
        Ok((body, order))
    }

    /// The query with its output that returns rows in `FROM`; `None` if it has none.
    fn with_set_in_from(&self, select: &ast::Select) -> Result<Option<ast::Select>> {
        let found = select.projection.iter().enumerate();
        let mut found = found.filter_map(|(at, item)| self.set_of(item).map(|set| (at, set)));
        let Some((at, (name, function))) = found.next().filter(|_| self.names.has_own_plans) else {
            return Ok(None);
        };
        let span = function.span();
        let is_wildcard = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_));
        if found.next().is_some() || select.projection.iter().any(is_wildcard) {
            let what = "a function that returns rows beside another one, or beside *";
            let advice = "write it in FROM, and its alias here";
            return Err(self.outside(span, what, advice));
        }
        let FunctionArguments::List(list) = &function.args else { return Ok(None) };
        let hidden = Ident::with_quote('"', HIDDEN);
        let column = TableAliasColumnDef { name: hidden.clone(), data_type: None };
        let alias =
            TableAlias { explicit: true, name: hidden.clone(), columns: vec![column], at: None };
        let relation = TableFactor::Function {
            lateral: false,
            name: function.name.clone(),
            args: list.args.clone(),
            with_ordinality: false,
            alias: Some(alias),
        };
        let mut moved = select.clone();
        moved.from.push(TableWithJoins { relation, joins: Vec::new() });
        let alias = match &select.projection[at] {
            SelectItem::ExprWithAlias { alias, .. } => alias.clone(),
            _ => Ident::with_quote('"', name),
        };
        moved.projection[at] =
            SelectItem::ExprWithAlias { expr: ast::Expr::Identifier(hidden), alias };
        Ok(Some(moved))
    }

    /// The function of an output that returns rows, with its name.
    fn set_of<'s>(&self, item: &'s SelectItem) -> Option<(String, &'s ast::Function)> {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
            return None;
        };
        let ast::Expr::Function(function) = expr else { return None };
        let parts = object_parts(&function.name)?;
        let name = ident_name(parts.last()?);
        let is_builtin = parts.len() == 1 || ident_name(parts[0]) == "pg_catalog";
        let is_own = self.own_routine(&function.name).is_some() && self.set_column(&name).is_some();
        (is_builtin && SETS.contains(&&*name) || is_own).then_some((name, function))
    }
}
