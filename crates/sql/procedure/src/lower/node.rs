//! Lowers nodes by type.

use super::Lowering;
use super::error::{LowerError, title};
use super::scan::pass_on;
use super::scope::{Scope, ScopeRow, Visible, hidden, is_system, passes_on, plain};
use super::statement_facts::tables_of;
use crate::node::{Node, Operator, SortKey};
use postgres_plan::Expression;
use postgres_plan::node::{self, Strategy};
use sql::SqlType;
use sql::expression::{Expr, ExprKind};
use sql::query::{OrderBy, OrderKey, Select, SelectBody};
use sql::typing;

/// A lowered node, and the values that it delivers.
pub(super) type Lowered = Result<(Node, ScopeRow), LowerError>;

/// `LIMIT` and `OFFSET` of a query.
struct Bounds {
    limit: Option<Expr>,
    offset: Option<Expr>,
    /// Whether they apply to ordered rows.
    is_ordered: bool,
}

impl<'a> Lowering<'a> {
    /// Lowers a node inside the scope `around`. `is_ordered` says whether an ancestor relies on the
    /// order of its rows.
    pub(super) fn node(
        &mut self,
        around: Option<&Scope<'_>>,
        node: &'a node::Node,
        is_ordered: bool,
    ) -> Lowered {
        self.path.push(title(&node.operator));
        self.init_plans(&node.init_plans)?;
        self.named.extend(node.sub_plans.iter().map(|sub| (&*sub.name, sub)));
        let lowered = self.operator(around, node, is_ordered)?;
        self.path.pop();
        Ok(lowered)
    }

    fn operator(
        &mut self,
        around: Option<&Scope<'_>>,
        node: &'a node::Node,
        is_ordered: bool,
    ) -> Lowered {
        use node::Operator as Plan;
        match &node.operator {
            Plan::IndexScan(_) | Plan::BitmapHeapScan { .. } | Plan::SequentialScan { .. } => {
                self.scan(around, node, is_ordered)
            }
            Plan::TidScan { .. } => self.error("rows are found by ctid; find them by a key"),
            Plan::Join(join) => self.join(around, node, join, is_ordered),
            Plan::Hash { input } | Plan::Materialize { input } | Plan::Memoize { input, .. } => {
                self.node(around, input, is_ordered)
            }
            Plan::Sort { keys, presorted, input } => {
                let (input, row) = self.node(around, input, *presorted > 0)?;
                let sources = [row];
                let scope = Scope { around, sources: &sources };
                let keys = self.sort_keys(&scope, keys)?;
                self.finish_passing(&scope, node, Operator::Sort { keys, input: Box::new(input) })
            }
            Plan::Limit { input } => self.limit(around, node, input, is_ordered),
            Plan::Aggregate { strategy, keys, filter, input } => {
                let is_sorted = *strategy == Strategy::Sorted;
                self.aggregate(around, node, keys, is_sorted, filter.as_ref(), input)
            }
            Plan::Group { keys, filter, input } => {
                self.aggregate(around, node, keys, true, filter.as_ref(), input)
            }
            Plan::Unique { input } => {
                let (input, row) = self.node(around, input, true)?;
                let scope = Scope { around, sources: &[row] };
                self.finish_passing(&scope, node, Operator::Unique { input: Box::new(input) })
            }
            Plan::Result { .. } => self.result(around, node, is_ordered),
            Plan::ProjectSet { .. } => {
                self.error("a set-returning function is among the columns; write it in FROM")
            }
            Plan::ValuesScan { alias, filter } => self.values(around, node, alias, filter.as_ref()),
            Plan::Append { inputs } => self.append(around, node, inputs, &[]),
            Plan::MergeAppend { keys, inputs } => self.append(around, node, inputs, keys),
            Plan::ModifyTable(modify) => self.modify(around, node, modify),
            Plan::LockRows { input } => self.lock(around, node, input, is_ordered),
            Plan::SubqueryScan { alias, filter, input } => {
                self.subquery(around, node, alias, filter.as_ref(), input, is_ordered)
            }
            Plan::FunctionScan { alias, calls, filter } => {
                self.function(around, node, alias, calls, filter.as_ref())
            }
            Plan::CteScan { .. } => self.error(
                "WITH is outside the supported SQL; write the query as a sub-select in FROM",
            ),
        }
    }

