//! Sub plans and init plans: how their rows are used.
//!
//! A plan prints `(SubPlan 1)` or `$0` where it uses a sub-select. It does not print whether the
//! sub-select is a scalar, an `EXISTS`, an array or an `IN`; that follows from the statement's
//! sub-selects over the same tables.

use super::Lowering;
use super::error::LowerError;
use super::scope::{Scope, ScopeRow, column_of};
use super::statement_facts::tables_of;
use crate::node::{Node, SubPlan};
use sql::expression::{ColumnRef, Expr, ExprKind, SubqueryKind};
use sql::query::From;
use sql::{SqlType, typing};

impl<'a> Lowering<'a> {
    /// Returns the value of an init plan.
    pub(super) fn init_plan_output(&mut self, number: u32) -> Result<Expr, LowerError> {
        match self.delivered.get(&number) {
            Some(expr) => Ok(expr.clone()),
            None => self
                .error(format!("no init plan above it returns ${number}; create the plans again")),
        }
    }

    /// Lowers the init plans of a node first, so that the node and its descendants find their
    /// values.
    pub(super) fn init_plans(
        &mut self,
        plans: &'a [postgres_plan::SubPlan],
    ) -> Result<(), LowerError> {
        for init in plans {
            if init.name.starts_with("CTE ") {
                return self.error(
                    "WITH is outside the supported SQL; write the query as a sub-select in FROM",
                );
            }
            let [number] = init.delivers[..] else {
                return self.error(format!(
                    "{} returns several columns; write one sub-select for each",
                    init.name
                ));
            };
            let kind = self.kind(&init.plan, true, &Scope::outside(None))?;
            let depth = std::mem::replace(&mut self.init_depth, 1);
            let is_ordered = self.facts.has_inner_order() || self.facts.has_extreme;
            let lowered = self.node(None, &init.plan, is_ordered);
            self.init_depth = depth;
            let expr = self.add_plan(lowered?, kind, false)?;
            self.delivered.insert(number, expr);
        }
        Ok(())
    }

    /// Returns the value of `(SubPlan n)` in `scope`.
    pub(super) fn sub_plan_value(
        &mut self,
        scope: &Scope<'_>,
        name: &str,
    ) -> Result<Expr, LowerError> {
        let Some(sub) = self.named.get(name).copied() else {
            return self.error(format!("there is no {name} here; create the plans again"));
        };
        if self.asking >= SUBSELECTS_MAX {
            return self.error(
                "sub-selects are nested too deeply; write the inner ones as separate statements",
            );
        }
        let kind = self.kind(&sub.plan, false, scope)?;
        self.asking += 1;
        let is_ordered = self.facts.has_inner_order();
        let lowered = self.node(Some(scope), &sub.plan, is_ordered);
        self.asking -= 1;
        self.add_plan(lowered?, kind, true)
    }

    fn add_plan(
        &mut self,
        (root, row): (Node, ScopeRow),
        kind: SubqueryKind,
        may_depend: bool,
    ) -> Result<Expr, LowerError> {
        let first = row.first().map(|visible| visible.sql_type.clone());
        let (kind, sql_type) = match (kind, first) {
            (kind @ SubqueryKind::Exists { .. }, _) => (kind, SqlType::Bool),
            (SubqueryKind::Scalar, Some(first)) => (SubqueryKind::Scalar, first),
            (SubqueryKind::Array, Some(first)) => {
                (SubqueryKind::Array, SqlType::Array(Box::new(first)))
            }
            (SubqueryKind::In { operand, negated }, Some(first)) => {
                let types = [operand.sql_type.clone(), first.clone()];
                let converted = typing::common_type(&types)
                    .filter(|common| common.base() == first.base())
                    .and_then(|common| {
                        typing::convert(*operand, &common.base(), typing::Conversion::Operand)
                    });
                let Some(operand) = converted else {
                    return self.error("the value before IN has another type than the rows after it; convert it with CAST");
                };
                (SubqueryKind::In { operand: Box::new(operand), negated }, SqlType::Bool)
            }
            (_, None) => return self.error("a sub-select returns no column"),
        };
        let is_correlated = may_depend && reach(&self.sub_plans, &root) > 0;
        let plan = self.sub_plans.len();
        self.sub_plans.push(SubPlan { root, is_correlated });
        Ok(Expr { kind: ExprKind::SubPlan { kind, plan }, sql_type })
    }

