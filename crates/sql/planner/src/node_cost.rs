//! The costs of a plan's nodes, for `EXPLAIN`.
//!
//! The planner compares paths and keeps the cost of the chosen one. Here the same model is applied
//! to the finished nodes, each with its inputs.

use crate::cost::Costs;
use crate::planner::row_bytes;
use crate::statement::Knowledge;
use procedure::Node;
use procedure::node::{Access, Join, JoinKind, JoinMethod, Operator, Scan, Statement};
use sql::expression::ExprKind;

/// Operations of an expression, about.
const OPERATIONS: f64 = 3.0;

/// The cost of a node with its inputs, per execution, in the unit of [`Costs`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct NodeCost {
    /// Until the first row.
    pub first: f64,
    pub total: f64,
}

impl NodeCost {
    /// A cost that comes before the first row.
    fn whole(total: f64) -> Self {
        Self { first: total, total }
    }

    /// The cost of some of `rows` rows.
    fn part(self, wanted: f64, rows: f64) -> Self {
        let fraction = (wanted / rows.max(1.0)).min(1.0);
        Self { total: self.first + (self.total - self.first) * fraction, ..self }
    }

    fn plus(self, more: f64) -> Self {
        Self { total: self.total + more, ..self }
    }
}

/// The costs of a statement's nodes, by their numbers: in the order of [`Node::walk`], first those
/// of the root, then those of each sub plan.
pub fn node_costs(knowledge: Knowledge<'_>, statement: &Statement) -> Vec<NodeCost> {
    let mut costs = Vec::new();
    let nodes = Nodes { knowledge, costs: knowledge.costs };
    let plans = statement.sub_plans.iter().map(|plan| &plan.root);
    for root in std::iter::once(&statement.root).chain(plans) {
        nodes.node(root, &mut costs);
    }
    costs
}

struct Nodes<'k> {
    knowledge: Knowledge<'k>,
    costs: Costs,
}

impl Nodes<'_> {
    /// Notes the costs of a node and its inputs.
    fn node(&self, node: &Node, noted: &mut Vec<NodeCost>) -> NodeCost {
        let inputs: Vec<(NodeCost, f64)> = node
            .inputs()
            .into_iter()
            .map(|(input, _)| (self.node(input, noted), input.rows as f64))
            .collect();
        let cost = self.of(node, &inputs);
        noted.push(cost);
        cost
    }

    fn of(&self, node: &Node, inputs: &[(NodeCost, f64)]) -> NodeCost {
        let rows = node.rows as f64;
        let computed =
            node.outputs.iter().filter(|output| !matches!(output.kind, ExprKind::Column(_)));
        let delivered =
            rows * (self.costs.row + computed.count() as f64 * OPERATIONS * self.costs.operation);
        let all = inputs.iter().map(|(cost, _)| cost.total).sum::<f64>();
        let (input, input_rows) = inputs.first().copied().unwrap_or_default();
        match &node.operator {
            Operator::Scan(scan) => self.scan(scan, rows),
            Operator::Join(join) => self.join(join, inputs).plus(delivered),
            Operator::Sort { .. } => {
                NodeCost::whole(input.total + self.costs.sort(input_rows)).plus(delivered)
            }
            Operator::Limit { .. } => input.part(rows, input_rows),
            Operator::Aggregate { keys, is_sorted, .. } => {
                let added = input_rows * self.costs.row;
                match (keys.is_empty(), is_sorted) {
                    (false, true) => input.plus(added),
                    (true, _) => NodeCost::whole(input.total + added),
                    (false, false) => {
                        NodeCost::whole(input.total + added + self.costs.sort(input_rows))
                    }
                }
                .plus(delivered)
            }
            Operator::Append { .. } => NodeCost { first: input.first, total: all }.plus(delivered),
            Operator::MergeAppend { .. } => {
                let first = inputs.iter().map(|(cost, _)| cost.first).sum();
                NodeCost { first, total: all }.plus(delivered)
            }
            Operator::Insert(_) | Operator::Update(_) | Operator::Delete(_) => {
                // Rows are locked and written together, in two round trips.
                let written = input_rows.max(1.0) * self.costs.row + 2.0 * self.costs.round_trip;
                input.plus(written)
            }
            _ => input.plus(delivered),
        }
    }

    fn scan(&self, scan: &Scan, rows: f64) -> NodeCost {
        let table = &self.knowledge.catalog.tables[scan.table];
        let bytes = row_bytes(table);
        let filtered = if scan.filter.is_some() { OPERATIONS * self.costs.operation } else { 0.0 };
        let whole = self.knowledge.statistics.rows(scan.table);
        let found = |access: &Access| match access {
            Access::Key(_) => self.costs.key(bytes),
            Access::Lookup { .. } => self.costs.lookup(rows, bytes),
            Access::Range(range) => self.costs.range(rows, bytes, range.index.is_none()),
            _ => self.costs.all(whole, bytes),
        };
        let total = match &scan.access {
            Access::Any(accesses) => accesses.iter().map(found).sum(),
            Access::Each { access, .. } => rows * found(access),
            Access::All => self.costs.all(whole, bytes) + whole * filtered,
            access => found(access),
        };
        let first = match &scan.access {
            Access::Range(_) | Access::All => self.costs.round_trip.min(total),
            _ => total,
        };
        NodeCost { first, total }.plus(rows * filtered)
    }

    fn join(&self, join: &Join, inputs: &[(NodeCost, f64)]) -> NodeCost {
        let &[(outer, outer_rows), (inner, inner_rows)] = inputs else {
            return NodeCost::default();
        };
        match &join.method {
            JoinMethod::Equal { pairs, .. } => {
                let first = outer.first + inner.total + self.costs.sort(inner_rows);
                let joined = self.costs.equal_join(outer_rows, inner_rows, pairs.len());
                NodeCost { first, total: outer.total + inner.total + joined }
            }
            JoinMethod::NestedLoop => {
                let first = outer.first + inner.first;
                let executed = match &join.inner.operator {
                    Operator::Scan(Scan { table, access: Access::Key(_), .. }) => {
                        let bytes = row_bytes(&self.knowledge.catalog.tables[*table]);
                        self.costs.keyed_loop(outer_rows, bytes)
                    }
                    _ if matches!(join.kind, JoinKind::Semi | JoinKind::Anti) => {
                        outer_rows * inner.part(1.0, inner_rows).total
                    }
                    _ => outer_rows * inner.total,
                };
                NodeCost { first, total: outer.total + executed }
            }
        }
    }
}