    /// Builds the node with its outputs.
    pub(super) fn finish(
        &mut self,
        scope: &Scope<'_>,
        node: &node::Node,
        operator: Operator,
    ) -> Lowered {
        let (outputs, row) = self.outputs(scope, &node.output)?;
        Ok((Node { operator, outputs, rows: node.estimate.rows }, row))
    }

    /// Builds a node whose outputs are those of its input; they are matched by position.
    fn finish_passing(
        &mut self,
        scope: &Scope<'_>,
        node: &node::Node,
        operator: Operator,
    ) -> Lowered {
        let shown = node.output.iter().filter(|shown| !is_system(shown));
        match scope.sources {
            [row] if passes_on(row, shown) => {
                let outputs = pass_on(row);
                Ok((Node { operator, outputs, rows: node.estimate.rows }, row.clone()))
            }
            _ => self.finish(scope, node, operator),
        }
    }

    pub(super) fn outputs(
        &mut self,
        scope: &Scope<'_>,
        shown: &[Expression],
    ) -> Result<(Vec<Expr>, ScopeRow), LowerError> {
        let mut outputs = Vec::with_capacity(shown.len());
        let mut row = Vec::with_capacity(shown.len());
        for shown in shown.iter().filter(|shown| !is_system(shown)) {
            let expr = self.typed(scope, shown)?;
            row.push(Visible { shown: plain(shown), sql_type: expr.sql_type.clone() });
            outputs.push(expr);
        }
        Ok((outputs, row))
    }

    fn sort_keys(
        &mut self,
        scope: &Scope<'_>,
        keys: &[postgres_plan::SortKey],
    ) -> Result<Vec<SortKey>, LowerError> {
        let mut sort_keys = Vec::with_capacity(keys.len());
        let told = match keys.iter().any(|key| scope.is_ambiguous(&key.value)) {
            true => self.keys_of_union(scope, keys),
            false => None,
        };
        for (at, key) in keys.iter().enumerate() {
            let value = match &told {
                Some(told) => told[at].clone(),
                None => self.key(scope, &key.value)?,
            };
            let (descending, nulls_first) = (key.descending, key.nulls_first);
            sort_keys.push(SortKey { value, descending, nulls_first });
        }
        Ok(sort_keys)
    }

    /// Returns the sort keys of a union as the statement writes them. If the statement has no
    /// order, PostgreSQL sorts by all columns, in order, to find duplicates.
    fn keys_of_union(
        &self,
        scope: &Scope<'_>,
        keys: &[postgres_plan::SortKey],
    ) -> Option<Vec<Expr>> {
        let [row] = scope.sources else { return None };
        let select =
            self.facts.main.filter(|select| matches!(select.body, SelectBody::Set { .. }))?;
        let columns: Vec<usize> = match select.order.is_empty() {
            true => (0..row.len()).collect(),
            false => {
                let column = |key: &OrderKey| match key.by {
                    OrderBy::Output(column) => Some(column),
                    OrderBy::Expr(_) => None,
                };
                select.order.iter().map(column).collect::<Option<_>>()?
            }
        };
        let all = pass_on(row);
        let is_shown = |(key, &column): (&postgres_plan::SortKey, &usize)| {
            row.get(column).is_some_and(|visible| plain(&visible.shown) == plain(&key.value))
        };
        let is_told = columns.len() == keys.len() && keys.iter().zip(&columns).all(is_shown);
        is_told.then(|| columns.iter().map(|&column| all[column].clone()).collect())
    }

    /// Returns a sort or group key. Plans print keys without marking the values that the input
    /// computes.
    fn key(&mut self, scope: &Scope<'_>, shown: &Expression) -> Result<Expr, LowerError> {
        match scope.find(shown) {
            Some(found) => Ok(found),
            None if scope.is_ambiguous(shown) => self.ambiguous(),
            None => self.typed(scope, shown),
        }
    }

    /// Reports that a plan uses one name for two columns of a union: it names them as the first
    /// query does.
    pub(super) fn ambiguous<T>(&self) -> Result<T, LowerError> {
        self.error(
            "the first query of a UNION has the same value in two columns, which the plan does not distinguish; begin with \
             another query, or write one of the two otherwise",
        )
    }

