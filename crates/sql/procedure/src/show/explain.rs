//! Prints plans in the text form of PostgreSQL's `EXPLAIN`.
//!
//! A join of equal values is shown as a hash join, or as a merge join if its result is in order. A
//! table name stands for an alias, which plans do not have. Estimates are numbers of rows.

use super::expr::{ELEMENT, Names, Style, Text};
use super::node::is_name;
use crate::node::{
    Access, Delete, Insert, Join, JoinKind, JoinMethod, Node, Operator, Range, Scan, SortKey,
    Statement, Update,
};
use sql::expression::{Expr, ExprKind};
use sql::{Catalog, Procedure, Table};

/// The columns from a node's text to that of its inputs.
const INDENT: usize = 6;

pub(super) fn explain(
    catalog: &Catalog,
    routine: &Procedure,
    statement: &Statement,
) -> Vec<String> {
    let mut scans = 0;
    let plans = statement.sub_plans.iter().map(|plan| &plan.root);
    for root in plans.chain([&statement.root]) {
        root.walk(&mut |node| scans += u32::from(matches!(node.operator, Operator::Scan(_))));
    }
    let is_qualified = scans > 1;
    let mut explain = Explain { catalog, routine, statement, is_qualified, lines: Vec::new() };
    explain.node(&statement.root, &Names::default(), 0, "");
    explain.lines
}

struct Explain<'e> {
    catalog: &'e Catalog,
    routine: &'e Procedure,
    statement: &'e Statement,
    /// Whether columns are printed with their table.
    is_qualified: bool,
    lines: Vec<String>,
}