    /// Returns how a plan's rows are used: the kind of all sub-selects over the same tables, if
    /// they have one kind in common.
    fn kind(
        &mut self,
        plan: &postgres_plan::Node,
        is_init: bool,
        scope: &Scope<'_>,
    ) -> Result<SubqueryKind, LowerError> {
        if !has_outputs(plan) {
            return Ok(SubqueryKind::Exists { negated: false });
        }
        let mut tables = Vec::new();
        plan.walk(&mut |node| tables.extend(node.relation().map(|relation| relation.name.clone())));
        tables.sort();
        let others = self
            .facts
            .subselects
            .iter()
            .filter(|subselect| !matches!(subselect.kind, SubqueryKind::Exists { .. }));
        let of_tables =
            others.filter(|subselect| tables_of(subselect.query, self.catalog) == tables);
        let mut kinds: Vec<&SubqueryKind> = of_tables.map(|subselect| subselect.kind).collect();
        kinds.dedup();
        match kinds[..] {
            [SubqueryKind::In { operand, negated }] if !is_init => {
                let operand = Box::new(self.in_scope(operand, scope)?);
                Ok(SubqueryKind::In { operand, negated: *negated })
            }
            [kind] if !matches!(kind, SubqueryKind::In { .. }) => Ok(kind.clone()),
            // A `min` or `max`, which PostgreSQL may read from an index.
            [] if is_init && self.facts.has_extreme => Ok(SubqueryKind::Scalar),
            _ => self.error("the plan does not show which sub-select of the statement this is; write them as separate statements"),
        }
    }

    /// Translates an expression of the statement to the columns that a node sees.
    fn in_scope(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<Expr, LowerError> {
        let mut expr = expr.clone();
        let mut missing = false;
        let sources = self.facts.main_sources();
        replace_columns(&mut expr, scope, sources, &mut missing);
        if missing || expr.has_subquery() {
            return self.error("the value before IN is not available at this node; write EXISTS");
        }
        Ok(expr)
    }
}

/// Whether a plan has output columns; a union has those of its first input.
fn has_outputs(plan: &postgres_plan::Node) -> bool {
    use postgres_plan::Operator;
    match &plan.operator {
        Operator::Append { inputs } | Operator::MergeAppend { inputs, .. } => {
            inputs.first().is_some_and(has_outputs)
        }
        _ => !plan.output.is_empty(),
    }
}

/// Maximum nesting depth of sub-selects.
const SUBSELECTS_MAX: u32 = 20;

fn replace_columns(expr: &mut Expr, scope: &Scope<'_>, sources: &[From], missing: &mut bool) {
    if let ExprKind::Column(ColumnRef { level: 0, source, column }) = expr.kind {
        let name =
            sources.get(source).and_then(|from| Some((&from.alias, from.columns.get(column)?)));
        match name.and_then(|(alias, field)| scope.find(&column_of(alias, &field.name))) {
            Some(found) => *expr = found,
            None => *missing = true,
        }
        return;
    }
    *missing |= matches!(expr.kind, ExprKind::Column(_));
    expr.for_each_child_mut(&mut |child| replace_columns(child, scope, sources, missing));
}

/// Returns the outermost level that a node refers to, not counting its own nested loops.
fn reach(plans: &[SubPlan], node: &Node) -> u32 {
    let mut reach = 0;
    node.for_each_expr(&mut |expr| {
        expr.visit(&mut |part| match &part.kind {
            ExprKind::Column(column) => reach = reach.max(column.level),
            ExprKind::SubPlan { plan, .. } => {
                // Level 1 of the sub plan is this node's row.
                let inside = plans.get(*plan).map_or(0, |plan| self::reach(plans, &plan.root));
                reach = reach.max(inside.saturating_sub(1));
            }
            _ => {}
        });
    });
    let below = node
        .inputs()
        .into_iter()
        .map(|(input, is_inner)| self::reach(plans, input).saturating_sub(u32::from(is_inner)));
    below.fold(reach, u32::max)
}