    fn limit(
        &mut self,
        around: Option<&Scope<'_>>,
        node: &'a node::Node,
        input: &'a node::Node,
        is_ordered: bool,
    ) -> Lowered {
        let Bounds { limit, offset, is_ordered: has_order } = self.bounds(node)?;
        // `LIMIT` keeps the first rows in the query's order, even if no ancestor relies on the
        // order.
        let (input, row) = self.node(around, input, is_ordered || has_order)?;
        let scope = Scope { around, sources: &[row] };
        self.finish_passing(&scope, node, Operator::Limit { limit, offset, input: Box::new(input) })
    }

    /// Returns `LIMIT` and `OFFSET` of the main query, or of the sub-select over the same tables.
    fn bounds(&mut self, node: &node::Node) -> Result<Bounds, LowerError> {
        let has_bounds = |select: &&&Select| select.limit.is_some() || select.offset.is_some();
        let is_inside = self.init_depth + self.asking > 0;
        let main = self.facts.main.filter(|select| has_bounds(&select));
        let select = match main {
            Some(main) if !is_inside && !self.main_limit_taken => {
                self.main_limit_taken = true;
                main
            }
            _ => {
                let mut tables = Vec::new();
                node.walk(&mut |node| {
                    tables.extend(node.relation().map(|relation| relation.name.clone()))
                });
                tables.sort();
                let others = self.facts.others.iter().filter(has_bounds);
                let mut others = others.filter(|select| tables_of(select, self.catalog) == tables);
                match (others.next(), others.next()) {
                    (Some(select), None) => *select,
                    (None, _) if self.init_depth > 0 && self.facts.has_extreme => {
                        let one = Expr { kind: ExprKind::Integer(1), sql_type: SqlType::Int8 };
                        return Ok(Bounds { limit: Some(one), offset: None, is_ordered: true });
                    }
                    _ => return self.error("the plan does not show which LIMIT of the statement this is; write the queries as separate statements"),
                }
            }
        };
        let (limit, offset) = (select.limit.clone(), select.offset.clone());
        let has_query = |expr: &Option<Expr>| expr.as_ref().is_some_and(Expr::has_subquery);
        if has_query(&limit) || has_query(&offset) {
            return self.error("LIMIT has a sub-select; compute it into a variable first");
        }
        // A query without an order of its own inherits the order of a sub-select.
        let is_ordered = !select.order.is_empty() || self.facts.has_inner_order();
        Ok(Bounds { limit, offset, is_ordered })
    }

    fn aggregate(
        &mut self,
        around: Option<&Scope<'_>>,
        node: &'a node::Node,
        keys: &[Expression],
        is_sorted: bool,
        filter: Option<&Expression>,
        input: &'a node::Node,
    ) -> Lowered {
        // `array_agg` takes its elements in the order of the rows.
        let makes_array = || {
            let mut found = false;
            node.output.iter().for_each(|output| {
                output.walk(&mut |part| {
                    found |= matches!(part, Expression::Call(call) if call.function == "array_agg")
                });
            });
            found
        };
        let is_ordered = is_sorted || makes_array() && self.facts.has_inner_order();
        let (input, row) = self.node(around, input, is_ordered)?;
        let sources = [row];
        let scope = Scope { around, sources: &sources };
        let [row] = &sources;
        // `UNION` without `ALL` groups by all columns.
        let is_whole = passes_on(row, keys.iter()) && passes_on(row, node.output.iter());
        let keys = match is_whole {
            true => pass_on(row),
            false => keys.iter().map(|key| self.key(&scope, key)).collect::<Result<_, _>>()?,
        };
        let filter = self.condition(&scope, filter)?;
        let operator = Operator::Aggregate { keys, is_sorted, filter, input: Box::new(input) };
        match is_whole {
            true => self.finish_passing(&scope, node, operator),
            false => self.finish(&scope, node, operator),
        }
    }