impl<'e> Explain<'e> {
    fn text<'t>(&self, names: &'t Names) -> Text<'t>
    where
        'e: 't,
    {
        Text { routine: self.routine, names, style: Style::Explain }
    }

    fn table(&self, table: usize) -> &'e Table {
        &self.catalog.tables[table]
    }

    fn columns(&self, table: usize) -> Vec<String> {
        let table = self.table(table);
        let name = |column: &str| match self.is_qualified {
            true => format!("{}.{column}", table.name),
            false => column.to_owned(),
        };
        table.columns.iter().map(|column| name(&column.name)).collect()
    }

    /// Prints a node whose text begins at column `at`, and returns the names of its outputs.
    fn node(&mut self, node: &'e Node, around: &Names, at: usize, arrow: &str) -> Vec<String> {
        let mark = self.lines.len();
        let sources = self.inputs(node, around, at);
        let below = self.lines.split_off(mark);
        let names = around.within(sources);
        let text = self.text(&names);
        let outputs: Vec<String> = node
            .outputs
            .iter()
            .map(|output| match is_name(output) {
                true => text.expr(output),
                false => format!("({})", text.expr(output)),
            })
            .collect();
        let details = self.details(node, &text, around);
        let title = format!("{}  (rows={})", self.title(node), node.rows);
        let margin = " ".repeat(at - arrow.len());
        self.lines.push(format!("{margin}{arrow}{title}"));
        let margin = " ".repeat(at + 2);
        self.lines.extend(details.into_iter().map(|detail| format!("{margin}{detail}")));
        if let Operator::Scan(Scan { access: Access::Any(accesses), table, .. }) = &node.operator {
            self.alternatives(*table, accesses, around, at);
        }
        self.lines.extend(below);
        self.sub_plans(node, &names, at);
        outputs
    }

    /// Prints the inputs, and returns the names of the node's sources.
    fn inputs(&mut self, node: &'e Node, around: &Names, at: usize) -> Vec<Vec<String>> {
        let inside = at + INDENT;
        match &node.operator {
            Operator::Scan(scan) => vec![self.columns(scan.table)],
            Operator::Insert(Insert { table, input, .. }) => {
                self.node(input, around, inside, "->  ");
                vec![self.columns(*table)]
            }
            Operator::Update(Update { table, input, .. })
            | Operator::Delete(Delete { table, input }) => {
                let own = self.columns(*table);
                vec![own, self.node(input, around, inside, "->  ")]
            }
            Operator::Join(join) => {
                let outer = self.node(&join.outer, around, inside, "->  ");
                let of_outer = around.within(vec![outer.clone()]);
                let inner = match &join.method {
                    JoinMethod::NestedLoop => self.node(&join.inner, &of_outer, inside, "->  "),
                    JoinMethod::Equal { pairs, is_ordered } => {
                        let above = match (pairs.is_empty(), is_ordered) {
                            (true, _) => "Materialize",
                            (false, true) => "Sort",
                            (false, false) => "Hash",
                        };
                        let margin = " ".repeat(inside - "->  ".len());
                        let rows = join.inner.rows;
                        self.lines.push(format!("{margin}->  {above}  (rows={rows})"));
                        self.node(&join.inner, around, inside + INDENT, "->  ")
                    }
                };
                vec![outer, inner]
            }
            Operator::Values { rows, .. } => {
                let width = rows.first().map_or(0, Vec::len);
                vec![(1..=width).map(|at| format!("\"*VALUES*\".column{at}")).collect()]
            }
            Operator::Unnest { arrays, .. } => {
                vec![(1..=arrays.len()).map(|_| "unnest".to_owned()).collect()]
            }
            Operator::Series { .. } => vec![vec!["generate_series".to_owned()]],
            Operator::Shared { plan, .. } => {
                let plan = self.statement.sub_plans.get(*plan);
                let width = plan.map_or(0, |plan| plan.root.outputs.len());
                vec![(1..=width).map(|at| format!("column{at}")).collect()]
            }
            _ => {
                let inputs = node.inputs().into_iter();
                let named = inputs.map(|(input, _)| self.node(input, around, inside, "->  "));
                let all: Vec<Vec<String>> = named.collect();
                all.into_iter().take(1).collect()
            }
        }
    }

    /// Prints the sub plans of a node below its inputs.
    fn sub_plans(&mut self, node: &'e Node, names: &Names, at: usize) {
        let mut plans = Vec::new();
        node.for_each_expr(&mut |expr| {
            expr.visit(&mut |part| {
                if let ExprKind::SubPlan { plan, .. } = part.kind {
                    plans.push(plan);
                }
            });
        });
        plans.sort_unstable();
        plans.dedup();
        let statement = self.statement;
        for plan in plans {
            let Some(sub) = statement.sub_plans.get(plan) else { continue };
            let kind = if sub.is_correlated { "SubPlan" } else { "InitPlan" };
            self.lines.push(format!("{}{kind} {}", " ".repeat(at + 2), plan + 1));
            self.node(&sub.root, names, at + 8, "->  ");
        }
    }

    fn index_name(&self, table: usize, access: &Access) -> String {
        let table = self.table(table);
        let named = |index: Option<usize>| match index {
            None => table.primary_key_name.clone(),
            Some(index) => table.indexes[index].name.clone(),
        };
        match access {
            Access::Key(_) => named(None),
            Access::Lookup { index, .. } => named(Some(*index)),
            Access::Range(range) => named(range.index),
            Access::Each { access, .. } => self.index_name(self.position(table), access),
            Access::Any(_) | Access::All => String::new(),
        }
    }

    fn position(&self, table: &Table) -> usize {
        self.catalog.position(&table.name).unwrap_or_default()
    }

    fn title(&self, node: &Node) -> String {
        match &node.operator {
            Operator::Scan(scan) => self.scan_title(scan),
            Operator::Join(join) => join_title(join),
            Operator::Sort { .. } => "Sort".to_owned(),
            Operator::Limit { .. } => "Limit".to_owned(),
            Operator::Aggregate { keys, is_sorted, .. } => match (keys.is_empty(), is_sorted) {
                (true, _) => "Aggregate".to_owned(),
                (false, true) => "GroupAggregate".to_owned(),
                (false, false) => "HashAggregate".to_owned(),
            },
            Operator::Unique { .. } => "Unique".to_owned(),
            Operator::Project { .. } => "Result".to_owned(),
            Operator::Values { .. } => "Values Scan on \"*VALUES*\"".to_owned(),
            Operator::Unnest { .. } => "Function Scan on unnest".to_owned(),
            Operator::Series { .. } => "Function Scan on generate_series".to_owned(),
            Operator::Append { .. } => "Append".to_owned(),
            Operator::MergeAppend { .. } => "Merge Append".to_owned(),
            Operator::Shared { plan, .. } => format!("CTE Scan on plan {}", plan + 1),
            Operator::Lock { .. } => "LockRows".to_owned(),
            Operator::Insert(insert) => format!("Insert on {}", self.table(insert.table).name),
            Operator::Update(update) => format!("Update on {}", self.table(update.table).name),
            Operator::Delete(delete) => format!("Delete on {}", self.table(delete.table).name),
        }
    }

    fn scan_title(&self, scan: &Scan) -> String {
        let name = &self.table(scan.table).name;
        match &scan.access {
            Access::All => format!("Seq Scan on {name}"),
            Access::Any(_) => format!("Bitmap Heap Scan on {name}"),
            access => {
                let backward = match access {
                    Access::Range(Range { is_backward: true, .. }) => " Backward",
                    _ => "",
                };
                let index = self.index_name(scan.table, access);
                format!("Index Scan{backward} using {index} on {name}")
            }
        }
    }

    fn details(&self, node: &Node, text: &Text<'_>, around: &Names) -> Vec<String> {
        let mut details = Vec::new();
        let mut detail = |name: &str, expr: &Option<Expr>| {
            details.extend(expr.iter().map(|expr| format!("{name}: {}", text.expr(expr))));
        };
        match &node.operator {
            Operator::Scan(scan) => {
                let filter =
                    scan.filter.iter().map(|filter| format!("Filter: {}", text.expr(filter)));
                let condition = self.condition(scan.table, &scan.access, around);
                let condition = condition.map(|condition| match scan.access {
                    Access::Any(_) => format!("Recheck Cond: {condition}"),
                    _ => format!("Index Cond: {condition}"),
                });
                return condition.into_iter().chain(filter).collect();
            }
            Operator::Join(join) => {
                if let JoinMethod::Equal { pairs, is_ordered } = &join.method
                    && !pairs.is_empty()
                {
                    let pair = |(outer, inner): &(Expr, Expr)| {
                        format!("({} = {})", text.expr(outer), text.expr(inner))
                    };
                    let pairs = both(pairs.iter().map(pair).collect());
                    let name = if *is_ordered { "Merge Cond" } else { "Hash Cond" };
                    details.extend(pairs.map(|pairs| format!("{name}: {pairs}")));
                }
                let mut detail = |name: &str, expr: &Option<Expr>| {
                    details.extend(expr.iter().map(|expr| format!("{name}: {}", text.expr(expr))));
                };
                detail("Join Filter", &join.join_filter);
                detail("Filter", &join.filter);
            }
            Operator::Sort { keys, .. } | Operator::MergeAppend { keys, .. } => {
                details.push(format!("Sort Key: {}", sort_keys(keys, text)));
            }
            Operator::Aggregate { keys, filter, .. } => {
                let keys = (!keys.is_empty()).then(|| format!("Group Key: {}", text.list(keys)));
                let filter = filter.iter().map(|filter| format!("Filter: {}", text.expr(filter)));
                details = keys.into_iter().chain(filter).collect();
            }
            Operator::Project { condition, filter, .. } => {
                detail("One-Time Filter", condition);
                detail("Filter", filter);
            }
            Operator::Values { filter, .. }
            | Operator::Unnest { filter, .. }
            | Operator::Series { filter, .. }
            | Operator::Shared { filter, .. } => detail("Filter", filter),
            Operator::Insert(Insert { update: Some(_), .. }) => {
                details.push("Conflict Resolution: UPDATE".to_owned());
            }
            Operator::Insert(Insert { ignores_duplicates: true, .. }) => {
                details.push("Conflict Resolution: NOTHING".to_owned());
            }
            _ => {}
        }
        details
    }

    /// The condition that an access enforces.
    fn condition(&self, table: usize, access: &Access, around: &Names) -> Option<String> {
        let schema = self.table(table);
        let names = around.within(Vec::new());
        let outside = self.text(&names);
        let columns = self.columns(table);
        let equal = |own: &[usize], key: &[Expr]| -> Vec<String> {
            let pairs = own.iter().zip(key);
            pairs
                .map(|(&at, value)| format!("({} = {})", columns[at], outside.expr(value)))
                .collect()
        };
        let of_index = |index: Option<usize>| match index {
            None => &schema.primary_key,
            Some(index) => &schema.indexes[index].columns,
        };
        match access {
            Access::Key(key) => both(equal(of_index(None), key)),
            Access::Lookup { index, key } => both(equal(of_index(Some(*index)), key)),
            Access::Range(range) => {
                let own = of_index(range.index);
                let mut parts = equal(own, &range.equal);
                let next = own.get(range.equal.len()).map(|&at| &columns[at]);
                for (bound, sign) in [(&range.low, '>'), (&range.high, '<')] {
                    if let (Some(bound), Some(next)) = (bound, next) {
                        let equal = if bound.is_included { "=" } else { "" };
                        let value = outside.expr(&bound.value);
                        parts.push(format!("({next} {sign}{equal} {value})"));
                    }
                }
                both(parts)
            }
            Access::Each { array, access, .. } => {
                let condition = self.condition(table, access, around)?;
                let array = format!("ANY ({})", outside.expr(array));
                Some(condition.replace(ELEMENT, &array))
            }
            Access::Any(accesses) => {
                let parts = accesses.iter();
                let parts = parts.filter_map(|part| self.condition(table, part, around));
                Some(format!("({})", parts.collect::<Vec<_>>().join(" OR ")))
            }
            Access::All => None,
        }
    }

    fn alternatives(&mut self, table: usize, accesses: &[Access], around: &Names, at: usize) {
        let margin = " ".repeat(at + 2);
        self.lines.push(format!("{margin}->  BitmapOr"));
        for access in accesses {
            let index = self.index_name(table, access);
            let condition = self.condition(table, access, around);
            let margin = " ".repeat(at + 2 + INDENT);
            self.lines.push(format!("{margin}->  Bitmap Index Scan on {index}"));
            let condition =
                condition.map(|condition| format!("{margin}      Index Cond: {condition}"));
            self.lines.extend(condition);
        }
    }
}