    fn result(
        &mut self,
        around: Option<&Scope<'_>>,
        node: &'a node::Node,
        is_ordered: bool,
    ) -> Lowered {
        let node::Operator::Result { one_time_filter, filter, input } = &node.operator else {
            return self.error("this is not a Result");
        };
        let condition = self.condition(&Scope::outside(around), one_time_filter.as_ref())?;
        let lowered =
            input.as_deref().map(|input| self.node(around, input, is_ordered)).transpose()?;
        let (input, sources) = match lowered {
            Some((input, row)) => (Some(Box::new(input)), vec![row]),
            None => (None, vec![]),
        };
        let is_never =
            condition.as_ref().is_some_and(|condition| condition.kind == ExprKind::Bool(false));
        if input.is_none() && is_never {
            return self.nothing(node);
        }
        let scope = Scope { around, sources: &sources };
        let filter = self.condition(&scope, filter.as_ref())?;
        self.finish(&scope, node, Operator::Project { condition, filter, input })
    }

    /// Lowers a node without rows. The plan names columns of tables that it does not read; their
    /// types come from the statement.
    fn nothing(&mut self, node: &'a node::Node) -> Lowered {
        let sources = self.facts.rows();
        let scope = Scope { around: None, sources: &sources };
        let (outputs, row) = self.outputs(&scope, &node.output)?;
        let null = |output: Expr| Expr { kind: ExprKind::Null, ..output };
        let outputs = outputs.into_iter().map(null).collect();
        let condition = Some(Expr { kind: ExprKind::Bool(false), sql_type: SqlType::Bool });
        let operator = Operator::Project { condition, filter: None, input: None };
        Ok((Node { operator, outputs, rows: node.estimate.rows }, row))
    }

    fn append(
        &mut self,
        around: Option<&Scope<'_>>,
        node: &'a node::Node,
        inputs: &'a [node::Node],
        keys: &[postgres_plan::SortKey],
    ) -> Lowered {
        let mut nodes = Vec::with_capacity(inputs.len());
        let mut rows = Vec::with_capacity(inputs.len());
        for input in inputs {
            let (node, row) = self.node(around, input, !keys.is_empty())?;
            nodes.push(node);
            rows.push(row);
        }
        let row = self.unite(&mut nodes, &rows)?;
        let sources = [row];
        let scope = Scope { around, sources: &sources };
        let operator = match keys {
            [] => Operator::Append { inputs: nodes },
            keys => Operator::MergeAppend { keys: self.sort_keys(&scope, keys)?, inputs: nodes },
        };
        // PostgreSQL prints no outputs for such a node: they are those of its first input.
        let outputs = pass_on(&sources[0]);
        let [row] = sources;
        Ok((Node { operator, outputs, rows: node.estimate.rows }, row))
    }

    /// Casts the columns of all inputs to their common types: plans do not print these casts.
    fn unite(&mut self, nodes: &mut [Node], rows: &[ScopeRow]) -> Result<ScopeRow, LowerError> {
        let Some(first) = rows.first() else {
            return self.error("it has no inputs; create the plans again");
        };
        if rows.iter().any(|row| row.len() != first.len()) {
            return self
                .error("its inputs have different numbers of columns; create the plans again");
        }
        let mut united = Vec::with_capacity(first.len());
        for (column, visible) in first.iter().enumerate() {
            let types: Vec<SqlType> = rows.iter().map(|row| row[column].sql_type.clone()).collect();
            let Some(common) = typing::common_type(&types) else {
                return self.error(format!(
                    "column {} has incompatible types; convert them with CAST",
                    column + 1
                ));
            };
            for node in &mut *nodes {
                let Some(output) = node.outputs.get_mut(column) else { continue };
                if let Some(converted) =
                    typing::convert(output.clone(), &common, typing::Conversion::Operand)
                {
                    *output = converted;
                }
            }
            united.push(Visible { shown: visible.shown.clone(), sql_type: common });
        }
        // The first query names the columns. If it has one value in several columns, the other
        // queries may have different values there.
        let is_same = |one: usize, other: usize| {
            nodes.iter().all(|node| node.outputs.get(one) == node.outputs.get(other))
        };
        let is_ambiguous = |at: usize| {
            (0..first.len())
                .any(|other| first[other].shown == first[at].shown && !is_same(at, other))
        };
        let ambiguous: Vec<usize> = (0..first.len()).filter(|&at| is_ambiguous(at)).collect();
        for at in ambiguous {
            united[at].shown = hidden(&plain(&first[at].shown));
        }
        Ok(united)
    }
}