/// The conjunction of conditions.
fn both(parts: Vec<String>) -> Option<String> {
    match &parts[..] {
        [] => None,
        [part] => Some(part.clone()),
        parts => Some(format!("({})", parts.join(" AND "))),
    }
}

fn join_title(join: &Join) -> String {
    let kind = match join.kind {
        JoinKind::Inner => "",
        JoinKind::Left => " Left",
        JoinKind::Right => " Right",
        JoinKind::Full => " Full",
        JoinKind::Semi => " Semi",
        JoinKind::Anti => " Anti",
    };
    let is_loop = match &join.method {
        JoinMethod::NestedLoop => true,
        JoinMethod::Equal { pairs, .. } => pairs.is_empty(),
    };
    match (&join.method, is_loop) {
        (_, true) if kind.is_empty() => "Nested Loop".to_owned(),
        (_, true) => format!("Nested Loop{kind} Join"),
        (JoinMethod::Equal { is_ordered: true, .. }, _) => format!("Merge{kind} Join"),
        _ => format!("Hash{kind} Join"),
    }
}

fn sort_keys(keys: &[SortKey], text: &Text<'_>) -> String {
    let key = |key: &SortKey| {
        let order = match (key.descending, key.nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, true) => " DESC",
            (true, false) => " DESC NULLS LAST",
        };
        format!("{}{order}", text.expr(&key.value))
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}
